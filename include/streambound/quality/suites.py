"""What is expected: promises over a table of metrics, and of the newest partition's rows.

A promise is checked on a table with one row a subject (a partition, a query), so that a failure
names its subjects. Expectations are described here and built in ``checkpoint``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streambound.quality.aggregate import never_null, with_domain
from streambound.query.column_types import Family
from streambound.query.model import Column, Domain, Relation


@dataclass(frozen=True)
class Expected:
    """A Great Expectations expectation: its class's name and its arguments."""

    kind: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Promise:
    """``column`` of a metrics table must be true, or lie from ``least`` to ``most`` (counts).

    ``says`` states the promise in Data Docs; ``broken`` is the reason of a failure, where ``{found}`` is
    the value found.
    """

    column: str
    says: str
    broken: str
    least: int | None = None
    most: int | None = None

    def expected(self) -> Expected:
        """The promise as an expectation; its ``meta`` has the reason of a failure."""
        arguments = {"column": self.column, "description": self.says, "meta": {"broken": self.broken}}
        if self.least is None and self.most is None:
            return Expected("ExpectColumnValuesToBeInSet", {"value_set": [True], **arguments})
        bounds = {"min_value": self.least, "max_value": self.most}
        return Expected("ExpectColumnValuesToBeBetween", {**bounds, **arguments})


def stream_promises(relation: Relation) -> list[Promise]:
    """What the catalog promises of every partition of a relation."""
    promises = [
        Promise("readable", "Every partition can be read", "cannot be read"),
        Promise("schema_ok", "Every partition has the declared columns and types", "has another schema"),
        *(_no_nulls(column) for column in never_null(relation)),
        *(_in_domain(column) for column in with_domain(relation)),
    ]
    if relation.history and relation.history.partition_by == "date" and relation.timestamp:
        promises.append(_within_day(relation.timestamp))
    if relation.max_rows_per_timestamp is not None and relation.timestamp:
        promises.append(_rate(relation.timestamp, relation.max_rows_per_timestamp))
    return promises


def _no_nulls(column: Column) -> Promise:
    says = f"Column {column.name} has no NULL"
    return Promise(f"nulls.{column.name}", says, f"{{found}} NULL in column {column.name}", most=0)


def _in_domain(column: Column) -> Promise:
    says = f"Every value of column {column.name} is in its declared domain"
    broken = f"{{found}} rows with {column.name} outside its declared domain"
    return Promise(f"outside_domain.{column.name}", says, broken, most=0)


def _within_day(timestamp: str) -> Promise:
    says = f"Every {timestamp} lies in its partition's UTC day"
    return Promise("outside_day", says, f"{{found}} rows with {timestamp} outside the UTC day", most=0)


def _rate(timestamp: str, most: int) -> Promise:
    says = f"At most {most} rows share one {timestamp} (max_rows_per_timestamp)"
    broken = f"{{found}} rows share one {timestamp}, declared at most {most}"
    return Promise("most_rows_at_one_timestamp", says, broken, most=most)


def row_expectations(relation: Relation) -> list[Expected]:
    """Expectations on the rows of one partition: columns, NULLs, domains that pandas compares exactly."""
    columns = [column.name for column in relation.columns]
    declared = {"column_set": columns, "exact_match": False, **_newest("the declared columns are there")}
    expected = [Expected("ExpectTableColumnsToMatchSet", declared)]
    expected += [
        Expected(
            "ExpectColumnValuesToNotBeNull", {"column": c.name, **_newest(f"column {c.name} has no NULL")}
        )
        for c in never_null(relation)
    ]
    return expected + [_domain(column) for column in with_domain(relation) if _is_comparable(column)]


def _newest(says: str) -> dict[str, str]:
    return {"description": f"Newest rows: {says}"}


def _is_comparable(column: Column) -> bool:
    # Decimals, dates and timestamps are judged by the metrics, which compare them exactly.
    families = (Family.NUMBER, Family.STRING, Family.BOOLEAN)
    return column.type.family in families and not column.type.name.startswith("decimal")


def _domain(column: Column) -> Expected:
    domain, decode = column.domain or Domain(), column.type.decode
    arguments = {"column": column.name, **_newest(f"every value of column {column.name} is in its domain")}
    if domain.values is not None:
        values = [decode(value) for value in domain.values]
        return Expected("ExpectColumnValuesToBeInSet", {**arguments, "value_set": values})
    bounds = {"min_value": decode(domain.minimum), "max_value": decode(domain.maximum)}
    return Expected("ExpectColumnValuesToBeBetween", {**arguments, **bounds})


ANSWER_PROMISES = [
    Promise("readable", "The answers can be read", "cannot be read"),
    Promise("duplicate_rows", "No row occurs twice under DISTINCT", "{found} rows more than once", most=0),
    Promise("counts_not_positive", "Every count is positive", "{found} counts are not positive", most=0),
    Promise(
        "units_over_bound", "Peak state is within the proven bound", "{found} units above the bound", most=0
    ),
]

CACHE_PROMISES = [
    Promise("over_optimum", "No policy keeps more than the optimum", "{found} beat the optimum", most=0),
    Promise(
        "optimum_over_possible",
        "The optimum is at most what an unlimited memory finds",
        "the optimum is more than an unlimited memory finds",
        most=0,
    ),
    Promise("shares_outside", "Every share lies from 0 to 1", "{found} shares outside 0 to 1", most=0),
    Promise("policies_missing", "Every policy was tried", "{found} policies were not tried", most=0),
    Promise("chosen", "Exactly one is chosen", "{found} are chosen, not one", least=1, most=1),
    Promise(
        "estimate_missing", "The estimate was compared with the truth", "no estimate was compared", most=0
    ),
    Promise(
        "estimate_off",
        "The number of all results lies in the interval that its estimate states",
        "the estimate of all results does not hold",
        most=0,
    ),
    Promise(
        "results_over_exact",
        "A pass finds no more results than there are",
        "more results were found than there are",
        most=0,
    ),
]
