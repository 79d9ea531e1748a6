"""One message about a run, whatever was found and however much of it."""

from __future__ import annotations

import json

from streambound.report.notices import LISTED, LONGEST, notice
from streambound.results.findings import Finding

FULL = Finding("state", "query", "late_departures", "its state took 9 of at most 10 units (90%)")
CHANGED = Finding("verdict", "query", "q5", "unbounded, bounded on Monday:\n  d.tailnum grows")


def test_a_heading_a_kind_with_links() -> None:
    found = notice([FULL, CHANGED], "a_dag", "r1", "http://air/r1", lambda one: f"http://air/{one.subject}")
    assert found.subject == "streambound: 2 findings in a_dag"
    assert found.text.splitlines() == [
        "2 findings in run r1 of a_dag",
        "run: http://air/r1",
        "",
        "No longer bounded",
        "- q5: unbounded, bounded on Monday: d.tailnum grows",
        "  http://air/q5",
        "",
        "State near its bound",
        "- late_departures: its state took 9 of at most 10 units (90%)",
        "  http://air/late_departures",
    ]
    assert found.body["text"] == found.text and found.body["total"] == 2
    assert found.body["findings"][0]["page"] == "http://air/late_departures"
    assert json.loads(json.dumps(found.body)) == found.body


def test_one_finding_without_a_page() -> None:
    found = notice([FULL], "a_dag", "r1", "http://air/r1")
    assert found.subject == "streambound: 1 finding in a_dag"
    assert found.text.splitlines()[-1].startswith("- late_departures") and "None" not in found.text


def test_a_bad_night_stays_one_readable_message() -> None:
    many = [Finding("expectation", "stream", f"s{n}", "x" * 5_000) for n in range(200)]
    found = notice(many, "a_dag", "r1", "http://air/r1")
    assert found.text.count("\n- ") == len(found.body["findings"]) == LISTED
    assert found.text.endswith("and 150 more: see the run") and found.body["total"] == 200
    assert max(map(len, found.text.splitlines())) <= LONGEST + 20
