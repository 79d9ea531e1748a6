"""Rewrites and their queries give the same answers: by the definition, on DuckDB, on Spark and on Flink."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.grammar import statement_line
from tests.rewrites.answers import Bag, alike, counted, defined, on_duckdb
from tests.rewrites.cases import KINDS, WINDOWED, case

from streambound.compiler import Planned, compile
from streambound.compiler.report import on_engine
from streambound.errors import StreamboundError
from streambound.query.parse.corpus import CorpusLine
from streambound.rewrites.rewrite import Rewrite, rewrite
from streambound.rewrites.targets import TARGETS, Target
from streambound.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The forms of rewrites, printed for DuckDB: groups that are joined, and one GROUP BY.
FORMS = {
    "joined": replace(TARGETS["flink"], language="duckdb", merging=False, windowing=False),
    "merged": replace(TARGETS["spark"], language="duckdb"),
}


def planned(line: CorpusLine) -> Planned | None:
    assert line.catalog is not None
    try:
        return compile(line.sql, line.catalog, line.id)
    except StreamboundError:
        return None


def rewritten(lines: Iterator[CorpusLine], to: Target) -> Iterator[tuple[CorpusLine, Rewrite]]:
    """The lines that something is rewritten of, each with that."""
    for line in lines:
        job = planned(line)
        if job is not None and job.verdict.bounded:
            made = rewrite(job, to)
            assert (made.sql is None) != (made.refused is None)
            if made.rules:
                yield line, made


def same(line: CorpusLine, made: Rewrite, to: Target) -> Bag:
    """The answer by the definition, which the rewrite has on DuckDB."""
    (rows,) = on_duckdb(line, str(made.sql))
    found, wanted = counted(made, rows), defined(line)
    if made.number is None and not to.chained:
        # A row may come from several groups, into a sink that writes it once.
        found = Counter(dict.fromkeys(found, 1))
    assert found == wanted, f"{line.sql}\n{made.sql}"
    return wanted


def of_kinds(seed: int, *kinds: str) -> Iterator[CorpusLine]:
    """Lines of each kind in turn."""
    kinds = kinds or KINDS
    return (case(seed + n, kinds[n % len(kinds)], 24)[1] for n in count())


def test_what_is_not_rewritten_keeps_its_bound_as_its_engine_has_rules() -> None:
    told = 0
    for line in islice(of_kinds(0), 30):
        job = planned(line)
        for engine in ("spark", "flink"):
            if job is not None and rewrite(job, engine).note.startswith("nothing to rewrite"):
                found = on_engine(job, engine)
                assert found is not None and found.growth.value == "constant", line.sql
                told += 1
    assert told > 10


def of_grammar(seed: int) -> Iterator[CorpusLine]:
    return (statement_line(seed + n) for n in count())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [25, pytest.param(300, marks=pytest.mark.heavy)])
def test_rewrites_of_every_kind_answer_as_their_queries_do(form: str, number: int) -> None:
    answered = 0
    for line, made in islice(rewritten(of_kinds(0), FORMS[form]), number):
        wanted = same(line, made, FORMS[form])
        (rows,) = on_duckdb(line, line.sql)
        assert Counter(tuple(map(alike, row)) for row in rows) == wanted, line.sql
        answered += bool(wanted)
    assert answered > number / 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [12, pytest.param(300, marks=pytest.mark.heavy)])
def test_rewrites_of_the_grammar_answer_as_the_definition_does(form: str, number: int) -> None:
    for line, made in islice(rewritten(of_grammar(0), FORMS[form]), number):
        same(line, made, FORMS[form])


# What a stream needs that its answers are those of the whole: a watermark that is before every row.
WATERMARK = "1 day"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session of two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMBOUND_HOME", str(tmp_path_factory.mktemp("home")))
        options = {"spark__sql__shuffle__partitions": "1", "spark__sql__session__timeZone": "UTC"}
        with session("rewrites", master="local[2]", **options) as running:
            yield running


def streamed(spark: SparkSession, line: CorpusLine, made: Rewrite, folder: Path) -> Bag:
    """What a rewrite answers as a streaming query over three files a stream."""
    assert line.catalog is not None
    for relation in line.catalog.relations:
        rows = [event for event in line.events if event["stream"] == relation.name]
        columns = [c.name for c in relation.own]
        schema = ", ".join(f"`{c.name}` {c.type.name}" for c in relation.own)
        path = folder / relation.name
        path.mkdir(parents=True)
        for part in range(3):
            text = "".join(
                json.dumps({n: row[n] for n in columns if row.get(n) is not None}) + "\n"
                for row in rows[part::3]
            )
            (path / f"{part}.json").write_text(text)
        frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(path))
        frame.withWatermark(str(relation.timestamp), WATERMARK).createOrReplaceTempView(relation.name)
    held: dict[Any, tuple[Any, ...]] = {}
    numbers = count()

    def take(frame: DataFrame, _: int) -> None:
        # What is appended is there beside what was; what changed replaces what its keys have.
        at = [frame.columns.index(key) for key in made.keys]
        for row in frame.collect():
            held[tuple(row[i] for i in at) if made.keys else next(numbers)] = tuple(row)

    query = (
        spark.sql(str(made.sql))
        .writeStream.outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .foreachBatch(take)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return counted(made, held.values())


@pytest.mark.parametrize("number", [2, pytest.param(30, marks=pytest.mark.heavy)])
def test_rewrites_answer_so_as_streaming_queries_of_spark(
    spark: SparkSession, number: int, tmp_path: Path
) -> None:
    lines = of_kinds(1000, *KINDS[:: 5 if number < 5 else 1], WINDOWED)
    for position, (line, made) in enumerate(islice(rewritten(lines, TARGETS["spark"]), number)):
        found = streamed(spark, line, made, tmp_path / str(position))
        if made.number is None and made.rules != ("R7",):
            found = Counter(dict.fromkeys(found, 1))
        assert found == defined(line), f"{line.sql}\n{made.sql}"


# The environment that ``make flink`` makes.
FLINK = Path(__file__).parents[2] / "var" / "flink" / "bin" / "python"
FLINK_TYPES = {"int": "INT", "string": "STRING", "timestamp": "TIMESTAMP(3)"}


@pytest.mark.heavy
def test_rewrites_answer_so_on_flink(tmp_path: Path) -> None:
    asked = [*islice(rewritten(of_kinds(2000, *KINDS, WINDOWED), TARGETS["flink"]), 30)]
    assert FLINK.exists(), "make flink"
    cases = [
        {"folder": str(tmp_path / str(position)), "tables": tables_of(line), "query": made.sql}
        for position, (line, made) in enumerate(asked)
    ]
    done = subprocess.run(
        [FLINK, Path(__file__).with_name("flink_answers.py")],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    for rows, (line, made) in zip(json.loads(done.stdout.splitlines()[-1]), asked, strict=True):
        assert isinstance(rows, list), f"{made.sql}\n{rows}"
        found = counted(made, [tuple(row) for row, number in rows for _ in range(number)])
        # A group of all rows is told by Flink when its first row comes, as it is of the query as written.
        wanted = defined(line) if found or defined(replace(line, events=())) != defined(line) else found
        assert found == wanted, f"{line.sql}\n{made.sql}"


def tables_of(line: CorpusLine) -> dict[str, Any]:
    """The streams of a line as tables of Flink."""
    assert line.catalog is not None
    return {
        relation.name: {
            "columns": {c.name: FLINK_TYPES[c.type.name] for c in relation.own},
            "time": relation.timestamp,
            "rows": [
                {c.name: event[c.name] for c in relation.own}
                for event in line.events
                if event["stream"] == relation.name
            ],
        }
        for relation in line.catalog.relations
    }
