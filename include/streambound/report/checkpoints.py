"""The checkpoints of a query as a table for people."""

from __future__ import annotations

from streambound.checkpoint.inspection import Inspected, Inspection
from streambound.report.tables import aligned

HEADINGS = ("boundary", "rows", "units", "answers", "digest", "state")
NUMBERS = ("rows", "units", "answers")


def checkpoints_text(inspection: Inspection) -> str:
    """One line a boundary, one a quarantined partition, and how many there are of each.

    ``rows`` and ``answers`` are input rows and answer rows (with their multiplicities) up to the boundary.
    """
    lines = (
        [aligned(HEADINGS, [_cells(inspected) for inspected in inspection.boundaries], NUMBERS)]
        if inspection.boundaries
        else []
    )
    lines += [f"damaged: {fault}" for fault in inspection.faults]
    lines += [f"late: {late.stream}, partition {late.partition} {late.reason}" for late in inspection.late]
    return "\n".join([*lines, _counted(inspection)])


def _cells(inspected: Inspected) -> tuple[str, ...]:
    row = inspected.checkpoint
    state = "valid" if inspected.why is None else f"not valid: {inspected.why}"
    return row.partition, f"{row.rows:,}", f"{row.units:,}", f"{row.total.count:,}", row.digest[:12], state


def _counted(inspection: Inspection) -> str:
    valid = sum(inspected.why is None for inspected in inspection.boundaries)
    parts = [_number(len(inspection.boundaries), "checkpoint"), f"{valid} valid"]
    if inspection.late:
        parts.append(f"{len(inspection.late)} late in quarantine")
    return f"{inspection.query}: {', '.join(parts)}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
