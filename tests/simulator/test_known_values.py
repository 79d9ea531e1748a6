"""Numbers that others publish or compute: the Melbourne series, libcachesim, cachetools."""

from __future__ import annotations

from functools import cache

import cachetools
import libcachesim
import numpy as np
import pytest

from streambound.approximate.tables import interpolated
from streambound.simulator.contract import Memory
from streambound.simulator.experiments import real
from streambound.simulator.policies import NAMED
from streambound.simulator.policies.heeb import by_table
from streambound.simulator.problems import References, next_references, references

SIZES = (10, 50, 100, 200, 300)
MELBOURNE = {
    "lru": (362, 1380, 1962, 3032, 3340),
    "fifo": (357, 1338, 1868, 2853, 3333),
    "lfu": (270, 1118, 2157, 3090, 3340),
    "lfd": (1189, 2199, 2802, 3283, 3341),
}


@cache
def melbourne() -> References:
    """Maximum temperatures in tenths of a degree, 1981 to 1990 (quantreg, MelTemp)."""
    return references(real.temperatures())


@cache
def zipf(steps: int, keys: int, exponent: float, seed: int) -> References:
    """Independent references whose probabilities fall as a power of the rank."""
    weights = np.arange(1, keys + 1) ** -exponent
    draws = np.random.default_rng(seed).choice(keys, steps, p=weights / weights.sum())
    return references(draws)


@pytest.mark.parametrize("name", MELBOURNE)
def test_melbourne(name: str) -> None:
    hits = NAMED[name].caching
    assert tuple(hits(melbourne(), Memory(size)).hits.sum() for size in SIZES) == MELBOURNE[name]


def test_melbourne_with_bypass() -> None:
    hits = [NAMED["lfd"].caching(melbourne(), Memory(size, bypass=True)).hits.sum() for size in SIZES]
    assert hits == [1231, 2210, 2805, 3284, 3341]


LIBRARY = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "lfu": libcachesim.LFU,
    "lfd": libcachesim.Belady,
    "arc": libcachesim.ARC,
    "s3-fifo": libcachesim.S3FIFO,
    "sieve": libcachesim.Sieve,
}


@pytest.mark.parametrize("size", [30, 57, 200, 1000])
@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize(("exponent", "seed"), [(0.8, 1), (1.0, 2), (1.3, 3)])
def test_hits_equal_libcachesim(name: str, size: int, exponent: float, seed: int) -> None:
    trace = zipf(10_000, 2_000, exponent, seed)
    theirs = LIBRARY[name](cache_size=size, hashpower=14)
    following = next_references(trace.requests, trace.keys)
    hits = []
    for step, key in enumerate(trace.requests.tolist()):
        request = libcachesim.Request()
        request.obj_id, request.obj_size, request.clock_time = key, 1, step
        request.next_access_vtime = int(following[step]) if following[step] < trace.steps else 2**62
        hits.append(theirs.get(request))
    ours = NAMED[name].caching(trace, Memory(size)).hits
    if name == "lfd":
        # Of keys that are never used again, which one leaves is free.
        assert ours.sum() == sum(hits)
    else:
        assert ours.tolist() == hits


@pytest.mark.parametrize("size", [1, 7, 50, 400])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("lru", cachetools.LRUCache),
        ("fifo", cachetools.FIFOCache),
        ("lfu", cachetools.LFUCache),
    ],
)
@pytest.mark.parametrize(("exponent", "seed"), [(0.8, 1), (1.0, 2), (1.3, 3)])
def test_hits_equal_cachetools(
    name: str, kind: type[cachetools.Cache], size: int, exponent: float, seed: int
) -> None:
    trace = zipf(10_000, 2_000, exponent, seed)
    theirs = kind(size)
    hits = []
    for key in trace.requests.tolist():
        try:
            hits.append(theirs[key] == key)
        except KeyError:
            hits.append(False)
            theirs[key] = key
    ours = NAMED[name].caching(trace, Memory(size)).hits
    assert ours.sum() == sum(hits)


def error_and_hits(config: str, size: int, points: int) -> tuple[float, int, int]:
    """Of an AR(1)'s h2 through control points: the largest error in the domain, as a share of the greatest H,
    the hits, and those of all of h2."""
    given = real.course(config)
    domain = real.domain(given.values)
    exact = real.benefits(config, "ar1", float(size))
    smooth = interpolated(exact, domain, points)
    inside = slice(domain[0] - int(exact.shift[0]), domain[1] - int(exact.shift[0]) + 1)
    error = np.abs(smooth.cells - exact.cells)[0][inside, inside].max() / exact.cells[0][inside, inside].max()
    hits = (int(by_table(given, Memory(size), one).hits.sum()) for one in (smooth, exact))
    return float(error), *hits


@pytest.mark.parametrize("size", [10, 50, 200])
def test_what_the_bicubic_surface_of_6_5_costs(size: int) -> None:
    """25 points miss a tenth of H or more: where the AR(1) is true it costs hardly a hit; on REAL it wins."""
    error, hits, exact = error_and_hits("real-drawn-ar1", size, 5)
    assert 0.1 < error < 0.3
    assert abs(hits - exact) <= 0.01 * exact
    _, hits, exact = error_and_hits("real", size, 5)
    assert hits >= 0.995 * exact
    if size <= 50:
        assert hits > 1.05 * exact
    for points, most in ((9, 0.03), (17, 0.003)):
        error, hits, exact = error_and_hits("real", size, points)
        assert error < most and abs(hits - exact) <= 0.02 * exact


def test_real_heeb_loses_to_lru_at_small_caches_unless_alpha_is_small() -> None:
    """Section 6.5 lets HEEB lead with alpha = k; computed exactly, it does so with a smaller one."""

    def heeb(size: int, alpha: float) -> int:
        made = real.benefits("real", "ar1", float(alpha))
        return int(by_table(melbourne(), Memory(size), made).hits.sum())

    others = {
        size: max(
            NAMED[name].caching(melbourne(), Memory(size)).hits.sum() for name in ("lru", "lfu-perfect")
        )
        for size in (10, 50, 100, 200)
    }
    assert all(heeb(size, size) < others[size] for size in (10, 50, 100))
    assert all(heeb(size, alpha) > others[size] for size, alpha in ((10, 1), (50, 1), (100, 10), (200, 30)))


def test_real_a_season_in_the_model_beats_lru_and_lfu_at_every_size() -> None:
    """Section 6.5 with its own alpha = k, and the model that held-out likelihood prefers."""
    model = real.fitted("seasonal-ar")
    for size in (10, 50, 100, 200, 300):
        known = Memory(size, models=(model,))
        hits = NAMED["heeb"].caching(melbourne(), known).hits.sum()
        for name in ("lru", "lfu", "lfu-perfect", "rand"):
            assert hits > NAMED[name].caching(melbourne(), Memory(size)).hits.sum()
