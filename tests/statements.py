"""Random statements of the whole grammar: local history, or Spark, against the definition at every marker.

The definition's final answer is held against DuckDB's for the plain SQL, where DuckDB can run it.

Joins with filters, OR and UNION (``tests.grammar``), with and without expressions, and in equal parts what
lies beyond them (``tests.beyond``). Only those that have a plan are counted; the others are told by why.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import sqlglot

from streambound.errors import PlanError, UnsupportedError
from streambound.evaluation.corpus import run_line
from streambound.evaluation.events import encode_static
from streambound.evaluation.flow import statement_pass
from streambound.history.corpus import run_corpus
from streambound.history.executor import Executor
from streambound.history.local import LocalExecutor
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine
from streambound.spark.executor import SparkExecutor
from streambound.spark.session import session
from tests.beyond import beyond
from tests.final_answers import answer_by_definition, answer_by_duckdb
from tests.grammar import statement_line

TOLD = 250


def line_of(seed: int) -> CorpusLine:
    """The statement of a seed, with its streams and events."""
    if seed % 2:
        return beyond(seed).line
    return statement_line(seed, 0.5 if seed % 4 else 0.0)


def duckdb_text(line: CorpusLine) -> str:
    """The statement of a line of ``line_of``, as DuckDB writes it."""
    seed = int(line.id)
    if seed % 2:
        return beyond(seed).judge
    (text,) = sqlglot.transpile(line.sql, read="spark", write="duckdb")
    # A date and a number of days is a date, where one and an interval would be a timestamp.
    return text.replace("INTERVAL '1' DAY", "1")


def unplanned(line: CorpusLine) -> str | None:
    """Why a statement has no plan; None if it has one."""
    assert line.catalog is not None
    try:
        found = statement(line.sql, line.catalog, line.id)
        statement_pass(found, encode_static(found, line.static))
    except UnsupportedError:
        return "not evaluated"
    except PlanError as error:
        told = re.match("the query is (unbounded|unknown)", error.message)
        return told[1] if told else "bounded, without a plan"
    return None


def planned(first: int, number: int, without: Counter[str]) -> Iterator[CorpusLine]:
    """So many statements that have plans, from a seed on; ``without`` counts the others."""
    for seed in count(first):
        if not number:
            return
        if (why := unplanned(line := line_of(seed))) is not None:
            without[why] += 1
            continue
        number -= 1
        yield line


def wrong(executor: Executor, line: CorpusLine) -> tuple[str, bool]:
    """What is wrong with the answers of a statement (nothing: empty), and whether it has any."""
    expected, _ = run_line(line, "reference")
    ((found, code),) = run_corpus(executor, [line])
    keys = ("answers", "initial")
    differs = code or any(_in_order(found, key) != _in_order(expected, key) for key in keys)
    said = found.get("error") or "other answers than the definition's" if differs else ""
    return said and f"seed {line.id}: {line.sql}: {said}", bool(expected["answers"])


def _in_order(document: dict[str, Any], key: str) -> list[str]:
    return sorted(json.dumps(one) for one in document.get(key, ()))


def final_fault(line: CorpusLine) -> str | None:
    """What is wrong with the definition's final answer (nothing: empty); None: DuckDB cannot run it."""
    try:
        answer = answer_by_duckdb(line, text := duckdb_text(line))
    except duckdb.Error:
        return None
    same = answer_by_definition(line) == answer
    return "" if same else f"seed {line.id}: {line.sql}: DuckDB has another final answer for {text}"


def compared(executor: Executor, number: int, first: int = 0, loud: bool = False) -> Counter[str]:
    """How many statements were compared, have answers, are DuckDB's, and how many had no plan, by why.

    Raises:
        AssertionError: some have other answers than the definition, or its final answer is not DuckDB's.
    """
    found, without, faults = Counter[str](), Counter[str](), list[str]()
    for line in planned(first, number, without):
        fault, answered = wrong(executor, line)
        found["compared"] += 1
        found["with answers"] += answered
        final = final_fault(line)
        found["not run by DuckDB" if final is None else "compared with DuckDB"] += 1
        for text in filter(None, (fault, final)):
            faults.append(text)
            print(text, flush=True)
        if loud and not found["compared"] % TOLD:
            print(dict(found), flush=True)
    assert not faults, faults
    return found + without


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5_000, help="statements as local histories")
    parser.add_argument("--spark", type=int, default=0, help="statements on Spark")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args(arguments)
    print("local:", dict(compared(LocalExecutor(1), asked.count, asked.first, loud=True)))
    if asked.spark:
        with TemporaryDirectory() as home:
            os.environ["STREAMBOUND_HOME"] = home
            with session("statements", master="local[2]") as spark:
                print("Spark:", dict(compared(SparkExecutor(spark), asked.spark, asked.first, loud=True)))


if __name__ == "__main__":
    main()
