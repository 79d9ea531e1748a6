"""One Great Expectations checkpoint over one table, and what its result says of each subject."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.errors import DataError
from streambound.quality.docs import page_of
from streambound.quality.suites import Expected

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.data_context.data_context.file_data_context import FileDataContext


@dataclass(frozen=True)
class Failure:
    """One broken expectation: of one subject (None for a table of rows), and why."""

    subject: str | None
    reason: str
    # What the expectation says, and the column that it is about.
    says: str
    column: str | None = None


@dataclass(frozen=True)
class Checked:
    """The outcome of a checkpoint, what its expectations say, and its Data Docs page."""

    success: bool
    expectations: tuple[str, ...]
    failures: tuple[Failure, ...]
    page: Path

    @property
    def evaluated(self) -> int:
        """How many expectations there are."""
        return len(self.expectations)

    def outcomes(self, subjects: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Each expectation with the number of subjects that break it, of all or of some."""
        broken = Counter(f.says for f in self.failures if subjects is None or f.subject in subjects)
        return [{"says": says, "failed": broken[says]} for says in self.expectations]


def run_checkpoint(
    context: FileDataContext,
    name: str,
    source: str,
    table: pd.DataFrame,
    expectations: Sequence[Expected],
    run_id: str,
    subject: str | None = None,
) -> Checked:
    """Validates a table and writes its Data Docs page.

    Args:
        name: of the checkpoint, its suite and its asset.
        source: what the table is of, for people (the data source's name).
        subject: the column that names a row; failures are then complete and name it.

    Raises:
        DataError: an expectation could not be evaluated.
    """
    import great_expectations as gx

    checkpoint = _checkpoint(context, name, source, expectations, subject)
    outcome = checkpoint.run(
        batch_parameters={"dataframe": table},
        run_id=gx.RunIdentifier(run_name=re.sub(r"[^\w.:+-]", "-", run_id)),
    )
    (identifier, result), *_ = outcome.run_results.items()
    for evaluated in result.results:
        _refuse_exception(name, evaluated)
    failures = [
        failure for item in result.results if not item.success for failure in _failures(item, subject)
    ]
    says = tuple(_says(item) for item in result.results)
    return Checked(bool(outcome.success), says, tuple(failures), page_of(identifier))


def _checkpoint(
    context: FileDataContext, name: str, source: str, expectations: Sequence[Expected], subject: str | None
) -> Any:
    import great_expectations as gx
    from great_expectations.checkpoint.actions import UpdateDataDocsAction

    asset = context.data_sources.add_or_update_pandas(source).add_dataframe_asset(name)
    batch = asset.add_batch_definition_whole_dataframe("whole")
    suite = gx.ExpectationSuite(name=name, expectations=[_built(expected) for expected in expectations])
    suite = context.suites.add_or_update(suite)
    definition = gx.ValidationDefinition(name=name, data=batch, suite=suite)
    form = (
        {"result_format": "COMPLETE", "unexpected_index_column_names": [subject]}
        if subject
        else {"result_format": "SUMMARY"}
    )
    return context.checkpoints.add_or_update(
        gx.Checkpoint(
            name=name,
            validation_definitions=[context.validation_definitions.add_or_update(definition)],
            actions=[UpdateDataDocsAction(name="docs")],
            result_format=form,
        )
    )


def _built(expected: Expected) -> Any:
    from great_expectations import expectations

    return getattr(expectations, expected.kind)(**expected.arguments)


def _refuse_exception(name: str, evaluated: Any) -> None:
    info = evaluated.exception_info or {}
    # One exception, or one a metric under its identifier.
    details = [info, *(value for value in info.values() if isinstance(value, dict))]
    raised = [detail for detail in details if detail.get("raised_exception")]
    if raised:
        config = evaluated.expectation_config
        raise DataError(
            f"{config.type} of column {config.kwargs.get('column')} could not be evaluated: "
            f"{raised[0].get('exception_message')}",
            subject=name,
        )


def _says(outcome: Any) -> str:
    config = outcome.expectation_config
    return str(config.description or f"{config.type} of {config.kwargs.get('column') or 'the table'}")


def _failures(outcome: Any, subject: str | None) -> list[Failure]:
    config, says = outcome.expectation_config, _says(outcome)
    column = config.kwargs.get("column")
    if subject is None:
        unexpected = outcome.result.get("unexpected_count", "some")
        reason = f"{config.type} of {column or 'the table'}: {unexpected} unexpected"
        return [Failure(None, reason, says, column)]
    return [
        Failure(
            str(row[subject]), str(config.meta["broken"]).format(found=f"{int(row[column]):,}"), says, column
        )
        for row in outcome.result["unexpected_index_list"]
    ]
