"""The quality of one subject: what is expected, what failed with rows to show, and how that went before."""

from __future__ import annotations

from streambound.results import QualityOutcome
from streambound_airflow.pages.decided import outcome as told
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
    found = store().quality_of(kind, name, 1)
    if not found:
        raise Refused(
            404, "nothing of this name was checked", accepted="a kind and subject of api/v1/quality"
        )
    newest = found[0]
    failures = list(newest.failed)[::-1][offset : offset + limit]
    return SubjectBody(
        kind=kind,
        subject=name,
        check=_check(newest),
        expectations=[ExpectationBody.model_validate(one) for one in newest.expectations],
        failures=[FailureBody.model_validate(one) for one in failures],
        total=len(newest.failed),
        docs=told(newest).docs,
    )


def checks(kind: Subject, name: str, limit: int, offset: int = 0) -> CheckedPage:
    """The checks of a subject, the newest first.

    Raises:
        Refused: it was never checked.
    """
    found = store().quality_of(kind, name, limit, offset)
    if not found and not store().quality_of(kind, name, 1):
        raise Refused(
            404, "nothing of this name was checked", accepted="a kind and subject of api/v1/quality"
        )
    return CheckedPage(checks=[_check(one) for one in found])


def _check(one: QualityOutcome) -> CheckedBody:
    return CheckedBody(
        run_id=one.run_id,
        job=one.job,
        checked_at=one.checked_at,
        success=one.success,
        evaluated=one.evaluated,
        failures=len(one.failed),
    )
