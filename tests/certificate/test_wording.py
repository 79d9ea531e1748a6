"""Suggestions in the words of each dialect: written into the user's own text, and decided again there."""

from __future__ import annotations

import pytest

from streambound.certificate.wording import Spot, Wording
from streambound.compiler.report import Report, check
from streambound.query.catalog import Catalog
from streambound.query.dialects.languages import LANGUAGES

STREAM = {
    "flink": "CREATE TABLE {0} (id BIGINT, `At` TIMESTAMP(3), WATERMARK FOR `At` AS `At`)"
    " WITH ('connector' = 'kafka')",
    "ksql": "CREATE STREAM {0} (id BIGINT KEY, v INT) WITH (KAFKA_TOPIC = '{0}', VALUE_FORMAT = 'JSON')",
    "risingwave": 'CREATE SOURCE {0} (id INT, "At" TIMESTAMP, WATERMARK FOR "At" AS "At")'
    " WITH (connector = 'kafka') FORMAT PLAIN ENCODE JSON",
    "feldera": "CREATE TABLE {0} (id INT NOT NULL, \"At\" TIMESTAMP NOT NULL LATENESS INTERVAL '0' SECOND)"
    " WITH ('append_only' = 'true')",
    "arroyo": 'CREATE TABLE {0} (id BIGINT, "At" TIMESTAMP NOT NULL, WATERMARK FOR "At" AS "At")'
    " WITH (connector = 'kafka', type = 'source')",
    "azure": "CREATE TABLE {0} (id bigint, [At] datetime)",
    "timeplus": "CREATE STREAM {0} (id int64, `At` datetime64(3)) SETTINGS event_time_column='At'",
}
STREAM["sqrl"] = STREAM["flink"]
FROM = {"azure": "{0} {1} TIMESTAMP BY [At]"}
EMIT = {"ksql": " EMIT CHANGES", "risingwave": " EMIT ON WINDOW CLOSE"}
COUNTED = {
    "flink": "TUMBLE(orders.`At`, INTERVAL '1' HOUR)",
    "ksql": "WINDOW TUMBLING (SIZE 1 HOUR)",
    "risingwave": "DATE_TRUNC('hour', orders.\"At\")",
    "feldera": 'TIMESTAMP_TRUNC(orders."At", HOUR)',
    "arroyo": "TUMBLE(INTERVAL '1 hour')",
    "azure": "TumblingWindow(hour, 1)",
    "timeplus": "DATE_TRUNC('hour', orders.\"At\")",
}
JOINED = {
    "flink": "p.`At` BETWEEN o.`At` - INTERVAL '1' HOUR AND o.`At` + INTERVAL '1' HOUR",
    "ksql": "WITHIN 1 HOUR",
    "risingwave": 'p."At" BETWEEN o."At" - INTERVAL \'1 hour\' AND o."At" + INTERVAL \'1 hour\'',
    "feldera": 'p."At" BETWEEN o."At" - INTERVAL \'1\' HOUR AND o."At" + INTERVAL \'1\' HOUR',
    "arroyo": 'p."At" BETWEEN o."At" - INTERVAL \'1 hour\' AND o."At" + INTERVAL \'1 hour\'',
    "azure": "DATEDIFF(hour, o, p) BETWEEN -1 AND 1",
    "timeplus": 'p."At" BETWEEN o."At" - INTERVAL 1 HOUR AND o."At" + INTERVAL 1 HOUR',
}


def script(dialect: str, query: str) -> str:
    """Two streams and a query that is a view, or what the dialect has for one."""
    head = "".join(f"{STREAM[dialect].format(name)};\n" for name in ("orders", "pays"))
    view = "CREATE TABLE v AS " if dialect == "ksql" else "CREATE VIEW v AS "
    view = "CREATE STREAM v AS " if dialect == "ksql" and "JOIN" in query else view
    if dialect == "azure":
        return head + query.replace(" FROM", " INTO v FROM")
    return f"{head}{view}{query}{EMIT.get(dialect, '')};"


def checked(sql: str, dialect: str) -> Report:
    return check(sql, Catalog((), "none"), dialect=dialect, query="v")


def first_is_bounded(sql: str, dialect: str, added: str) -> None:
    """The first suggestion says, and has in the text, what is added, and the text is bounded."""
    report = checked(sql, dialect)
    assert report.verdict == "unbounded", report.error
    first = report.suggestions[0]
    assert first.whole is not None and first.written is not None
    assert added in first.change and added in first.written and first.written in first.whole
    assert checked(first.whole, dialect).verdict == "bounded"
    assert first.to_json()["statement"] == first.written


@pytest.mark.parametrize("dialect", COUNTED)
def test_a_window_as_a_key_is_written_as_the_dialect_has_it(dialect: str) -> None:
    source = FROM.get(dialect, "{0}").format("orders", "")
    first_is_bounded(
        script(dialect, f"SELECT id, COUNT(*) AS n FROM {source} GROUP BY id"), dialect, COUNTED[dialect]
    )


@pytest.mark.parametrize("dialect", JOINED)
def test_a_window_between_streams_is_written_as_the_dialect_has_it(dialect: str) -> None:
    one, other = (FROM.get(dialect, "{0} {1}").format(*names) for names in (("orders", "o"), ("pays", "p")))
    sql = script(dialect, f"SELECT o.id FROM {one} JOIN {other} ON o.id = p.id")
    first_is_bounded(sql, dialect, JOINED[dialect])
    assert JOINED[dialect] in checked(sql, dialect).causes[0].fix


@pytest.mark.parametrize("dialect", ["flink", "risingwave", "feldera"])
def test_a_rank_in_a_sub_query_has_the_day_in_its_key_or_a_bound_within(dialect: str) -> None:
    query = (
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY {0}) AS rn FROM orders) AS r"
        " WHERE rn = 1"
    )
    stamp = "`At`" if dialect == "flink" else '"At"'
    sql = script(dialect, query.format(stamp))
    report = checked(sql, dialect)
    day, bound = report.suggestions
    assert day.written is not None and bound.written is not None
    assert f"PARTITION BY id, CAST({stamp} AS DATE)" in day.written
    assert "FROM orders WHERE id BETWEEN 0 AND 999)" in bound.written
    assert bound.catalog == {"orders": {"domains": {"id": {"min": 0, "max": 999}}}}
    for one in (day, bound):
        assert one.whole is not None and checked(one.whole, dialect).verdict == "bounded"


@pytest.mark.parametrize("dialect", sorted(set(STREAM) - {"azure", "ksql", "arroyo"}))
def test_what_is_there_is_put_into_parentheses_if_it_has_or(dialect: str) -> None:
    sql = script(dialect, "SELECT o.id FROM orders o JOIN pays p ON o.id = p.id WHERE o.id > 5 OR p.id < 2")
    first = checked(sql, dialect).suggestions[0]
    assert first.written is not None and "WHERE (o.id > 5 OR p.id < 2) AND " in first.written


def test_names_have_quotes_where_the_text_or_the_dialect_wants_them() -> None:
    wording = Wording(LANGUAGES["risingwave"], frozenset({"Mixed"}))
    said = wording.addition("s.Mixed <= 5 AND s.`group` IN ('it''s')")
    assert (said.text, said.spot) == ("s.\"Mixed\" <= 5 AND s.\"group\" IN ('it''s')", Spot.LISTED)
    assert Wording(LANGUAGES["flink"]).addition("s.day >= DATE '2024-01-01'").text == (
        "s.day >= DATE '2024-01-01'"
    )
