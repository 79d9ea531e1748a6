"""The state of a plan as canonical JSON: what its checkpoints hold.

``{"now": moment, "tables": [[streams, [[ages, table], ...]], ...], "held": [[alias, [[moment, row,
multiplicity], ...]], ...], "answered": [[row, until], ...]}``; tables and values are as ``serial`` writes
them, a held row has the carried columns of its stream in their order. Everything is sorted, so equal states
have equal bytes.

Law: ``load_state(plan, json.loads(dump_state(state, answered)))`` equals both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from streambound.errors import DataError
from streambound.plan.model import Plan
from streambound.state.engine import Ages, EngineState, Slices
from streambound.state.row_join import PartialMatch, PartialMatches, Row, RowJoin
from streambound.state.serial import compact_text, dumps, plain, table_of, value_of
from streambound.state.table import Table

# The values of a held tuple's carried columns, its moment, and how many there are.
BufferedRow = tuple[Any, ...]
# Answered rows, and until when each is remembered (None: for ever).
Answered = dict[Row, int | None]


def dump_state(state: EngineState, answered: Mapping[Row, int | None]) -> bytes:
    """The canonical bytes of a state between two batches, with the rows that were answered."""
    named = sorted(("+".join(s.synopsis.streams), s.tables) for s in state.tables.values())
    tables = [f"[{compact_text(name)},[{','.join(_slices(tables))}]]" for name, tables in named]
    return _dumped(state.now, tables, buffered_rows(state), answered)


def buffered_rows(state: EngineState) -> dict[str, list[BufferedRow]]:
    """The rows that are held of each stream."""
    carried = {s.alias: s.carried for s in state.plan.streams}
    return {
        alias: [
            (*(match.values[a] for a in carried[alias]), at, match.weight)
            for at, partial_matches in older.groups.items()
            for match in partial_matches
        ]
        for alias, older in state.buffer.older.items()
    }


def put_buffered(state: EngineState, buffered: Mapping[str, Iterable[BufferedRow]]) -> None:
    """Hold these rows of each stream, and no others of it."""
    carried = {s.alias: s.carried for s in state.plan.streams}
    for alias, rows in buffered.items():
        groups: dict[int, list[PartialMatch]] = {}
        for *values, at, weight in rows:
            values_by = dict(zip(carried[alias], values, strict=True))
            groups.setdefault(at, []).append(PartialMatch(values_by, {alias: at}, weight))
        state.buffer.older[alias] = PartialMatches()
        for at, partial_matches in sorted(groups.items()):
            state.buffer.older[alias].put(at, partial_matches)


def dump_buffered(
    now: int | None, buffered: Mapping[str, list[BufferedRow]], answered: Mapping[Row, int | None]
) -> bytes:
    """The canonical bytes of a state without tables, from the rows that are held of each stream."""
    return _dumped(now, [], buffered, answered)


def _dumped(
    now: int | None,
    tables: list[str],
    buffered: Mapping[str, list[BufferedRow]],
    answered: Mapping[Row, int | None],
) -> bytes:
    parts = {
        "now": compact_text(now),
        "tables": f"[{','.join(tables)}]",
        "held": compact_text(dumped_rows(buffered)),
        "answered": compact_text(sorted_rows([*row, until] for row, until in answered.items())),
    }
    return f"{{{','.join(f'{compact_text(name)}:{text}' for name, text in parts.items())}}}".encode()


def dumped_rows(buffered: Mapping[str, Iterable[BufferedRow]]) -> list[Any]:
    """Rows by stream as JSON holds them, sorted."""
    return [[alias, sorted_rows(rows)] for alias, rows in sorted(buffered.items())]


def loaded_rows(document: Any) -> dict[str, list[BufferedRow]]:
    """The rows in such a document."""
    return {alias: [tuple(map(value_of, row)) for row in rows] for alias, rows in document}


def _slices(tables: Mapping[Ages, Table]) -> list[str]:
    slices = ((compact_text(list(ages)), table) for ages, table in tables.items() if table.buckets)
    return sorted(f"[{ages},{dumps(table).decode()}]" for ages, table in slices)


def sorted_rows(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Rows as JSON, in canonical order."""
    return sorted(([plain(value) for value in row] for row in rows), key=compact_text)


def load_state(plan: Plan, document: Any, join: type[RowJoin] = RowJoin) -> tuple[EngineState, Answered]:
    """The state in what canonical bytes hold as JSON, and the rows that were answered.

    Raises:
        DataError: it is no state of this plan.
    """
    state = EngineState(plan, join)
    named = {"+".join(s.synopsis.streams): s for s in state.tables.values()}
    with _readable(plan):
        for name, tables in document["tables"]:
            _fill(named[name], tables)
        state.now, buffered, answered = _loaded(document)
        put_buffered(state, buffered)
    return state, answered


def load_buffered(plan: Plan, document: Any) -> tuple[int | None, dict[str, list[BufferedRow]], Answered]:
    """The last moment, the rows that are held of each stream, and the rows that were answered.

    Raises:
        DataError: it is no state of this plan.
    """
    with _readable(plan):
        return _loaded(document)


@contextmanager
def _readable(plan: Plan) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"a stored state of {plan.query.name} cannot be read: {error}") from None


def _loaded(document: Any) -> tuple[int | None, dict[str, list[BufferedRow]], Answered]:
    buffered = loaded_rows(document["held"])
    answered = {tuple(map(value_of, row)): until for *row, until in document["answered"]}
    return document["now"], buffered, answered


def _fill(slices: Slices, tables: Iterable[Any]) -> None:
    for ages, table in tables:
        name = " + ".join(slices.synopsis.streams)
        slices.resume({tuple(ages): table_of(slices.synopsis.cells, slices.ring, name, table)})
