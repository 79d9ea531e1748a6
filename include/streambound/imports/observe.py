"""What the rows at hand have: ends and numbers of values, NULLs, rows per tick, hour and day, lateness.

None of it is a promise: it is told beside each column, and as ``observed``, whose numbers suggestions take.
DuckDB counts; it reads the files as Arrow gives them, so rows pass through once a statement and are not held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streambound.errors import CatalogError, DataError, meant
from streambound.imports.entry import Entry, Field
from streambound.query.column_types import Family, Type, parse_type

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as ds

# Up to so many different values of text are listed, each of at most so many characters.
LISTED, LONGEST = 20, 40
_TICK, _HOUR = 1_000_000, 3_600_000_000
_UNITS = (
    ("day", 24 * _HOUR),
    ("hour", _HOUR),
    ("minute", 60_000_000),
    ("second", _TICK),
    ("millisecond", 1_000),
)


def observed(entry: Entry, dataset: ds.Dataset, stamp: str | None = None) -> Entry:
    """The entry with what its rows have.

    Args:
        stamp: the column by which rows come in order, where the entry does not say it.

    Raises:
        CatalogError: there is no such column.
        DataError: the rows cannot be read.
    """
    import duckdb

    stamp = _stamp(entry, stamp)
    plain = [field for field in entry.fields if field.plain]
    # Columns in the names of folders are in no file.
    counted = [field for field in plain if field.name in dataset.schema.names]
    with duckdb.connect() as session:
        session.execute("SET TimeZone = 'UTC'")
        session.register("rows", dataset)
        try:
            total, seen = _columns(session, counted)
            notes = [f"Seen: {_many(total, 'row')}."]
            if stamp is not None and total:
                notes += [*_rates(session, stamp), _disorder(dataset, stamp)]
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            raise DataError(f"the rows cannot be counted: {first}", subject=entry.name) from None
    fields = tuple(
        _annotated(field, seen[field.name]) if field.name in seen else field for field in entry.fields
    )
    return replace(entry, fields=fields, notes=(*entry.notes, *notes), observed=seen)


def _stamp(entry: Entry, stamp: str | None) -> str | None:
    stamps = entry.stamps
    if stamp is not None and stamp not in stamps:
        raise CatalogError(
            f"stream {entry.name}: no column of type timestamp is called {stamp}",
            accepted=", ".join(stamps) or None,
            fix=meant(stamp, stamps),
        )
    return stamp or entry.further.get("timestamp") or (stamps[0] if len(stamps) == 1 else None)


def _columns(
    session: duckdb.DuckDBPyConnection, fields: list[Field]
) -> tuple[int, dict[str, dict[str, Any]]]:
    """The number of rows, and of each column its ends or values, different values and NULLs."""
    asked = ["count(*)"]
    for field in fields:
        name = _quoted(field.name)
        numbers = parse_type(field.type).family is Family.NUMBER and parse_type(field.type).resolution is None
        # NaN and infinity are above all numbers, and bound none.
        finite = f"FILTER (WHERE isfinite({name}))" if numbers else ""
        asked += [
            f"min({name}) {finite}",
            f"max({name}) {finite}",
            f"count(DISTINCT {name})",
            f"count(*) - count({name})",
        ]
    total, *rest = _single_row(session, f"SELECT {', '.join(asked)} FROM rows")
    columns: dict[str, dict[str, Any]] = {}
    for number, field in enumerate(fields):
        low, high, different, nulls = rest[4 * number : 4 * number + 4]
        kind = parse_type(field.type)
        body = _ends(session, field.name, kind, low, high, different)
        columns[field.name] = {**body, "different": different, "nulls": nulls}
    return int(total), columns


def _ends(
    session: duckdb.DuckDBPyConnection, name: str, kind: Type, low: Any, high: Any, different: int
) -> dict[str, Any]:
    if low is None or kind.family is Family.BOOLEAN:
        return {}
    if kind.family is not Family.STRING:
        return {"min": _yaml_value(low), "max": _yaml_value(high)}
    if different > LISTED:
        return {}
    rows = session.execute(f"SELECT DISTINCT {_quoted(name)} FROM rows ORDER BY 1").fetchall()
    values = [value for (value,) in rows if value is not None]
    return {"values": values} if all(len(value) <= LONGEST for value in values) else {}


def _yaml_value(value: Any) -> Any:
    """A value as YAML reads it back: numbers as they are, all else as text."""
    return value if isinstance(value, (int, float)) else str(value).removesuffix("+00:00")


def _rates(session: duckdb.DuckDBPyConnection, stamp: str) -> Iterator[str]:
    """The most rows at one timestamp, and in an hour and a day of UTC."""
    name = _quoted(stamp)
    most = [
        _single_row(session, f"SELECT max(n) FROM (SELECT count({name}) AS n FROM rows GROUP BY {moment})")[0]
        for moment in (name, f"date_trunc('hour', {name})", f"date_trunc('day', {name})")
    ]
    tick, hour, day = (int(item or 0) for item in most)
    yield f"Most rows by {stamp}: {tick:,} at one moment, {hour:,} in an hour, {day:,} in a day (UTC)."
    whole = _single_row(
        session,
        "SELECT "
        + ", ".join(f"bool_and(epoch_us({name}) % {length} = 0)" for _, length in _UNITS)
        + f" FROM rows WHERE {name} IS NOT NULL",
    )
    if coarse := [unit for (unit, _), fits in zip(_UNITS, whole, strict=True) if fits]:
        yield f"Every {stamp} is a whole {coarse[0]}."


def _disorder(dataset: ds.Dataset, stamp: str) -> str:
    """How far a row stands behind a later one, in the order of the files and of the rows in them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    latest: int | None = None
    behind = 0
    for batch in dataset.to_batches(columns=[stamp], use_threads=False):
        moments = (
            pc.drop_null(batch.column(0))
            .cast(pa.timestamp("us", batch.schema.field(0).type.tz))
            .cast("int64")
        )
        if not len(moments):
            continue
        start = pc.max(moments).as_py() if latest is None else latest
        reached = pc.cumulative_max(moments, start=moments[0] if latest is None else start)
        behind = max(behind, pc.max(pc.subtract(reached, moments)).as_py())
        latest = reached[-1].as_py()
    if not behind:
        return f"The rows come in the order of {stamp}."
    return f"Rows come up to {_length(behind)} after a later {stamp}, by the order of files and rows."


def _length(microseconds: int) -> str:
    """A length of time in its largest unit, rounded up."""
    for unit, size in _UNITS:
        if microseconds >= size:
            return _many(-(-microseconds // size), unit)
    return _many(microseconds, "microsecond")


def _annotated(field: Field, seen: Mapping[str, Any]) -> Field:
    kind = parse_type(field.type)
    parts = []
    if "min" in seen:
        parts.append(f"{_number(seen['min'], kind)} to {_number(seen['max'], kind)}")
    parts += [_many(seen["different"], "value"), _many(seen["nulls"], "NULL") if seen["nulls"] else "no NULL"]
    return replace(field, note="; ".join(part for part in (f"seen: {', '.join(parts)}", field.note) if part))


def _number(value: Any, kind: Type) -> str:
    return f"{value:,}" if kind.resolution == 1 and isinstance(value, int) else str(value)


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _single_row(session: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row = session.execute(sql).fetchone()
    assert row is not None
    return row
