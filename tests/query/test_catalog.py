"""The stream catalog: both forms, and one clear error for each way to get it wrong."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.test_misspelt import PYTHON

from streambound.compiler.report import check
from streambound.errors import CatalogError, DataError, QueryError
from streambound.projects.registry import load_registry
from streambound.query.catalog import RELATION_KEYS, catalog_from_mapping, load_catalog
from streambound.query.column_types import NAN, parse_type
from streambound.query.model import History, Rate, RelationKind

LONG = """
streams:
  departures:
    timestamp: departed_at
    granularity: minute
    columns: {departed_at: timestamp, origin: string, delay: int, ratio: double}
    not_null: [origin]
    domains: {origin: {values: [LGA, EWR, JFK]}, delay: {min: -120, max: 2000}}
    max_rows_per_timestamp: 60
    allowed_lateness: 2 days
    history: {path: departures, partition_by: date}
"""


STAMPED = {"columns": {"at": "timestamp"}, "timestamp": "at"}
TICKED = {"columns": {"at": "int"}, "timestamp": "at"}


def test_rates_are_of_any_interval() -> None:
    for per, length in (("hour", 3_600_000_000), ("10 minutes", 600_000_000), ("0.5 second", 500_000)):
        (relation,) = catalog_from_mapping({"S": {**STAMPED, "rate": {"rows": 5, "per": per}}}).relations
        assert relation.rate == Rate(5, length, per)
    (relation,) = catalog_from_mapping({"S": {**TICKED, "rate": {"rows": 5, "per": 60}}}).relations
    assert relation.rate == Rate(5, 60, "60")


def test_the_long_form(tmp_path: Path) -> None:
    (tmp_path / "streams.yml").write_text(LONG)
    (relation,) = load_catalog(tmp_path / "streams.yml").relations
    assert (relation.kind, relation.timestamp, relation.max_rows_per_timestamp) == (
        RelationKind.STREAM,
        "departed_at",
        60,
    )
    assert [c.nullable for c in relation.columns] == [False, False, True, True]
    assert relation.column("origin").domain.values == ("EWR", "JFK", "LGA")  # type: ignore[union-attr]
    assert relation.history is not None and relation.history.partition_by == "date"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"path": "departures"}, History("departures", None, "parquet")),
        (
            {"path": "departures", "format": "orc", "partition_by": "date"},
            History("departures", "date", "orc"),
        ),
        ({"table": "prod.flights.departures"}, History("prod.flights.departures", None, "table")),
    ],
)
def test_histories(body: Any, expected: History) -> None:
    (relation,) = catalog_from_mapping({"S": {"columns": {"A": "int"}, "history": body}}).relations
    assert relation.history == expected
    assert expected.direct == (expected.format == "parquet")


def test_the_short_form_finds_its_timestamp() -> None:
    (relation,) = catalog_from_mapping({"S": {"A": "int", "when": "timestamp"}}).relations
    assert relation.timestamp == "when"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "no streams are declared"),
        ({"S": {}}, "columns is"),
        ({"S": {"columns": {"A": "int"}, "colour": 1}}, "unknown key colour"),
        ({"S": {"A": "number"}}, "unknown column type 'number'"),
        ({"S": {"A": "decimal(3,9)"}}, "unknown column type"),
        ({"S": {"A": "int", "a": "int"}}, "differ only in case"),
        ({"S": {"A": "int"}, "s": {"A": "int"}}, "differ only in case"),
        ({"S": {"x": "timestamp", "y": "timestamp"}}, "several timestamp columns"),
        ({"S": {"columns": {"A": "int"}, "kind": "table"}}, "kind is 'table'"),
        ({"S": {"columns": {"A": "string"}, "timestamp": "A"}}, "CAST(A AS TIMESTAMP)"),
        ({"S": {"columns": {"A": "int"}, "timestamp": "B"}}, "not a column"),
        ({"S": {"columns": {"A": "int"}, "not_null": ["B"]}}, "not_null names B"),
        ({"S": {"columns": {"A": "int"}, "domains": {"B": {"min": 1}}}}, "domains names B"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"least": 1}}}}, "found {'least': 1}"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"min": 3, "max": 1}}}}, "min 3 is above max 1"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"values": []}}}}, "values is []"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"min": "x"}}}}, "'x' is not a value of type int"),
        ({"S": {"columns": {"A": "int"}, "max_rows_per_timestamp": 0}}, "max_rows_per_timestamp is 0"),
        (
            {"S": {"columns": {"A": "int"}, "rate": {"rows": 1, "per": "hour"}}},
            "rate is given, and no timestamp",
        ),
        ({"S": {**STAMPED, "rate": 50}}, "rate is 50"),
        ({"S": {**STAMPED, "rate": {"rows": 0, "per": "hour"}}}, "rows of the rate is 0"),
        ({"S": {**STAMPED, "rate": {"rows": 9, "per": "fortnight"}}}, "per of the rate is 'fortnight'"),
        ({"S": {**STAMPED, "rate": {"rows": 9, "per": 60}}}, "per of the rate is 60"),
        ({"S": {**TICKED, "rate": {"rows": 9, "per": "hour"}}}, "a positive number of ticks"),
        ({"S": {"columns": {"A": "int"}, "observed": {"B": {"min": 1}}}}, "observed names B"),
        ({"S": {"columns": {"A": "int"}, "observed": {"A": {"mean": 1}}}}, "what was observed of A"),
        ({"S": {"columns": {"A": "int"}, "granularity": "year"}}, "granularity is 'year'"),
        ({"S": {"columns": {"A": "int"}, "history": "here"}}, "history is 'here'"),
        ({"S": {"columns": {"A": "int"}, "history": {"path": "x", "partition_by": "a/b"}}}, "partition_by"),
        ({"S": 3}, "found 3"),
        ({"S": {"columns": {"A": "int"}, "timestamp": ["A"]}}, "timestamp names ['A']"),
        ({"S": {"columns": {"A": "int"}, "not_null": [["A"]]}}, "not_null names ['A']"),
        ({"S": {"columns": {"A": "int"}, "not_null": [{"A": 1}]}}, "not_null names {'A': 1}"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"values": [None]}}}}, "values lists null"),
        ({"S": {"columns": {"A": "int"}, "domains": {"A": {"min": None}}}}, "neither min nor max"),
        ({"S": {"columns": {"A": "double"}, "domains": {"A": {"max": math.inf}}}}, "inf is not finite"),
        ({"S": {"columns": {"A": "double"}, "domains": {"A": {"min": math.nan}}}}, "nan is not finite"),
        ({"S": {"columns": {"A": "double"}, "domains": {"A": {"values": [1, -math.inf]}}}}, "not finite"),
        ({"S": {"columns": {"A": "int"}, "allowed_lateness": "banana"}}, "allowed_lateness is 'banana'"),
        ({"S": {"columns": {"A": "int"}, "allowed_lateness": "2 moons"}}, "such as '2 days'"),
        ({"S": {"columns": {"A": "int"}, "history": {"path": None}}}, "the path of its history is null"),
        (
            {"S": {"columns": {"A": "int"}, "history": {"path": "x", "where": 1}}},
            "unknown key where in its history\n  accepted: format, partition_by, path, table",
        ),
        (
            {"S": {"columns": {"A": "int"}, "history": {"partition_by": "a"}}},
            "the path of its history is null",
        ),
        (
            {"S": {"columns": {"A": "int"}, "history": {"table": "a; b"}}},
            "the table of its history is 'a; b'",
        ),
        ({"S": {"columns": {"A": "int"}, "history": {"table": None}}}, "the table of its history is null"),
        ({"S": {"columns": {"A": "int"}, "history": {"table": "t", "path": "x"}}}, "a table and also path"),
        ({"S": {"columns": {"A": "int"}, "history": {"path": "x", "format": "jdbc"}}}, "name it with table"),
        (
            {"S": {"columns": {"A": "int"}, "history": {"path": "x", "format": "json"}}},
            "is 'json'\n  accepted: orc, parquet\n",
        ),
        (
            {"S": {"columns": {"A": "int"}, "history": {"path": "x", "format": "avro"}}},
            "such as JSON or Avro, register a table or view in Spark, and name it with table",
        ),
        (
            {"S": {"columns": {"A": "int"}, "history": {"path": "x", "format": []}}},
            "format of its history is []",
        ),
        (
            {"S": {"columns": {"A": "int"}, "history": {"table": "t"}, "allowed_lateness": "1 day"}},
            "whose late rows have no files",
        ),
        ({"S": {"A": None}}, "column A: unknown column type null"),
        ({"S": {"A": f"decimal({'9' * 5000})"}}, "unknown column type 'decimal(999"),
        ({"S": {True: "int"}}, "column name true is not text"),
        ({None: {"A": "int"}}, "stream name null is not text"),
    ],
)
def test_each_mistake_has_its_error(body: Any, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog_from_mapping(body)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ({"S": {"columns": {"A": "int"}, "domain": {"A": {"min": 0}}}}, "domains"),
        ({"S": {"columns": {"A": "int"}, "knd": "stream"}}, "kind"),
        ({"S": {"columns": {"A": "int"}, "kind": "statik"}}, "static"),
        ({"S": {"columns": {"A": "int"}, "granularity": "mintue"}}, "minute"),
        ({"S": {"columns": {"delay": "int"}, "not_null": ["dealy"]}}, "delay"),
        ({"S": {"columns": {"delay": "int"}, "domains": {"dely": {"min": 0}}}}, "delay"),
        ({"S": {"columns": {"at_time": "timestamp"}, "timestamp": "attime"}}, "at_time"),
        ({"S": {"columns": {"A": "int"}, "history": {"pth": "S"}}}, "path"),
    ],
)
def test_a_misspelt_word_is_told_with_the_one_that_was_meant(body: Any, fix: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog_from_mapping(body)
    assert caught.value.fix == f"did you mean {fix}?"


# What YAML and JSON make of a document, and what a Python program may pass.
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**6)
    | st.floats()
    | st.sampled_from(["int", "timestamp", "stream", "decimal(5,2)", "A", "", "S", "2 days", "a b", "it's"])
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.decimals()
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from([*RELATION_KEYS, "A", "min", "values", "path"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["S", "T", 1, None, True]),
        st.dictionaries(st.sampled_from([*RELATION_KEYS, "A", "colums"]), values, max_size=4) | values,
        max_size=2,
    )
)
def test_errors_say_values_in_the_words_of_a_catalog(body: Any) -> None:
    try:
        catalog_from_mapping(body)
    except CatalogError as error:
        assert not PYTHON.search(str(error)), str(error)


def test_malformed_yaml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "streams.yml"
    path.write_text("streams:\n  S: {A: int\n")
    with pytest.raises(CatalogError) as caught:
        load_catalog(path)
    assert str(path) in str(caught.value) and "line 3" in str(caught.value)


BOMB = "l0: &l0 [A, A, A, A, A, A, A, A, A, A]\n" + "".join(
    f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGED = "l0: &l0 {A: int}\n" + "".join(f"l{n}: &l{n} {{<<: [*l{n - 1}, *l{n - 1}]}}\n" for n in range(1, 20))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "streams:\n  S: {A: int}\n  T: {A: int}\n  S: {B: int}\n",
            4,
            "key S is given twice, first in line 2",
        ),
        ("streams:\n  S: {A: int, A: string}\n", 2, "key A is given twice"),
        ("streams:\n  S:\n    columns: {D: date}\n    domains: {D: {min: 2013-02-30}}\n", 4, "day is out of"),
        (f"streams:\n  S:\n    columns: {{A: int}}\n    x: 0x{'f' * 6000}\n", 4, "hundreds of digits"),
        (f"streams:\n  S:\n    columns: {{A: int}}\n    x: {'9' * 6000}\n", 4, "4300 digits"),
        ("streams:\n  S: {A: !!bool x}\n", 2, "not a value of bool"),
        ('streams:\n  S: {A: "\\uD800"}\n', 2, "lone surrogate"),
        # In not_null, by merged mappings, and where nothing is read; without end.
        (f"{BOMB}streams: {{S: {{columns: {{A: int}}, not_null: *l9}}}}\n", 5, "more than 100,000 values"),
        (f"{BOMB}streams: *l9\n", 5, "more than 100,000 values"),
        (f"{MERGED}streams: *l19\n", 16, "more than 100,000 values"),
        ("streams:\n  S: {columns: {A: int}, not_null: &a [A, *a]}\n", 2, "itself a part of"),
        (f"streams:\n  S: {'[' * 20_000}", 2, "nested too deeply"),
        (f"streams:\n  S: {'{A: ' * 20_000}", 2, "nested too deeply"),
    ],
)
def test_yaml_that_is_no_catalog_names_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "streams.yml"
    path.write_text(text)
    with pytest.raises(CatalogError) as caught:
        load_catalog(path)
    assert message in str(caught.value) and f"line {line}," in str(caught.value)


def test_a_merged_mapping_may_be_overridden(tmp_path: Path) -> None:
    text = "streams:\n  S: &s {A: int, B: int}\n  T: {<<: *s, A: string}\n"
    (tmp_path / "streams.yml").write_text("\ufeff" + text, encoding="utf-8")
    s, t = load_catalog(tmp_path / "streams.yml").relations
    assert [c.type.name for c in (*s.columns, *t.columns)] == ["int", "int", "string", "int"]


def test_a_folder_and_a_file_that_is_no_text_get_fitting_advice(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"this is a folder(.|\n)*streams.yml"):
        load_catalog(tmp_path)
    (tmp_path / "latin.yml").write_bytes(b"\xe9")
    with pytest.raises(CatalogError, match=r"not UTF-8 text(.|\n)*save the file as UTF-8"):
        load_catalog(tmp_path / "latin.yml")


@pytest.mark.parametrize("text", ["2 days", "1 day", "0.5 hours", "90  minutes", "1 second"])
def test_durations(text: str) -> None:
    (relation,) = catalog_from_mapping({"S": {"columns": {"A": "int"}, "allowed_lateness": text}}).relations
    assert relation.allowed_lateness == text


def test_a_missing_file_and_a_wrong_top_level(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        load_catalog(tmp_path / "none.yml")
    (tmp_path / "list.yml").write_text("- S\n")
    with pytest.raises(CatalogError, match="top level"):
        load_catalog(tmp_path / "list.yml")


def test_an_empty_registry_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "streams.yml").write_text(LONG)
    (tmp_path / "queries").mkdir()
    with pytest.raises(QueryError, match="the registry is empty"):
        load_registry(tmp_path)


@pytest.mark.parametrize(
    ("kind", "raw", "encoded"),
    [
        ("int", 3, 3),
        ("int", "12", 12),
        ("decimal(5,2)", "1.25", Fraction(5, 4)),
        ("double", 0.5, 0.5),
        ("double", float("nan"), NAN),
        ("boolean", True, 1),
        ("date", "1970-01-03", 2),
        ("timestamp", "1970-01-01T00:00:01Z", 1_000_000),
        ("timestamp", "1970-01-01 00:00:00.000001", 1),
        ("string", "x", "x"),
        ("int", None, None),
        ("bigint", -(2**63), -(2**63)),
        ("int", -(2**53), -(2**53)),
        ("double", "0.1", 0.1),
        ("double", 2**53 + 1, 2**53),
        ("float", 0.1, 0.10000000149011612),
        ("decimal(38,0)", "9" * 38, int("9" * 38)),
        ("double", "1e3", 1000),
        ("date", 2932896, 2932896),
    ],
)
def test_values_are_encoded_in_order(kind: str, raw: Any, encoded: Any) -> None:
    assert parse_type(kind).encode(raw) == encoded


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("int", 1.5),
        ("int", True),
        ("int", "x"),
        ("decimal(5,2)", "1.255"),
        ("date", "yesterday"),
        ("string", 3),
        ("int", "1_0"),
        ("int", "1/3"),
        ("double", "1/3"),
        ("double", "1_0"),
        ("bigint", 2**63),
        ("int", 2**53 + 1),
        ("float", 1e39),
        ("int", "1e999999999"),
        ("int", float("inf")),
        ("double", 10**400),
        ("double", "1e-999999999"),
        ("decimal(5,2)", "1000.00"),
        ("decimal(5,2)", -1000),
        ("decimal(5,2)", Decimal("NaN")),
        ("date", 99999999),
        ("date", -719163),
        ("timestamp", 10**20),
        ("timestamp", "2026-01-01 00:00:00.0000000001"),
        ("timestamp", "0001-01-01T00:00:00+05:00"),
        ("string", "\ud800"),
    ],
)
def test_values_outside_their_type_are_errors(kind: str, raw: Any) -> None:
    with pytest.raises(DataError, match="is not a value of type"):
        parse_type(kind).encode(raw)


@pytest.mark.parametrize("text", ["123456789012345678901234567890123456.78", "-0.01", "0.00"])
def test_decimals_keep_every_digit(text: str) -> None:
    kind = parse_type("decimal(38,2)")
    assert str(kind.decode(kind.encode(text))) == kind.text(kind.encode(text)) == text


@pytest.mark.parametrize("raw", ["x" * 9999, 16**9999], ids=["text", "integer"])
def test_a_long_wrong_value_is_not_repeated_whole(raw: Any) -> None:
    with pytest.raises(DataError) as caught:
        parse_type("int").encode(raw)
    assert len(caught.value.message) < 200


NAMES = {
    "int": "int integer INT4 int32 mediumint uint2",
    "bigint": "bigint long int8 INT64 ubigint uint4",
    "smallint": "smallint short int2 utinyint",
    "tinyint": "tinyint byte int1",
    "float": "float real float4",
    "double": "double float8 float64",
    "boolean": "boolean bool BOOL",
    "date": "date",
    "timestamp": "timestamp timestamp(3) timestamp_ntz timestamp_ltz timestamp_ltz(6) timestamptz datetime",
    "string": "string text varchar varchar(10) char(3) bpchar character(2)",
    "decimal(10,2)": "decimal(10,2) numeric(10,2) dec(10,2) DECIMAL(10,2)",
    "decimal(5,0)": "decimal(5) numeric(5)",
}
SPACED = {
    "double": "double precision",
    "decimal(10,2)": "numeric ( 10 , 2 )",
    "string": "character varying(20)",
    "timestamp": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "int": "smallint unsigned",
}


@pytest.mark.parametrize("kind", NAMES)
def test_the_names_of_every_engine_are_types(kind: str) -> None:
    for name in [*NAMES[kind].split(), *([SPACED[kind]] if kind in SPACED else [])]:
        assert parse_type(name).name == kind, name


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("decimal", "write its digits, such as decimal(10,2)"),
        ("numeric(39,1)", "write decimal(p,s) with p from 1 to 38"),
        ("hugeint", "decimal(38,0)"),
        ("timestamp(9)", "in microseconds"),
        ("timestamp_ns", "in microseconds"),
        ("strng", "write string"),
        ("interval", "leave the column out of the catalog"),
    ],
)
def test_what_is_no_type_has_a_fix(name: str, fix: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog_from_mapping({"S": {"A": name}})
    assert "S, column A: unknown column type" in caught.value.message and fix in str(caught.value.fix)


def test_a_decimal_needs_no_quotes(tmp_path: Path) -> None:
    text = (
        "streams:\n  S: {A: decimal(10,2), B: numeric(12, 2), C: int}\n  T: {columns: {A: decimal(10,2)}}\n"
    )
    (tmp_path / "streams.yml").write_text(text)
    s, t = load_catalog(tmp_path / "streams.yml").relations
    assert [c.type.name for c in s.columns] == ["decimal(10,2)", "decimal(12,2)", "int"]
    assert [c.type.name for c in t.columns] == ["decimal(10,2)"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "TIMESTAMP '2026-01-01 00:00:00'"),
        (dt.date(2026, 1, 1), "DATE '2026-01-01'"),
        ([Decimal("1.50")], "[1.50]"),
        ({"min": dt.date(2026, 1, 1)}, "{'min': DATE '2026-01-01'}"),
        (b"\x1f", "X'1F'"),
    ],
)
def test_a_value_is_told_as_sql_writes_it(value: Any, text: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_type("boolean").encode(value)
    assert caught.value.message == f"{text} is not a value of type boolean"


def test_a_versioned_table_has_the_latest_row_of_each_key() -> None:
    body = {"columns": {"k": "int", "v": "int", "ts": "timestamp"}, "kind": "versioned", "primary_key": ["k"]}
    few = {**body, "domains": {"k": {"min": 1, "max": 9}}}
    relation = catalog_from_mapping({"d": body}).find("d")
    assert relation is not None and relation.kind is RelationKind.VERSIONED and relation.primary_key == ("k",)
    for sql, codes in (
        ("SELECT v FROM d", ["unbounded-versions"]),
        ("SELECT S.k FROM S JOIN d ON S.k = d.k", ["unbounded-versions"]),
        ("SELECT S.k FROM S JOIN d ON S.k = d.k AND S.k BETWEEN 1 AND 4", ["no-obstruction"]),
        ("SELECT k FROM (SELECT * FROM d) x", ["unbounded-versions"]),
    ):
        many, bounded = (
            check(sql, catalog_from_mapping({"d": one, "S": {"k": "int"}}), suggest=False)
            for one in (body, few)
        )
        assert bounded.verdict == "bounded"
        assert [reason.code for reason in many.reasons] == codes


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"columns": {"k": "int"}, "kind": "versioned"}, "it is versioned, and has no primary_key"),
        ({"columns": {"k": "int"}, "kind": "versioned", "primary_key": []}, "primary_key is []"),
        ({"columns": {"k": "int"}, "primary_key": ["x"]}, "primary_key names x"),
        ({"columns": {"k": "int"}, "primary_key": "k"}, "primary_key is 'k'"),
    ],
)
def test_a_primary_key_is_a_list_of_columns(body: dict[str, object], said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog_from_mapping({"d": body})
    assert said in caught.value.message


def test_nested_columns_are_declared_and_take_any_value() -> None:
    columns = {"k": "int", "doc": "struct<a: int, b: array<string>>", "tags": "map<string,int>", "l": "INT[]"}
    catalog = catalog_from_mapping({"S": columns})
    assert check("SELECT k FROM S WHERE k > 1", catalog, suggest=False).verdict == "bounded"
    for sql, distinct in (
        ("SELECT doc.a FROM S", "unbounded"),
        ("SELECT * FROM S", "unbounded"),
        ("SELECT 1 FROM S WHERE tags['x'] = 1", "bounded"),
        ("SELECT l FROM S", "unbounded"),
        ("SELECT doc.a FROM S WHERE doc.a IN (1, 2)", "bounded"),
    ):
        report = check(sql, catalog, suggest=False)
        # A path within a struct ends at a plain value.
        assert report.verdict == "bounded" and (report.unplanned is None) == ("doc.a" in sql), sql
        assert check(sql.replace("SELECT", "SELECT DISTINCT"), catalog, suggest=False).verdict == distinct, (
            sql
        )
