"""The SQL of a cell gives what adding row by row gives; comparisons in SQL are exact."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import histories
from tests.strategies import Case, cases, events, static

from streambound.evaluation.events import encode
from streambound.plan.exclusions import excluded
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import NAN, parse_type
from streambound.query.model import Attribute, Op
from streambound.query.parse import parse
from streambound.query.ring import BOOLEANS
from streambound.state.row_join import Row, RowJoin, representatives
from streambound.state.serial import dumps
from streambound.state.table import Table, accepted
from streambound.tasks import clauses, encoded_sql
from streambound.tasks.embedded_engine import opened
from streambound.tasks.readers import Reader, readers_of
from streambound.tasks.statements import TUPLES
from streambound.tasks.summarise import summary_tables

MIXES = [
    ("int",),
    ("double",),
    ("int", "double", "decimal(3,1)"),
    ("string", "boolean"),
    ("date", "timestamp"),
]


def tables_in_sql(reader: Reader, case: Case, parts: list[list[dict[str, Any]]], files: int) -> list[Table]:
    relation = case.query.occurrence(reader.alias).relation
    with TemporaryDirectory() as name, opened(256) as engine:
        for number, rows in enumerate(parts):
            histories.write(relation, rows, Path(name), number, files)
        paths = [
            [str(f) for f in sorted((Path(name) / relation.name / f"part={n}").iterdir())]
            for n in range(len(parts))
        ]
        with engine.tuples(relation, reader.columns, paths, copied=len(reader.statements) > 1):
            return summary_tables(engine, reader, len(parts))


def tables_by_row(reader: Reader, case: Case, parts: list[list[dict[str, Any]]]) -> list[Table]:
    relation = case.query.occurrence(reader.alias).relation
    found = []
    for rows in parts:
        table = Table(reader.cells, case.query.ring)
        for values in accepted(reader.synopsis, [encode(relation, row, "row") for row in rows]):
            table.add(values)
        found.append(table)
    return found


@pytest.mark.parametrize("types", MIXES, ids="-".join)
@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(data=st.data())
def test_a_cell_in_sql_equals_adding_row_by_row(types: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(cases(types))
    plan = histories.plan_of(case, data.draw(static(case)))
    assume(not plan.stateless)
    parts = [data.draw(events(case)) for _ in range(data.draw(st.integers(1, 3)))]
    for stream, reader in readers_of(plan, Path("unused"), ()):
        mine = [[row for row in rows if row["stream"] == stream] for rows in parts]
        # Which of the values that serve <> alike are kept depends on the order of arrival.
        assume(not any(cell.unequal for cell in reader.cells))
        in_sql = tables_in_sql(reader, case, mine, data.draw(st.integers(1, 2)))
        assert [*map(dumps, in_sql)] == [*map(dumps, tables_by_row(reader, case, mine))], case.sql


@pytest.mark.parametrize("many", [3, 200])
@pytest.mark.parametrize("kind", ["int", "double", "decimal(6,2)", "string", "date", "timestamp"])
def test_classes_by_position_among_few_and_many_points(kind: str, many: int) -> None:
    numbers = range(0, 10 * many, 10)
    shape = {"string": "{:05}", "decimal(6,2)": "{}.50"}.get(kind)
    text = [shape.format(n) if shape else n for n in numbers]
    values = [parse_type(kind).encode(float(v) if kind == "double" else v) for v in text]
    catalog = catalog_from_mapping(
        {"S": {"columns": {"A": kind}}, "R": {"kind": "static", "columns": {"B": kind}}}
    )
    query = parse("SELECT 1 FROM S, R WHERE S.A < R.B", catalog, "points")
    plan = histories.compact_plan(replace(query, ring=BOOLEANS), {Attribute("R", "B"): tuple(values)})
    case = Case({}, query.sql, catalog, plan.query)
    ((_, reader),) = readers_of(plan, Path("unused"), ())
    assert bool(reader.statements[0].lookups) == (many > clauses.IN_TEXT)
    others = [parse_type(kind).decode(v) for v in values[:: max(1, many // 7)]]
    rows = [{"A": v} for v in [*others, *others, None]]
    (found,) = tables_in_sql(reader, case, [rows], 1)
    assert dumps(found) == dumps(tables_by_row(reader, case, [rows])[0])


CONSTANTS = st.one_of(
    st.integers(-4, 4),
    st.fractions(-4, 4, max_denominator=10),
    st.sampled_from(
        [2**63, -(2**63) - 1, 10**40, Fraction(1, 3), 0.1, -0.0, float("inf"), float("-inf"), NAN]
    ),
)
STORED = {
    "int": [-3, 0, 1, 2**31 - 1, None],
    "bigint": [-(2**63), 2**63 - 1, 2**53 + 1, 1],
    "decimal(3,1)": ["-99.9", "0.1", "0.3", "2.0", "99.9", None],
    "double": [0.1, 0.3, -0.0, float("nan"), float("inf"), 1e300, 2.0, None],
}


@pytest.mark.parametrize("kind", STORED)
@given(op=st.sampled_from(list(Op)), value=CONSTANTS)
def test_comparisons_with_constants_are_exact(kind: str, op: Op, value: Any) -> None:
    declared = parse_type(kind)
    relation = catalog_from_mapping({"S": {"columns": {"A": kind}}}).relations[0]
    rows = [{"A": v} for v in STORED[kind]]
    data = histories.table(relation, rows)
    found = encoded_sql.column("A", TUPLES)
    normal = encoded_sql.normal(encoded_sql.column("A", "data"), declared)
    condition = encoded_sql.compared(found, declared, op, value).sql(dialect="duckdb")
    with duckdb.connect() as connection:
        connection.register("data", data)
        connection.execute(f'CREATE TABLE tuples AS SELECT {normal.sql(dialect="duckdb")} AS "A" FROM data')
        told = connection.execute(f"SELECT coalesce({condition}, false) FROM tuples").fetchall()
    encoded = [declared.encode(row["A"]) for row in rows]
    assert [t for (t,) in told] == [v is not None and op.holds(v, value) for v in encoded]


@given(st.lists(CONSTANTS, max_size=4))
def test_members_that_a_type_does_not_have_never_match(values: list[Any]) -> None:
    kind = parse_type("decimal(3,1)")
    own = encoded_sql.representable(kind, values)
    assert all(v in values and Fraction(v) % Fraction(1, 10) == 0 and abs(v) < 100 for v in own)


@pytest.mark.parametrize("passed", ["A", "ROUND(A, 1)"])
def test_nan_passes_a_filter_whatever_row_group_statistics_say(passed: str, tmp_path: Path) -> None:
    catalog = catalog_from_mapping({"S": {"columns": {"A": "double", "B": "int"}}})
    query = parse(f"SELECT DISTINCT 1 FROM S WHERE {passed} > 5", catalog, "nan")
    relation = query.streams[0].relation
    histories.write(relation, [{"A": 1.0}, {"A": float("nan")}, {"A": 2.0}], tmp_path, 0)
    ((_, reader),) = readers_of(histories.compact_plan(query), Path("unused"), ())
    with opened(256) as engine:
        files = [str(f) for f in (tmp_path / "S" / "part=0").iterdir()]
        for copied in (False, True):
            with engine.tuples(relation, tuple(c.name for c in relation.columns), [files], copied):
                (table,) = summary_tables(engine, reader, 1)
                assert len(table.entries) == 1


UNEQUAL = [
    "SELECT DISTINCT S.A FROM S, T WHERE S.A IN (1, 2) AND S.B <> T.D AND S.C <> T.E",
    "SELECT DISTINCT 1 FROM S, T WHERE S.A < T.D AND S.B <> T.E",
    "SELECT DISTINCT 1 FROM S, T WHERE S.A > T.D AND S.B <> T.D AND S.B <> T.E",
    "SELECT DISTINCT 1 FROM S, T WHERE S.A < T.D AND S.B <= T.D AND S.C <> T.E",
]
PARTNERS = [{"D": d, "E": e} for d in range(4) for e in range(4)]


@pytest.mark.parametrize("sql", UNEQUAL)
@settings(max_examples=settings.default.max_examples // 2)
@given(data=st.data())
def test_the_few_values_kept_of_unequal_columns_serve_any_partners(sql: str, data: st.DataObject) -> None:
    columns = {"S": dict.fromkeys("ABC", "int"), "T": dict.fromkeys("DE", "int")}
    catalog = catalog_from_mapping(columns)
    case = Case({}, sql, catalog, parse(sql, catalog, "unequal"))
    plan = histories.compact_plan(case.query)
    value = st.integers(0, 3)
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys("ABC", value)), max_size=12))
    reader = next(reader for stream, reader in readers_of(plan, Path("unused"), ()) if stream == "S")
    (in_sql,) = tables_in_sql(reader, case, [rows], 1)
    (by_row,) = tables_by_row(reader, case, [rows])
    join = RowJoin(plan.query.ring, plan.joins, (), excluded(plan.synopses))
    for partner in PARTNERS:
        other = histories.empty_tables(plan)["T"]
        for values in accepted(next(s for s in plan.streams if s.alias == "T"), [partner]):
            other.add(values)
        met = []
        for pair in ({"S": in_sql, "T": other}, {"S": by_row, "T": other}):
            rows_of: dict[Row, int] = {}
            sources = [(frozenset((a,)), representatives(t, t.buckets)) for a, t in pair.items()]
            join.rows(plan.query, sources, rows_of)
            met.append(set(rows_of))
        assert met[0] == met[1], partner
