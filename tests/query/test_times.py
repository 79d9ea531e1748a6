"""A second time column with a promise: ``times: {expires: {after: ts, within: 1 day}}``."""

from __future__ import annotations

from typing import Any

import pytest

from streambound.compiler import check
from streambound.errors import CatalogError, DataError, UnsupportedError
from streambound.evaluation.events import batches
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read, statement

COLUMNS = {"id": "int", "ts": "timestamp", "expires": "timestamp"}
OFFERS = {"columns": COLUMNS, "timestamp": "ts", "times": {"expires": {"after": "ts", "within": "1 day"}}}
CLICKS = {"columns": {"id": "int", "ts": "timestamp"}, "timestamp": "ts"}
CATALOG = catalog_from_mapping({"a": OFFERS, "b": CLICKS})
BETWEEN = "SELECT a.id FROM a, b WHERE a.id = b.id AND b.ts BETWEEN a.ts AND a.expires"


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ("b.ts BETWEEN a.ts AND a.expires", "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 DAY"),
        ("b.ts >= a.ts AND a.expires > b.ts", "b.ts >= a.ts AND b.ts < a.ts + INTERVAL 1 DAY"),
        ("b.ts + INTERVAL 1 HOUR <= a.expires", "b.ts + INTERVAL 1 HOUR <= a.ts + INTERVAL 1 DAY"),
        ("NOT (b.ts <= a.expires)", "b.ts > a.ts"),
        ("b.ts >= a.expires", "b.ts >= a.ts"),
    ],
)
def test_it_is_read_as_what_follows_of_the_timestamps(where: str, same: str) -> None:
    for select in ("a.id", "DISTINCT a.id", "1 AS one"):
        for more in ("", " AND a.id = b.id"):
            sql = f"SELECT {select} FROM a, b WHERE {{}}{more}"
            found, plain = (check(sql.format(one), CATALOG, suggest=False) for one in (where, same))
            assert found.verdict == plain.verdict
            assert [r.code for r in found.reasons] == [r.code for r in plain.reasons]
            if found.verdict == "bounded":
                assert "second time column" in str(found.unplanned)


def test_without_the_promise_it_is_an_ordinary_column() -> None:
    plain = {key: value for key, value in OFFERS.items() if key != "times"}
    catalog = catalog_from_mapping({"a": plain, "b": CLICKS})
    assert check(BETWEEN, catalog).verdict == "unbounded"
    assert check(BETWEEN, CATALOG).verdict == "bounded"


def test_what_is_not_read_is_refused_by_name() -> None:
    both = "SELECT a.id FROM a, b, b c WHERE b.ts <= a.expires AND c.ts >= a.expires"
    with pytest.raises(UnsupportedError, match="compared from below and from above"):
        read(both, CATALOG)
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
