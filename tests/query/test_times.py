"""A second time column with a promise: ``times: {expires: {after: ts, within: 1 day}}``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streambound import evaluate
from streambound.compiler.report import check
from streambound.errors import CatalogError, DataError, UnsupportedError
from streambound.evaluation.events import batches
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read, statement

COLUMNS = {"id": "int", "ts": "timestamp", "expires": "timestamp"}
OFFERS = {"columns": COLUMNS, "timestamp": "ts", "times": {"expires": {"after": "ts", "within": "1 day"}}}
CLICKS = {"columns": {"id": "int", "ts": "timestamp"}, "timestamp": "ts"}
SHORT = {**OFFERS, "times": {"expires": {"after": "ts", "within": "2 hours"}}}
CATALOG = catalog_from_mapping({"a": OFFERS, "b": CLICKS, "c": SHORT})
BETWEEN = "SELECT a.id FROM a, b WHERE a.id = b.id AND b.ts BETWEEN a.ts AND a.expires"


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ("b.ts BETWEEN a.ts AND a.expires", "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 DAY"),
        ("b.ts >= a.ts AND a.expires > b.ts", "b.ts >= a.ts AND b.ts < a.ts + INTERVAL 1 DAY"),
        ("b.ts + INTERVAL 1 HOUR <= a.expires", "b.ts + INTERVAL 1 HOUR <= a.ts + INTERVAL 1 DAY"),
        ("NOT (b.ts <= a.expires)", "b.ts > a.ts"),
        ("b.ts >= a.expires", "b.ts >= a.ts"),
        ("a.expires < c.expires", "a.ts < c.ts + INTERVAL 2 HOURS"),
        ("NOT (a.expires < c.expires)", "a.ts + INTERVAL 1 DAY >= c.ts"),
        ("a.expires <= c.expires AND c.ts <= a.ts", "c.ts BETWEEN a.ts - INTERVAL 2 HOURS AND a.ts"),
    ],
)
def test_it_is_read_as_what_follows_of_the_timestamps(where: str, same: str) -> None:
    for select in ("a.id", "DISTINCT a.id", "1 AS one"):
        for more in ("", " AND a.id = b.id"):
            other = "b" if "b." in where else "c"
            sql = f"SELECT {select} FROM a, {other} WHERE {{}}{more.replace('b.', f'{other}.')}"
            found, plain = (check(sql.format(one), CATALOG, suggest=False) for one in (where, same))
            assert found.verdict == plain.verdict
            assert [r.code for r in found.reasons] == [r.code for r in plain.reasons]
            if found.verdict == "bounded":
                assert "second time column" in str(found.unplanned)


# What is compared with a constant, and what follows of the timestamp.
EARLY = {
    "a.expires < TIMESTAMP '2026-01-01'": True,
    "a.expires <= TIMESTAMP '2026-01-01'": True,
    "TIMESTAMP '2026-01-01' > a.expires": True,
    "a.expires = TIMESTAMP '2026-01-01'": True,
    "a.expires IN (TIMESTAMP '2026-01-01', TIMESTAMP '2026-03-01')": True,
    "NOT (a.expires >= TIMESTAMP '2026-01-01')": True,
    "(a.expires < TIMESTAMP '2026-01-01' OR a.id = 7)": True,
    "a.expires > TIMESTAMP '2026-01-01'": False,
    "a.expires <> TIMESTAMP '2026-01-01'": False,
    "(a.expires < TIMESTAMP '2026-01-01' OR a.id > 7)": False,
}


@pytest.mark.parametrize(("where", "bounded"), EARLY.items())
def test_a_stream_whose_second_time_is_early_ends(where: str, bounded: bool) -> None:
    for sql in (
        f"SELECT DISTINCT a.id FROM a WHERE {where}",
        f"SELECT a.id FROM a, b WHERE a.id = b.id AND {where}",
    ):
        assert check(sql, CATALOG, suggest=False).verdict == ("bounded" if bounded else "unbounded"), sql
    plain = {key: value for key, value in OFFERS.items() if key != "times"}
    catalog = catalog_from_mapping({"a": plain, "b": CLICKS})
    assert check(f"SELECT DISTINCT a.id FROM a WHERE {where}", catalog, suggest=False).verdict == "unbounded"


def test_equal_second_times_are_columns_within_a_window() -> None:
    sql = "SELECT {} FROM a, c WHERE a.expires = c.expires"
    for select in ("a.id, c.id", "DISTINCT a.ts, c.id"):
        assert check(sql.format(select), CATALOG, suggest=False).verdict == "bounded", select
    assert check(sql.format("DISTINCT a.id"), CATALOG, suggest=False).verdict == "unbounded"


@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_answers_are_those_of_the_columns_as_they_are(data: st.DataObject) -> None:
    """What follows of a promise leaves the answers of events that keep it as they are."""
    entry = {"columns": {"id": "int", "ts": "int", "e": "int"}, "timestamp": "ts"}
    times = {name: {"e": {"after": "ts", "within": n}} for name, n in (("a", 3), ("c", 2))}
    promised = {name: {**entry, "times": one} for name, one in times.items()}
    where = data.draw(
        st.sampled_from(["a.e = c.e", "a.e < 6", "a.e = 5 AND a.id = c.id", "a.e IN (2, 4, NULL, NULL)"])
    )
    distinct = data.draw(st.sampled_from(["", "DISTINCT "]))
    sql = f"SELECT {distinct}a.id, c.ts FROM a, c WHERE {where} AND c.ts >= a.ts"
    events = []
    for ts in range(8):
        for name, within in (("a", 3), ("c", 2)):
            for _ in range(data.draw(st.integers(0, 2))):
                second = data.draw(st.one_of(st.none(), st.integers(ts, ts + within)))
                events.append({"stream": name, "ts": ts, "id": data.draw(st.integers(0, 1)), "e": second})
    plain = catalog_from_mapping({"a": entry, "c": entry})
    wanted = evaluate(sql, plain, events, engine="reference")["answers"]
    assert evaluate(sql, catalog_from_mapping(promised), events, engine="reference")["answers"] == wanted
    assert evaluate(sql, catalog_from_mapping(promised), events)["answers"] == wanted


def test_without_the_promise_it_is_an_ordinary_column() -> None:
    plain = {key: value for key, value in OFFERS.items() if key != "times"}
    catalog = catalog_from_mapping({"a": plain, "b": CLICKS})
    assert check(BETWEEN, catalog, suggest=False).verdict == "unbounded"
    assert check(BETWEEN, CATALOG, suggest=False).verdict == "bounded"


def test_what_is_not_read_is_refused_by_name() -> None:
    both = "SELECT a.id FROM a, b, b c WHERE b.ts <= a.expires AND c.ts >= a.expires"
    with pytest.raises(UnsupportedError, match="compared from below and from above"):
        read(both, CATALOG)
    tied = "SELECT a.id FROM a, b, c WHERE b.ts <= a.expires AND a.expires = c.expires"
    with pytest.raises(UnsupportedError, match="compared from below and from above"):
        read(tied, CATALOG)
    with pytest.raises(UnsupportedError, match="a second time, by <>"):
        read("SELECT a.id FROM a, c WHERE a.expires <> c.expires", CATALOG)
    with pytest.raises(UnsupportedError, match="a second time, by ="):
        read("SELECT a.id FROM a, b WHERE b.ts = a.expires", CATALOG)
    with pytest.raises(UnsupportedError, match="second time column"):
        statement(BETWEEN, CATALOG)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([], "times is"),
        ({"other": {"after": "ts", "within": "1 day"}}, "times names other"),
        ({"expires": "1 day"}, "times of expires: found"),
        ({"expires": {"after": "id", "within": "1 day"}}, "after is 'id'"),
        ({"id": {"after": "ts", "within": "1 day"}}, "its type is int"),
        ({"expires": {"after": "ts", "within": 5}}, "within is 5"),
    ],
)
def test_what_is_no_promise_is_refused(times: Any, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        catalog_from_mapping({"a": {**OFFERS, "times": times}})


def test_events_that_break_it_are_told() -> None:
    found = statement("SELECT id, expires FROM a", CATALOG)
    for expires, kept in (("00:00", True), ("23:59", True), (None, True)):
        stamp = None if expires is None else f"2026-01-01 {expires}:00"
        event = {"stream": "a", "id": 1, "ts": "2026-01-01 00:00:00", "expires": stamp}
        assert len(list(batches(found, [event]))) == kept
    for stamp in ("2025-12-31 23:59:59", "2026-01-02 00:00:01"):
        event = {"stream": "a", "id": 1, "ts": "2026-01-01 00:00:00", "expires": stamp}
        with pytest.raises(DataError, match="is not within what times promises"):
            list(batches(found, [event]))
