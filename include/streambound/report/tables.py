"""Plain-text tables for people, out of the results database."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from streambound.results import CacheAnswer, QualityOutcome, QuerySummary, Results, VerdictRecord

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
    rows = [query_row(summary, cached.get(summary.query)) for summary in results.latest_summary()]
    return aligned(HEADINGS, rows, NUMBERS)


def aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """Rows under headings in columns of even width; the columns named in ``right`` align there."""
    lines = [headings, *rows]
    widths = [max(len(line[position]) for line in lines) for position in range(len(headings))]
    sides = [str.rjust if name in right else str.ljust for name in headings]
    body = [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([body[0], "  ".join("-" * width for width in widths), *body[1:]])


def query_row(summary: QuerySummary, cached: CacheAnswer | None = None) -> tuple[str, ...]:
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


def quality_cell(quality: Sequence[QualityOutcome]) -> str:
    """``ok``, or what failed: ``departures: 2013-01-08 and 2 more``; ``-`` if nothing was checked."""
    if not quality:
        return "-"
    return (
        "; ".join(_failed(quality_outcome) for quality_outcome in quality if not quality_outcome.success)
        or "ok"
    )


def _failed(outcome: QualityOutcome) -> str:
    if outcome.kind == "answers":
        reasons = [str(reason) for item in outcome.failed for reason in item["reasons"]]
        return f"answers: {'; '.join(reasons) or 'failed'}"
    return f"{outcome.subject}: {_first_names(outcome.failed_partitions) or 'failed'}"


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else ""


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _note(summary: QuerySummary, cached: CacheAnswer | None) -> str:
    if cached is not None:
        notes = [_part(cached)]
    else:
        notes = [why_not(summary.verdict)] if summary.verdict else ["not checked"]
    if summary.answer and summary.answer.missing_partitions:
        notes.append(f"without {_first_names(summary.answer.missing_partitions)}")
    return "; ".join(note for note in notes if note)


def _part(cached: CacheAnswer) -> str:
    fraction = "a part" if cached.estimated_share is None else f"about {cached.estimated_share:.1%}"
    return f"{fraction} of its answer, in {cached.size:,} tuples ({cached.policy})"


def why_not(verdict: VerdictRecord) -> str:
    """Why a query has no bounded plan, or what its units depend on; empty if there is nothing to say."""
    if verdict.error:
        return verdict.error
    if verdict.verdict == "bounded":
        return f"units: {verdict.units_formula}" if verdict.units is None and verdict.units_formula else ""
    return str(verdict.reasons[0].get("message", "")) if verdict.reasons else ""
