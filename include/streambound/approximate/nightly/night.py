"""A night's benchmark of one query's caches: the choice for each size, why, and all that it rests on.

It is a JSON file a query in ``settings.caches_root()``, replaced as a whole. The evaluation takes its choice
from it, ``streambound cache advise`` its answer, and reports their pictures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streambound.approximate.keys import KeyModel
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import (
    STANDING,
    Case,
    Contender,
    Fit,
    Judged,
    Trial,
    choose,
    judged,
    lead,
    share_half,
)
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.durable import write_text
from streambound.errors import DataError


@dataclass(frozen=True)
class OfSize:
    """What was found for one size of the cache.

    Args:
        units: stored values, at most: k times the width of a tuple.
        optimum: the most that any policy could keep on the held-out days.
        judged: every contender.
        chosen: the contender that is chosen; None where the choice of an earlier night stands.
        estimate: what the evaluation's own estimate is worth; None if that was not looked at.
        half: of the 95% interval of the share that the choice keeps; None of a single day.
    """

    size: int
    units: int
    optimum: int
    judged: tuple[Judged, ...]
    selected_policy: SelectedPolicy
    kept: int
    chosen: Contender | None = None
    estimate: Accuracy | None = None
    half: float | None = None

    @property
    def ahead(self) -> tuple[Judged, ...]:
        """Policies that keep more than the chosen one, the most first; of HEEB the best alpha."""
        best: dict[str, Judged] = {}
        for judgement in sorted(self.judged, key=lambda judgement: -judgement.kept):
            if judgement.kept > self.kept:
                best.setdefault(judgement.contender.policy, judgement)
        return tuple(best.values())

    @property
    def why(self) -> str:
        """Why the choice was made, with the policies that keep more."""
        if not self.ahead:
            return f"{self.selected_policy.why}; no policy keeps more"
        more = ", ".join(f"{judgement.contender.policy} {judgement.kept:,}" for judgement in self.ahead)
        kept = f"more results than the {self.kept:,} of the chosen one were kept by {more}"
        return f"{self.selected_policy.why}; {kept}"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; what is ahead follows from the rest."""
        chosen = None if self.chosen is None else vars(self.chosen)
        body = {"size": self.size, "units": self.units, "optimum": self.optimum, "kept": self.kept}
        judged, ahead = (
            [judgement.to_json() for judgement in judgements] for judgements in (self.judged, self.ahead)
        )
        estimate = None if self.estimate is None else self.estimate.to_json()
        reported = {"ahead": ahead, "why": self.why, "estimate": estimate, "half": self.half}
        return {
            **body,
            "chosen": chosen,
            "judged": judged,
            "choice": self.selected_policy.to_json(),
            **reported,
        }

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> OfSize:
        """What ``to_json`` made an object of."""
        made = tuple(Judged.of_json(item) for item in document["judged"])
        chosen = None if document["chosen"] is None else Contender(**document["chosen"])
        policy = SelectedPolicy.of_json(document["choice"])
        size, units, optimum, kept = (document[name] for name in ("size", "units", "optimum", "kept"))
        estimate = document.get("estimate")
        seen = None if estimate is None else Accuracy.of_json(estimate)
        return cls(size, units, optimum, made, policy, kept, chosen, seen, document.get("half"))


@dataclass(frozen=True)
class Night:
    """The benchmark of one query.

    Args:
        fingerprint: of the query and its catalog: another query by the same name does not take its choice.
        days: the partitions that it rests on; the last ``held_out`` of them were held out.
        tuples: how many tuples counted on these days.
        possible: results on the held-out days with a memory for everything.
        fits: of the models that were learned this night.
        drifts: of those of the choice before it, on the days since.
        models: of both streams as they are after the last day, by which the next night sees a drift; of the
            choices that stand, else learned from all days, whether a choice needs them or not.
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
    models: tuple[KeyModel, KeyModel] | None = None

    @property
    def drifted(self) -> bool:
        """Whether the streams have left the models of the choice before."""
        return any(fit.drifted for fit in self.drifts)

    @property
    def models_used(self) -> tuple[KeyModel, KeyModel] | None:
        """What was known of the streams: earlier releases wrote it with the choices alone."""
        chosen = (of_size.selected_policy.models for of_size in self.sizes)
        return self.models or next((models for models in chosen if models is not None), None)

    def selected_policy(self, size: int) -> SelectedPolicy:
        """The choice for a memory: of the nearest size that was tried, HEEB's alpha in proportion."""
        nearest = min(self.sizes, key=lambda of_size: (abs(of_size.size - size), of_size.size))
        if nearest.size == size or nearest.selected_policy.alpha is None:
            return nearest.selected_policy
        return replace(nearest.selected_policy, alpha=nearest.selected_policy.alpha * size / nearest.size)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        body = {name: getattr(self, name) for name in ("query", "sql", "fingerprint", "held_out", "tuples")}
        body |= {"days": list(self.days), "possible": self.possible, "drifted": self.drifted}
        parts = {
            name: [item.to_json() for item in getattr(self, name)] for name in ("sizes", "fits", "drifts")
        }
        models = None if self.models is None else [model.to_json() for model in self.models]
        return {**body, **parts, "models": models}

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Night:
        """What ``to_json`` made an object of; what earlier releases did not write may be missing."""
        models = [KeyModel.of_json(item) for item in document.get("models") or ()]
        fits, drifts = ([Fit.of_json(item) for item in document[name]] for name in ("fits", "drifts"))
        return cls(
            query=document["query"],
            sql=document["sql"],
            fingerprint=document["fingerprint"],
            days=tuple(document["days"]),
            held_out=document["held_out"],
            tuples=document["tuples"],
            possible=document["possible"],
            sizes=tuple(OfSize.of_json(item) for item in document["sizes"]),
            fits=tuple(fits),
            drifts=tuple(drifts),
            models=(models[0], models[1]) if models else None,
        )


def decided(
    case: Case,
    size: int,
    optimum: int,
    trials: Sequence[Trial],
    before: tuple[SelectedPolicy, Trial] | None,
    models: tuple[KeyModel, KeyModel],
    left: Sequence[Fit] = (),
    results: Sequence[int] = (),
) -> OfSize:
    """The choice for a size.

    Args:
        trials: of the contenders.
        before: the choice that stood so far and what it kept, unless the streams have left its models.
        models: learned from all days.
        left: of the models before, those that the streams have left.
        results: that there are on each held-out day.
    """
    by_contender: dict[Contender, list[Trial]] = {}
    for trial in trials:
        by_contender.setdefault(trial.contender, []).append(trial)
    judgements = tuple(judged(each) for each in by_contender.values())
    units = replace(case.plan, size=size).max_units
    chosen, why = choose(trials)
    kept = next(judgement.kept for judgement in judgements if judgement.contender == chosen)
    if before is not None and (stands := _stands(by_contender[chosen], *before)) is not None:
        half = share_half([before[1]], results)
        return OfSize(size, units, optimum, judgements, stands, sum(before[1].kept), half=half)
    policy = chosen.selected_policy(size, models, case.pace, 0)
    if left:
        why += f"; models were learned anew, for the streams have left those before: {_sentences(left)}"
    half = share_half(by_contender[chosen], results)
    return OfSize(size, units, optimum, judgements, replace(policy, why=why), kept, chosen, half=half)


def _sentences(left: Sequence[Fit]) -> str:
    return ", ".join(f"{fit.stream} by {fit.drop:.2f} nats a tuple" for fit in left)


def _stands(top: Sequence[Trial], before: SelectedPolicy, then: Trial) -> SelectedPolicy | None:
    """The earlier choice, unless what is best tonight is better by more than chance and ``STANDING``."""
    kept = [n for trial in top for n in trial.kept]
    ahead, half = lead(kept, then.kept)
    if ahead > min(half, STANDING * sum(kept) / len(kept)):
        return None
    why = before.why.removesuffix(STOOD)
    return replace(before, why=why + STOOD)


STOOD = "; it stands, since nothing tonight is clearly better"


def selected_policy(night: Night | None, fingerprint: str, size: int) -> SelectedPolicy:
    """The choice of a benchmark, if it was of the same query; else the default."""
    if night is None or night.fingerprint != fingerprint:
        return SelectedPolicy()
    return night.selected_policy(size)


def path_of(folder: Path, query: str) -> Path:
    """Where the benchmark of a query lies."""
    return folder / f"{query}.json"


def write(folder: Path, night: Night) -> None:
    """Replace the benchmark of a query in one step.

    Raises:
        StorageError: the disk refuses.
    """
    text = json.dumps(night.to_json(), ensure_ascii=False, allow_nan=False)
    write_text(path_of(folder, night.query), text + "\n")


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
