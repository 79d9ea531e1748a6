"""Every column that is not known is found, at its own place, whatever else the text has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound.examination import unknown
from streambound.examination.__main__ import examined

CATALOG = Path(__file__).resolve().parents[2] / "include" / "registry" / "streams.yml"
COLUMNS = ("carrier", "dep_delay", "departed_at", "dest", "distance", "flight", "origin", "tailnum")


def marked(sql: str, **more: Any) -> list[str]:
    """What is underlined in a text."""
    question = {"sql": sql, "name": "q", "criterion": "exact", "catalog": str(CATALOG), "suggest": False}
    found = examined({**question, "form": "editor", "path": "q.sql", **more})["formed"]["marks"]
    return [sql[slice(*one["span"])] for one in found]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(COLUMNS), st.sampled_from(("", "x", "_y"))), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from((", ", ",\n  ")),
)
def test_all_misspelt_columns_are_found_where_they_stand(
    names: list[tuple[str, str]], aliased: bool, between: str
) -> None:
    written = [f"{'d.' if aliased else ''}{name}{slip}" for name, slip in names]
    shown, asked = written[: len(written) // 2 + 1], written[len(written) // 2 + 1 :]
    where = " AND ".join(f"{name} IS NOT NULL" for name in asked)
    sql = f"SELECT {between.join(shown)}\nFROM departures d" + (f"\nWHERE {where}" if where else "")
    wrong = [name for name, (_, slip) in zip(written, names, strict=True) if slip]
    if wrong:
        assert sorted(marked(sql)) == sorted(wrong)


def test_a_name_of_another_type_is_passed_over() -> None:
    assert marked("SELECT d.nowhere FROM departures d WHERE d.third = 1") == ["d.third", "d.nowhere"]


def test_what_may_come_of_another_error_is_not_told() -> None:
    # Of a stream that is not known no column is.
    assert marked("SELECT x.a, d.orgin FROM nosuch x, departures d") == ["nosuch x"]


def test_a_long_text_is_not_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT d.nowhere, d.third FROM departures d"
    monkeypatch.setattr(unknown, "READ", len(sql) - 1)
    assert len(marked(sql)) == 1
