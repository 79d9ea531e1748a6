"""The nightly benchmark of caches: the recent past of the streams, and every policy at every size, on Spark.

The tuples that count are read as for any query with time conditions (see ``recent``); then each (query,
policy, size, run) is one piece of work, and so is the optimum of a query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.caching.keys import KeyModel
from streambound.checkpoint.fingerprint import fingerprint
from streambound.errors import DataError, StreamboundError
from streambound.kmemory.benchmark import (
    SIMPLEST_FIRST,
    Case,
    Contender,
    Trial,
    best,
    contenders,
    fits,
    possible,
    trial,
)
from streambound.kmemory.choice import Choice
from streambound.kmemory.night import Night, decided, drifts, read, write
from streambound.kmemory.offered import DAYS, HELD_OUT, RUNS, SIZES
from streambound.kmemory.plan import MemoryPlan
from streambound.query.catalog import Catalog
from streambound.spark import emit
from streambound.spark.distribute import Progress, collected, cores
from streambound.spark.recent import plan_for, recent_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Failed:
    """A query that could not be benchmarked, and why; the choice that it had stands."""

    query: str
    error: StreamboundError


@dataclass(frozen=True)
class Wanted:
    """What is benchmarked.

    Args:
        sizes: of the cache, in tuples.
        policies: names (see ``benchmark.SIMPLEST_FIRST``).
        days: partitions of history, of which the last ``held_out`` are held out.
        runs: of policies that draw lots.
    """

    sizes: tuple[int, ...] = SIZES
    policies: tuple[str, ...] = SIMPLEST_FIRST
    days: int = DAYS
    held_out: int = HELD_OUT
    runs: int = RUNS

    def __post_init__(self) -> None:
        for name in ("days", "held_out", "runs"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} is {getattr(self, name)}", accepted="a whole number, 1 or more")
        if self.held_out >= self.days:
            raise DataError(
                f"{self.held_out} of {self.days} days are to be held out",
                accepted="fewer than there are: the days before them are what policies learn from",
                fix="give more days, or hold out fewer",
            )
        if not self.sizes or min(self.sizes) < 1:
            raise DataError(f"sizes are {list(self.sizes)}", accepted="tuples, 1 or more")
        if not self.policies:
            raise DataError("no policy is named", accepted=", ".join(SIMPLEST_FIRST))
        contenders(self.policies)


def benchmark_caches(
    session: SparkSession,
    queries: Iterable[tuple[str, str]],
    catalog: Catalog,
    folder: Path,
    wanted: Wanted,
    *,
    last: str | None = None,
    progress: Progress,
) -> list[Night | Failed]:
    """Benchmark queries and write what was found; one result a query, in the given order.

    Args:
        queries: names and texts.
        folder: where the benchmarks lie (see ``night``).
        last: the last partition to look at; None: the newest.

    Raises:
        StorageError: Spark lost the job, or the disk refuses.
    """
    found: dict[str, Night | Failed] = {}
    plans: dict[str, MemoryPlan] = {}
    texts = dict(queries)
    for name, sql in texts.items():
        try:
            plans[name] = plan_for(name, sql, catalog, max(wanted.sizes))
        except StreamboundError as error:
            found[name] = Failed(name, error.about(name))
    cases = recent_cases(session, plans, wanted.days, wanted.held_out, last, progress)
    sound = {name: case for name, case in cases.items() if isinstance(case, Case)}
    found |= {name: Failed(name, case) for name, case in cases.items() if not isinstance(case, Case)}
    if sound:
        for name, night in _nights(session, sound, texts, folder, wanted, progress).items():
            write(folder, night)
            found[name] = night
    return [found[name] for name in texts]


@dataclass(frozen=True)
class _Piece:
    """A piece of work; ``asked`` is trial, before (the choice so far), possible or best."""

    query: str
    asked: str
    contender: Contender | None = None
    choice: Choice | None = None
    size: int = 0
    standing: Choice | None = None


def _nights(
    session: SparkSession,
    cases: Mapping[str, Case],
    texts: Mapping[str, str],
    folder: Path,
    wanted: Wanted,
    progress: Progress,
) -> dict[str, Night]:
    before = {name: _standing(folder, case, progress) for name, case in cases.items()}
    drifted = {name: drifts(case, before[name]) for name, case in cases.items()}
    learned = {name: case.models() for name, case in cases.items()}
    pieces = [piece for name in cases for piece in _pieces(name, cases[name], learned[name], wanted)]
    for name, night in before.items():
        if night is not None and not any(fit.drifted for fit in drifted[name]):
            choices = {size: night.choice(size) for size in wanted.sizes}
            pieces += [_before(name, size, c, learned[name]) for size, c in choices.items()]
    progress(f"{len(pieces):,} simulations of {emit.counted(len(cases), 'query')}")
    done = _worked(session, cases, pieces, wanted.sizes)
    found = {}
    for name, case in cases.items():
        mine = [(piece, result) for piece, result in zip(pieces, done, strict=True) if piece.query == name]
        sizes = tuple(_of_size(case, size, mine) for size in wanted.sizes)
        found[name] = Night(
            query=name,
            sql=texts[name],
            fingerprint=fingerprint(case.plan.query, case.plan.streams, {}),
            days=case.days,
            held_out=case.held_out,
            tuples=len(case.rows),
            possible=next(result for piece, result in mine if piece.asked == "possible"),
            sizes=sizes,
            fits=fits(case, learned[name]),
            drifts=drifted[name],
        )
        progress(f"{name}: {_told(found[name])}")
    return found


def _standing(folder: Path, case: Case, progress: Progress) -> Night | None:
    """The benchmark of an earlier night, of the same query."""
    name = case.plan.query.name
    try:
        found = read(folder, name)
    except DataError as error:
        progress(f"{name}: the earlier benchmark is passed over: {error.one_line()}")
        return None
    same = found is not None and found.fingerprint == fingerprint(case.plan.query, case.plan.streams, {})
    return found if same else None


def _before(name: str, size: int, standing: Choice, models: tuple[KeyModel, KeyModel]) -> _Piece:
    """The choice so far, as good as it would be without having seen the held-out days."""
    fair = standing if standing.models is None else replace(standing, models=models)
    return _Piece(name, "before", Contender(standing.policy), fair, size, standing)


def _pieces(name: str, case: Case, models: Any, wanted: Wanted) -> Iterator[_Piece]:
    yield _Piece(name, "best")
    yield _Piece(name, "possible")
    for contender in contenders(wanted.policies):
        for size in wanted.sizes:
            for seed in range(wanted.runs if contender.policy == "rand" else 1):
                choice = contender.choice(size, models, case.pace, seed)
                yield _Piece(name, "trial", contender, choice, size)


def _worked(
    session: SparkSession, cases: Mapping[str, Case], pieces: Sequence[_Piece], sizes: Sequence[int]
) -> list[Any]:
    """The result of every piece, computed in one Spark job."""
    groups = min(len(pieces), cores(session) * 4)
    mapped = _mapper(dict(cases), list(pieces), tuple(sizes), groups)
    frame = session.range(0, groups, 1, groups).mapInArrow(mapped, "piece bigint, result string")
    found = {row["piece"]: json.loads(row["result"]) for row in collected(frame)}
    return [_result(piece, found[at]) for at, piece in enumerate(pieces)]


def _mapper(
    cases: dict[str, Case], pieces: list[_Piece], sizes: tuple[int, ...], groups: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                mine = range(group, len(pieces), groups)
                results = [json.dumps(_work(cases[pieces[at].query], pieces[at], sizes)) for at in mine]
                yield pa.RecordBatch.from_pydict({"piece": list(mine), "result": results})

    return mapped


def _work(case: Case, piece: _Piece, sizes: tuple[int, ...]) -> Any:
    if piece.asked == "best":
        return {str(size): found for size, found in best(case, sizes).items()}
    if piece.asked == "possible":
        return possible(case)
    assert piece.contender is not None and piece.choice is not None
    return list(trial(case, piece.contender, piece.size, piece.choice).kept)


def _result(piece: _Piece, found: Any) -> Any:
    if piece.contender is None:
        return found
    return Trial(piece.contender, piece.size, tuple(found))


def _of_size(case: Case, size: int, done: Sequence[tuple[_Piece, Any]]) -> Any:
    optimum = next(result for piece, result in done if piece.asked == "best")[str(size)]
    trials = [result for piece, result in done if piece.asked == "trial" and piece.size == size]
    before = next(
        (
            (piece.standing, result)
            for piece, result in done
            if piece.asked == "before" and piece.size == size and piece.standing is not None
        ),
        None,
    )
    return decided(case, size, optimum, trials, before)


def _told(night: Night) -> str:
    sizes = [
        f"k = {one.size:,}: {one.choice.policy} keeps {_share(one.kept, night.possible)}"
        f" (the optimum {_share(one.optimum, night.possible)})"
        for one in night.sizes
    ]
    return "; ".join(sizes) + ("; its streams have drifted" if night.drifted else "")


def _share(kept: int, possible: int) -> str:
    return f"{kept / possible:.1%}" if possible else "all"
