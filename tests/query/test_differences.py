"""Differences of timestamps: the comparison that is read holds where DuckDB says that the difference does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

import duckdb
import pytest
from sqlglot import expressions as exp

from streambound.compiler.report import check
from streambound.evaluation.corpus import evaluated
from streambound.query.catalog import catalog_from_mapping
from streambound.query.dialects.languages import LANGUAGES
from streambound.query.differences import microseconds, plain
from streambound.query.parse.corpus import CorpusLine

UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400}
OPS = ("<", "<=", "=", ">=", ">")
CATALOG = catalog_from_mapping(
    {
        "a": {"columns": {"k": "int", "ts": "timestamp"}, "timestamp": "ts"},
        "b": {"columns": {"k": "int", "ts": "timestamp"}, "timestamp": "ts"},
    }
)


def conditions(r: Random) -> Iterator[tuple[str, str, str, bool]]:
    """Conditions in a dialect, what DuckDB is asked, and whether the reading is wider by up to one unit."""
    for _ in range(30):
        unit, op, n = r.choice(list(UNITS)), r.choice(OPS), r.choice([-2, -1, 0, 1, 2, 5])
        low, high = sorted((n, r.choice([-3, 0, 1, 4])))
        whole = f"date_sub('{unit.lower()}', b.ts, a.ts)"
        edges = f"date_diff('{unit.lower()}', b.ts, a.ts)"
        flink, feldera = "flink", "feldera"
        yield flink, f"TIMESTAMPDIFF({unit}, b.ts, a.ts) {op} {n}", f"{whole} {op} {n}", False
        yield flink, f"{n} {op} TIMESTAMPDIFF({unit}, b.ts, a.ts)", f"{n} {op} {whole}", False
        yield (
            feldera,
            f"TIMESTAMPDIFF({unit}, b.ts, a.ts) BETWEEN {low} AND {high}",
            (f"{whole} BETWEEN {low} AND {high}"),
            False,
        )
        yield "spark", f"timestampdiff({unit}, b.ts, a.ts) {op} {n}", f"{whole} {op} {n}", False
        yield "duckdb", f"{whole} {op} {n}", f"{whole} {op} {n}", False
        yield "duckdb", f"{edges} {op} {n}", f"{edges} {op} {n}", True
        yield "azure", f"DATEDIFF({unit}, b.ts, a.ts) {op} {n}", f"{edges} {op} {n}", True
        yield "materialize", f"DATEDIFF('{unit}', b.ts, a.ts) {op} {n}", f"{edges} {op} {n}", True
        length = f"INTERVAL '{n}' {unit}"
        asked = f"epoch_us(a.ts) - epoch_us(b.ts) {op} {n * UNITS[unit] * 10**6}"
        yield flink, f"a.ts - b.ts {op} {length}", asked, False
        yield "postgres", f"a.ts {op} b.ts + '{n} {unit.lower()}s'::interval", asked, False
        yield "postgres", f"a.ts - {length} {op} b.ts", asked, False
        yield "postgres", f"EXTRACT(EPOCH FROM a.ts - b.ts) {op} {n * UNITS[unit]}", asked, False
        months = f"{n} {r.choice(['month', 'quarter', 'year'])}"
        parted = f"INTERVAL '{months}' + INTERVAL '{low} day'"
        for asked, text in (
            (f"a.ts {op} b.ts + INTERVAL '{months}'", f"a.ts {op} b.ts + INTERVAL '{months}'"),
            (f"a.ts - INTERVAL '{months}' {op} b.ts", f"a.ts - INTERVAL '{months}' {op} b.ts"),
            (f"NOT a.ts {op} b.ts + {parted}", f"NOT a.ts {op} b.ts + {parted}"),
        ):
            # There is no one length that NOT (a = b + 1 month) leaves out.
            if n and not (op == "=" and asked.startswith("NOT")):
                yield "postgres", text, asked, True
        if n > 0:
            whole = f"date_sub('month', b.ts, a.ts) {op} {n}"
            yield flink, f"TIMESTAMPDIFF(MONTH, b.ts, a.ts) {op} {n}", whole, True
        yield (
            "timeplus",
            f"date_diff_within({abs(n)}{unit[0].lower()}, a.ts, b.ts)",
            (f"abs(epoch_us(a.ts) - epoch_us(b.ts)) <= {abs(n) * UNITS[unit] * 10**6}"),
            False,
        )


def read(dialect: str, condition: str) -> tuple[exp.Expr, bool]:
    language = LANGUAGES[dialect]
    (query,) = language.dialect.parse(f"SELECT 1 FROM a, b WHERE {condition}")
    assert query is not None
    relaxed: list[exp.Expr] = []
    found = plain(query.args["where"].this, dialect, relaxed)
    assert found is not query.args["where"].this or dialect == "postgres", condition
    return found, bool(relaxed)


def moments(r: Random) -> list[dt.datetime]:
    start = dt.datetime(2026, 1, 1)
    near = [0, 1, 59, 60, 61, 3599, 3600, 3601, 7200, 86399, 86400, 86401, 172800]
    micro = (0, 0, 1, 999_999)
    within_a_day = [
        start + dt.timedelta(seconds=r.choice(near) * r.choice([1, 1, 2]), microseconds=r.choice(micro))
        for _ in range(40)
    ]
    return [*within_a_day, *(start + dt.timedelta(days=r.randint(0, 900)) for _ in range(40))]


def test_a_difference_holds_where_its_comparison_does() -> None:
    r = Random(0)
    with duckdb.connect() as connection:
        for name in ("a", "b"):
            connection.execute(f"CREATE TABLE {name} (ts TIMESTAMP)")
            connection.executemany(f"INSERT INTO {name} VALUES (?)", [(m,) for m in moments(r)])
        for dialect, condition, asked, wider in conditions(r):
            found, relaxed = read(dialect, condition)
            assert relaxed is wider, condition
            text = found.sql(dialect="duckdb")
            alone = (f"({asked}) AND NOT ({text})", f"({text}) AND NOT ({asked})")
            both = f"SELECT {', '.join(f'count(*) FILTER (WHERE {one})' for one in alone)} FROM a, b"
            missed, added = connection.execute(both).fetchall()[0]
            assert missed == 0, f"{dialect}: {condition} became {text}"
            assert wider or added == 0, f"{dialect}: {condition} became {text}"


@pytest.mark.parametrize(
    ("dialect", "text", "length"),
    [
        ("flink", "INTERVAL '5' MINUTE", 300),
        ("flink", "INTERVAL '10' MINUTES", 600),
        ("flink", "INTERVAL '1 02:03:04' DAY TO SECOND", 93784),
        ("flink", "INTERVAL '02:03' HOUR TO MINUTE", 7380),
        ("flink", "INTERVAL '1:30' MINUTE TO SECOND", 90),
        ("spark", "INTERVAL '1 hour 30 minutes'", 5400),
        ("spark", "INTERVAL 1 HOUR 30 MINUTES", 5400),
        ("postgres", "INTERVAL '1 hour 30 minutes'", 5400),
        ("postgres", "'90 mins'::interval", 5400),
        ("postgres", "INTERVAL '01:30:00'", 5400),
        ("postgres", "-INTERVAL '2 days'", -172800),
        ("timeplus", "2m", 120),
        ("timeplus", "INTERVAL 2 MINUTE", 120),
        ("flink", "INTERVAL '1' MONTH", None),
        ("postgres", "INTERVAL '1 month'", None),
    ],
)
def test_lengths_of_time(dialect: str, text: str, length: int | None) -> None:
    (query,) = LANGUAGES[dialect].dialect.parse(f"SELECT {text} FROM a")
    assert query is not None
    found = microseconds(query.expressions[0])
    assert found == (None if length is None else length * 10**6)


def test_what_is_wider_is_decided_and_not_evaluated() -> None:
    sql = "SELECT a.k FROM a JOIN b ON a.k = b.k AND DATEDIFF(minute, a, b) BETWEEN 0 AND 5"
    month = "SELECT a.k FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MONTH"
    assert check(month, CATALOG, dialect="flink").verdict == "bounded"
    assert "in months" in str(check(month, CATALOG, dialect="flink").unplanned)
    report = check(sql, CATALOG, dialect="azure")
    assert report.verdict == "bounded" and "boundaries" in str(report.unplanned)
    with pytest.raises(Exception, match="boundaries"):
        evaluated(CorpusLine("q", sql, CATALOG, (), dialect="azure"), "reference")


@pytest.mark.parametrize(
    ("where", "verdict"),
    [
        ("a.ts > NOW() - INTERVAL 1 HOUR", "bounded"),
        ("NOW() <= a.ts + INTERVAL 1 HOUR", "bounded"),
        ("a.ts < NOW() - INTERVAL 1 HOUR", "bounded"),
        ("a.ts BETWEEN NOW() - INTERVAL 2 HOURS AND NOW() - INTERVAL 1 HOUR", "bounded"),
        ("a.k > 3 AND CURRENT_TIMESTAMP - INTERVAL 1 HOUR < a.ts", "bounded"),
        ("a.ts > NOW() - INTERVAL 1 HOUR OR a.k = 1", "invalid"),
        ("NOW() > TIMESTAMP '2026-01-01 00:00:00'", "invalid"),
    ],
)
def test_the_present_time_in_a_filter(where: str, verdict: str) -> None:
    report = check(f"SELECT a.k FROM a WHERE {where}", CATALOG)
    assert report.verdict == verdict, report
    if verdict == "bounded":
        assert report.unplanned is None and "rows of a within" in str(report.units_formula)


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        # The distinct values of an hour need the rows of an hour; those of all time need all.
        ("SELECT DISTINCT k FROM a WHERE ts > NOW() - INTERVAL 1 HOUR", "bounded"),
        ("SELECT DISTINCT k FROM a WHERE ts < NOW() - INTERVAL 1 HOUR", "unbounded"),
        # Both sides end; one alone leaves the other waiting for ever.
        ("SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.ts > NOW() - INTERVAL 1 HOUR", "unbounded"),
        (
            "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.ts > NOW() - INTERVAL 1 HOUR"
            " AND b.ts > NOW() - INTERVAL 1 HOUR",
            "bounded",
        ),
        # A delay adds nothing to what a join within a window keeps.
        (
            "SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
            " WHERE a.ts < NOW() - INTERVAL 1 DAY",
            "bounded",
        ),
    ],
)
def test_what_the_present_time_bounds(sql: str, verdict: str) -> None:
    assert check(sql, CATALOG, suggest=False).verdict == verdict


def test_within_is_about_the_latest_row_of_a_side() -> None:
    # Of a and b the later one has to be near c: so a may be long before.
    sql = (
        "SELECT a.k FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k JOIN b c WITHIN (2 HOURS, 3 HOURS) ON a.k = c.k"
        " EMIT CHANGES"
    )
    report = check(sql, CATALOG, dialect="ksql", suggest=False)
    assert report.verdict == "bounded"
    near = (
        "SELECT a.k FROM a, b, b c WHERE a.k = b.k AND a.k = c.k"
        " AND b.ts >= a.ts - INTERVAL 1 HOUR AND b.ts <= a.ts + INTERVAL 1 HOUR"
        " AND c.ts >= a.ts - INTERVAL 2 HOURS AND c.ts >= b.ts - INTERVAL 2 HOURS"
        " AND (c.ts <= a.ts + INTERVAL 3 HOURS OR c.ts <= b.ts + INTERVAL 3 HOURS)"
    )
    assert check(near, CATALOG, suggest=False).verdict == report.verdict
    r = Random(1)
    start = dt.datetime(2026, 1, 1)
    events = sorted(
        (
            {"stream": r.choice("ab"), "k": 1, "ts": str(start + dt.timedelta(minutes=30 * r.randrange(14)))}
            for _ in range(16)
        ),
        key=lambda event: str(event["ts"]),
    )
    lines = (
        CorpusLine("q", text, CATALOG, tuple(events), dialect=d) for text, d in ((sql, "ksql"), (near, None))
    )
    one, other = (evaluated(line, "reference")["answers"] for line in lines)
    assert one == other and one


@pytest.mark.parametrize("length", ["1 MONTH", "x HOURS", "(1 HOUR, 2)"])
def test_within_without_a_length_is_refused(length: str) -> None:
    report = check(f"SELECT a.k FROM a JOIN b WITHIN {length} ON a.k = b.k", CATALOG, dialect="ksql")
    assert report.verdict == "invalid" and report.error is not None and report.error.location is not None


def test_a_text_with_the_present_time_gets_no_suggestions() -> None:
    report = check("SELECT DISTINCT k FROM a WHERE ts < NOW() - INTERVAL 1 HOUR", CATALOG)
    assert report.verdict == "unbounded" and not report.suggestions
