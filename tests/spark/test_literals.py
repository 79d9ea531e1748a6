"""String literals: whatever is between single quotes is the text that Spark reads there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import streambound
from streambound.errors import StreamboundError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import parse_type
from streambound.query.model import Constant
from streambound.query.parse import parse

pytestmark = pytest.mark.spark
CATALOG = catalog_from_mapping({"S": {"A": "int"}})
PIECES = (
    "a",
    "''",
    "\\'",
    "\\\\",
    "\\n",
    "\\d",
    "\\%",
    "\\_",
    "\\0",
    "\\u0041",
    "\\101",
    '"',
    '\\"',
    "`",
    "é",
    "世",
)
PIECES += ("\n", "--", "/*", "*/", ";", " ", "\\U0001F600", "\\19", "\\777", "\\t")
BETWEEN = ("", " ", "\n", "/**/", " -- c\n")


def read(literal: str) -> Any:
    """The value that the front end reads; an error if it refuses it."""
    try:
        (output,) = parse(f"SELECT {literal} FROM S", CATALOG).select
    except StreamboundError as error:
        return error
    assert isinstance(output.term, Constant)
    return output.term.value


def drawn(random: Random) -> str:
    def one() -> str:
        return "'" + "".join(random.choice(PIECES) for _ in range(random.randint(0, 5))) + "'"

    return random.choice(BETWEEN).join(one() for _ in range(random.choice((1, 1, 1, 2, 3))))


def test_a_literal_is_what_spark_reads(spark: Any) -> None:
    random = Random(5)
    literals = ["'it''s'", "''''", "'a' 'b'", "'a''' 'b'", "'\\\\'", *(drawn(random) for _ in range(300))]
    (found,) = spark.sql("SELECT " + ", ".join(f"{one} AS c{i}" for i, one in enumerate(literals))).collect()
    differing = {
        one: (read(one), value) for one, value in zip(literals, found, strict=True) if read(one) != value
    }
    assert not differing


def test_what_is_written_of_a_value_is_read_as_it(spark: Any) -> None:
    random, kind = Random(6), parse_type("string")
    letters = "a'\\\"`\n\t%_n0é世"
    values = ["".join(random.choice(letters) for _ in range(random.randint(0, 6))) for _ in range(200)]
    literals = [kind.text(value) for value in values]
    assert [read(one) for one in literals] == values
    (found,) = spark.sql("SELECT " + ", ".join(f"{one} AS c{i}" for i, one in enumerate(literals))).collect()
    assert list(found) == values


def test_a_frame_of_spark_is_one_that_a_notebook_runs_a_query_over(spark: Any) -> None:
    frame = spark.createDataFrame([(12, "x"), (5, None)], "A int, B string")
    found = streambound.run("SELECT B FROM S WHERE A > 10", {"S": frame})
    assert found.answer.to_pylist() == [{"B": "x", "count": 1}]
