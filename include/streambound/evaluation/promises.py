"""The catalog's promises about rows: domains, NOT NULL, granularity, rows at a timestamp.

Verdicts and units rely on them, so a row that breaks one is refused, whether or not a condition of the query
lets it through, if the query reads the column. A query reads a stream's timestamp if it names it, or
compares timestamps.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from streambound.errors import DataError, UnitsExceeded
from streambound.query.column_types import Value, shown
from streambound.query.model import TICKS, Column, Domain, Rate, Relation


def within(column: Column, value: Value) -> bool:
    """Whether a value lies in its column's declared domain."""
    domain = column.domain or Domain()
    if domain.values is not None and value not in domain.values:
        return False
    above = domain.minimum is None or value >= domain.minimum
    return bool(above and (domain.maximum is None or value <= domain.maximum))


def fault(relation: Relation, column: Column, value: Value | None, where: str = "") -> DataError | None:
    """What is said of a value (encoded) that breaks a promise about its column; None if it breaks none.

    Args:
        where: the place of the row, in words.
    """
    if column.of:
        # What is promised of what it is computed from is promised of it.
        return None
    name = f"{where}{': ' if where else ''}{relation.name}.{column.name}"
    if value is None:
        if column.nullable or column.name == relation.timestamp:
            return None
        return DataError(
            f"{name} is NULL though the catalog says not_null",
            accepted="a value in every row",
            fix="remove it from not_null, mend the data, or exclude the partition",
        )
    text = f"{name} = {shown(column.type.decode(value))}"
    if not within(column, value):
        return DataError(
            f"{text} is outside its declared domain",
            accepted=domain_text(column),
            fix="widen the domain in the catalog, mend the data, or exclude the partition",
        )
    if column.name == relation.timestamp and value % relation.tick:
        return DataError(
            f"{text} is no whole {relation.granularity}, though the catalog declares this granularity",
            accepted=f"timestamps at full {relation.granularity}s (UTC)",
            fix="declare a finer granularity in the catalog, mend the data, or exclude the partition",
        )
    return None


def too_many(relation: Relation, rate: Rate, moment: Value, where: str = "") -> DataError:
    """What is said of the first row that is one too many at its timestamp (encoded), or in its interval."""
    name = str(relation.timestamp)
    at = f"{where}{': ' if where else ''}{relation.name}.{name}"
    at += f" = {shown(relation.column(name).type.decode(moment))}"
    if rate.per is None:
        return DataError(
            f"{at} is the timestamp of more rows than the catalog's max_rows_per_timestamp",
            accepted=f"at most {rate.rows} rows at one timestamp",
            fix="raise max_rows_per_timestamp in the catalog, mend the data, or exclude the partition",
        )
    return DataError(
        f"{at} lies in an interval of more rows than the catalog's rate",
        accepted=f"at most {rate.rows} rows per {rate.per}, from each whole multiple of it to the next",
        fix="raise the rate in the catalog, mend the data, or exclude the partition",
    )


def _outside_time(relation: Relation, column: Column, row: dict[str, Any], where: str) -> DataError | None:
    """What is said of a second time that is before the row's own, or too long after it."""
    value, stamp = row[column.name], row[str(relation.timestamp)]
    if value is None or stamp <= value <= stamp + (column.within or 0):
        return None
    kind = column.type
    text = f"{where}: {relation.name}.{column.name} = {shown(kind.decode(value))}"
    return DataError(
        f"{text} is not within what times promises",
        accepted=f"{shown(kind.decode(stamp))} to {shown(kind.decode(stamp + (column.within or 0)))}",
        fix="correct times in the catalog, or mend the data",
    )


def too_different(relation: Relation, column: Column, value: Value, where: str) -> DataError:
    """What is said of the first value (encoded) that is one too many in its column."""
    text = f"{where}: {relation.name}.{column.name} = {shown(column.type.decode(value))}"
    return DataError(
        f"{text} is one more different value than the catalog's cardinality",
        accepted=f"at most {column.cardinality} different values",
        fix="raise the cardinality in the catalog, or mend the data",
    )


def outside_day(
    relation: Relation, day: str | None, moment: Value | None, where: str = ""
) -> DataError | None:
    """What is said of a timestamp (encoded) in the partition of another UTC day, where a rate is declared.

    Args:
        day: by which the partition is named; None where there are no such partitions.
    """
    if day is None or moment is None or relation.rate is None:
        return None
    kind = relation.column(str(relation.timestamp)).type
    with suppress(DataError):
        start = kind.encode(day)
        if start is not None and start <= moment < start + TICKS["day"]:
            return None
    at = f"{where}{': ' if where else ''}{relation.name}.{relation.timestamp} = {shown(kind.decode(moment))}"
    return DataError(
        f"{at} lies in the partition of {day}, so the rate that the catalog declares cannot be counted",
        accepted="timestamps of the UTC day that a partition is named by",
        fix="write the partitions by the UTC day of the timestamp, or declare max_rows_per_timestamp instead",
    )


class Counts:
    """Counts rows by time and different values, where the catalog says how many there may be."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.counts: tuple[tuple[Rate, Counter[Any]], ...] = tuple(
            (rate, Counter()) for rate in relation.rates if relation.timestamp is not None
        )
        self.values: tuple[tuple[Column, int, set[Any]], ...] = tuple(
            (column, column.cardinality, set()) for column in relation.own if column.cardinality is not None
        )

    def take(self, row: dict[str, Any], where: str) -> None:
        """Count a row (encoded).

        Raises:
            DataError: it is one too many at its timestamp, or in its interval, or has one value too many.
        """
        for column in self.relation.own:
            if column.within is not None and (error := _outside_time(self.relation, column, row, where)):
                raise error
        for column, most, seen in self.values:
            if (value := row[column.name]) is not None:
                seen.add(value)
            if len(seen) > most:
                raise too_different(self.relation, column, value, where)
        for rate, counts in self.counts:
            moment = row[str(self.relation.timestamp)]
            counts[moment // rate.length] += 1
            if counts[moment // rate.length] > rate.rows:
                raise too_many(self.relation, rate, moment, where)


def domain_text(column: Column) -> str:
    """A declared domain in words."""
    domain = column.domain or Domain()
    if domain.values is not None:
        return f"one of {', '.join(map(column.type.text, domain.values))}"
    low, high = map(column.type.text, (domain.minimum, domain.maximum))
    if domain.maximum is None:
        return f"at least {low}"
    return f"at most {high}" if domain.minimum is None else f"{low} to {high}"


def require_units(query: str, units: int | None, peak_units: int) -> None:
    """Refuse a run whose state passed the units of its plan: where promises hold that cannot be.

    Args:
        units: None where no number is known.

    Raises:
        UnitsExceeded: it did.
    """
    if units is not None and peak_units > units:
        raise UnitsExceeded(
            f"{peak_units:,} units were stored, though the plan needs at most {units:,}",
            subject=query,
            fix="this is a defect of streambound: please report it, with the query and the catalog; where"
            " there are checkpoints, run it with --recompute first: it names a row that breaks a promise",
        )
