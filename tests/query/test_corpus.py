"""Corpus files: a line that is no good has one clear error, and the other lines still come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streambound.evaluation.corpus import run_line
from streambound.query.parse.corpus import CorpusLine, read_corpus

GOOD: dict[str, Any] = {"id": "x", "streams": {"S": {"A": "int"}}, "sql": "SELECT A FROM S WHERE A > 1"}


def lines(folder: Path, *texts: str, prefix: str = "") -> list[CorpusLine]:
    path = folder / "corpus.jsonl"
    path.write_text(prefix + "\n".join(texts), encoding="utf-8")
    return list(read_corpus(path))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"id": "x", "n": ' + "9" * 5000 + "}", "not JSON that can be read"),
        ('{"id": "x\\ud800", "sql": "SELECT A FROM S"}', "lone surrogate"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": ["x"], "sql": 1}', "the line has no sql"),
    ],
)
def test_a_bad_line_is_one_error_and_the_rest_come(tmp_path: Path, bad: str, message: str) -> None:
    found, good = lines(tmp_path, bad, json.dumps(GOOD))
    assert found.id == "corpus.jsonl:1" and message in str(found.error)
    assert good.error is None


def test_a_byte_order_mark_is_no_json(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, json.dumps(GOOD), prefix="\ufeff")
    assert line.error is None


@pytest.mark.parametrize("engine", ["onepass", "reference"])
@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("date", 99999999, "column A: 99999999 is not a value of type date"),
        ("timestamp", 10**20, "is not a value of type timestamp"),
        ("double", 10**400, "is not a value of type double"),
        ("int", "1_0", "'1_0' is not a value of type int"),
        ("int", [1], "[1] is not a value of type int"),
        ("decimal(3,1)", 100, "100 is not a value of type decimal(3,1)"),
    ],
)
def test_events_out_of_range_are_one_error(
    tmp_path: Path, engine: str, kind: str, value: Any, message: str
) -> None:
    body = {"columns": {"A": kind, "N": "int"}}
    line = {"id": "x", "streams": {"S": body}, "sql": "SELECT A FROM S WHERE N > 0"}
    (found,) = lines(tmp_path, json.dumps({**line, "events": [{"stream": "S", "A": value, "N": 1}]}))
    answer, code = run_line(found, engine)
    assert code == 2 and "event 0: column A" in answer["error"] and message in answer["error"]


@pytest.mark.parametrize("ts", ["x", [1], True, 1.5])
def test_a_time_that_is_no_integer_is_one_error(tmp_path: Path, ts: Any) -> None:
    streams = {"S": {"columns": {"A": "int", "t": "int"}, "timestamp": "t"}, "T": {"B": "int"}}
    events = [{"stream": "S", "A": 1, "t": 0}, {"stream": "T", "B": 1, "ts": ts}]
    sql = "SELECT A FROM S, T WHERE A = B AND A BETWEEN 1 AND 3"
    (found,) = lines(tmp_path, json.dumps({"id": "x", "streams": streams, "sql": sql, "events": events}))
    answer, code = run_line(found, "reference")
    assert code == 2 and "event 1 of T: ts is" in answer["error"]


def test_decimals_are_printed_in_full(tmp_path: Path) -> None:
    texts = ["123456789012345678901234567890123456.78", "0.00"]
    line = {"id": "x", "streams": {"S": {"A": "decimal(38,2)"}}, "sql": "SELECT A FROM S"}
    events = [{"stream": "S", "A": text} for text in texts]
    (found,) = lines(tmp_path, json.dumps({**line, "events": events}))
    answer, _ = run_line(found, "onepass")
    assert [row["row"] for row in answer["answers"]] == [[text] for text in texts]
