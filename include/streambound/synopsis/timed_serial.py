"""The state of a plan with time conditions as canonical JSON: what its checkpoints hold.

``{"now": moment, "tables": [[streams, [[ages, table], ...]], ...], "held": [[alias, [[moment, row,
multiplicity], ...]], ...], "answered": [[row, until], ...]}``; tables and values are as ``serial`` writes
them, a held row has the carried columns of its stream in their order. Everything is sorted, so equal states
have equal bytes.

Law: ``load_timed(plan, dump_timed(state, answered))`` equals both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from streambound.errors import DataError
from streambound.synopsis.match_join import Match, Row
from streambound.synopsis.serial import dumps, loads_matches, plain, value_of
from streambound.synopsis.timed import TimedPlan
from streambound.synopsis.timed_state import Slices, TimedState

# Answered rows, and until when each is remembered (None: for ever).
Answered = dict[Row, int | None]


def dump_timed(state: TimedState, answered: Mapping[Row, int | None]) -> bytes:
    """The canonical bytes of a state between two batches, with the rows that were answered."""
    tables = {"+".join(s.synopsis.streams): s for s in state.tables.values()}
    carried = {s.alias: s.carried for s in state.plan.streams}
    document = {
        "now": state.now,
        "tables": [[name, _slices(tables[name])] for name in sorted(tables)],
        "held": [
            [
                alias,
                _rows(
                    [match.values[a] for a in carried[alias]] + [at, match.weight]
                    for at, matches in older.groups.items()
                    for match in matches
                ),
            ]
            for alias, older in sorted(state.held.older.items())
        ],
        "answered": _rows([*row, until] for row, until in answered.items()),
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _slices(slices: Slices) -> list[Any]:
    held = [[list(ages), json.loads(dumps(t))] for ages, t in slices.tables.items() if t.entries]
    return sorted(held, key=_text)


def _rows(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return sorted(([plain(value) for value in row] for row in rows), key=_text)


def _text(thing: Any) -> str:
    return json.dumps(thing, separators=(",", ":"), ensure_ascii=False)


def load_timed(plan: TimedPlan, data: bytes) -> tuple[TimedState, Answered]:
    """The state in canonical bytes, and the rows that were answered.

    Raises:
        DataError: the bytes are no state of this plan.
    """
    state = TimedState(plan)
    carried = {s.alias: s.carried for s in plan.streams}
    named = {"+".join(s.synopsis.streams): s for s in state.tables.values()}
    try:
        document = json.loads(data)
        state.now = document["now"]
        for name, slices in document["tables"]:
            _fill(named[name], slices)
        for alias, rows in document["held"]:
            groups: dict[int, list[Match]] = {}
            for *values, at, weight in rows:
                values_by = dict(zip(carried[alias], map(value_of, values), strict=True))
                groups.setdefault(at, []).append(Match(values_by, {alias: at}, weight))
            for at, matches in sorted(groups.items()):
                state.held.older[alias].put(at, matches)
        answered = {tuple(map(value_of, row)): until for *row, until in document["answered"]}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"a stored state of {plan.query.name} cannot be read: {error}") from None
    return state, answered


def _fill(slices: Slices, found: Iterable[Any]) -> None:
    for ages, table in found:
        made = loads_matches(slices.synopsis, slices.preserving, table)
        made.changed.update(made.entries)
        slices.tables[tuple(ages)] = made
