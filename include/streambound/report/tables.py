"""Plain-text tables for people, and what results say in a cell."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.results import QualityOutcome, VerdictRecord


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
    return f"{outcome.subject}: {first_names(outcome.failed_partitions) or 'failed'}"


def first_names(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are; empty if there is none."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else ""


def why_not(verdict: VerdictRecord) -> str:
    """Why a query has no bounded plan, or what its units depend on; empty if there is nothing to say."""
    if verdict.error:
        return verdict.error
    if verdict.verdict == "bounded":
        return f"units: {verdict.units_formula}" if verdict.units is None and verdict.units_formula else ""
    return str(verdict.reasons[0].get("message", "")) if verdict.reasons else ""
