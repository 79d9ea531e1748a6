"""Parameters that a DAG does not know: refused by Airflow's API before there is a run, else by its tasks."""

from __future__ import annotations

import string
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.dags.test_evaluation import dag_of
from tests.dags.test_triggering import form, run_task

from streambound_airflow.places import DAGS

pytestmark = pytest.mark.airflow

FIRST = {dag_id: ["choose"] for dag_id in DAGS} | {"ingest_flights": ["ingest", "generate_abstract"]}
LETTERS = string.ascii_lowercase + string.ascii_uppercase + "_-. 0é"


@st.composite
def misspelt(draw: Any, known: list[str]) -> tuple[str, str]:
    """A parameter, and the same with one letter more, less, or another, or two exchanged."""
    meant = draw(st.sampled_from(known))
    at = draw(st.integers(0, len(meant) - 1))
    letter = draw(st.sampled_from(LETTERS))
    head, tail = meant[:at], meant[at:]
    slips = [head + tail[1:], head + letter + tail, head + letter + tail[1:], head + tail[1::-1] + tail[2:]]
    written = draw(st.sampled_from(slips))
    assume(written and written not in known)
    return meant, written


def near(one: str, other: str) -> bool:
    """Whether one slip leads from one to the other."""
    if abs(len(one) - len(other)) > 1:
        return False
    if len(one) == len(other):
        differ = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        return len(differ) == 1 or (
            len(differ) == 2 and [one[at] for at in differ] == [other[at] for at in differ[::-1]]
        )
    longer, shorter = sorted((one, other), key=len, reverse=True)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def told(message: str, meant: str, written: str, known: list[str]) -> None:
    """The message names what was written, all that there is, and what is one slip away."""
    assert f"there is no parameter {written}" in message
    assert f"accepted: {', '.join(known)}" in message
    named = [one for one in known if f"write {one} instead of {written}" in message]
    if len(meant) > 2:
        assert len(named) == 1 and near(named[0], written), message


@pytest.mark.parametrize("dag_id", DAGS)
def test_the_first_task_refuses_random_misspelt_names(registry: Any, dag_id: str) -> None:
    dag, filled = dag_of(dag_id), form(dag_id, {})
    known = list(dag.params)

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(misspelt(known))
    def refused(slip: tuple[str, str]) -> None:
        params = {**filled, slip[1]: "2013-01-01"}
        for task_id in FIRST[dag_id]:
            with pytest.raises(AirflowFailException) as caught:
                run_task(dag_id, task_id, params)
            told(str(caught.value), *slip, known)

    refused()


def test_the_issue_of_a_year_instead_of_a_day(registry: Any) -> None:
    with pytest.raises(AirflowFailException) as caught:
        run_task("evaluate_history", "choose", form("evaluate_history", {"form": "2013-01-01"}))
    assert str(caught.value).splitlines() == [
        "there is no parameter form",
        "  accepted: queries, from, to, include_failed_partitions, recompute, announce",
        "  fix: write from instead of form",
    ]


def test_what_airflow_itself_adds_is_no_parameter(registry: Any) -> None:
    """Its operator that starts a run writes the lineage of its own there."""
    params = form("validate_queries", {"openlineage": {"parentRunId": "x"}})
    assert run_task("validate_queries", "choose", params) == ["bounded", "typo", "unbounded", "windy"]


@pytest.mark.parametrize("dag_id", DAGS)
def test_airflows_api_refuses_random_misspelt_names(airflow: dict[str, Any], dag_id: str) -> None:
    known, admin = list(dag_of(dag_id).params), airflow["admin"]

    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(misspelt(known))
    def refused(slip: tuple[str, str]) -> None:
        conf = {slip[1]: "2013-01-01"}
        answer = admin.post(f"api/v2/dags/{dag_id}/dagRuns", json={"logical_date": None, "conf": conf})
        assert answer.status_code == 400
        told(answer.json()["detail"], *slip, known)

    refused()
    asked = {"logical_date": None, "conf": {name: form(dag_id, {})[name] for name in known}}
    assert admin.get(f"api/v2/dags/{dag_id}/dagRuns").json()["dag_runs"] == []
    assert admin.post(f"api/v2/dags/{dag_id}/dagRuns", json=asked).status_code == 200


@pytest.mark.parametrize("address", ["backfills", "backfills/dry_run"])
def test_a_backfill_is_refused_as_well(airflow: dict[str, Any], address: str) -> None:
    days = {"from_date": "2013-01-01T00:00:00Z", "to_date": "2013-01-01T23:59:00Z"}
    asked = {"dag_id": "evaluate_history", **days, "dag_run_conf": {"recompte": True}}
    answer = airflow["admin"].post(f"api/v2/{address}", json=asked)
    assert answer.status_code == 400 and "write recompute instead of recompte" in answer.json()["detail"]


def test_who_may_start_nothing_learns_nothing(airflow: dict[str, Any]) -> None:
    asked = {"logical_date": None, "conf": {"form": "2013-01-01"}}
    for name, status in (("anonymous", 401), ("viewer", 403)):
        answer = airflow[name].post("api/v2/dags/evaluate_history/dagRuns", json=asked)
        assert answer.status_code == status and "parameter" not in answer.text


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("queries?verdct=unbounded", "write verdict instead of verdct"),
        ("queries/bounded/verdicts?limits=1", "write limit instead of limits"),
        ("runs?dag=validate_queries", "write dag_id instead of dag"),
        ("quality?limit=1", "leave it out"),
    ],
)
def test_our_own_api_knows_its_parameters(viewer: Any, address: str, told: str) -> None:
    """A filter that is misspelt would list everything."""
    answer = viewer.get(f"api/v1/{address}")
    assert answer.status_code == 422 and answer.json()["error"]["fix"] == told


def test_a_text_is_checked_under_no_criterion_that_is_misspelt(viewer: Any) -> None:
    asked = {"sql": "SELECT DISTINCT origin FROM departures", "criterium": "arasu"}
    for address in ("api/v1/check", "try"):
        answer = viewer.post(address, json=asked)
        assert answer.status_code == 422 and "criterium" in answer.text


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"conf": 1}', b'{"conf": {"form": 1}}', b"[" * 50_000])
def test_what_airflow_does_not_accept_either_is_left_to_it(airflow: dict[str, Any], body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = airflow["admin"].post("api/v2/dags/evaluate_history/dagRuns", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    other = airflow["admin"].post("api/v2/dags/somebodys/dagRuns", content=body, headers=headers)
    assert other.status_code in (400, 404, 422) and "parameter form" not in other.text
