"""What lies at a path in a JSON text, in the words of each dialect; Python's own reader is the judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from tests.statements import wrong

from streambound.compiler.report import check
from streambound.errors import QueryError, UnsupportedError
from streambound.evaluation.corpus import evaluated, run_line
from streambound.history.local import LocalExecutor
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read
from streambound.query.parse.corpus import CorpusLine

STREAMS: dict[str, Any] = {
    "S": {"columns": {"J": "string", "N": "int", "ts": "int"}, "timestamp": "ts", "not_null": ["N"]}
}
CATALOG = catalog_from_mapping(STREAMS)
PATHS = [
    ("spark", "get_json_object(J, '$.a.b')"),
    ("flink", "JSON_VALUE(J, '$.a.b')"),
    ("flink", "JSON_VALUE(J, 'lax $.a.b')"),
    ("postgres", "J -> 'a' ->> 'b'"),
    ("postgres", "J::jsonb -> 'a' ->> 'b'"),
    ("risingwave", "J #>> '{a,b}'"),
    ("ksql", "EXTRACTJSONFIELD(J, '$.a.b')"),
    ("duckdb", "json_extract_string(J, '$.a.b')"),
    ("timeplus", "J:a.b"),
]


def line_of(sql: str, documents: Sequence[str | None], dialect: str = "spark") -> CorpusLine:
    """A query over one row for each document."""
    events = tuple({"stream": "S", "ts": n, "N": n, "J": text} for n, text in enumerate(documents))
    return CorpusLine("q", sql, CATALOG, events, dialect=dialect, streams=STREAMS)


def documents(seed: int) -> list[str | None]:
    """JSON texts with something or nothing at a path, NULLs, and texts that are none."""
    r = Random(seed)
    values = ["x", "", "é \n\"'", "12", " 7 ", "1.5", True, False, None, 0, -3, 2**40]
    made: list[str | None] = [None, "", "{", "nothing", "[]", '"a"', "7"]
    for _ in range(8):
        inner: Any = {"b": r.choice(values), "c": r.choice(values)}
        within = r.choice([inner, inner, inner, {"c": 1}, r.choice(values), [inner]])
        made.append(json.dumps({"z": 1, "a": within}, ensure_ascii=r.random() < 0.5))
    r.shuffle(made)
    return made


def at_path(text: str | None) -> str | None:
    """What Python finds there, as a text."""
    try:
        value = json.loads(text or "")["a"]["b"]
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return json.dumps(value) if isinstance(value, (bool, int)) else value


@pytest.mark.parametrize(("dialect", "path"), PATHS)
def test_a_path_is_a_text(dialect: str, path: str) -> None:
    given = documents(len(path))
    line = line_of(f"SELECT N, {path} AS x FROM S", given, dialect)
    rows = [answer["row"] for answer in evaluated(line, "onepass")["answers"]]
    assert rows == [[n, at_path(text)] for n, text in enumerate(given)]
    assert evaluated(line, "reference")["answers"] == evaluated(line, "onepass")["answers"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT N FROM S WHERE JSON_VALUE(J, '$.a.b') IN ('x', '12')",
        "SELECT COUNT(*) AS n, MAX(N) AS m FROM S WHERE JSON_VALUE(J, '$.a.b') = 'true'",
        "SELECT N, JSON_VALUE(J, '$.a') AS c FROM S WHERE JSON_VALUE(J, '$.a.b') IS NOT NULL",
        "SELECT SUM(CAST(JSON_VALUE(J, '$.a.b') AS INT)) AS n FROM S",
        "SELECT COUNT(*) AS n FROM S x JOIN S y ON x.ts = y.ts"
        " AND JSON_VALUE(x.J, '$.a.b') = JSON_VALUE(y.J, '$.a.c')",
    ],
)
def test_over_history(sql: str) -> None:
    executor = LocalExecutor(1)
    judged = [wrong(executor, line_of(sql, documents(seed), "flink")) for seed in range(2)]
    assert not any(fault for fault, _ in judged) and any(answered for _, answered in judged)


def test_a_number_is_read_as_one_where_it_is_cast_to_one() -> None:
    given = ['{"a": 1.50}', '{"a": 1e3}', '{"a": "2.5"}', '{"a": true}', '{"a": {}}', "{}"]
    line = line_of("SELECT CAST(JSON_VALUE(J, '$.a') AS DOUBLE) AS x FROM S", given, "flink")
    rows = [answer["row"] for answer in evaluated(line, "onepass")["answers"]]
    assert rows == [[1.5], [1000.0], [2.5], [None], [None], [None]]


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"a": 1.50}', "cast it to DOUBLE"), ('{"a": 1e9}', "cast it"), ('{"a": [1]}', "an object or array")],
)
def test_what_engines_write_differently_is_an_error_where_it_comes(text: str, said: str) -> None:
    body, code = run_line(line_of("SELECT get_json_object(J, '$.a') AS x FROM S", [text]), "onepass")
    assert code and said in body["error"]


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        ("flink", "JSON_VALUE(J, '$.a[*]')"),
        ("flink", "JSON_VALUE(J, '$.a' RETURNING INT)"),
        ("flink", "JSON_QUERY(J, '$.a')"),
        ("flink", "JSON_VALUE(CAST(N AS STRING), J)"),
    ],
)
def test_other_paths_are_refused_by_name(dialect: str, path: str) -> None:
    report = check(f"SELECT {path} AS x FROM S", CATALOG, dialect=dialect, suggest=False)
    assert report.verdict == "bounded" and "cannot be evaluated yet" in str(report.unplanned)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH q AS (SELECT {} AS x FROM S) SELECT x FROM q",
        "SELECT N FROM S WHERE N > 0\nAND {} = '1' AND J ->> '$.b' = '2' UNION SELECT N FROM S",
        "CREATE VIEW v AS SELECT {} AS x FROM S; CREATE VIEW w AS SELECT x FROM v",
    ],
)
def test_a_path_that_spark_has_no_words_for_is_an_error_at_its_place(sql: str) -> None:
    with pytest.raises(UnsupportedError, match="neither names nor places") as error:
        read(sql.format("J ->> '$..a'"), CATALOG, dialect="duckdb", query="w" if "VIEW" in sql else None)
    location, before = error.value.location, sql[: sql.index("{")]
    assert location is not None and location.line == before.count("\n") + 1
    assert location.column == len(before) - before.rfind("\n")


@pytest.mark.parametrize("path", ["a", "", "a.b", "$..a", "$a", "$.a.", "$[x]", "$.a..b", ".a", "$[-1]"])
def test_what_is_no_path_to_spark_is_an_error_at_its_place(path: str) -> None:
    for sql in ("SELECT N, {} AS x FROM S", "WITH q AS (SELECT N FROM S\nWHERE {} = '1') SELECT N FROM q"):
        text = sql.format(f"get_json_object(J, '{path}')")
        with pytest.raises(QueryError, match="is no path in a JSON text") as error:
            read(text, CATALOG)
        location = error.value.location
        assert location is not None
        line = text.splitlines()[location.line - 1]
        assert line[location.column - 1 : location.column - 1 + location.length] == f"'{path}'"
        assert error.value.fix == (f"write '$.{path}'" if path.startswith("a") else None)


@pytest.mark.parametrize(
    "path", ["$", "$.a", "$[0].a", "$[\\'x y\\']", "$.a[*]", "$.*", "$ .a", "$. a b", "$.a[ 1 ]"]
)
def test_what_is_a_path_to_spark_is_read(path: str) -> None:
    report = check(f"SELECT get_json_object(J, '{path}') AS x FROM S", CATALOG, suggest=False)
    assert report.verdict == "bounded", report.error
