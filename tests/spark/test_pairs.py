"""All pairs of types under all operators, and literals: Spark SQL's answers, or a refusal by ``check``."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.query.test_exactness import LITERALS, NUMBERS, value_of

from streambound.errors import QueryError
from streambound.evaluation.history import rows_of
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.column_types import Family, parse_type
from streambound.query.model import Attribute, Filter, Join, Membership, Op
from streambound.query.parse import parse
from streambound.storage.partitions import Partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How files store what the catalog calls so.
ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal(3,1)": pa.decimal128(3, 1),
    "decimal(15,0)": pa.decimal128(15, 0),
    "decimal(20,10)": pa.decimal128(20, 10),
    "decimal(38,2)": pa.decimal128(38, 2),
    "decimal(38,38)": pa.decimal128(38, 38),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
TEXTS = {
    "string": ["", "a", "B", "ab", "é", "\U0001f600", "\uffff"],
    "boolean": [True, False],
    "date": ["2026-01-01", "2026-01-02", "1969-12-31"],
    "timestamp": ["2026-01-01 00:00:00", "2026-01-01 00:00:00.000001", "1969-12-31 23:59:59"],
}
TEXTS["timestamp_ntz"] = TEXTS["timestamp"]
CONSTANTS = {
    "string": ["'a'", "''"],
    "boolean": ["TRUE", "FALSE"],
    "date": ["DATE '2026-01-01'", "'2026-01-02'"],
    "timestamp": ["TIMESTAMP '2026-01-01 00:00:00'", "'2026-01-01'"],
}
CONSTANTS["timestamp_ntz"] = CONSTANTS["timestamp"]
KINDS = list(ARROW)
COLUMNS = {f"c{number}": kind for number, kind in enumerate(KINDS)}
# How many conditions one scan of Spark counts.
AT_ONCE = 200


def values(kind: str) -> list[Any]:
    described = parse_type(kind)
    if described.family is not Family.NUMBER:
        found = [described.encode(text) for text in TEXTS[kind]]
    else:
        given = [value_of(described, text) for text in NUMBERS]
        low, high = (-(2**7), 2**7) if kind == "tinyint" else (-(2**15), 2**15)
        small = kind in ("tinyint", "smallint")
        found = [v for v in given if v is not None and (not small or low <= v < high)]
        found = [v for v in found if kind != "int" or abs(v) < 2**31]
        if described.resolution is None:
            found += [described.encode(v) for v in (math.nan, math.inf, -math.inf, -0.0)]
    return [described.decode(v) for v in dict.fromkeys(found)]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_from_mapping({name: {"columns": COLUMNS} for name in ("S", "T")})


@pytest.fixture(scope="module")
def tables(spark: SparkSession, catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same rows under two names in Spark, and encoded."""
    file = tmp_path_factory.mktemp("pairs") / "f.parquet"
    listed = {column: values(kind) for column, kind in COLUMNS.items()}
    most = max(map(len, listed.values())) + 1
    schema = pa.schema([(column, ARROW[kind]) for column, kind in COLUMNS.items()])
    cells = {column: own + [None] * (most - len(own)) for column, own in listed.items()}
    plain = {c: [_naive(v) if COLUMNS[c] == "timestamp_ntz" else v for v in own] for c, own in cells.items()}
    pq.write_table(pa.table(plain, schema=schema), file)
    # Many conditions over few rows: to compile them takes longer than to interpret them.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    for name in ("S", "T"):
        spark.read.parquet(str(file)).createOrReplaceTempView(name)
    return list(rows_of(catalog.relations[0], Partition("p", (Path(file),))))


def _naive(value: Any) -> Any:
    return value if value is None else value.replace(tzinfo=None)


def ours(condition: str, source: str, catalog: Catalog, rows: list[dict[str, Any]]) -> int | None:
    """How many rows, or pairs of rows, meet a condition; None if it is refused."""
    try:
        query = parse(f"SELECT 1 FROM {source} WHERE {condition}", catalog)
    except QueryError:
        return None
    found = 0
    for pair in product(rows, repeat=len(query.occurrences)):
        held = dict(zip((o.alias for o in query.occurrences), pair, strict=True))
        found += all(_meets(atom, held) for atom in query.where)
    return found


def _meets(atom: Any, held: dict[str, dict[str, Any]]) -> bool:
    def value(term: Any) -> Any:
        return held[term.occurrence][term.column] if isinstance(term, Attribute) else term.value

    if isinstance(atom, Membership):
        own = value(atom.attribute)
        return own is not None and any(own == constant.value for constant in atom.values)
    assert isinstance(atom, (Filter, Join))
    terms = (atom.left, atom.right) if isinstance(atom, Join) else (atom.attribute, atom.constant)
    one, other = map(value, terms)
    return one is not None and other is not None and atom.op.holds(one, other)


def compared(
    spark: SparkSession, conditions: list[str], source: str, catalog: Catalog, rows: list[dict[str, Any]]
) -> list[str]:
    """What is not answered as by Spark; at least one half is answered."""
    known = {text: ours(text, source, catalog, rows) for text in conditions}
    asked = [text for text, count in known.items() if count is not None]
    assert 2 * len(asked) >= len([t for t in conditions if not _strange(t)])
    wrong = []
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        counts = spark.sql(f"SELECT {', '.join(f'count_if({t})' for t in part)} FROM {source}").collect()[0]
        wrong += [f"{t}: {known[t]}, Spark {n}" for t, n in zip(part, counts, strict=True) if known[t] != n]
    return wrong


def _strange(condition: str) -> bool:
    """Whether it compares values of two families."""
    kinds = [COLUMNS[word.split(".")[1]] for word in condition.split() if word[:2] in ("S.", "T.")]
    return len({parse_type(kind).family for kind in kinds}) > 1


@pytest.mark.spark
def test_pairs_of_columns_are_compared_as_in_spark_or_refused(
    spark: SparkSession, catalog: Catalog, tables: Any
) -> None:
    conditions = [f"S.{a} {op.value} T.{b}" for a, b in product(COLUMNS, repeat=2) for op in Op]
    assert len(conditions) == 6 * len(KINDS) ** 2
    assert not compared(spark, conditions, "S, T", catalog, tables)


@pytest.mark.spark
def test_columns_and_literals_are_compared_as_in_spark_or_refused(
    spark: SparkSession, catalog: Catalog, tables: Any
) -> None:
    conditions = []
    for column, kind in COLUMNS.items():
        literals = LITERALS if parse_type(kind).family is Family.NUMBER else CONSTANTS[kind]
        conditions += [f"S.{column} {op.value} {text}" for text in literals for op in Op]
        lists = [literals[at : at + 2] for at in range(len(literals) - 1)]
        conditions += [f"S.{column} IN ({', '.join(listed)})" for listed in lists]
    assert not compared(spark, conditions, "S", catalog, tables)
