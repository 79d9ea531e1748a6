"""Bad input is one clear error of the queries that read it; the others are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkAttributeError
from tests.spark import histories
from tests.spark.histories import Registered, compact_plan

from streambound.errors import CountOverflow, DataError, StorageError
from streambound.evaluation.events import Answer
from streambound.history.answer import HistoryAnswer
from streambound.history.checkpoints import Checkpoints
from streambound.history.evaluate import evaluate_history
from streambound.history.executor import Executor
from streambound.history.fold import Fold
from streambound.history.local import LocalExecutor
from streambound.history.prepare import Job
from streambound.plan.model import Plan
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import parse
from streambound.query.statement import Statement
from streambound.spark.distribute import cores
from streambound.spark.executor import SparkExecutor
from streambound.storage.partitions import Partition
from streambound.tasks import emit
from streambound.tasks.counts import dump_counts
from streambound.tasks.plans import PartPlan, StatementPlan
from streambound.tasks.summarise import Summary, Task, error_of, error_text
from streambound.tasks.task_groups import balanced, batched

CATALOG = catalog_from_mapping(
    {
        "S": {
            "timestamp": "ts",
            "columns": {"ts": "timestamp", "A": "int", "B": "int", "C": "decimal(4,2)"},
            "not_null": ["B"],
            "domains": {"B": {"min": 0, "max": 9}},
        },
        "T": {"columns": {"D": "int"}},
        "R": {"kind": "static", "columns": {"K": "int", "NAME": "string"}},
    }
)
QUERIES = {
    "a": "SELECT A FROM S WHERE A > 0",
    "b": "SELECT DISTINCT B FROM S",
    "c": "SELECT C FROM S WHERE C > 0.5",
    "t": "SELECT DISTINCT D FROM T WHERE D IN (1, 2)",
    "r": "SELECT NAME FROM T, R WHERE D = K",
}
ROW = {"ts": "2026-01-01 00:00:00", "A": 1, "B": 2, "C": "1.25"}
Spoil = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sound partitions of S and T, and the static relation R."""
    s, t, r = CATALOG.relations
    for part in range(3):
        histories.write(s, [{**ROW, "A": part}], tmp_path, part)
        histories.write(t, [{"D": part}], tmp_path, part)
    histories.write(r, [{"K": 1, "NAME": "one"}], tmp_path, None)
    return tmp_path


def evaluated(folder: Path, executor: Executor | None = None) -> dict[str, HistoryAnswer]:
    queries = [Registered(name, sql) for name, sql in QUERIES.items()]
    catalog = histories.placed(CATALOG, folder)
    return {
        a.query: a
        for a in evaluate_history(executor or LocalExecutor(1), queries, catalog, output=folder / "answers")
    }


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Spoil:
    def spoil(file: Path) -> None:
        pq.write_table(change(pq.ParquetFile(file).read()), file)

    return spoil


def replaced(column: str, value: pa.Array) -> Spoil:
    return rewritten(lambda t: t.set_column(t.schema.get_field_index(column), column, value))


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def scrambled(file: Path) -> None:
    """A sound footer, and pages that are not."""
    data = bytearray(file.read_bytes())
    data[4:200] = b"\xff" * 196
    file.write_bytes(bytes(data))


SPOILT = {
    "corrupt": (truncated, "abc", "not a readable Parquet file"),
    "corrupt pages": (scrambled, "abc", "cannot be evaluated"),
    "another file": (
        lambda file: file.rename(file.with_suffix(".csv")),
        "abc",
        "partition 1 has no Parquet files: found part-00000.csv",
    ),
    "no timestamp": (
        rewritten(lambda t: t.drop_columns(["ts"])),
        "abc",
        "lacks the application timestamp ts",
    ),
    "no column": (rewritten(lambda t: t.drop_columns(["A"])), "a", "S lacks the column A"),
    "wrong type": (replaced("A", pa.array(["x"])), "a", "S.A is stored as string"),
    "finer decimals": (replaced("C", pa.array([1], pa.decimal128(9, 3))), "c", "stored as decimal128(9, 3)"),
    "outside domain": (
        replaced("B", pa.array([10])),
        "b",
        "partition 1: {file}, row 0: S.B = 10 is outside its declared domain",
    ),
    "null": (
        replaced("B", pa.array([None], pa.int64())),
        "b",
        "partition 1: {file}, row 0: S.B is NULL though the catalog says not_null",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_bad_partition_fails_the_queries_that_read_it(name: str, folder: Path) -> None:
    spoil, failing, message = SPOILT[name]
    file = folder / "S" / "part=1" / "part-00000.parquet"
    spoil(file)
    answers = evaluated(folder)
    for query, answer in answers.items():
        if query in failing:
            assert isinstance(answer.error, DataError), query
            assert message.format(file=file) in answer.error.one_line()
            assert answer.digest is None and not answer.evaluated
            assert not [*(folder / "answers" / query).glob("*/*.parquet")]
        else:
            assert answer.error is None and answer.answer_rows > 0, (query, answer.error)


@pytest.mark.spark
def test_errors_come_back_from_spark_as_data(spark: Any, folder: Path) -> None:
    truncated(folder / "S" / "part=2" / "part-00000.parquet")
    answers = evaluated(folder, SparkExecutor(spark))
    assert {name for name, a in answers.items() if a.error} == {"a", "b", "c"}
    assert "part=2/part-00000.parquet: not a readable Parquet file" in answers["a"].error.one_line()
    assert answers["r"].answer_rows == 1


def test_a_static_relation_that_is_missing(folder: Path) -> None:
    for file in (folder / "R").iterdir():
        file.unlink()
    answers = evaluated(folder)
    assert "has no Parquet files" in str(answers["r"].error) and answers["t"].error is None


def test_streams_with_different_partition_keys(folder: Path) -> None:
    found = histories.placed(CATALOG, folder)
    s, t, r = found.relations
    other = t.__class__(**{**vars(t), "history": t.history.__class__(t.history.path, "date")})
    sql = "SELECT DISTINCT D FROM S, T WHERE D IN (1, 2) AND B = D"
    catalog = Catalog((s, other, r))
    (folder / "T" / "date=2026-01-01").mkdir()
    histories.write(t, [{"D": 1}], folder, 0)
    (answer,) = evaluate_history(LocalExecutor(1), [Registered("q", sql)], catalog, output=folder / "answers")
    assert "partitioned differently: S by part, T by date" in str(answer.error)


PAIRS = catalog_from_mapping({"S": {"A": "int"}, "T": {"A": "int"}})
PAIR = parse("SELECT 1 FROM S, T WHERE S.A = 0 AND T.A = 0", PAIRS, "pair")


def walk_of(made: Plan, folder: Path) -> Fold:
    parts = {stream: (Partition("0", ()), Partition("1", ())) for stream in ("S", "T")}
    whole_plan = StatementPlan(Statement.of(PAIR), (PartPlan(0, "", PAIR, made),))
    job = Job("pair", PAIR.sql, "bounded", whole_plan, histories.KEY, partitions=parts)
    return Fold(job, Checkpoints(job, folder, None))


@pytest.mark.parametrize(("first", "second", "fits"), [(10**19, 10**19 - 1, True), (10**19, 10**19, False)])
def test_counts_up_to_38_digits_and_never_wrapped(
    first: int, second: int, fits: bool, tmp_path: Path
) -> None:
    """No partition has more rows than 64 bits count; their sums and products may."""
    walk = walk_of(compact_plan(PAIR), tmp_path)
    for partition, more in (("0", 0), ("1", 1)):
        counts = {"S": (first + more) // 2, "T": (second + more) // 2}
        made = {alias: dump_counts([pa.table({"n": [count]})]) for alias, count in counts.items()}
        walk.take(partition, [Summary("pair", a, a, partition, table=table) for a, table in made.items()])
    answer = walk.finish(0.0)
    if fits:
        assert answer.error is None and answer.answer_count == first * second
        found = histories.read_answers(tmp_path, PAIR).values()
        assert sum(count for rows in found for count in rows.values()) == first * second
    else:
        assert isinstance(answer.error, CountOverflow) and "38 digits" in str(answer.error)
        assert not [*tmp_path.glob("*/*.parquet")]


def test_the_largest_count_of_a_file() -> None:
    table = emit.answer_table(Statement.of(PAIR), [Answer(None, (1,), 10**38 - 1)])
    assert [int(n) for n in table.column("count").to_pylist()] == [10**38 - 1]
    with pytest.raises(CountOverflow):
        emit.answer_table(Statement.of(PAIR), [Answer(None, (1,), 10**38)])


def test_a_value_that_is_larger_than_its_type_is_an_error_and_never_wrapped() -> None:
    with pytest.raises(DataError, match="is too large for int64"):
        emit.answer_table(Statement.of(PAIR), [Answer(None, (2**63,), 1)])


def test_errors_survive_the_way_from_a_task() -> None:
    error = StorageError("no space", subject="x.parquet", fix="free some")
    again = error_of(error_text(error))
    assert (type(again), again.one_line(), again.exit_code) == (StorageError, error.one_line(), 3)


def test_tasks_are_batched_by_stream_and_balanced_by_size() -> None:
    both = frozenset("ab")
    tasks = [Task(s, f"{p:03}", (f"{s}{p}",), 10**6, both) for s in "ST" for p in range(100)] + [
        Task("S", "big", ("big",), 10**9, both),
        Task("S", "one", ("one",), 10**6, frozenset("a")),
        Task("S", "two", ("two",), 10**6, frozenset("a"), frozenset("a")),
    ]
    batches = batched(tasks, 5 * 10**6)
    assert sorted(t.partition for b in batches for t in b) == sorted(t.partition for t in tasks)
    assert all(len({(t.stream, t.queries, t.aside) for t in b}) == 1 and len(b) <= 5 for b in batches)
    groups = balanced(batches, 4)
    assert len(groups) == 4 and [t.partition for b in groups[0] for t in b] == ["big"]


class FakeSession:
    """A session without a context, as on Spark Connect, or with a broken one."""

    def __init__(self, error: Exception) -> None:
        self.error, self.conf = error, {"spark.default.parallelism": "6"}

    @property
    def sparkContext(self) -> Any:
        raise self.error


def test_only_spark_connect_is_taken_for_a_session_without_a_context() -> None:
    unsupported = PySparkAttributeError(
        errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "sparkContext"}
    )
    connect: Any = FakeSession(unsupported)
    assert cores(connect) == 6
    broken: Any = FakeSession(RuntimeError("stopped"))
    with pytest.raises(RuntimeError, match="stopped"):
        cores(broken)
