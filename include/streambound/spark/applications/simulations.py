"""Simulations of caches on Spark: each policy at each size, the optimum, and what estimates are worth.

Each is one piece of work, and all of them are one Spark job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streambound.approximate.nightly.accuracy import accuracy_of
from streambound.approximate.nightly.benchmark import Case, Contender, Trial, best, possible, trial
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.spark.distribute import collected, cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Piece:
    """A piece of work; ``asked`` is trial, before (the choice so far), compare, possible or best."""

    query: str
    asked: str
    contender: Contender | None = None
    selected_policy: SelectedPolicy | None = None
    size: int = 0
    earlier: SelectedPolicy | None = None


# The result of every piece, given the cases by query, the pieces, and the sizes of the cache.
Simulate = Callable[[Mapping[str, Case], Sequence[Piece], Sequence[int]], list[Any]]


def worked(
    session: SparkSession, cases: Mapping[str, Case], pieces: Sequence[Piece], sizes: Sequence[int]
) -> list[Any]:
    """The result of every piece, computed in one Spark job."""
    groups = min(len(pieces), cores(session) * 4)
    mapped = _mapper(dict(cases), list(pieces), tuple(sizes), groups)
    frame = session.range(0, groups, 1, groups).mapInArrow(mapped, "piece bigint, result string")
    results = {row["piece"]: row["result"] for row in collected(frame)}
    return [result_of(piece, results[at]) for at, piece in enumerate(pieces)]


def _mapper(
    cases: dict[str, Case], pieces: list[Piece], sizes: tuple[int, ...], groups: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                mine = range(group, len(pieces), groups)
                results = [simulated(cases[pieces[at].query], pieces[at], sizes) for at in mine]
                yield pa.RecordBatch.from_pydict({"piece": list(mine), "result": results})

    return mapped


def simulated(case: Case, piece: Piece, sizes: tuple[int, ...]) -> str:
    """Do a piece of work; the JSON that ``result_of`` reads."""
    return json.dumps(_work(case, piece, sizes))


def _work(case: Case, piece: Piece, sizes: tuple[int, ...]) -> Any:
    if piece.asked == "best":
        return {str(size): best_of_size for size, best_of_size in best(case, sizes).items()}
    if piece.asked == "possible":
        return possible(case)
    assert piece.selected_policy is not None
    if piece.asked == "compare":
        return accuracy_of(case, piece.selected_policy, piece.size).to_json()
    assert piece.contender is not None
    return list(trial(case, piece.contender, piece.size, piece.selected_policy).kept)


def result_of(piece: Piece, text: str) -> Any:
    """What came of a piece: a trial, or the object that its JSON is."""
    document = json.loads(text)
    if piece.contender is None:
        return document
    return Trial(piece.contender, piece.size, tuple(document))
