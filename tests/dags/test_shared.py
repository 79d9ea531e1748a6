"""Large registries: a hundred tasks check them, each with the verdicts of its queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from tests.dags.test_operators import FakeTaskInstance, check, execute, recorded

from streambound_airflow.validation import TASKS, shared


@pytest.mark.parametrize("number", [0, 1, TASKS, TASKS + 1, 500, 5_000])
def test_every_query_is_in_one_of_at_most_a_hundred_tasks(number: int) -> None:
    names = [f"q{one}" for one in range(number)]
    found = shared(names)
    assert [name for share in found for name in share.splitlines()] == names
    assert len(found) <= TASKS and (number > TASKS or found == names)


def test_a_task_of_several_queries_records_and_returns_each(working_folder: Path, registry: Path) -> None:
    operator = check("bounded\nunbounded")
    verdicts, _ = execute(operator)
    assert [one["verdict"] for one in verdicts] == ["bounded", "unbounded"]
    assert {name: v.verdict for name, v in recorded(working_folder).items()} == {
        "bounded": "bounded",
        "unbounded": "unbounded",
    }
    assert operator.title == "bounded to unbounded, 2 queries" and check("bounded").title == "bounded"


def test_it_fails_with_every_query_that_fails_when_all_are_recorded(
    working_folder: Path, registry: Path
) -> None:
    instance: Any = FakeTaskInstance()
    with pytest.raises(AirflowFailException) as caught:
        check("bounded\ntypo\nunbounded", fail_on_unbounded=True).execute({"run_id": "r1", "ti": instance})
    told = str(caught.value)
    assert told.startswith("typo: line 1") and "\nunbounded is unbounded: " in told
    assert [one["verdict"] for one in instance.pushed["return_value"]] == ["bounded", "invalid", "unbounded"]
    assert len(recorded(working_folder)) == 3
