"""Events and answers: a finite prefix of the streams, and what is new at each marker.

An event list is in time order (arrival order where no stream declares a timestamp). A *marker*
ends a batch: the tuples of one timestamp, or a single tuple where there is no time (Schiff &
Özçep, execution model; Arasu et al., section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from streambound.errors import CountOverflow, DataError, meant
from streambound.evaluation.promises import Counts, fault
from streambound.query.column_types import Value, shown
from streambound.query.model import Column, Relation, RelationKind
from streambound.query.statement import Statement

Encoded = dict[str, Any]
# What the column of an answer file holds; one limit for every engine.
COUNT_DIGITS = 38


@dataclass(frozen=True)
class Batch:
    """The tuples that arrive at one marker: encoded values by column, by stream name.

    ``moment`` is the marker encoded: ticks, microseconds, or the position of the event. ``partition`` names
    where in a history it comes from. ``weights`` has for streams that are the answers of another statement
    how often each tuple comes, or (negative) is taken back; else each comes once.
    """

    marker: Any
    tuples: Mapping[str, Sequence[Encoded]]
    moment: int = 0
    partition: str | None = None
    weights: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """Answer tuples at a marker: decoded values and how many are new; negative: how many are taken back."""

    marker: Any
    row: tuple[Any, ...]
    count: int


def timed(query: Statement) -> bool:
    """Whether answers are due per timestamp; otherwise they are due after every event."""
    return any(
        relation.timestamp is not None
        for relation in query.scanned
        if relation.kind is not RelationKind.STATIC
    )


def batches(query: Statement, events: Iterable[Mapping[str, Any]]) -> Iterator[Batch]:
    """The events of a query's streams, one batch a marker.

    Raises:
        DataError: no stream named, no time, a value outside its type, a promise of the catalog
            that is broken, time going back.
    """
    relations = {relation.name: relation for relation in query.scanned}
    by_time = timed(query)
    marker: Any = None
    written: Any = None
    by_stream: dict[str, list[Encoded]] = {}
    rates = {name: Counts(relation) for name, relation in relations.items()}

    for index, event in enumerate(events):
        relation = _relation(relations, event, index)
        if relation is None:
            continue
        when = _moment(relation, event, index) if by_time else index
        if by_time and marker is not None and when < marker:
            raise DataError(
                f"event {index}: timestamp {_moment_text(relation, when)}"
                f" comes after {_moment_text(relation, marker)}",
                fix="sort the events by time",
            )
        if marker is not None and when != marker:
            yield Batch(written, by_stream, marker)
            by_stream = {}
        if when != marker:
            # Answers name a timestamp as the first event of it does.
            marker, written = when, _written(relation, event) if by_time else index
        row = encode(relation, event, f"event {index}")
        rates[relation.name].take(row, f"event {index}")
        by_stream.setdefault(relation.name, []).append(row)
    if by_stream:
        yield Batch(written, by_stream, marker)


def _moment_text(relation: Relation, moment: int) -> str:
    """A moment as SQL writes it."""
    return (
        str(moment) if relation.timestamp is None else relation.column(relation.timestamp).type.text(moment)
    )


def in_time(query: Statement, events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Events of a query's streams in time order, ties in the order given; as given where there is no time."""
    if not timed(query):
        return list(events)
    relations = {relation.name: relation for relation in query.scanned}
    dated = [(_moment(relations[event["stream"]], event, i), i, event) for i, event in enumerate(events)]
    return [event for _, _, event in sorted(dated, key=lambda item: item[:2])]


def _written(relation: Relation, event: Mapping[str, Any]) -> Any:
    """An event's timestamp as it is written in the event."""
    return event.get("ts") if relation.timestamp is None else event.get(relation.timestamp, event.get("ts"))


def _relation(relations: Mapping[str, Relation], event: Mapping[str, Any], index: int) -> Relation | None:
    name = event.get("stream")
    if not isinstance(name, str):
        raise DataError(f"event {index} names no stream", accepted='{"stream": "S", ...}')
    relation = relations.get(name)
    if relation is not None and relation.kind is RelationKind.STATIC:
        raise DataError(f"event {index}: {name} is a static relation", fix='put its rows under "static"')
    return relation


def _moment(relation: Relation, event: Mapping[str, Any], index: int) -> Any:
    column, raw = relation.timestamp, _written(relation, event)
    if raw is None:
        raise DataError(
            f"event {index} of {relation.name} has no timestamp", accepted=f"a value of {column or 'ts'}"
        )
    if column is not None:
        try:
            return relation.column(column).type.encode(raw)
        except DataError as error:
            raise DataError(f"event {index}: column {column}: {error.message}") from None
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise DataError(f"event {index} of {relation.name}: ts is {shown(raw)}", accepted="an integer")
    return raw


def encode(relation: Relation, row: Mapping[str, Any], where: str) -> Encoded:
    """A tuple's values in their ordered form; a missing column is NULL.

    What is computed from them is left to who evaluates, but where the tuple has a value of it.

    Raises:
        DataError: a value outside its type or that breaks a promise of the catalog, or an unknown column.
    """
    declared = {c.name for c in relation.columns} | {"stream", "ts"} | {name for name, _ in relation.opaque}
    if unknown := sorted(set(row) - declared):
        raise DataError(
            f"{where}: {relation.name} has no column {', '.join(unknown)}",
            accepted=", ".join(c.name for c in relation.own),
            fix=meant(unknown[0], declared),
        )
    given = (c for c in relation.columns if not c.of or c.name in row)
    return {c.name: _value(relation, c, row, where) for c in given}


def _value(relation: Relation, column: Column, row: Mapping[str, Any], where: str) -> Value | None:
    first, *rest = relation.path(column.name)
    raw = row.get(first)
    for name in rest:
        if raw is not None and not isinstance(raw, Mapping):
            raise DataError(f"{where}: column {first}: {shown(raw)} has no {name}", accepted="an object")
        raw = None if raw is None else raw.get(name)
    if isinstance(raw, (Mapping, list)) and column.name in dict(relation.opaque):
        raise DataError(
            f"{where}: column {column.name}: {shown(raw)} is of several values, and cannot be evaluated yet",
            fix="read a field of a struct, such as s.user.id, or give its text",
        )
    if raw is None and column.name == relation.timestamp:
        raw = row.get("ts")
    try:
        value = column.type.encode(raw)
    except DataError as error:
        raise DataError(f"{where}: column {column.name}: {error.message}") from None
    if (broken := fault(relation, column, value, where)) is not None:
        raise broken
    return value


def encode_static(
    query: Statement, rows: Mapping[str, Iterable[Mapping[str, Any]]]
) -> dict[str, list[Encoded]]:
    """The rows of the static relations of a query, encoded, by relation name.

    Raises:
        DataError: a relation without rows given, or a value that does not fit.
    """
    encoded: dict[str, list[Encoded]] = {}
    for relation in (item for item in query.scanned if item.kind is RelationKind.STATIC):
        if relation.name not in rows:
            raise DataError(f"no rows of the static relation {relation.name} are given", subject=query.name)
        encoded[relation.name] = [
            encode(relation, row, f"{relation.name}, row {i}") for i, row in enumerate(rows[relation.name])
        ]
    return encoded


def answers(query: Statement, marker: Any, counts: Mapping[tuple[Any, ...], int]) -> list[Answer]:
    """Encoded answer rows of one marker, decoded and in canonical order (NULL first).

    Raises:
        CountOverflow: as ``refuse_overflow``.
    """
    refuse_overflow(query, counts.values())
    ordered = in_order(counts)
    columns = zip(*(row for row, _ in ordered), strict=True)
    decoded = [kind.decoded(column) for (_, kind), column in zip(query.outputs, columns, strict=False)]
    rows = zip(*decoded, strict=True) if decoded else repeat(())
    return [Answer(marker, row, count) for row, (_, count) in zip(rows, ordered, strict=False)]


def in_order(counts: Mapping[tuple[Any, ...], int]) -> list[tuple[tuple[Any, ...], int]]:
    """Encoded answer rows of one marker with their multiplicities, in canonical order (NULL first)."""
    present = [(row, count) for row, count in counts.items() if count]
    return present if len(present) < 2 else sorted(present, key=lambda pair: _sort_key(pair[0]))


def refuse_overflow(query: Statement, counts: Iterable[int]) -> None:
    """Refuse counts that no answer holds.

    Raises:
        CountOverflow: a multiplicity has more than COUNT_DIGITS digits.
    """
    if any(abs(count) >= 10**COUNT_DIGITS for count in counts):
        raise CountOverflow(
            f"an answer row has a multiplicity of more than {COUNT_DIGITS} digits",
            subject=query.name,
            fix="evaluate fewer partitions, or use SELECT DISTINCT",
        )


def _sort_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, value if value is not None else 0) for value in row)
