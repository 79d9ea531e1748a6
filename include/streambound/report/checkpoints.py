"""The checkpoints of a query as a table for people."""

from __future__ import annotations

from streambound.checkpoint.inspection import Inspected, Inspection
from streambound.report.tables import aligned

HEADINGS = ("boundary", "rows", "units", "answers", "digest", "state")
NUMBERS = ("rows", "units", "answers")


def checkpoints_text(found: Inspection) -> str:
    """One line a boundary, one a quarantined partition, and how many there are of each.

    ``rows`` and ``answers`` are input rows and answer rows (with their multiplicities) up to the boundary.
    """
    lines = (
        [aligned(HEADINGS, [_cells(one) for one in found.boundaries], NUMBERS)] if found.boundaries else []
    )
    lines += [f"damaged: {fault}" for fault in found.faults]
    lines += [f"late: {one.stream}, partition {one.partition} {one.reason}" for one in found.late]
    return "\n".join([*lines, _counted(found)])


def _cells(one: Inspected) -> tuple[str, ...]:
    row = one.checkpoint
    state = "valid" if one.why is None else f"not valid: {one.why}"
    return row.partition, f"{row.rows:,}", f"{row.units:,}", f"{row.total.count:,}", row.digest[:12], state


def _counted(found: Inspection) -> str:
    valid = sum(one.why is None for one in found.boundaries)
    parts = [_number(len(found.boundaries), "checkpoint"), f"{valid} valid"]
    if found.late:
        parts.append(f"{len(found.late)} late in quarantine")
    return f"{found.query}: {', '.join(parts)}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
