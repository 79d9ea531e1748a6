"""How far window functions look from a row, and whether what they say of it is settled some time after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streambound.plan.flow import Times
from streambound.query.column_types import Family, Type
from streambound.query.operators import Frame, Over, Ranking, WindowCalls

RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
PERCENT_RANKS = ("PERCENT_RANK", "CUME_DIST")
SHIFTS = ("LAG", "LEAD")
ENDS = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")
_TURNED = {"LAG": "LEAD", "LEAD": "LAG", "FIRST_VALUE": "LAST_VALUE", "LAST_VALUE": "FIRST_VALUE"}
_DAY = 86_400_000_000


def settles(then: WindowCalls, times: Times) -> bool:
    """Whether what functions say of rows with such times is settled: no row that comes later changes it."""
    return all(_settles(over, times) for over in then.functions)


def _settles(over: Over, times: Times) -> bool:
    if not over.order or over.order[0][0] not in times.spans or over.name in (*PERCENT_RANKS, "NTILE"):
        return False
    if over.order[0][0] in times.gaps:
        # Rows without a time stand before or after all others, and there may always be more.
        return False
    if over.order[0][1] and over.name in (*RANKS, "NTH_VALUE"):
        # They count from the last row.
        return False
    return over.name in SHIFTS or ascending(over).frame.after is not None


def settles_rows(then: Ranking, times: Times, retracts: bool) -> bool:
    """Whether ranks keep of the rows that are not taken back any more the first ones alone."""
    top = then.last > 0 and not (then.ranked and then.beyond)
    return (
        top and then.keeps_all(retracts) and bool(times) and not times.among({p: p for p in then.partition})
    )


def ascending(over: Over) -> Over:
    """A function over rows in an order that ascends in its first column: turned round where it descends."""
    if not over.order[0][1]:
        return over
    frame = Frame(over.frame.rows, over.frame.after, over.frame.before)
    order = tuple((position, not descends) for position, descends in over.order)
    return replace(over, name=_TURNED.get(over.name, over.name), frame=frame, order=order)


def by_position(over: Over) -> bool:
    """Whether a function may say different things of equal rows: by the places that they have."""
    if over.name in (*SHIFTS, "ROW_NUMBER", "NTILE"):
        return True
    by_rows = over.frame.rows and (over.frame.before, over.frame.after) != (None, None)
    return by_rows and over.name not in (*RANKS, *PERCENT_RANKS)


def endless(over: Over) -> bool:
    """Whether the frame of a function reaches back to the first row."""
    return over.frame.before is None and over.name not in SHIFTS


def length(over: Over, of: int, kinds: Callable[[int], Type]) -> int:
    """A length of a range in the unit of what it is ordered by: of dates, days."""
    dates = bool(over.order) and kinds(over.order[0][0]).family is Family.DATE
    return of // _DAY if dates and abs(of) >= _DAY else of


def looks(over: Over, kinds: Callable[[int], Type]) -> tuple[int, int, int, int | None]:
    """How many rows a function looks ahead and back, and how long ahead and back in time.

    Back in time None: it asks for no row by its time; 0: for the rows of the same time.
    """
    before, after = over.frame.before, over.frame.after or 0
    if over.name in SHIFTS:
        return (over.offset, 0, 0, None) if over.name == "LEAD" else (0, over.offset, 0, None)
    if over.name in ("RANK", "DENSE_RANK"):
        return 0, 0, 0, 0
    back = max(0, -after) if before is None else max(0, before)
    if by_position(over):
        return max(0, after), back, 0, None
    seen = None if before is None and after >= 0 else length(over, back, kinds)
    return 0, 0, length(over, max(0, after), kinds), seen
