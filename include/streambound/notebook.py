"""What a notebook has: queries over the data frames at hand, and verdicts, plans and state as pictures.

A result shows itself by ``_repr_html_``, which Jupyter, VS Code and marimo ask for. Whatever text a query, a
catalog or a row brings is escaped (``report.pages.markup``); without markupsafe there is no picture, only the
plain representation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streambound.compiler import Planned, in_mode, judge, planned
from streambound.compiler.report import Report
from streambound.errors import CatalogError, DataError
from streambound.evaluation.data_frames import arrow_table, events_of, rows_of
from streambound.evaluation.events import Answer, answers, batches, encode_static
from streambound.evaluation.flow import statement_pass
from streambound.plan.tables.statement import not_evaluated
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.model import RelationKind

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ACCEPTED = '{"S": frame, ...}: frames of pandas, Polars or PySpark, Arrow tables, relations of DuckDB, rows'


@dataclass(frozen=True)
class Checked(Report):
    """A verdict that shows itself: the reasons marked in the text, what mends it, what engines keep."""

    sql: str = ""

    def _repr_html_(self) -> str | None:
        with suppress(ModuleNotFoundError):
            from streambound.report.pages.notebook import verdict_html

            return verdict_html(self, self.sql)
        return None


@dataclass(frozen=True)
class Compiled(Planned):
    """A compiled query that shows itself: what is kept of each stream."""

    def _repr_html_(self) -> str | None:
        with suppress(ModuleNotFoundError):
            from streambound.report.pages.notebook import plan_html

            return plan_html(self)
        return None


@dataclass(frozen=True)
class Run:
    """The answers of a query over data frames, with its plan and the state over time.

    ``changes`` are the columns of the SELECT list, ``count`` (negative: taken back) and ``marker``, when it
    was told: a time, or the number of the event; ``answer`` is what they add up to. ``state`` has the units
    that were stored after each marker. A run speaks Arrow itself: ``polars.DataFrame(run)``,
    ``pyarrow.table(run)`` and DuckDB take its ``answer``.
    """

    job: Planned
    changes: pa.Table
    answer: pa.Table
    state: tuple[tuple[Any, int], ...]
    peak_units: int

    def to_pandas(self) -> pd.DataFrame:
        """The answer as a data frame of pandas."""
        frame: pd.DataFrame = self.answer.to_pandas()
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.answer.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        with suppress(ModuleNotFoundError):
            from streambound.report.pages.notebook import run_html

            return run_html(self.job, self.answer, self.state, self.peak_units)
        return None


def run(
    sql: str,
    tables: Mapping[str, Any],
    catalog: Catalog | Mapping[str, Any] | None = None,
    *,
    mode: str | None = None,
    dialect: str | None = None,
) -> Run:
    """A bounded query over data frames, in one pass (see ``api.run``)."""
    from streambound.tasks.emit import answer_table

    given = _tables(tables)
    used_catalog = catalog if isinstance(catalog, Catalog) else described(given, catalog or {})
    job = planned(in_mode(judge(sql, used_catalog, dialect=dialect), mode))
    if job.unplanned is not None:
        raise not_evaluated(job.name, job.unplanned)
    query = job.statement
    fixed = {relation.name for relation in query.scanned if relation.kind is RelationKind.STATIC}
    static = encode_static(
        query, rows_of({name: given[name] for name in fixed if name in given}, used_catalog)
    )
    arriving = events_of(
        query, {name: rows for name, rows in given.items() if name not in fixed}, used_catalog
    )
    evaluation = statement_pass(query, static)
    total: Counter[tuple[Any, ...]] = Counter(evaluation.initial)
    answered = answers(query, None, evaluation.initial)
    state = []
    for batch in batches(query, arriving):
        new = evaluation.process(batch)
        total.update(new)
        answered += answers(query, batch.marker, new)
        state.append((batch.marker, evaluation.tree.stored_units))
    left = {row: count for row, count in total.items() if count}
    return Run(
        job,
        _marked(answer_table(query, answered), answered),
        answer_table(query, answers(query, None, left)),
        tuple(state),
        evaluation.peak_units,
    )


def described(tables: Mapping[str, Any], given: Mapping[str, Any]) -> Catalog:
    """The catalog of data frames: their own columns and types, and what is said beside (timestamp, domains).

    Of structs queries read the fields; a query that reads values of other types is told so.

    Raises:
        CatalogError: what is said is no entry of a catalog, or rows without types are not described.
    """
    entries = {}
    for name in {**tables, **given}:
        entry = given.get(name, {})
        if not isinstance(entry, Mapping) or "columns" in entry or name not in tables:
            # Whole, as in a file, or wrong in a way that the catalog tells.
            entries[name] = entry
        elif hasattr(tables[name], "schema"):
            entries[name] = {"columns": _columns(tables[name].schema), **entry}
        else:
            raise CatalogError(
                f"the types of its columns are not known: {name} is a list of rows",
                subject=name,
                fix=f'give catalog={{"{name}": {{"columns": {{"A": "int", ...}}}}}}, or a data frame',
            )
    return catalog_from_mapping(entries)


def _columns(schema: pa.Schema) -> dict[str, str]:
    from streambound.imports.arrow import field_of

    return {field.name: str(field.type) for field in map(field_of, schema)}


def _tables(given: Any) -> dict[str, Any]:
    """Tables of Arrow, whatever the frames are; lists of rows stay what they are."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise DataError(f"tables is a {type(given).__name__}", accepted=ACCEPTED)
    return {
        name: arrow_table(frame, name) if hasattr(frame, "__arrow_c_stream__") else frame
        for name, frame in given.items()
    }


def _marked(table: pa.Table, answered: Sequence[Answer]) -> pa.Table:
    """The answers with the marker at which each was told."""
    import pyarrow as pa

    return table.append_column("marker", pa.array([answer.marker for answer in answered]))
