"""Columns that are not known, beside the first: found by reading on as if that one were spelled right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

from streambound.errors import QueryError, StreamboundError, alike

# So many are told at most, and so many names tried for each.
MOST, TRIED = 20, 12
# Characters that are read again at most: what is wrong with a long text must not take all the time there is.
READ = 500_000


def with_further(error: StreamboundError, sql: str, read: Callable[[str], object]) -> StreamboundError:
    """The error, and the others of its kind in the same text: columns that are not known.

    Of these each is put right by a name that is known there, the most like it first, and the text is read
    again. An error of another kind may come of what was put in: then the next name is tried.

    Args:
        read: reads a text, and raises what is wrong with it.
    """
    if not isinstance(error, QueryError) or error.unknown is None:
        return error
    made, query_errors = copy(error), list[QueryError]()
    further: QueryError | None = error
    # (line, column in the text as it is edited, how much longer it became there)
    edits: list[tuple[int, int, int]] = []
    reads = iter(range(READ // max(len(sql), 1)))
    while further is not None and len(query_errors) < MOST:
        sql, further = _read_on(sql, further, edits, read, reads)
        if further is not None:
            query_errors.append(_moved_back(further, edits))
    made.further = tuple(query_errors)
    return made


def _read_on(
    sql: str,
    error: QueryError,
    edits: list[tuple[int, int, int]],
    read: Callable[[str], object],
    reads: Iterator[int],
) -> tuple[str, QueryError | None]:
    """The text with the column put right, and the next one that is not known; None if no more is found."""
    for (edited, edit), _ in zip(_put_right(sql, error), reads, strict=False):
        try:
            read(edited)
            return edited, None
        except QueryError as further:
            if further.unknown is not None and further.location is not None:
                edits.append(edit)
                return edited, further
        except StreamboundError:
            pass
    return sql, None


def _put_right(sql: str, error: QueryError) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The text with known columns in the place of an unknown one, and what each moves."""
    columns = (error.accepted or "").split(", ")
    if error.location is None or error.unknown is None:
        return
    lines = sql.split("\n")
    number, start = error.location.line - 1, error.location.column - 1
    line = lines[number]
    # Of `orgin.orgin` the last is the column.
    at = line.rfind(error.unknown, start, start + error.location.length)
    names = dict.fromkeys((*alike(error.unknown, columns), *columns))
    for candidate in [name for name in names if name.isidentifier()][:TRIED] if at >= 0 else ():
        edited = line[:at] + candidate + line[at + len(error.unknown) :]
        moved = (error.location.line, at + 1, len(candidate) - len(error.unknown))
        yield "\n".join((*lines[:number], edited, *lines[number + 1 :])), moved


def _moved_back(error: QueryError, edits: list[tuple[int, int, int]]) -> QueryError:
    """The error at its place in the text before the edits."""
    made = copy(error)
    assert error.location is not None
    column = error.location.column
    for line, edited, longer in reversed(edits):
        if line == error.location.line and edited < column:
            column -= longer
    made.location = replace(error.location, column=column)
    return made
