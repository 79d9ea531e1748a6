"""The quality of one subject: what is expected, what failed with rows to show, and how that went before."""

from __future__ import annotations

from streambound.results import QualityOutcome
from streambound_airflow.pages.decided import outcome as outcome_body
from streambound_airflow.pages.problems import Refused
from streambound_airflow.pages.sources import store
from streambound_airflow.pages.stream_schemas import (
    CheckedBody,
    CheckedPage,
    ExpectationBody,
    FailureBody,
    Subject,
    SubjectBody,
)


def subject(kind: Subject, name: str, limit: int, offset: int = 0) -> SubjectBody:
    """What the newest check found of a subject, with some of its failures, the newest first.

    Raises:
        Refused: it was never checked.
    """
    outcomes = store().quality_of(kind, name, 1)
    if not outcomes:
        raise Refused(
            404, "nothing of this name was checked", accepted="a kind and subject of api/v1/quality"
        )
    newest = outcomes[0]
    failures = list(newest.failed)[::-1][offset : offset + limit]
    return SubjectBody(
        kind=kind,
        subject=name,
        check=_check(newest),
        expectations=[ExpectationBody.model_validate(expectation) for expectation in newest.expectations],
        failures=[FailureBody.model_validate(failure) for failure in failures],
        total=len(newest.failed),
        docs=outcome_body(newest).docs,
    )


def checks(kind: Subject, name: str, limit: int, offset: int = 0) -> CheckedPage:
    """The checks of a subject, the newest first.

    Raises:
        Refused: it was never checked.
    """
    outcomes = store().quality_of(kind, name, limit, offset)
    if not outcomes and not store().quality_of(kind, name, 1):
        raise Refused(
            404, "nothing of this name was checked", accepted="a kind and subject of api/v1/quality"
        )
    return CheckedPage(checks=[_check(record) for record in outcomes])


def _check(record: QualityOutcome) -> CheckedBody:
    return CheckedBody(
        run_id=record.run_id,
        job=record.job,
        checked_at=record.checked_at,
        success=record.success,
        evaluated=record.evaluated,
        failures=len(record.failed),
    )
