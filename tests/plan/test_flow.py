"""Groups whose keys say a time in other words are over when that time is, as those of the time itself."""

from __future__ import annotations

import pytest

from streambound.boundedness.criterion.verdict import Outcome
from streambound.compiler import compile
from streambound.plan.flow import Times
from streambound.query.catalog import catalog_from_mapping

CATALOG = catalog_from_mapping({"S": {"columns": {"A": "int", "ts": "timestamp"}, "timestamp": "ts"}})


@pytest.mark.parametrize(
    ("written", "dialect", "rounded"),
    [
        ("DATE_FORMAT(ts, 'yyyy-MM-dd')", "spark", "DATE_TRUNC('day', ts)"),
        ("DATE_FORMAT(ts, 'yyyyMM')", "spark", "DATE_TRUNC('month', ts)"),
        ("YEAR(ts)", "spark", "DATE_TRUNC('year', ts)"),
        ("DATE_FORMAT(ts, 'yyyy-MM-dd HH')", "flink", "DATE_TRUNC('hour', ts)"),
        ("TO_CHAR(ts, 'YYYY-MM-DD HH24:MI')", "risingwave", "DATE_TRUNC('minute', ts)"),
        ("FORMAT_TIMESTAMP(ts, 'yyyy-MM')", "ksql", "DATE_TRUNC('month', ts)"),
    ],
)
def test_a_key_that_is_written_is_over_with_its_time(written: str, dialect: str, rounded: str) -> None:
    def units(key: str, of: str) -> int | None:
        job = compile(f"SELECT {key} AS k, COUNT(*) AS n FROM S GROUP BY {key}", CATALOG, dialect=of)
        assert job.unplanned is None
        return job.units

    assert units(written, dialect) == units(rounded, "spark") is not None


def test_other_digits_say_nothing() -> None:
    sql = "SELECT DATE_FORMAT(ts, '7 yyyy') AS k, COUNT(*) AS n FROM S GROUP BY DATE_FORMAT(ts, '7 yyyy')"
    assert compile(sql, CATALOG).unplanned is not None


@pytest.mark.parametrize(
    ("written", "dialect"),
    [
        ("DATE_FORMAT(ts, 'yy-MM-dd')", "flink"),  # Again after a hundred years.
        ("DATE_FORMAT(ts, 'YYYY-MM-dd')", "flink"),  # The year of the week.
        ("DATE_FORMAT(ts, 'YYYY-MM-DD')", "flink"),  # And the day of the year.
        ("DATE_FORMAT(ts, 'yyyyMd')", "flink"),  # 1-11 and 11-1 are one.
        ("DATE_FORMAT(ts, 'yyyy-MMMMM')", "flink"),  # J is January, June and July.
        ("DATE_FORMAT(ts, 'yyyy-MM-dd hh')", "flink"),
        ("TO_CHAR(ts, 'YYYY-MM-DD HH')", "risingwave"),  # Of twelve hours.
        ("TO_CHAR(ts, 'YYYY-Q')", "risingwave"),
        ("TO_CHAR(ts, 'YYY-MM')", "risingwave"),
        ("TO_CHAR(ts, 'IYYY-MM-DD')", "risingwave"),
    ],
)
def test_what_is_written_otherwise_may_come_again(written: str, dialect: str) -> None:
    sql = f"SELECT {written} AS k, A, COUNT(*) AS n FROM S GROUP BY {written}, A"
    assert compile(sql, CATALOG, dialect=dialect).verdict.outcome is Outcome.UNKNOWN


def test_parts_of_a_year_are_few() -> None:
    sql = "SELECT YEAR(ts) AS y, MONTH(ts) AS m, COUNT(*) AS n FROM S GROUP BY YEAR(ts), MONTH(ts)"
    # Two years, twelve months or none, two counts.
    assert compile(sql, CATALOG).units == 2 * 13 * 2


@pytest.mark.parametrize(
    ("written", "end"),
    [("1970", 10), (1970, 10), ("1970-01-02", 86_400_000_010), ("197002", 31 * 86_400_000_000 + 10)],
)
def test_when_a_written_time_is_over(written: str | int, end: int) -> None:
    times = Times(written={1: (0, 7)}, delay=3)
    assert times and times.end(("a", written)) == end
    assert times.seen(("a", written)) == end - 10
    assert times.among({1: 0}).end((written,)) == end
