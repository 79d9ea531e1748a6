"""The quality of answers: no row twice under DISTINCT, counts positive, state within its bound.

The counting is DuckDB's over the answer files; one checkpoint a run judges a table with one row a
query.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from streambound.quality.checkpoint import Checked, run_checkpoint
from streambound.quality.docs import docs_context
from streambound.quality.suites import ANSWER_PROMISES
from streambound.results import QualityOutcome, Results

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

POSITIVE = "^[1-9][0-9]*$"


@dataclass(frozen=True)
class AnswerSet:
    """The answers of one query, to be checked.

    ``rows`` is a table, or a Parquet file or a folder of them; of a query whose answers may be taken back the
    answer as a whole. ``row_columns`` names the answer's own
    columns (None: all but ``count_column``): leave out a partition or marker, since under DISTINCT a row
    may not come again later either. Counts may be integers or, beyond 64 bits, decimal text.
    ``units`` bounds ``peak_units`` (None: unknown).
    """

    query: str
    rows: pd.DataFrame | Path | str
    distinct: bool
    units: int | None = None
    peak_units: int | None = None
    row_columns: Sequence[str] | None = None
    count_column: str = "count"


@dataclass(frozen=True)
class QueryQuality:
    """What was found of one query's answers, or of the benchmark of its caches (``kind``).

    ``rows`` counts answer rows (None if unreadable).
    """

    kind: str
    query: str
    success: bool
    reasons: tuple[str, ...]
    evaluated: int
    docs: Path
    run_id: str
    job: str = ""
    rows: int | None = None
    # As the results database records them.
    expectations: tuple[Mapping[str, Any], ...] = ()

    def outcome(self) -> QualityOutcome:
        """The record for the results database."""
        failed = [{"reasons": list(self.reasons)}] if self.reasons else []
        return QualityOutcome(
            self.run_id,
            self.query,
            self.success,
            self.evaluated,
            self.kind,
            failed,
            str(self.docs),
            job=self.job,
            expectations=self.expectations,
        )

    def record(self, results: Results) -> None:
        """Writes the outcome."""
        results.record_quality(self.outcome())


def check_answer_sets(answers: Sequence[AnswerSet], run_id: str, job: str = "") -> tuple[QueryQuality, ...]:
    """Checks the answers of several queries with one checkpoint, in a run of a job (a DAG).

    Raises:
        StorageError: the quality folder cannot be used.
    """
    import pandas as pd

    if not answers:
        return ()
    measured = [_measured(answer_set) for answer_set in answers]
    expectations = [promise.expected() for promise in ANSWER_PROMISES]
    table = pd.DataFrame(measured)
    with docs_context() as context:
        checked = run_checkpoint(context, "answers", "queries", table, expectations, run_id, "query")
    return tuple(_quality(body, checked, run_id, job) for body in measured)


def _quality(body: dict[str, Any], checked: Checked, run_id: str, job: str) -> QueryQuality:
    query = str(body["query"])
    failed = [failure.reason for failure in checked.failures if failure.subject == query]
    reasons = tuple(body["reason"] or reason for reason in failed)
    rows, evaluated, page = body["rows"], checked.evaluated, checked.page
    expectations = tuple(checked.outcomes([query]))
    return QueryQuality(
        "answers", query, not reasons, reasons, evaluated, page, run_id, job, rows, expectations
    )


def _measured(answers: AnswerSet) -> dict[str, Any]:
    """A row of the table of metrics: counts of rows; None where a metric does not apply."""
    import duckdb

    over = None
    if answers.units is not None and answers.peak_units is not None:
        over = max(answers.peak_units - answers.units, 0)
    body: dict[str, Any] = {"query": answers.query, "readable": True, "reason": None}
    body |= {"rows": None, "duplicate_rows": None, "counts_not_positive": None, "units_over_bound": over}
    try:
        with duckdb.connect() as connection:
            return body | _counts(connection, answers)
    except (duckdb.Error, OSError) as error:
        reason = f"the answers cannot be read: {str(error).splitlines()[0][:200]}"
        return body | {"readable": False, "reason": reason}


def _counts(connection: duckdb.DuckDBPyConnection, answers: AnswerSet) -> dict[str, Any]:
    if not _view(connection, answers.rows):
        return {"rows": 0}
    columns = [str(row[0]) for row in connection.execute("DESCRIBE answers").fetchall()]
    chosen = list(answers.row_columns or [c for c in columns if c != answers.count_column])
    everything = exp.select(exp.Count(this=exp.Star())).from_("answers")
    return {
        "rows": _number(connection, everything),
        "duplicate_rows": _number(connection, _repeated(chosen)) if answers.distinct else None,
        "counts_not_positive": _number(connection, everything.where(_not_positive(answers.count_column)))
        if answers.count_column in columns
        else None,
    }


def _view(connection: duckdb.DuckDBPyConnection, rows: pd.DataFrame | Path | str) -> bool:
    """Makes the rows known as ``answers``; False where a folder has no file."""
    if not isinstance(rows, (str, Path)):
        connection.register("answers", rows)
        return True
    path = Path(rows)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    below = (file for file in sorted(path.rglob("*.parquet")) if file.name[0] not in "._")
    visible = [glob.escape(str(file)) for file in (below if path.is_dir() else [path])]
    if visible:
        connection.read_parquet(visible, hive_partitioning=False, union_by_name=True).create_view("answers")
    return bool(visible)


def _number(connection: duckdb.DuckDBPyConnection, statement: exp.Select) -> int:
    row = connection.execute(statement.sql(dialect="duckdb")).fetchone()
    return int(row[0]) if row else 0


def _repeated(columns: Sequence[str]) -> exp.Select:
    keys = [_column(name) for name in columns]
    several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    groups = exp.select(*keys).from_("answers").group_by(*keys).having(several)
    return exp.select(exp.Count(this=exp.Star())).from_(groups.subquery("repeated"))


def _not_positive(count_column: str) -> exp.Expr:
    # As text, a count of any size and type is judged alike; a NULL is not positive.
    text = exp.cast(_column(count_column), "TEXT")
    positive = exp.func("REGEXP_MATCHES", text, exp.Literal.string(POSITIVE), dialect="duckdb")
    return exp.not_(exp.func("COALESCE", positive, exp.false()))


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))
