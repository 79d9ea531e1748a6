"""Laws between the verdicts on statements over one random body of two to four streams, timed or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import Case, cases, timed_cases

from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.boundedness.statements import decide
from streambound.query.parse import read

BODIES = st.one_of(timed_cases(), timed_cases(windows=True), cases(statics=False))
_MIRRORED = {Outcome.BOUNDED, Outcome.UNBOUNDED}


def body(case: Case) -> str:
    """FROM and WHERE of a random query."""
    return case.sql[case.sql.index(" FROM ") :]


def columns(case: Case) -> list[str]:
    """The columns that are no timestamps."""
    return [f"{name}.{c}" for name, b in case.streams.items() for c in b["columns"] if c != "ts"]


def verdict(case: Case, sql: str) -> Verdict:
    return decide(read(sql, case.catalog, "q").statement).verdict


def outcome(case: Case, sql: str) -> Outcome:
    return verdict(case, sql).outcome


@given(BODIES, st.data())
def test_aggregates_are_bounded_together_as_each_alone(case: Case, data: st.DataObject) -> None:
    column, key = (data.draw(st.sampled_from(columns(case))) for _ in range(2))
    group = data.draw(st.sampled_from(["", f" GROUP BY {key}"]))
    shown = [f"MAX({column})", f"MIN({column})", "COUNT(*)", f"COUNT(DISTINCT {column})"]
    one, other = (data.draw(st.sampled_from(shown)) for _ in range(2))
    alone = [outcome(case, f"SELECT {text}{body(case)}{group}") for text in (one, other)]
    both = outcome(case, f"SELECT {one}, {other}{body(case)}{group}")
    expected = (
        Outcome.UNBOUNDED
        if Outcome.UNBOUNDED in alone
        else Outcome.UNKNOWN
        if Outcome.UNKNOWN in alone
        else Outcome.BOUNDED
    )
    assert both is expected


@given(BODIES)
def test_a_count_without_keys_is_the_bag_of_its_rows(case: Case) -> None:
    assert outcome(case, f"SELECT COUNT(*){body(case)}") is outcome(case, f"SELECT 1{body(case)}")


@given(BODIES, st.data())
def test_groups_without_aggregates_and_hidden_counts_are_distinct(case: Case, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(columns(case)))
    once = verdict(case, f"SELECT DISTINCT {key}{body(case)}")
    for sql in (
        f"SELECT {key}{body(case)} GROUP BY {key}",
        f"SELECT {key}{body(case)} GROUP BY {key} HAVING COUNT(*) >= 3",
    ):
        found = verdict(case, sql)
        assert (found.outcome, found.final) == (once.outcome, once.final)


@given(BODIES, st.data())
def test_an_extremum_lies_between_distinct_and_the_values(case: Case, data: st.DataObject) -> None:
    key, column = (data.draw(st.sampled_from(columns(case))) for _ in range(2))
    least = outcome(case, f"SELECT {key}, MIN({column}){body(case)} GROUP BY {key}")
    if least is Outcome.BOUNDED:
        assert outcome(case, f"SELECT DISTINCT {key}{body(case)}") is not Outcome.UNBOUNDED
    # Who knows all values of each key knows the least.
    values = outcome(case, f"SELECT {key}, COUNT(DISTINCT {column}){body(case)} GROUP BY {key}")
    if values is Outcome.BOUNDED:
        assert least is not Outcome.UNBOUNDED


@given(BODIES, st.data())
def test_what_has_a_window_of_the_last_stream_is_no_worse(case: Case, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(case.streams)))
    if "ts" not in case.streams[name]["columns"]:
        return
    column = data.draw(st.sampled_from(columns(case)))
    plain = outcome(case, f"SELECT {column}, COUNT(*){body(case)} GROUP BY {column}, {name}.ts")
    wide = outcome(case, f"SELECT {column}, COUNT(*){body(case)} GROUP BY {column}, window({name}.ts, 10)")
    assert plain is wide


@given(BODIES, st.data())
def test_rows_without_a_match_are_the_others(case: Case, data: st.DataObject) -> None:
    names = list(case.streams)
    if len(names) < 2:
        return
    outer = data.draw(st.sampled_from(names))
    inner = ", ".join(name for name in names if name != outer)
    where = case.sql[case.sql.index(" WHERE ") :] if " WHERE " in case.sql else ""
    column = data.draw(st.sampled_from([c for c in columns(case) if c.startswith(f"{outer}.")] + ["1"]))
    looked = f"EXISTS (SELECT 1 FROM {inner}{where})"
    some = outcome(case, f"SELECT {column} FROM {outer} WHERE {looked}")
    assert outcome(case, f"SELECT {column} FROM {outer} WHERE NOT {looked}") is some
    once = outcome(case, f"SELECT DISTINCT {column} FROM {outer} WHERE {looked}")
    assert once is outcome(case, f"SELECT DISTINCT {column} FROM {', '.join(names)}{where}")
    if some is Outcome.BOUNDED and column == "1":
        assert once is not Outcome.UNBOUNDED
