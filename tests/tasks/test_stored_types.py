"""Every physical and logical type of Parquet: read right as a declared type, or refused by name before Spark.

Groups: what each engine reads of each stored type under each declared one; real Spark, in one application;
the commands, which refuse before a session is started.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.histories import Registered

from streambound.cli import main
from streambound.errors import DataError
from streambound.evaluation.history import rows_of
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor
from streambound.quality.metrics import measure
from streambound.query.catalog import catalog_from_mapping
from streambound.query.column_types import NAN, parse_type
from streambound.query.model import Relation
from streambound.spark import session
from streambound.storage.files import footers, parquet_file
from streambound.storage.partitions import Partition
from streambound.tasks import encoded_sql
from streambound.tasks.embedded_engine import EngineQuery, opened
from streambound.tasks.statements import TUPLES

MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
FINE = dt.datetime(1969, 12, 31, 23, 59, 59, 123456, tzinfo=dt.UTC)
DAY = dt.date(2026, 1, 2)
HALVES = ["float", "double"]
NUMBERS = ["tinyint", "int", "bigint", "double"]
DECLARED = [*NUMBERS, "float", "decimal(12,2)", "decimal(38,10)", "boolean", "date", "timestamp", "string"]


def whole(kind: pa.DataType, low: int, high: int, accepted: list[str]) -> Any:
    return pa.array([low, high, 0, None], kind), [low, high, 0, None], accepted


def decimals(kind: pa.DataType, accepted: list[str]) -> Any:
    values = [Decimal("-1").scaleb(-kind.scale), Decimal(7), None]
    return pa.array(values, kind), values, accepted


def moments(kind: pa.DataType, accepted: list[str], fine: bool = True) -> Any:
    values = [MOMENT, FINE if fine else MOMENT, None]
    plain = [v if kind.tz or v is None else v.replace(tzinfo=None) for v in values]
    return pa.array(plain, kind), values, accepted


def refused(array: pa.Array) -> Any:
    return array, [], []


# By what is stored: the array, its values as Python has them, and the declared types as which it is read.
STORED: dict[str, Any] = {
    "int8": whole(pa.int8(), -(2**7), 2**7 - 1, NUMBERS),
    "int16": whole(pa.int16(), -(2**15), 2**15 - 1, NUMBERS),
    "int32": whole(pa.int32(), -(2**31), 2**31 - 1, NUMBERS),
    "int64 of doubles": whole(pa.int64(), -(2**53), 2**53, NUMBERS),
    "int64": whole(pa.int64(), -(2**63), 2**63 - 1, ["bigint", "double"]),
    "uint8": whole(pa.uint8(), 0, 2**8 - 1, NUMBERS),
    "uint16": whole(pa.uint16(), 0, 2**16 - 1, NUMBERS),
    "uint32": whole(pa.uint32(), 0, 2**32 - 1, NUMBERS),
    "uint64 of doubles": whole(pa.uint64(), 0, 2**53, NUMBERS),
    "uint64 of integers": whole(pa.uint64(), 0, 2**63 - 1, ["bigint", "double"]),
    "uint64": whole(pa.uint64(), 0, 2**64 - 1, ["double"]),
    "float16": refused(pa.array([0.5, 1.5], pa.float16())),
    "float32": (
        pa.array([0.1, math.nan, -math.inf, -0.0, None], pa.float32()),
        [0.10000000149011612, math.nan, -math.inf, 0.0, None],
        HALVES,
    ),
    "float64": (
        pa.array([0.1, math.nan, math.inf, -0.0, 5e-324, None], pa.float64()),
        [0.1, math.nan, math.inf, 0.0, 5e-324, None],
        ["double"],
    ),
    "decimal32": decimals(pa.decimal32(5, 2), ["double", "decimal(12,2)", "decimal(38,10)"]),
    "decimal64": decimals(pa.decimal64(15, 3), ["double", "decimal(38,10)"]),
    "decimal128(9,2)": decimals(pa.decimal128(9, 2), ["double", "decimal(12,2)", "decimal(38,10)"]),
    "decimal128(12,2)": decimals(pa.decimal128(12, 2), ["double", "decimal(12,2)", "decimal(38,10)"]),
    "decimal128(13,2)": decimals(pa.decimal128(13, 2), ["double", "decimal(38,10)"]),
    "decimal128(38,10)": decimals(pa.decimal128(38, 10), ["double", "decimal(38,10)"]),
    "decimal128(38,20)": decimals(pa.decimal128(38, 20), ["double"]),
    "decimal256(38,10)": refused(pa.array([Decimal("1.5")], pa.decimal256(38, 10))),
    "decimal256": refused(pa.array([Decimal("1.5")], pa.decimal256(50, 2))),
    "boolean": (pa.array([True, False, None]), [True, False, None], ["boolean"]),
    "date32": (pa.array([DAY, dt.date(1, 1, 1), None]), [DAY, dt.date(1, 1, 1), None], ["date"]),
    "date64": (pa.array([DAY, None], pa.date64()), [DAY, None], ["date"]),
    **{
        f"timestamp {unit} {zone}": moments(pa.timestamp(unit, zone), ["timestamp"], unit == "us")
        for unit in ("s", "ms", "us")
        for zone in (None, "UTC", "America/New_York")
    },
    **{f"timestamp ns {zone}": moments(pa.timestamp("ns", zone), []) for zone in (None, "UTC", "+02:00")},
    "timestamp of 96 bits": moments(pa.timestamp("us"), ["timestamp"]),
    "time32": refused(pa.array([dt.time(1)], pa.time32("ms"))),
    "time64": refused(pa.array([dt.time(1)], pa.time64("us"))),
    "time in ns": refused(pa.array([dt.time(1)], pa.time64("ns"))),
    "duration": refused(pa.array([dt.timedelta(1)], pa.duration("us"))),
    "string": (pa.array(["", "é", None]), ["", "é", None], ["string"]),
    "large string": (pa.array(["a", None], pa.large_string()), ["a", None], ["string"]),
    "string view": (pa.array(["a", None], pa.string_view()), ["a", None], ["string"]),
    "dictionary": (pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "b", "a", None], ["string"]),
    "dictionary of integers": (pa.array([3, None]).dictionary_encode(), [3, None], NUMBERS),
    "binary": refused(pa.array([b"a"])),
    "large binary": refused(pa.array([b"a"], pa.large_binary())),
    "binary view": refused(pa.array([b"a"], pa.binary_view())),
    "fixed binary": refused(pa.array([b"abc"], pa.binary(3))),
    "uuid": refused(pa.array([UUID(int=7).bytes], pa.uuid())),
    "json": refused(pa.array(["{}"], pa.json_())),
    "bool8": refused(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))),
    "null": refused(pa.nulls(2)),
    "list": refused(pa.array([[1]])),
    "large list": refused(pa.array([[1]], pa.large_list(pa.int32()))),
    "fixed list": refused(pa.array([[1, 2]], pa.list_(pa.int32(), 2))),
    "map": refused(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))),
    "struct": refused(pa.array([{"x": 1}])),
    "struct of a timestamp": refused(pa.array([{"x": MOMENT}])),
}
READ = [(stored, declared) for stored, (_, _, accepted) in STORED.items() for declared in accepted]


def written(stored: str, file: Path, columns: list[str]) -> None:
    """The array of a stored type, under some names."""
    file.parent.mkdir(parents=True, exist_ok=True)
    array = STORED[stored][0]
    pq.write_table(
        pa.table([array] * len(columns), names=columns),
        file,
        use_deprecated_int96_timestamps="96" in stored,
        row_group_size=2,
    )


def relation(declared: str, **more: Any) -> Relation:
    return catalog_from_mapping({"S": {"columns": {"c": declared}, **more}}).relations[0]


def encoded(values: list[Any], declared: str) -> list[Any]:
    return [parse_type(declared).encode(value) for value in values]


@pytest.mark.parametrize("stored", STORED)
def test_a_stored_type_is_read_exactly_or_refused_by_name(stored: str, tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    written(stored, file, ["c"])
    _, values, accepted = STORED[stored]
    for declared in DECLARED:
        described = relation(declared)
        faults = footers(described, ["c"], [str(file)]).faults
        assert (declared in accepted) is (not faults), declared
        (measured,) = measure(described, [Partition("p", (file,))])
        assert measured.schema_ok is (not faults)
        if faults:
            said = faults["c"]
            assert said.subject == str(file) and "S.c" in said.message and said.accepted and said.fix
            with pytest.raises(DataError, match=r"S\.c (is stored as|holds)"):
                list(rows_of(described, Partition("p", (file,))))
            continue
        wanted = encoded(values, declared)
        assert [row["c"] for row in rows_of(described, Partition("p", (file,)))] == wanted
        assert list(by_files(described, file)) == wanted
        assert list(by_batches(described, file)) == wanted


def by_files(described: Relation, file: Path) -> Iterator[Any]:
    """What tasks of Spark read, and live queries."""
    with opened(256) as engine, engine.tuples(described, ["c"], [[str(file)]], copied=True):
        yield from values_of(engine, described)


def by_batches(described: Relation, file: Path) -> Iterator[Any]:
    """What is read of stored relations."""
    with opened(256) as engine, parquet_file(str(file)) as parquet:
        for batch in parquet.iter_batches(columns=["c"]):
            with engine.batch(described, batch):
                yield from values_of(engine, described)


def values_of(engine: Any, described: Relation) -> list[Any]:
    value = encoded_sql.outward(encoded_sql.column("c", TUPLES), described.column("c").type)
    text = encoded_sql.exp.select(value).from_(encoded_sql.table(TUPLES)).sql(dialect=encoded_sql.DIALECT)
    found = [
        None if cell is None else encoded_sql.encoded(cell) for (cell,) in engine.rows(EngineQuery(text))
    ]
    return [NAN if isinstance(v, float) and math.isnan(v) else v for v in found]


def test_history_reads_each_type_that_is_accepted_and_a_bad_stream_costs_its_own_queries(
    tmp_path: Path,
) -> None:
    streams: dict[str, Any] = {}
    sql: dict[str, str] = {}
    for number, stored in enumerate(stored for stored, (_, _, accepted) in STORED.items() if accepted):
        kinds = STORED[stored][2]
        names = [f"c{at}" for at in range(len(kinds))]
        path = tmp_path / f"s{number}"
        written(stored, path / "part=0" / "f.parquet", names)
        columns = dict(zip(names, kinds, strict=True))
        history_ = {"path": str(path), "partition_by": "part"}
        streams[f"S{number}"] = {"columns": columns, "history": history_}
        sql[stored] = f"SELECT {', '.join(names)} FROM S{number}"
    for name, stored in (("NS", "timestamp ns UTC"), ("U", "uint64")):
        written(stored, tmp_path / name / "part=0" / "f.parquet", ["c"])
        kind = "timestamp" if name == "NS" else "bigint"
        place = {"path": str(tmp_path / name), "partition_by": "part"}
        streams[name] = {"columns": {"c": kind}, "history": place}
        sql[name] = f"SELECT c FROM {name}"
    queries = [Registered(name, text) for name, text in sql.items()]
    found = evaluate_history(
        LocalExecutor(1),
        queries,
        catalog_from_mapping(streams),
        output=tmp_path / "answers",
        progress=lambda said: None,
    )
    assert len(found) == len(sql)
    for answer in found:
        if answer.query in ("NS", "U"):
            assert isinstance(answer.error, DataError), answer.query
            assert f"{answer.query}.c" in answer.error.message and "f.parquet" in str(answer.error.subject)
            continue
        assert answer.error is None, (answer.query, answer.error)
        _, values, kinds = STORED[answer.query]
        (file,) = (tmp_path / "answers" / answer.query).glob("part=0/*.parquet")
        *cells, counts = (column.to_pylist() for column in pq.ParquetFile(file).read().columns)
        wanted = [encoded(values, kind) for kind in kinds]
        rows = [row for row, n in zip(zip(*cells, strict=True), counts, strict=True) for _ in range(int(n))]
        told = [tuple(parse_type(k).encode(v) for k, v in zip(kinds, row, strict=True)) for row in rows]
        assert sorted(map(repr, told)) == sorted(map(repr, zip(*wanted, strict=True))), answer.query


@pytest.mark.parametrize(
    ("declared", "kind", "value"),
    [
        ("date", pa.date32(), 3_000_000),
        ("timestamp", pa.timestamp("us", "UTC"), 3 * 10**17),
        ("timestamp", pa.timestamp("ms"), -(3 * 10**14)),
    ],
)
def test_what_lies_outside_the_calendar_is_refused(
    declared: str, kind: pa.DataType, value: int, tmp_path: Path
) -> None:
    file = tmp_path / "f.parquet"
    array = pa.array([value], pa.int64()).cast(pa.int32() if declared == "date" else pa.int64()).cast(kind)
    for statistics in (True, False):
        pq.write_table(pa.table({"c": array}), file, write_statistics=statistics)
        with pytest.raises(DataError, match=r"outside the calendar|cannot be read") as caught:
            list(rows_of(relation(declared), Partition("p", (file,))))
        assert caught.value.subject == str(file) and "9999" in str(caught.value.accepted)


CATALOG = """streams:
  S: {timestamp: ts, columns: {ts: timestamp, A: int, B: int}, history: {path: S, partition_by: date}}
  U: {columns: {t: timestamp, c: string}, history: {path: S}}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "registry" / "queries").mkdir(parents=True)
    (tmp_path / "registry" / "streams.yml").write_text(CATALOG)
    (tmp_path / "registry" / "queries" / "q.sql").write_text("SELECT A FROM S WHERE ts > '2026-01-01'")
    (tmp_path / "registry" / "queries" / "u.sql").write_text("SELECT t FROM U WHERE t > '2026-01-01'")
    for number, day in enumerate(("2026-01-01", "2026-01-02")):
        folder = tmp_path / "streams" / "S" / f"date={day}"
        folder.mkdir(parents=True)
        kind = pa.timestamp("us" if number else "ns")
        moment = pa.array([dt.datetime.fromisoformat(day)], kind)
        pq.write_table(pa.table({"ts": moment, "A": [1], "B": ["x"]}), folder / "f.parquet")
    moment = pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"t": moment, "c": ["x"]}), tmp_path / "U.parquet")
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)

    def started(*args: Any, **more: Any) -> Any:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "session", started)
    return tmp_path


@pytest.mark.parametrize(
    "more", [[], ["--engine", "local"], ["--engine", "onepass"], ["--live", "--available-now"]]
)
def test_nanoseconds_are_refused_before_spark_starts(more: list[str], home: Path, capsys: Any) -> None:
    assert main(["run", "q", *more]) == 2
    told = capsys.readouterr().err
    assert "date=2026-01-01/f.parquet" in told and "S.ts is stored as timestamp[ns]" in told
    assert "accepted: timestamps in milliseconds, microseconds" in told and "fix: " in told


def test_nanoseconds_of_stored_relations_are_refused(home: Path, capsys: Any) -> None:
    assert main(["run", "u", "--relations", str(home)]) == 2
    told = capsys.readouterr().err
    assert "U.parquet" in told and "U.t is stored as timestamp[ns, tz=UTC]" in told and "microseconds" in told


def test_a_wrong_type_is_told_before_a_row_is_read(home: Path, capsys: Any) -> None:
    first, last = ((home / "streams" / "S" / f"date=2026-01-0{day}" / "f.parquet") for day in (1, 2))
    last.write_bytes(first.read_bytes())
    pq.write_table(pa.table({"ts": pa.array([dt.datetime(2026, 1, 1)]), "A": [1], "B": [1]}), first)
    assert main(["run", "q", "--engine", "onepass"]) == 2
    told = capsys.readouterr().err
    assert "date=2026-01-02/f.parquet" in told and "partition 2026-01-01, 1 of 2" not in told


def test_a_column_that_no_query_needs_may_be_of_any_type(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (home / "streams" / "S" / "date=2026-01-01" / "f.parquet").unlink()
    (home / "streams" / "S" / "date=2026-01-01").rmdir()
    assert main(["run", "q", "--engine", "local"]) == 0
    assert json.loads(capsys.readouterr().out)["answer_rows"] == 1
