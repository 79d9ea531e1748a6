"""The nightly benchmark of caches: the recent past of the streams, and every policy at every size, on Spark.

The tuples that count are read as for any query with time conditions (see ``recent_past``); then each (query,
policy, size, run) is one piece of work, and so is the optimum of a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streambound.approximate.keys import KeyModel
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import (
    Case,
    Contender,
    Fit,
    contenders,
    fits,
    learned,
)
from streambound.approximate.nightly.defaults import DAYS, HELD_OUT, RUNS, SIZES
from streambound.approximate.nightly.drift import drifts, followed
from streambound.approximate.nightly.night import Night, OfSize, decided, read, write
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.policies import POLICIES
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.checkpoint.fingerprint import fingerprint
from streambound.errors import DataError, StreamboundError
from streambound.history.executor import Executor, Progress
from streambound.history.inspection.recent_past import plan_for, recent_cases
from streambound.history.prepare import Registered, beside
from streambound.query.catalog import Catalog
from streambound.spark.applications.simulations import Piece, Simulate
from streambound.tasks import emit

Models = tuple[KeyModel, KeyModel]


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
        policies: names (see ``policies.POLICIES``).
        days: partitions of history, of which the last ``held_out`` are held out.
        runs: of policies that draw lots.
    """

    sizes: tuple[int, ...] = SIZES
    policies: tuple[str, ...] = tuple(POLICIES)
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
            raise DataError("no policy is named", accepted=", ".join(POLICIES))
        contenders(self.policies)


def benchmark_caches(
    executor: Executor,
    simulate: Simulate,
    queries: Sequence[Registered],
    catalog: Catalog,
    folder: Path,
    wanted: Wanted,
    *,
    last: str | None = None,
    progress: Progress,
) -> list[Night | Failed]:
    """Benchmark queries and write what was found; one result a query, in the given order.

    Args:
        executor: where the recent past is read.
        simulate: what does the pieces of work.
        queries: those of the registry.
        folder: where the benchmarks lie (see ``night``).
        last: the last partition to look at; None: the newest.

    Raises:
        StorageError: the executor lost the job, or the disk refuses.
    """
    nights: dict[str, Night | Failed] = {}
    plans: dict[str, MemoryPlan] = {}
    texts = {query.name: query.sql for query in queries}
    for query in queries:
        name = query.name
        try:
            plans[name] = plan_for(name, query.sql, catalog, min(wanted.sizes), *beside(query))
        except StreamboundError as error:
            nights[name] = Failed(name, error.about(name))
    cases = recent_cases(executor, plans, wanted.days, wanted.held_out, last, progress)
    sound = {name: case for name, case in cases.items() if isinstance(case, Case)}
    nights |= {name: Failed(name, case) for name, case in cases.items() if not isinstance(case, Case)}
    if sound:
        for name, night in _nights(simulate, sound, texts, folder, wanted, progress).items():
            write(folder, night)
            nights[name] = night
    return [nights[name] for name in texts]


def _nights(
    simulate: Simulate,
    cases: Mapping[str, Case],
    texts: Mapping[str, str],
    folder: Path,
    wanted: Wanted,
    progress: Progress,
) -> dict[str, Night]:
    before = {name: _earlier_night(folder, case, progress) for name, case in cases.items()}
    drifted = {name: drifts(case, before[name]) for name, case in cases.items()}
    models = {name: case.models() for name, case in cases.items()}
    pieces = [piece for name in cases for piece in _pieces(name, cases[name], models[name], wanted)]
    for name, night in before.items():
        if night is not None and not any(fit.drifted for fit in drifted[name]):
            policies = {size: night.selected_policy(size) for size in wanted.sizes}
            pieces += [_before(name, size, c, models[name]) for size, c in policies.items()]
    progress(f"{len(pieces):,} simulations of {emit.counted(len(cases), 'query')}")
    done = simulate(cases, pieces, wanted.sizes)
    nights = {}
    for name, case in cases.items():
        mine = [(piece, result) for piece, result in zip(pieces, done, strict=True) if piece.query == name]
        everything = learned(case.plan, case.rows)
        left = [fit for fit in drifted[name] if fit.drifted]
        results = next(result for piece, result in mine if piece.asked == "possible")
        sizes = tuple(_of_size(case, size, mine, everything, left, results) for size in wanted.sizes)
        nights[name] = Night(
            query=name,
            sql=texts[name],
            fingerprint=fingerprint(case.plan.query, case.plan.streams, {}),
            days=case.days,
            held_out=case.held_out,
            tuples=len(case.rows),
            possible=sum(results),
            sizes=sizes,
            fits=fits(case, models[name]),
            drifts=drifted[name],
            models=followed(case, before[name], sizes, everything),
        )
    nights = _compared(simulate, cases, nights, models)
    for name, night in nights.items():
        for line in _lines(night):
            progress(f"{name}: {line}")
    return nights


def _compared(
    simulate: Simulate,
    cases: Mapping[str, Case],
    nights: Mapping[str, Night],
    models: Mapping[str, Models],
) -> dict[str, Night]:
    """What the evaluation's own estimates are worth under the choices."""
    pieces = [
        Piece(
            name, "compare", selected_policy=_fair(of_size.selected_policy, models[name]), size=of_size.size
        )
        for name, night in nights.items()
        for of_size in night.sizes
    ]
    done = simulate(cases, pieces, ())
    by_size = {(p.query, p.size): Accuracy.of_json(result) for p, result in zip(pieces, done, strict=True)}
    return {
        name: replace(
            night,
            sizes=tuple(replace(of_size, estimate=by_size[name, of_size.size]) for of_size in night.sizes),
        )
        for name, night in nights.items()
    }


def _earlier_night(folder: Path, case: Case, progress: Progress) -> Night | None:
    """The benchmark of an earlier night, of the same query."""
    name = case.plan.query.name
    try:
        night = read(folder, name)
    except DataError as error:
        progress(f"{name}: the earlier benchmark is passed over: {error.one_line()}")
        return None
    same = night is not None and night.fingerprint == fingerprint(case.plan.query, case.plan.streams, {})
    return night if same else None


def _before(name: str, size: int, earlier: SelectedPolicy, models: Models) -> Piece:
    """The choice so far, as good as it would be without having seen the held-out days."""
    return Piece(name, "before", Contender(earlier.policy), _fair(earlier, models), size, earlier)


def _fair(selected_policy: SelectedPolicy, models: Models) -> SelectedPolicy:
    """A choice as if it had not seen the held-out days."""
    return selected_policy if selected_policy.models is None else replace(selected_policy, models=models)


def _pieces(name: str, case: Case, models: Models, wanted: Wanted) -> Iterator[Piece]:
    yield Piece(name, "best")
    yield Piece(name, "possible")
    for contender in contenders(wanted.policies):
        for size in wanted.sizes:
            for seed in range(wanted.runs if POLICIES[contender.policy].facts.lot else 1):
                selected_policy = contender.selected_policy(size, models, case.pace, seed)
                yield Piece(name, "trial", contender, selected_policy, size)


def _of_size(
    case: Case,
    size: int,
    done: Sequence[tuple[Piece, Any]],
    models: Models,
    left: Sequence[Fit],
    results: Sequence[int],
) -> OfSize:
    optimum = next(result for piece, result in done if piece.asked == "best")[str(size)]
    trials = [result for piece, result in done if piece.asked == "trial" and piece.size == size]
    before = next(
        (
            (piece.earlier, result)
            for piece, result in done
            if piece.asked == "before" and piece.size == size and piece.earlier is not None
        ),
        None,
    )
    return decided(case, size, optimum, trials, before, models, left, results)


def _lines(night: Night) -> Iterator[str]:
    for of_size in night.sizes:
        kept, optimum = (_share(kept, night.possible) for kept in (of_size.kept, of_size.optimum))
        selected_policy = of_size.selected_policy
        keeps = f"{selected_policy.policy} keeps {kept} (the optimum {optimum})"
        yield f"k = {of_size.size:,}: {keeps}: {of_size.why}"
        if of_size.estimate is not None:
            yield f"k = {of_size.size:,}: over the held-out days alone a pass {of_size.estimate.sentence()}"
    for fit in night.drifts:
        if fit.drifted:
            yield f"its streams have drifted: {fit.sentence()}"


def _share(kept: int, possible: int) -> str:
    return f"{kept / possible:.1%}" if possible else "all"
