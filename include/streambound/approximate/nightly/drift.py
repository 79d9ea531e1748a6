"""Whether streams have left the models that choices rest on, night after night."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.approximate.evaluation import MemoryPass, numbers_of
from streambound.approximate.keys import KeyModel
from streambound.approximate.nightly.benchmark import LEAST_TUPLES, Case, Fit, fits
from streambound.approximate.nightly.night import Night, OfSize


def drifts(case: Case, before: Night | None) -> tuple[Fit, ...]:
    """How well the models of the choice before explain the days that have come since."""
    models = None if before is None else before.models_used
    if before is None or models is None or len(case.rows) - _since(case, before) < LEAST_TUPLES:
        return ()
    return fits(case, models, _since(case, before))


def followed(
    case: Case, before: Night | None, sizes: Sequence[OfSize], models: tuple[KeyModel, KeyModel]
) -> tuple[KeyModel, KeyModel]:
    """The models by which the next night sees a drift: those of choices that stand, moved along; else anew.

    A choice that stands is left as it is, for the checkpoints rest on it; where its streams are is not.

    Args:
        sizes: as decided tonight.
        models: learned tonight, from all days.
    """
    if before is None or before.models_used is None or all(of_size.chosen is not None for of_size in sizes):
        return models
    engine, rows = MemoryPass(case.plan), case.rows[_since(case, before) :]
    key_models = []
    for side, model in enumerate(before.models_used):
        keys = [engine.key(row) for row in rows if row.side == side]
        key_models.append(model.followed(numbers_of(keys)))
    return key_models[0], key_models[1]


def _since(case: Case, before: Night) -> int:
    """The first row of the days that have come since a night."""
    return sum(case.days[day] <= before.days[-1] for day in case.day)
