"""How much memory keeps a share of a query's results, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from streambound.approximate.nightly.advice import Advice, Reaches, SharesAtSize
from streambound.report.tables import aligned

HEADINGS = ("tuples", "units", "policy", "kept", "optimum")
NUMBERS = ("tuples", "units", "kept", "optimum")


def advice_text(advice: Advice) -> str:
    """The answer, what it rests on, each size that was tried, and why its policy was chosen."""
    return "\n".join(_lines(advice))


def _lines(advice: Advice) -> Iterator[str]:
    night = advice.night
    yield f"{night.query}: {_answer(advice)}"
    yield f"  {_optimum(advice)}"
    yield (
        f"  on the last {night.held_out} of {len(night.days)} days, {night.days[0]} to {night.days[-1]}, with"
        f" {night.possible:,} results; a memory for all {night.tuples:,} tuples of these days keeps each"
    )
    yield "  (what tuples from before these days would add is not counted)"
    if night.drifted:
        yield "  its streams had drifted from what was known of them, and models were learned anew"
        yield from (f"    {fit.sentence()}" for fit in night.drifts if fit.drifted)
    yield ""
    yield aligned(HEADINGS, [_row(at_size) for at_size in advice.kept_by_size], NUMBERS)
    yield ""
    for at_size in advice.kept_by_size:
        yield f"k = {at_size.of.size:,}: {at_size.of.selected_policy.why}"
        if at_size.ahead:
            yield f"  not chosen, though more were kept: {_ahead(at_size)}"
        else:
            yield "  no policy keeps more"
        if at_size.of.estimate is not None:
            yield f"  over the held-out days alone a pass {at_size.of.estimate.sentence()}"


def _answer(advice: Advice) -> str:
    target, largest = f"{100 * advice.target:.10g}% of its results", advice.kept_by_size[-1]
    if advice.chosen is None:
        most = f"{largest.of.size:,} tuples ({largest.of.units:,} units), the most that were tried"
        kept = f"keep {largest.kept:.1%} under {largest.of.selected_policy.policy}"
        return f"no memory that was tried keeps {target}; {most}, {kept}"
    (at_size,) = (item for item in advice.kept_by_size if item.of.size == advice.chosen.size)
    kept = f"they keep {at_size.kept:.1%} under {at_size.of.selected_policy.policy}"
    return f"{_size(advice.chosen)} keep {target}: {kept}{_estimate(advice.chosen)}"


def _optimum(advice: Advice) -> str:
    if advice.optimum is None:
        largest = advice.kept_by_size[-1]
        kept = f"the optimum keeps {largest.optimum:.1%} in {largest.of.size:,} tuples"
        return f"nor can any policy at these sizes: {kept}"
    return f"the optimum reaches it in {_size(advice.optimum)}{_estimate(advice.optimum)}"


def _size(reaches: Reaches) -> str:
    return f"{reaches.size:,} tuples ({reaches.units:,} units)"


def _estimate(reaches: Reaches) -> str:
    if reaches.estimated is None:
        return ""
    return f"; {reaches.estimated:,} may do (an estimate: a line between the sizes that were tried)"


def _row(at_size: SharesAtSize) -> tuple[str, ...]:
    of = at_size.of
    return (
        f"{of.size:,}",
        f"{of.units:,}",
        of.selected_policy.policy,
        f"{at_size.kept:.1%}",
        f"{at_size.optimum:.1%}",
    )


def _ahead(at_size: SharesAtSize) -> str:
    return ", ".join(f"{policy} {kept:.1%}" for policy, kept in at_size.ahead)
