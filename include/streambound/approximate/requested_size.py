"""The memory that a query file asks for: ``-- cache size: 500`` in its leading comments."""

from __future__ import annotations

from streambound.errors import QueryError
from streambound.query.registry import metadata

CACHE_SIZE = "cache size"


def cache_size(name: str, sql: str) -> int | None:
    """How many tuples may be cached for a query; None if its text does not say.

    Raises:
        QueryError: it says something else than one whole number, 1 or more.
    """
    given = [value for key, value in metadata(sql) if key == CACHE_SIZE]
    if not given:
        return None
    if len(given) > 1:
        message = f"{CACHE_SIZE} is given {len(given)} times: {', '.join(given)}"
    elif given[0].isascii() and given[0].isdecimal() and int(given[0]) >= 1:
        return int(given[0])
    else:
        message = f"{CACHE_SIZE} is {given[0]!r}"
    raise QueryError(
        message,
        subject=name,
        accepted=f"one line such as -- {CACHE_SIZE}: 500, in tuples, 1 or more",
        fix="correct the line, or remove it: a query is left out then while it is unbounded",
    )
