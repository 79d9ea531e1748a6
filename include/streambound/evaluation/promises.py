"""The catalog's promises about rows: domains, NOT NULL, granularity, rows at a timestamp.

Verdicts and units rely on them, so a row that breaks one is refused, whether or not a condition of the query
lets it through, if the query reads the column. A query reads a stream's timestamp if it names it, or
compares timestamps.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from streambound.errors import DataError, UnitsExceeded
from streambound.query.model import Column, Domain, Relation
from streambound.query.values import Value, shown


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
    name = f"{where}{': ' if where else ''}{relation.name}.{column.name}"
    if value is None:
        if column.nullable or column.name == relation.timestamp:
            return None
        return DataError(
            f"{name} is NULL though the catalog says not_null",
            accepted="a value in every row",
            fix="remove it from not_null, mend the data, or exclude the partition",
        )
    found = f"{name} = {shown(column.type.decode(value))}"
    if not within(column, value):
        return DataError(
            f"{found} is outside its declared domain",
            accepted=domain_text(column),
            fix="widen the domain in the catalog, mend the data, or exclude the partition",
        )
    if column.name == relation.timestamp and value % relation.tick:
        return DataError(
            f"{found} is no whole {relation.granularity}, though the catalog declares this granularity",
            accepted=f"timestamps at full {relation.granularity}s (UTC)",
            fix="declare a finer granularity in the catalog, mend the data, or exclude the partition",
        )
    return None


def too_many(relation: Relation, moment: Value, where: str = "") -> DataError:
    """What is said of the first row that is one too many at its timestamp (encoded)."""
    most, name = relation.max_rows_per_timestamp, str(relation.timestamp)
    at = shown(relation.column(name).type.decode(moment))
    return DataError(
        f"{where}{': ' if where else ''}{relation.name}.{name} = {at} is the timestamp of more rows than the"
        " catalog's max_rows_per_timestamp",
        accepted=f"at most {most} rows at one timestamp",
        fix="raise max_rows_per_timestamp in the catalog, mend the data, or exclude the partition",
    )


class Rate:
    """Counts the rows of each timestamp of a relation, where the catalog says how many there may be."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.counts: Counter[Any] = Counter()

    def take(self, row: dict[str, Any], where: str) -> None:
        """Count a row (encoded).

        Raises:
            DataError: it is one too many at its timestamp.
        """
        name, most = self.relation.timestamp, self.relation.max_rows_per_timestamp
        if name is None or most is None:
            return
        self.counts[row[name]] += 1
        if self.counts[row[name]] > most:
            raise too_many(self.relation, row[name], where)


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
