"""The JSON API: one shape of errors, limits that hold against hostile input, and a document that is true."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from scripts import reference
from streambound.results import Answer, Results
from streambound_airflow.pages import examination
from streambound_airflow.pages.examination import Examiner, Examiners
from streambound_airflow.pages.guard import BODY_BYTES, SQL_BYTES
from streambound_airflow.pages.problems import Refused

pytestmark = pytest.mark.airflow

NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def store(working_folder: Path) -> Results:
    return Results(f"sqlite:///{working_folder}/connected.db")


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body.keys() == {"error"} and body["error"].keys() == {
        "status",
        "code",
        "message",
        "accepted",
        "fix",
    }
    assert body["error"]["status"] == status and body["error"]["message"]
    found: dict[str, Any] = body["error"]
    return found


def test_queries_are_paged_and_counted(viewer: Any, store: Results) -> None:
    store.record_verdicts(
        "r1", [{"query": "bounded", "verdict": "bounded", "units": 10**30, "sql": "x"}], NOON
    )
    whole = viewer.get("api/v1/queries").json()
    assert (whole["total"], whole["registered"]) == (4, 4) and whole["counts"]["unchecked"] == 3
    # Problems first: what is not checked yet, then what is bounded.
    assert [one["name"] for one in whole["queries"]] == ["typo", "unbounded", "windy", "bounded"]
    last = whole["queries"][-1]
    assert (last["name"], last["units"], last["stale"]) == ("bounded", 10**30, True)
    parts = [viewer.get(f"api/v1/queries?limit=3&offset={offset}").json()["queries"] for offset in (0, 3)]
    assert [len(part) for part in parts] == [3, 1] and parts[0] + parts[1] == whole["queries"]
    assert viewer.get("api/v1/queries?verdict=bounded").json()["total"] == 1
    assert whole["owners"] == {"tests": 1} and viewer.get("api/v1/queries?owner=nobody").json()["total"] == 0
    (owned,) = viewer.get("api/v1/queries?owner=tests").json()["queries"]
    assert owned["name"] == "unbounded"


def test_verdicts_evaluations_and_runs_of_a_query(viewer: Any, store: Results) -> None:
    for number in range(3):
        moment = NOON + dt.timedelta(days=number)
        store.record_verdicts(f"r{number}", [{"query": "bounded", "verdict": "bounded", "sql": "x"}], moment)
        store.record_answer(Answer(f"e{number}", "bounded", 1, 2, 3, answer_count=2**70, evaluated_at=moment))
    verdicts = viewer.get("api/v1/queries/bounded/verdicts?limit=2").json()["verdicts"]
    assert [one["run_id"] for one in verdicts] == ["r2", "r1"]
    evaluations = viewer.get("api/v1/queries/bounded/evaluations?offset=1").json()["evaluations"]
    assert [one["run_id"] for one in evaluations] == ["e1", "e0"] and evaluations[0]["answer_count"] == 2**70
    assert viewer.get("api/v1/runs/validate_queries/r1").json()["verdicts"][0]["query"] == "bounded"
    assert viewer.get("api/v1/queries/bounded/state").json()["checkpoints"] == []
    assert viewer.get("api/v1/queries/bounded/choices").json()["choices"] == []


def test_a_text_is_decided_and_drawn_and_nothing_is_recorded(viewer: Any, store: Results) -> None:
    body = viewer.post("api/v1/check", json={"sql": "SELECT DISTINCT origin FROM departures"}).json()
    assert (body["verdict"], body["units"]) == ("bounded", 3) and "<svg" in body["shown"]["plan"]
    body = viewer.post("api/v1/check", json={"sql": "SELECT DISTINCT tailnum FROM departures"}).json()
    assert body["verdict"] == "unbounded" and body["suggestions"] and body["shown"]["story"]
    body = viewer.post("api/v1/check", json={"sql": "SELECT nonsense"}).json()
    assert body["verdict"] == "invalid" and body["error"] and body["shown"]["sql"]
    assert store.latest_verdicts() == []


def test_what_check_says_of_a_text_is_passed_through(viewer: Any) -> None:
    sql = "SELECT origin, (SELECT 1) AS one FROM departures SORT BY origin EMIT CHANGES"
    body = viewer.post("api/v1/check", json={"sql": sql}).json()
    assert [one["construct"] for one in body["blockers"]] == ["a sub-query in an expression", "SORT BY"]
    assert body["blockers"][0]["where"] == {"line": 1, "column": 16}
    body = viewer.post("api/v1/check", json={"sql": "SELECT origin FROM departures EMIT CHANGES"}).json()
    assert (body["dialect"], body["guessed"], body["blockers"]) == ("ksql", "EMIT CHANGES", [])
    body = viewer.post("api/v1/check", json={"sql": "SELECT DISTINCT f(origin) AS x FROM departures"}).json()
    (assumed,) = body["assumes"]
    assert assumed.endswith("depends on its arguments alone, and may have any value of its type")
    body = viewer.post("api/v1/check", json={"sql": "SELECT COUNT(*) AS n FROM departures"}).json()
    assert (body["verdict"], body["final"]) == ("bounded", "never-final")
    body = viewer.post("api/v1/check", json={"sql": "SELECT DISTINCT tailnum FROM departures"}).json()
    assert body["causes"][0]["message"].startswith("DISTINCT has no timestamp among its columns")


def test_a_text_may_name_a_registered_query(viewer: Any, registry: Path) -> None:
    (registry / "queries" / "few.sql").write_text(
        "SELECT origin FROM departures WHERE origin IN ('EWR', 'JFK')"
    )
    asked = {"sql": "SELECT DISTINCT origin FROM few"}
    assert viewer.post("api/v1/check", json=asked).json()["units"] == 2
    (registry / "queries" / "few.sql").write_text("SELECT origin FROM departures WHERE origin IN ('EWR')")
    assert viewer.post("api/v1/check", json=asked).json()["units"] == 1


NESTED = "SELECT origin FROM departures WHERE " + "(" * 20_000 + "dep_delay > 1" + ")" * 20_000
HOSTILE = {
    "deep": (NESTED, 200),
    "deep not": ("SELECT origin FROM departures WHERE " + "NOT " * 15_000 + "dep_delay > 1", 200),
    "open": ("SELECT " + "(" * 60_000, 200),
    "nul": ("SELECT \0 FROM departures -- \0", 200),
    "markup": ("<script>alert(1)</script>", 200),
    "empty": ("", 200),
    "quotes": ("'" * 65_536, 200),
    "surrogate": ("\ud800", 422),
    "a byte too many": ("x" * (SQL_BYTES + 1), 413),
    "wide": ("ü" * (SQL_BYTES // 2 + 1), 413),
    "a megabyte": ("x" * 1_000_000, 413),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_does_no_harm_and_gets_a_clear_word(viewer: Any, kind: str) -> None:
    text, status = HOSTILE[kind]
    content = json.dumps({"sql": text}).encode()
    answer = viewer.post("api/v1/check", content=content, headers={"Content-Type": "application/json"})
    if status == 200:
        assert answer.status_code == 200, answer.text
        assert answer.json()["verdict"] == "invalid" and answer.json()["error"]
        assert "<script" not in answer.json()["shown"]["sql"]
    else:
        problem(answer, status)
    assert viewer.get("api/v1/queries").status_code == 200


def test_a_body_without_a_length_is_refused_while_it_arrives(viewer: Any) -> None:
    sent = 0

    def endless() -> Any:
        nonlocal sent
        yield b'{"sql": "'
        for _ in range(200):
            sent += 1
            yield b"x" * 65_536

    answer = viewer.post("api/v1/check", content=endless(), headers={"Content-Type": "application/json"})
    assert "bytes" in problem(answer, 413)["message"]


def test_the_largest_text_is_decided(viewer: Any) -> None:
    text = "SELECT DISTINCT origin FROM departures -- "
    text += "\x01" * (SQL_BYTES - len(text))
    content = json.dumps({"sql": text}).encode()
    assert len(content) < BODY_BYTES
    answer = viewer.post("api/v1/check", content=content, headers={"Content-Type": "application/json"})
    assert answer.json()["verdict"] == "bounded"


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", "api/v1/queries/nobody", 404),
        ("GET", "api/v1/queries/..%2f..%2fstreams", 404),
        ("GET", "api/v1/queries/%00", 404),
        ("GET", "api/v1/queries/bounded%00/state", 404),
        ("GET", "api/v1/queries/" + "x" * 201, 422),
        ("GET", "api/v1/queries?limit=0", 422),
        ("GET", "api/v1/queries?limit=100000", 422),
        ("GET", "api/v1/queries?offset=-1", 422),
        ("GET", "api/v1/queries?verdict=maybe", 422),
        ("GET", "api/v1/queries?text=" + "x" * 20_000, 422),
        ("GET", "api/v1/runs?dag_id=%3Cscript%3E", 422),
        ("GET", "api/v1/nothing", 404),
        ("GET", "api/v1/queries/x%0A", 404),
        ("DELETE", "api/v1/queries", 405),
        ("GET", "api/v1/check", 405),
        ("POST", "api/v1/check", 422),
    ],
)
def test_a_wrong_request_is_told_what_was_found_and_is_accepted(
    viewer: Any, method: str, address: str, status: int
) -> None:
    found = problem(viewer.request(method, address), status)
    assert len(found["message"]) < 300 and found["accepted"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"sql": 1}', b'{"sql": "x", "criterion": "y"}', b"\xff"]
)
def test_a_body_that_is_no_question_is_refused(viewer: Any, body: bytes) -> None:
    answer = viewer.post("api/v1/check", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code)


def test_a_broken_catalog_and_database_are_named(
    viewer: Any, registry: Path, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (registry / "streams.yml").write_text("streams: [")
    assert problem(viewer.post("api/v1/check", json={"sql": "SELECT 1"}), 422)["code"] == "invalid-catalog"
    assert "streams.yml" in viewer.get("try").text
    connection = {"conn_type": "generic", "extra": {"url": f"sqlite:///{working_folder}/broken.db"}}
    monkeypatch.setenv("AIRFLOW_CONN_STREAMBOUND_DB", json.dumps(connection))
    (working_folder / "broken.db").write_text("no database at all, but text that is long enough for a header")
    assert problem(viewer.get("api/v1/queries"), 503)["code"] == "storage-error"


@pytest.fixture(scope="module")
def one_process() -> Iterator[Examiners]:
    made = Examiners(number=1, seconds=30.0)
    yield made
    made.end()


@pytest.fixture
def examiners(one_process: Examiners, registry: Path) -> Iterator[Examiners]:
    """What decides with one process, which has decided a query of this registry."""
    assert one_process.examine("SELECT DISTINCT carrier FROM departures")["verdict"] == "bounded"
    yield one_process
    one_process.seconds = 30.0


def test_a_query_that_takes_too_long_is_given_up_and_the_next_is_decided(examiners: Examiners) -> None:
    examiners.seconds = 0.0
    with pytest.raises(Refused, match="not decided within 0 seconds") as refused:
        examiners.examine("SELECT DISTINCT origin FROM departures")
    assert refused.value.status_code == 408
    examiners.seconds = 30.0
    assert examiners.examine("SELECT DISTINCT origin FROM departures")["verdict"] == "bounded"


def test_a_process_that_dies_over_a_query_is_replaced(
    examiners: Examiners, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, asked = Examiner._running, Examiner._line

    def stopped(examiner: Examiner) -> Any:
        process = running(examiner)
        # A process that goes on may have answered before it is killed.
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        return process

    def killed(process: Any, seconds: float) -> bytes:
        process.kill()
        return asked(process, seconds)

    monkeypatch.setattr(Examiner, "_running", stopped)
    monkeypatch.setattr(Examiner, "_line", staticmethod(killed))
    with pytest.raises(Refused, match="too deep or too large"):
        examiners.examine("SELECT DISTINCT origin FROM departures")
    monkeypatch.undo()
    assert examiners.examine("SELECT DISTINCT d.origin FROM departures d")["verdict"] == "bounded"


def test_what_was_not_decided_in_time_is_not_tried_at_every_view(
    examiners: Examiners, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    kinds = {"too-slow": 408, "too-complex": 422, "unavailable": 503}

    def refusing(examiner: Examiner, question: Any, seconds: float) -> dict[str, Any]:
        asked.append(question["criterion"])
        raise Refused(kinds[question["sql"]], "not decided", code=question["sql"], fix="make it smaller")

    monkeypatch.setattr(Examiner, "ask", refusing)

    def told(text: str, times: int = 1, **more: Any) -> int:
        """How often a process was asked."""
        before = len(asked)
        for _ in range(times):
            with pytest.raises(Refused, match="not decided") as refused:
                examiners.examine(text, **more)
            found = refused.value.problem
            assert (found.status, found.code, found.fix) == (kinds[text], text, "make it smaller")
        return len(asked) - before

    assert told("too-slow", 3) == 1 and told("too-slow", name="other") == 0
    assert told("too-slow", 2, criterion="arasu") == 1 and told("too-complex", 2) == 1
    assert told("unavailable", 2) == 2
    path = registry / "streams.yml"
    path.write_text(path.read_text() + "\n")
    assert told("too-slow", 2) == 1
    monkeypatch.setattr(examination, "GIVEN_UP", 0.0)
    assert told("too-slow", criterion="schiff_ozcep") == 1
    assert told("too-slow", criterion="schiff_ozcep") == 1


def test_a_question_that_another_request_had_meanwhile_is_not_asked_again(
    examiners: Examiners, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, get = examiners._free.get(), examiners._free.get
    meanwhile = list[dict[str, Any]]()

    def answered_meanwhile(*, timeout: float) -> Examiner:
        if not meanwhile:
            examiners._free.put(process)
            meanwhile.append({})
            meanwhile[0] = examiners.examine("SELECT DISTINCT origin FROM departures")
        return get(timeout=timeout)

    monkeypatch.setattr(examiners._free, "get", answered_meanwhile)
    found = examiners.examine("SELECT DISTINCT origin FROM departures")
    assert found is meanwhile[0] and found["verdict"] == "bounded"


DEFECT = """
import streambound.compiler

def compile(sql, *rest, **more):
    return {}["secret of " + sql]

streambound.compiler.compile = compile
"""


def test_a_defect_of_ours_is_not_told_as_one_of_the_query(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DEFECT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    examiners = Examiners(number=1)
    try:
        with pytest.raises(Refused, match="a defect of streambound, not of the query: KeyError") as refused:
            examiners.examine("SELECT DISTINCT origin FROM departures")
    finally:
        examiners.end()
    found = refused.value.problem
    assert (found.status, found.code) == (500, "internal-error")
    assert "secret" not in str(found) and "log of Airflow's API server" in str(found.fix)
    assert "Traceback" in caplog.text and "in compile" in caplog.text and "KeyError" in caplog.text


def test_an_answer_is_kept_until_the_catalog_changes(examiners: Examiners, registry: Path) -> None:
    first = examiners.examine("SELECT DISTINCT origin FROM departures")
    assert examiners.examine("SELECT DISTINCT origin FROM departures") is first
    path = registry / "streams.yml"
    path.write_text(path.read_text().replace("values: [EWR, JFK, LGA]", "values: [EWR, JFK, LGA, SWF]"))
    assert examiners.examine("SELECT DISTINCT origin FROM departures")["units"] == 4


def test_a_catalog_that_changes_twice_in_a_moment_is_read_twice(examiners: Examiners, registry: Path) -> None:
    """A clock gives both versions one time, and they have one size."""
    path, sql = registry / "streams.yml", "SELECT DISTINCT origin FROM departures"
    before = path.stat()
    assert examiners.examine(sql)["units"] == 3
    path.write_text(path.read_text().replace("values: [EWR, JFK, LGA]", "values: [EWR, JFK]     "))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert examiners.examine(sql)["units"] == 2


def test_whoever_waits_too_long_for_a_turn_is_told(
    examiners: Examiners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streambound_airflow.pages.examination.PATIENCE", 0.05)
    process, waited, get = examiners._free.get(), list[float](), examiners._free.get

    def noted(*, timeout: float) -> Examiner:
        waited.append(timeout)
        return get(timeout=timeout)

    monkeypatch.setattr(examiners._free, "get", noted)
    with pytest.raises(Refused, match="too many queries") as refused:
        examiners.examine("SELECT DISTINCT origin FROM departures")
    examiners._free.put(process)
    assert refused.value.status_code == 503 and waited == [0.05]


def fuzz(clients: dict[str, Any], mounted: Any, examples: int) -> int:
    """Random requests of every operation, as the viewer; how many operations there are."""
    document = clients["viewer"].get("api/v1/openapi.json").json()
    assert document["servers"] == [{"url": "../.."}]
    schema = schemathesis.openapi.from_dict({**document, "servers": [{"url": "/streambound"}]})
    schema.app = mounted
    token = {"Authorization": clients["viewer"].headers["Authorization"]}
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def holds(case: Any) -> None:
            # A line break in a path keeps Starlette from finding the application that is mounted there. Here
            # parameters are quoted already.
            assume("\n" not in unquote("".join(map(str, case.path_parameters.values()))))
            case.call_and_validate(headers=token, checks=CHECKS)

        holds()
    return len(operations)


def test_random_requests_are_answered_as_the_document_says(
    clients: dict[str, Any], mounted: Any, registry: Path
) -> None:
    assert fuzz(clients, mounted, 6) >= 19


@pytest.mark.heavy
def test_many_random_requests_are_answered_as_the_document_says(
    clients: dict[str, Any], mounted: Any, registry: Path
) -> None:
    assert fuzz(clients, mounted, 300) >= 19


def test_what_an_engine_keeps_is_told_beside_what_is_needed(examiners: Examiners) -> None:
    sql = "SELECT DISTINCT carrier FROM departures"
    told = examiners.examine(sql)
    assert (told["engine"]["name"], told["engine"]["growth"]) == ("spark", "constant")
    asked = examiners.examine(sql, engine="flink")
    assert [one["question"] for one in asked["shown"]["answers"]] == ["needed", "Flink 2.3, as written"]
    assert examiners.examine(f"-- for: feldera\n{sql}")["engine"]["name"] == "feldera"


def test_the_page_of_reference_is_what_the_document_says(clients: dict[str, Any]) -> None:
    shown = (reference.FOLDER / "http.md").read_text(encoding="utf-8")
    assert shown == reference.http_page(clients["viewer"].get("api/v1/openapi.json").json())
