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
    recorded = _recorded(dag_id, run_id, run)
    # An earlier release did not record whose a run's id is: what it cannot be told of any more was ours, if
    # a run of ours has the id.
    if not (recorded.verdicts or recorded.evaluations or recorded.choices or recorded.quality) and (
        run is not None or not store().jobs_of(run_id)
    ):
        return _recorded(dag_id, run_id, run, "")
    return recorded


def _recorded(dag_id: str, run_id: str, run: Run | None, job: str | None = None) -> RunDetail:
    """What was recorded under a run of a DAG, or under another job."""
    database, which = store(), (run_id, dag_id if job is None else job)
    return RunDetail(
        dag_id=dag_id,
        run_id=run_id,
        run=None if run is None else run_body(run),
        verdicts=[recorded_verdict(record) for record in database.verdicts(*which)],
        evaluations=[evaluation(record) for record in database.answers(*which)],
        choices=[
            MadeChoice(
                query=record.query,
                size=record.size,
                contender=record.contender,
                share=record.share,
                why=record.why,
            )
            for record in database.cache_benchmarks(*which)
            if record.chosen
        ],
        quality=[outcome(record) for record in database.quality(*which)],
    )


def runs(limit: int, offset: int, job: str | None) -> RunPage:
    """Recorded runs, the newest first."""
    return RunPage(runs=[run_body(record) for record in store().runs(limit, offset, job)])


def quality() -> QualityBody:
    """The newest quality of every subject, by kind and subject."""
    return QualityBody(outcomes=[outcome(record) for record in store().latest_quality()])


def run_body(run: Run) -> RunBody:
    """A record of the results database as the API tells it."""
    return RunBody.model_validate(asdict(run))


def outcome(record: QualityOutcome) -> OutcomeBody:
    """A record of the results database as the API tells it; its page if that still lies in the Data Docs."""
    body = asdict(record)
    body["docs"] = _below_docs(record.docs)
    body["failed"] = [dict(expectation) for expectation in record.failed]
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
