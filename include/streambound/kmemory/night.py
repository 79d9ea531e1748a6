"""A night's benchmark of one query's caches: the choice for each size, why, and all that it rests on.

It is a JSON file a query in ``settings.caches_root()``, replaced as a whole. The evaluation takes its choice
from it, ``streambound cache advise`` its answer, and reports their pictures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streambound.errors import DataError, StorageError
from streambound.kmemory.benchmark import (
    LEAST_TUPLES,
    STANDING,
    Case,
    Contender,
    Fit,
    Judged,
    Trial,
    choose,
    fits,
    judged,
    lead,
    learned,
)
from streambound.kmemory.choice import Choice


@dataclass(frozen=True)
class OfSize:
    """What was found for one size of the cache.

    Args:
        units: stored values, at most: k times the width of a tuple.
        optimum: the most that any policy could keep on the held-out days.
        judged: every contender.
        chosen: the contender that is chosen; None where the choice of an earlier night stands.
    """

    size: int
    units: int
    optimum: int
    judged: tuple[Judged, ...]
    choice: Choice
    kept: int
    chosen: Contender | None = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        chosen = None if self.chosen is None else vars(self.chosen)
        body = {"size": self.size, "units": self.units, "optimum": self.optimum, "kept": self.kept}
        judged = [one.to_json() for one in self.judged]
        return {**body, "chosen": chosen, "judged": judged, "choice": self.choice.to_json()}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> OfSize:
        """What ``to_json`` made an object of."""
        made = tuple(Judged.of_json(one) for one in found["judged"])
        chosen = None if found["chosen"] is None else Contender(**found["chosen"])
        choice = Choice.of_json(found["choice"])
        size, units, optimum, kept = (found[name] for name in ("size", "units", "optimum", "kept"))
        return cls(size, units, optimum, made, choice, kept, chosen)


@dataclass(frozen=True)
class Night:
    """The benchmark of one query.

    Args:
        fingerprint: of the query and its catalog: another query by the same name does not take its choice.
        days: the partitions that it rests on; the last ``held_out`` of them were held out.
        tuples: how many tuples counted on these days.
        possible: results on the held-out days with a memory for everything.
        fits: of the models that were learned this night, and of those of the choice before it.
    """

    query: str
    sql: str
    fingerprint: str
    days: tuple[str, ...]
    held_out: int
    tuples: int
    possible: int
    sizes: tuple[OfSize, ...]
    fits: tuple[Fit, ...]
    drifts: tuple[Fit, ...] = ()

    @property
    def drifted(self) -> bool:
        """Whether the streams have left the models of the choice before."""
        return any(fit.drifted for fit in self.drifts)

    def choice(self, size: int) -> Choice:
        """The choice for a memory: of the nearest size that was tried, HEEB's alpha in proportion."""
        nearest = min(self.sizes, key=lambda one: (abs(one.size - size), one.size))
        if nearest.size == size or nearest.choice.alpha is None:
            return nearest.choice
        return replace(nearest.choice, alpha=nearest.choice.alpha * size / nearest.size)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        body = {name: getattr(self, name) for name in ("query", "sql", "fingerprint", "held_out", "tuples")}
        body |= {"days": list(self.days), "possible": self.possible, "drifted": self.drifted}
        parts = {name: [one.to_json() for one in getattr(self, name)] for name in ("sizes", "fits", "drifts")}
        return {**body, **parts}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Night:
        """What ``to_json`` made an object of."""
        fits, drifts = ([Fit.of_json(one) for one in found[name]] for name in ("fits", "drifts"))
        return cls(
            query=found["query"],
            sql=found["sql"],
            fingerprint=found["fingerprint"],
            days=tuple(found["days"]),
            held_out=found["held_out"],
            tuples=found["tuples"],
            possible=found["possible"],
            sizes=tuple(OfSize.of_json(one) for one in found["sizes"]),
            fits=tuple(fits),
            drifts=tuple(drifts),
        )


def decided(
    case: Case, size: int, optimum: int, trials: Sequence[Trial], before: tuple[Choice, Trial] | None
) -> OfSize:
    """The choice for a size.

    Args:
        trials: of the contenders.
        before: the choice that stood so far and what it kept, unless the streams have left its models.
    """
    by_contender: dict[Contender, list[Trial]] = {}
    for one in trials:
        by_contender.setdefault(one.contender, []).append(one)
    found = tuple(judged(each) for each in by_contender.values())
    units = replace(case.plan, size=size).units
    chosen, why = choose(trials)
    kept = next(one.kept for one in found if one.contender == chosen)
    if before is not None and (stands := _stands(by_contender[chosen], *before)) is not None:
        return OfSize(size, units, optimum, found, stands, sum(before[1].kept))
    choice = chosen.choice(size, learned(case.plan, case.rows), case.pace, 0)
    return OfSize(size, units, optimum, found, replace(choice, why=why), kept, chosen)


def _stands(top: Sequence[Trial], before: Choice, then: Trial) -> Choice | None:
    """The earlier choice, unless what is best tonight is better by more than chance and ``STANDING``."""
    kept = [n for one in top for n in one.kept]
    ahead, half = lead(kept, then.kept)
    if ahead > min(half, STANDING * sum(kept) / len(kept)):
        return None
    told = before.why.removesuffix(STOOD)
    return replace(before, why=told + STOOD)


STOOD = "; it stands, since nothing tonight is clearly better"


def drifts(case: Case, before: Night | None) -> tuple[Fit, ...]:
    """How well the models of the choice before explain the days that have come since."""
    known = [one.choice.models for one in before.sizes if one.choice.models] if before is not None else []
    since = sum(case.days[day] <= before.days[-1] for day in case.day) if before is not None else 0
    if not known or len(case.rows) - since < LEAST_TUPLES:
        return ()
    # They are the same at every size.
    return fits(case, known[0], since)


def choice_for(night: Night | None, fingerprint: str, size: int) -> Choice:
    """The choice of a benchmark, if it was of the same query; else the default."""
    if night is None or night.fingerprint != fingerprint:
        return Choice()
    return night.choice(size)


def path_of(folder: Path, query: str) -> Path:
    """Where the benchmark of a query lies."""
    return folder / f"{query}.json"


def write(folder: Path, night: Night) -> None:
    """Replace the benchmark of a query in one step.

    Raises:
        StorageError: the disk refuses.
    """
    path = path_of(folder, night.query)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(night.to_json(), ensure_ascii=False, allow_nan=False)
        draft.write_text(text + "\n", encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror or error}",
            subject=str(path),
            fix="free space or permit writing there",
        ) from None


def read(folder: Path, query: str) -> Night | None:
    """The benchmark of a query; None if there has been none.

    Raises:
        DataError: the file is damaged.
    """
    path = path_of(folder, query)
    try:
        return Night.of_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"no benchmark of caches can be read from it: {type(error).__name__}: {error}",
            subject=str(path),
            fix="remove the file, and run the DAG benchmark_caches",
        ) from None
