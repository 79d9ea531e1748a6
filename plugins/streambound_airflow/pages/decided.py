"""What a run of a DAG decided and evaluated; and the quality that the newest runs found."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from streambound.quality.docs import site_folder
from streambound.results import QualityOutcome, Run
from streambound_airflow.pages.detail import evaluation, recorded_verdict
from streambound_airflow.pages.schemas import (
    MadeChoice,
    OutcomeBody,
    QualityBody,
    RunBody,
    RunDetail,
    RunPage,
)
from streambound_airflow.pages.sources import store


def run_detail(dag_id: str, run_id: str) -> RunDetail:
    """Everything that was recorded under a run of a DAG; also of anybody's that uses our operators."""
    run = store().run(dag_id, run_id)
    found = _recorded(dag_id, run_id, run)
    # An earlier release did not record whose a run's id is: what it cannot be told of any more was ours, if
    # a run of ours has the id.
    if not (found.verdicts or found.evaluations or found.choices or found.quality) and (
        run is not None or not store().jobs_of(run_id)
    ):
        return _recorded(dag_id, run_id, run, "")
    return found


def _recorded(dag_id: str, run_id: str, run: Run | None, job: str | None = None) -> RunDetail:
    """What was recorded under a run of a DAG, or under another job."""
    database, which = store(), (run_id, dag_id if job is None else job)
    return RunDetail(
        dag_id=dag_id,
        run_id=run_id,
        run=None if run is None else run_body(run),
        verdicts=[recorded_verdict(one) for one in database.verdicts(*which)],
        evaluations=[evaluation(one) for one in database.answers(*which)],
        choices=[
            MadeChoice(query=one.query, size=one.size, contender=one.contender, share=one.share, why=one.why)
            for one in database.cache_benchmarks(*which)
            if one.chosen
        ],
        quality=[outcome(one) for one in database.quality(*which)],
    )


def runs(limit: int, offset: int, job: str | None) -> RunPage:
    """Recorded runs, the newest first."""
    return RunPage(runs=[run_body(one) for one in store().runs(limit, offset, job)])


def quality() -> QualityBody:
    """The newest quality of every subject, by kind and subject."""
    return QualityBody(outcomes=[outcome(one) for one in store().latest_quality()])


def run_body(run: Run) -> RunBody:
    """A record of the results database as the API tells it."""
    return RunBody.model_validate(asdict(run))


def outcome(found: QualityOutcome) -> OutcomeBody:
    """A record of the results database as the API tells it; its page if that still lies in the Data Docs."""
    body = asdict(found)
    body["docs"] = _below_docs(found.docs)
    body["failed"] = [dict(one) for one in found.failed]
    return OutcomeBody.model_validate(body)


def _below_docs(page: str | None) -> str | None:
    """The address of a page in the folder of the Data Docs; those of old runs are deleted there."""
    if page is None:
        return None
    path = Path(page)
    root = site_folder()
    if not path.is_relative_to(root) or not path.is_file():
        return None
    return path.relative_to(root).as_posix()
