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
    """Everything that was recorded under a run; also of a DAG of anybody's that uses our operators."""
    database = store()
    run = database.run(dag_id, run_id)
    # A run's id is unique within its DAG only: what another DAG of ours recorded under it is not this run's.
    if run is None and database.jobs_of(run_id):
        return RunDetail(
            dag_id=dag_id, run_id=run_id, run=None, verdicts=[], evaluations=[], choices=[], quality=[]
        )
    return RunDetail(
        dag_id=dag_id,
        run_id=run_id,
        run=None if run is None else run_body(run),
        verdicts=[recorded_verdict(one) for one in database.verdicts(run_id)],
        evaluations=[evaluation(one) for one in database.answers(run_id)],
        choices=[
            MadeChoice(query=one.query, size=one.size, contender=one.contender, share=one.share, why=one.why)
            for one in database.cache_benchmarks(run_id)
            if one.chosen
        ],
        quality=[outcome(one) for one in database.quality(run_id)],
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
