"""Corpus lines evaluated on one machine, as the JSON objects that ``streambound run`` prints."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from streambound.errors import DataError, StreamboundError, meant
from streambound.evaluation.events import Answer, Batch, Encoded, answers, batches, encode_static
from streambound.evaluation.finality import finals
from streambound.evaluation.flow import statement_pass
from streambound.evaluation.reference import initial, reference
from streambound.query.parse import defined, statement
from streambound.query.parse.corpus import CorpusLine
from streambound.query.statement import Statement


def run_line(line: CorpusLine, engine: str, mode: str | None = None) -> tuple[dict[str, Any], int]:
    """The answers of one line by ``onepass`` or ``reference``, and the exit code that it asks for."""
    try:
        return evaluated(line, engine, mode), 0
    except StreamboundError as error:
        return failed(line.id, error), error.exit_code


def failed(query: str, error: StreamboundError) -> dict[str, Any]:
    """The object that stands for a query that was not evaluated."""
    return {"query": query, "answers": [], "peak_units": None, "error": error.about(query).one_line()}


def evaluated(line: CorpusLine, engine: str, mode: str | None = None) -> dict[str, Any]:
    """The answers of one line by ``onepass`` or ``reference``.

    Args:
        mode: ``changes``, or ``final``: each row once, when nothing takes it back any more; None: as the text
            says (``-- mode:``), or else ``changes``.

    Raises:
        StreamboundError: the line, its query or its events are no good, or there is no bounded plan.
    """
    if line.error is not None or line.catalog is None:
        raise line.error or DataError("the line has no catalog")
    read = defined if engine == "reference" else statement
    query = read(line.sql, line.catalog, line.id, line.dialect, line.query)
    # A text may declare relations beside those of the catalog.
    declared = (relation.name for relation in query.scanned)
    _refuse_unknown(line.events, [*dict.fromkeys((*line.catalog.names, *declared))])
    static = encode_static(query, line.static)
    arriving = batches(query, line.events)
    query = query.in_mode(mode)
    if engine == "reference":
        return defined_document(query, arriving, static)
    evaluation = statement_pass(query, static)
    body = document(line.id, evaluation.run(arriving), lambda: evaluation.peak_units)
    return with_initial(body, answers(query, None, evaluation.initial))


def _refuse_unknown(events: Iterable[Mapping[str, Any]], names: list[str]) -> None:
    """Refuse events of streams that there are not: they would be passed over, as other streams' are."""
    declared = set(names)
    for index, event in enumerate(events):
        name = event.get("stream")
        if isinstance(name, str) and name not in declared:
            raise DataError(
                f"event {index} is of the stream {name}, which the catalog does not have",
                accepted=", ".join(names),
                fix=meant(name, declared),
            )


def defined_document(
    query: Statement, arriving: Iterable[Batch], static: Mapping[str, list[Encoded]]
) -> dict[str, Any]:
    """The JSON object of a query's answers by the definition, in mode ``changes`` or ``final``."""
    if query.final:
        return document(query.name, finals(query, arriving, static), lambda: None)
    body = document(query.name, reference(query, arriving, static), lambda: None)
    return with_initial(body, initial(query, static))


def with_initial(body: dict[str, Any], rows: Iterable[Answer]) -> dict[str, Any]:
    """The object of a query's answers with those over no arrivals, where there are any."""
    starting = [{"row": [plain(value) for value in answer.row], "count": answer.count} for answer in rows]
    return {**body, "initial": starting} if starting else body


def document(query: str, batches: Iterable[list[Answer]], peak: Any) -> dict[str, Any]:
    """The JSON object of a query's answers; ``peak`` is asked once all answers are in."""
    every = [answer_json(answer) for marker in batches for answer in marker]
    return {"query": query, "answers": every, "peak_units": peak()}


def answer_json(answer: Answer) -> dict[str, Any]:
    """One answer row as JSON."""
    return {"ts": plain(answer.marker), "row": [plain(value) for value in answer.row], "count": answer.count}


def plain(value: Any) -> Any:
    """A decoded value as JSON holds it."""
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    if isinstance(value, Decimal):
        # str would write small ones with an exponent.
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
