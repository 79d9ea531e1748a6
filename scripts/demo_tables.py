"""What the demo prints of its runs: a line a query, and of each in k tuples what policies kept."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from streambound.approximate.nightly.advice import SharesAtSize, kept_by_size
from streambound.approximate.nightly.night import Night
from streambound.report.tables import aligned, first_names, quality_cell, why_not
from streambound.results import CacheAnswer, QuerySummary, Results

HEADINGS = ("query", "verdict", "units", "rows read", "answer rows", "quality", "note")
NUMBERS = ("units", "rows read", "answer rows")
NOTE_WIDTH = 72


def demo_table(results: Results) -> str:
    """One line a query: its newest verdict and evaluation, and the quality of what it read.

    Units are stored values and counts. A note says why a query has no bounded plan, which partitions
    were kept out of its answers, and how large a part of its answer an unbounded one has in k tuples.

    Raises:
        StorageError: the results database failed.
    """
    cached = {cache_answer.query: cache_answer for cache_answer in results.latest_cache_answers()}
    rows = [_query_row(summary, cached.get(summary.query)) for summary in results.latest_summary()]
    return aligned(HEADINGS, rows, NUMBERS)


def _query_row(summary: QuerySummary, cached: CacheAnswer | None = None) -> tuple[str, ...]:
    """The cells of one query, in the order of HEADINGS."""
    verdict, answer = summary.verdict, summary.answer
    return (
        summary.query,
        verdict.verdict if verdict else "-",
        _number(_units(summary)),
        _number(answer.rows_read if answer else None),
        _number(answer.answer_rows if answer else None),
        quality_cell(summary.quality),
        textwrap.shorten(_note(summary, cached), NOTE_WIDTH, placeholder=" ..."),
    )


def _units(summary: QuerySummary) -> int | None:
    """The bound of the verdict; of the evaluation where static relations size the state."""
    verdict, answer = summary.verdict, summary.answer
    if verdict is not None and (verdict.units is not None or verdict.verdict != "bounded"):
        return verdict.units
    return answer.units if answer is not None else None


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _note(summary: QuerySummary, cached: CacheAnswer | None) -> str:
    if cached is not None:
        notes = [_part(cached)]
    else:
        notes = [why_not(summary.verdict)] if summary.verdict else ["not checked"]
    if summary.answer and summary.answer.missing_partitions:
        notes.append(f"without {first_names(summary.answer.missing_partitions)}")
    return "; ".join(note for note in notes if note)


def _part(cached: CacheAnswer) -> str:
    fraction = "a part" if cached.estimated_share is None else f"about {cached.estimated_share:.1%}"
    return f"{fraction} of its answer, in {cached.size:,} tuples ({cached.policy})"


def kept(answer: CacheAnswer, units: int | None, exact: int) -> str:
    """How much of an exact answer an evaluation in k tuples has, and what it says of that itself."""
    memory = f"{answer.size:,} tuples" + ("" if units is None else f" ({units:,} units)")
    fraction = f" ({answer.results / exact:.2%})" if exact else ""
    sentence = f"{answer.results:,} were found{fraction} in {memory} under {answer.policy}"
    said = "it could not estimate how many there are"
    if answer.estimated_results is not None:
        error = answer.standard_error or 0.0
        said = f"it estimated {answer.estimated_results:,.0f}, with a standard error of {error:,.0f}"
    return f"{answer.query}: of {exact:,} results in all {sentence}; {said}"


def trade_off(night: Night) -> str:
    """A line a size with each policy's share of all results (HEEB's best alpha), and notes below.

    The notes say where a policy keeps more than the chosen one and why it was not taken, what the
    evaluation's own estimate is worth, and whether the streams have drifted.

    Raises:
        DataError: there were no results on the held-out days.
    """
    return "\n".join(_lines(night, kept_by_size(night)))


def _lines(night: Night, by_size: tuple[SharesAtSize, ...]) -> Iterator[str]:
    days = f"the last {night.held_out} of {len(night.days)} days, {night.days[0]} to {night.days[-1]}"
    yield f"{night.query}: what is kept of {night.possible:,} results on {days}"
    policies = list(
        dict.fromkeys(judged.contender.policy for at_size in by_size for judged in at_size.of.judged)
    )
    headings = ("k", "units", *policies, "optimum", "chosen")
    rows = [_size_row(at_size, policies, night.possible) for at_size in by_size]
    yield aligned(headings, rows, headings[:-1])
    for at_size in by_size:
        if at_size.ahead:
            more = ", ".join(f"{policy} {kept:.2%}" for policy, kept in at_size.ahead)
            why = at_size.of.selected_policy.why
            yield f"k = {at_size.of.size:,}: {more} kept more, and was not chosen: {why}"
    if not any(at_size.ahead for at_size in by_size):
        yield "no policy keeps more than the chosen one at any size"
    for at_size in by_size:
        if at_size.of.estimate is not None:
            yield f"k = {at_size.of.size:,}: over these days alone a pass {at_size.of.estimate.sentence()}"
    for fit in night.drifts:
        if fit.drifted:
            yield f"its streams have drifted: {fit.sentence()}"


def _size_row(at_size: SharesAtSize, policies: list[str], possible: int) -> tuple[str, ...]:
    best: dict[str, int] = {}
    for judged in at_size.of.judged:
        best[judged.contender.policy] = max(best.get(judged.contender.policy, 0), judged.kept)
    kept = (f"{best[name] / possible:.2%}" if name in best else "-" for name in policies)
    chosen = f"{at_size.of.selected_policy.policy}, {at_size.kept:.2%}"
    return f"{at_size.of.size:,}", f"{at_size.of.units:,}", *kept, f"{at_size.optimum:.2%}", chosen
