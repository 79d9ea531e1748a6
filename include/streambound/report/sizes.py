"""The size of a plan's state in words."""

from __future__ import annotations


def size_text(units: int | None, formula: str | None, unplanned: str | None) -> str:
    """How much state a bounded query keeps, or why that is not known yet."""
    if unplanned is not None:
        return f"not evaluated: {unplanned}"
    if units is None:
        return f"state: {formula}"
    return "no state" if units == 0 else f"at most {units_text(units)} of state"


def units_text(number: int) -> str:
    """A number of units."""
    return "1 unit" if number == 1 else f"{number:,} units"
