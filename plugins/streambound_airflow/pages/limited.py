"""A query in limited memory: what it keeps of its results, of how many, over which days, and how surely.

There is one share: results that were found, of all that a memory for everything finds on the same days. The
last evaluation has it for all its history, by its own estimate; the last benchmark for the days that it held
out, counted, at each size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from streambound import settings
from streambound.approximate.nightly.advice import Advice, Reaches, advice, kept_by_size
from streambound.approximate.nightly.night import Night, read
from streambound.errors import DataError, StorageError
from streambound.report.pages.trade_offs import trade_off_chart
from streambound.report.sizes import bytes_text
from streambound.results import CacheAnswer
from streambound_airflow.pages.detail import row_of_query
from streambound_airflow.pages.schemas import ChoiceBody, ChoicesBody

# Half of a normal 95% interval, in standard errors.
SURE = 1.96
# What the slider asks for at first, where a size that was tried keeps so much.
WANTED = 90


@dataclass(frozen=True)
class Kept:
    """One share: ``results`` of ``possible`` results, ``counted`` or estimated, over some days."""

    what: str
    days: str
    size: int
    policy: str
    results: int
    possible: float | None
    counted: bool
    fraction: float | None
    half: float | None


@dataclass(frozen=True)
class Limited:
    """What a page shows: the shares, the trade-off, and for each share in percent what keeps it.

    ``answers`` are sentences from 1% on, with the size to ask for (None: none that was tried is enough).
    """

    kept: tuple[Kept, ...] = ()
    chart: str | None = None
    answers: tuple[tuple[str, int | None], ...] = ()
    wanted: int = WANTED


def choices(name: str) -> ChoicesBody:
    """What the last benchmark of caches chose for a query; nothing if there was none.

    Raises:
        StorageError: its file is damaged.
    """
    night = _night(name)
    if night is None:
        return ChoicesBody(query=name)
    return ChoicesBody(
        query=name,
        night=night.days[-1],
        first_night=night.days[-night.held_out],
        held_out=night.held_out,
        possible=night.possible,
        drifted=night.drifted,
        choices=[
            ChoiceBody(
                size=size.size,
                units=size.units,
                policy=size.selected_policy.policy,
                alpha=size.selected_policy.alpha,
                why=size.why,
                kept=size.kept,
                optimum=size.optimum,
                share=size.kept / night.possible if night.possible else None,
                error=size.half,
                optimum_share=size.optimum / night.possible if night.possible else None,
            )
            for size in night.sizes
        ],
    )


def limited(name: str, record: CacheAnswer | None) -> Limited:
    """What is known of a query in limited memory.

    Args:
        record: the share that its last evaluation recorded.

    Raises:
        StorageError: the file of its benchmark is damaged.
    """
    evaluated = () if record is None else (_evaluated(name, record),)
    night = _night(name)
    if night is None or not night.possible:
        return Limited(evaluated)
    answers = tuple(_answer(advice(night, percent / 100)) for percent in range(1, 101))
    most = max(kept.kept for kept in kept_by_size(night))
    wanted = min(WANTED, max(floor(100 * most), 1))
    size = record.size if record is not None else night.sizes[0].size
    return Limited((*evaluated, _benchmarked(night, size)), trade_off_chart(night), answers, wanted)


def _night(name: str) -> Night | None:
    try:
        return read(settings.caches_root(), row_of_query(name).name)
    except DataError as error:
        raise StorageError(error.message, subject=error.subject, fix=error.fix) from None


def _evaluated(name: str, record: CacheAnswer) -> Kept:
    fraction, half = record.estimated_share, None
    if fraction is not None and record.estimated_results:
        half = SURE * fraction * (record.standard_error or 0.0) / record.estimated_results
    partitions = row_of_query(name).partitions
    return Kept(
        "the last evaluation",
        "all days" if partitions is None else f"all {partitions:,} partitions that it rests on",
        record.size,
        record.policy,
        record.results,
        record.estimated_results,
        record.standard_error == 0,
        fraction,
        half,
    )


def _benchmarked(night: Night, size: int) -> Kept:
    """The share at the size that was tried nearest to the query's own."""
    (at_size,) = (
        contender
        for contender in kept_by_size(night)
        if contender.of.size == min(night.sizes, key=lambda each: (abs(each.size - size), each.size)).size
    )
    first, last = night.days[-night.held_out], night.days[-1]
    days = f"{first} to {last}" if night.held_out > 1 else last
    policy = at_size.of.selected_policy.policy
    return Kept(
        "the last benchmark",
        days,
        at_size.of.size,
        policy,
        at_size.of.kept,
        night.possible,
        True,
        at_size.kept,
        at_size.of.half,
    )


def _answer(advice: Advice) -> tuple[str, int | None]:
    """What keeps a share, in a sentence or two, and the size to ask for."""
    optimum = "Not even the best choice of tuples keeps it at these sizes."
    if advice.optimum is not None:
        optimum = f"The best choice there could be needs {_tuples(advice.optimum)}."
    if advice.chosen is None:
        largest = advice.kept_by_size[-1]
        kept = f"{largest.of.size:,} tuples keep {largest.kept:.1%} under {largest.of.selected_policy.policy}"
        return f"No size that was tried keeps it: {kept}. {optimum}", None
    (at_size,) = (kept for kept in advice.kept_by_size if kept.of.size == advice.chosen.size)
    policy = at_size.of.selected_policy.policy
    kept = f"{_memory(at_size.of.size, at_size.of.units)} keep {at_size.kept:.1%} under {policy}"
    if advice.chosen.estimated is None:
        return f"{kept}. {optimum}", at_size.of.size
    width = at_size.of.units // at_size.of.size
    less = _memory(advice.chosen.estimated, advice.chosen.estimated * width)
    return f"{kept}; {less} may do, by a line between the sizes that were tried. {optimum}", at_size.of.size


def _tuples(reached: Reaches) -> str:
    width = reached.units // reached.size
    size = reached.estimated if reached.estimated is not None else reached.size
    return f"{'about ' if reached.estimated is not None else ''}{_memory(size, size * width)}"


def _memory(size: int, units: int) -> str:
    return f"{size:,} tuples ({units:,} units, some {bytes_text(units)})"
