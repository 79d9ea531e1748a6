"""REAL (section 6.1): the Melbourne temperatures against a relation with an item a tenth of a degree.

One course of 3,650 days, all of them counted from an empty cache. Models are fitted to the whole course, as
section 6.5 does. Only RAND has several runs, one seed each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from streambound.approximate.kernels.arrays import Integers
from streambound.approximate.models.fitting import KINDS
from streambound.approximate.models.lifetimes import exp
from streambound.approximate.models.markov import Autoregression
from streambound.approximate.models.model import Model
from streambound.approximate.tables import Table, interpolated, table
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.decisions import CachingDecisions
from streambound.simulator.experiments.cells import Counted
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.experts import advised, alphas
from streambound.simulator.policies.heeb import by_table
from streambound.simulator.policies.heeb_adaptive import by_tables, grid
from streambound.simulator.policies.lfu import perfect_lfu
from streambound.simulator.policies.lru import lru
from streambound.simulator.policies.opt_offline import optima
from streambound.simulator.problems import References, references

CONFIG = "real"
SIZES = (10, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300)
BICUBIC, EXPERTS = "heeb-25-points", "experts"
# The model by the name in the report; alpha is the size of the cache unless a name says another.
WITH_MODEL = {"heeb": "ar1", "heeb-seasonal": "seasonal-ar"}
ADAPTIVE = {"heeb-adaptive": "ar1", "heeb-seasonal-adaptive": "seasonal-ar"}
ALPHAS = (1, 3, 10, 30, 100, 300)
FIXED_ALPHA = {f"heeb-alpha-{alpha}": alpha for alpha in ALPHAS}
PLAIN = ("lfd", "lru", "lru-k", "lfu", "lfu-perfect", "fifo", "arc", "s3-fifo", "sieve", "rand")
POLICIES = (*PLAIN[:1], "opt-offline", *WITH_MODEL, *ADAPTIVE, BICUBIC, EXPERTS, *FIXED_ALPHA, *PLAIN[1:])
# Of a course that a model draws instead: what explains who wins on the real one. The last is drawn from the
# seasonal one as well, but with the shocks that the real course had in the same month.
SHOCKS = "real-drawn-shocks"
COURSES = {"real": None, "real-drawn-ar1": "ar1", "real-drawn-seasonal": "seasonal-ar", SHOCKS: "seasonal-ar"}
MONTH = 30
EXPLAINING = ("lfd", "heeb", "heeb-seasonal", "lru", "lfu-perfect")


@lru_cache(maxsize=1)
def temperatures() -> Integers:
    """Maximum temperatures of Melbourne in tenths of a degree, 1981 to 1990: 3,650 days.

    The file names their source and licence.
    """
    degrees = np.loadtxt(Path(__file__).with_name("melbourne.csv"))
    return np.asarray(np.round(10 * degrees), np.int64)


@lru_cache(maxsize=4)
def fitted(kind: str) -> Model:
    """A kind of model by maximum likelihood on the whole course."""
    model = KINDS[kind](temperatures())
    assert model is not None
    return model


@lru_cache(maxsize=4)
def course(config: str) -> References:
    """The references: the temperatures, or a course of the same length that a fitted model draws."""
    kind = COURSES[config]
    if kind is None:
        return references(temperatures())
    draws, model = np.random.default_rng(0), fitted(kind)
    if config == SHOCKS:
        assert isinstance(model, Autoregression)
        return references(_shocked(model, temperatures(), draws))
    return references(model.sample(len(temperatures()), draws))


def _shocked(model: Autoregression, observed: Integers, draws: np.random.Generator) -> Integers:
    """A course of a seasonal model whose shocks are drawn from those observed in the same month."""
    phase = np.arange(len(observed)) % len(model.means)
    off = observed - model.means[phase]
    shocks = off[1:] - model.phi * off[:-1]
    months = phase // MONTH
    by_month = [shocks[months[1:] == month] for month in range(months.max() + 1)]
    now, shocked = off[0], [off[0]]
    for month in months[1:]:
        now = model.phi * now + draws.choice(by_month[month])
        shocked.append(now)
    return np.round(np.array(shocked) + model.means[phase]).astype(np.int64)


# Policies run at the same time, and sizes have alphas in common.
@lru_cache(maxsize=24)
def benefits(config: str, kind: str, alpha: float) -> Table:
    """H with L^exp by a fitted model on a course."""
    values = _values(course(config))
    return table(fitted(kind), values, exp(alpha), domain(values), first=True)


def domain(values: Integers) -> tuple[int, int]:
    """The least and the largest of values."""
    return int(values.min()), int(values.max())


def _values(given: References) -> Integers:
    return np.asarray(given.values[given.requests], np.int64)


def counted_policy(config: str, name: str, run: int, sizes: Sequence[int] = SIZES) -> Iterator[Counted]:
    """What a policy hits at all sizes.

    Raises:
        DataError: there is no such policy in this experiment.
    """
    given = course(config)
    if name == "opt-offline":
        # With bypass, which no policy beats: where every miss is admitted, LFD is the optimum.
        best = optima(given, max(sizes), bypass=True)
        yield from (Counted(config, name, size, run, float(best[size])) for size in sizes)
        return
    for size in sizes:
        yield Counted(config, name, size, run, float(decided(config, name, size, run).hits.sum()))


def decided(config: str, name: str, size: int, run: int = 0) -> CachingDecisions:
    """What a policy decides at one size.

    Raises:
        DataError: there is no such policy in this experiment.
    """
    given, memory = course(config), Memory(size, seed=run)
    if name in ADAPTIVE:
        tables = [benefits(config, ADAPTIVE[name], alpha) for alpha in grid(size)]
        return by_tables(given, memory, tables, float(size))
    if name == EXPERTS:
        advice = [decide(given, memory) for decide in (lru, perfect_lfu)]
        advice += [by_table(given, memory, benefits(config, "ar1", alpha)) for alpha in alphas(memory)]
        return advised(given, memory, advice)
    if name == BICUBIC:
        smooth = interpolated(benefits(config, "ar1", float(size)), domain(_values(given)))
        return by_table(given, memory, smooth)
    if name in FIXED_ALPHA:
        return by_table(given, memory, benefits(config, "ar1", float(FIXED_ALPHA[name])))
    if name in WITH_MODEL:
        return by_table(given, memory, benefits(config, WITH_MODEL[name], float(size)))
    decide = NAMED[name].caching if name in PLAIN else None
    if decide is None:
        raise DataError(f"there is no policy {name!r} in this experiment", accepted=", ".join(POLICIES))
    return decide(given, memory)
