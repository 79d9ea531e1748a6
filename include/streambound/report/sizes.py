"""The size of a plan's state in words."""

from __future__ import annotations

# Of a stored value or count in memory, about: numbers, counts and times take 8, with what tells them apart.
UNIT_BYTES = 16


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


def bytes_text(units: int) -> str:
    """The bytes that so many units take, estimated."""
    size, names = float(units * UNIT_BYTES), iter(("B", "KB", "MB", "GB", "TB", "PB"))
    name = next(names)
    while size >= 1000 and (larger := next(names, "")):
        size, name = size / 1000, larger
    return f"{size:,.0f} {name}" if size >= 10 or name == "B" else f"{size:.1f} {name}"
