"""``streambound run --relations``: evaluate a bounded query over finite tables, each read once."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.errors import QueryError

if TYPE_CHECKING:
    from streambound.history.stored_relations import StoredEvaluation
    from streambound.query.catalog import Catalog
    from streambound.query.registry import RegisteredQuery


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option of ``run``."""
    parser.add_argument(
        "--relations",
        type=Path,
        metavar="DIR",
        help="evaluate over finite Parquet tables: a file or folder a relation, named as it is",
    )


def refuse_options(options: argparse.Namespace) -> None:
    """Refuse options that would be ignored.

    Raises:
        QueryError: naming them.
    """
    refused = {
        "--engine": options.engine != "spark",
        "--input": options.input is not None,
        "--from": options.first is not None,
        "--to": options.last is not None,
        "--recompute": options.recompute,
        "--live": options.live,
    }
    if options.relations is not None and (given := [name for name, there in refused.items() if there]):
        raise QueryError(
            f"{', '.join(given)} cannot be given with --relations: all rows of the tables are read once",
            fix="leave them out",
        )


def run_relations(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    """Evaluate a query over the tables of a folder; prints or writes its answers."""
    from streambound.evaluation.output import answers_file, written
    from streambound.history.stored_relations import StoredEvaluation, stored

    evaluation = StoredEvaluation(
        stored(query.name, query.sql, catalog, options.relations, query.dialect, query.query)
    )
    if options.output is None:
        listed = list(_answers(evaluation, streamed=False))
        body = {"query": query.name, "answers": listed, "peak_units": evaluation.peak_units}
        print(json.dumps(body, ensure_ascii=False))
        return 0
    target, rows, count = answers_file(options.output, query.name), 0, 0
    with written(target) as file:
        for answer in _answers(evaluation, streamed=True):
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
            rows, count = rows + 1, count + answer["count"]
    body = {"query": query.name, "answer_rows": rows, "answer_count": count}
    print(
        json.dumps({**body, "peak_units": evaluation.peak_units, "output": str(target)}, ensure_ascii=False)
    )
    return 0


def _answers(evaluation: StoredEvaluation, streamed: bool) -> Iterator[dict[str, Any]]:
    """The answer rows; ``streamed`` as they come where no plan bounds how many there are."""
    from streambound.evaluation.corpus import answer_json
    from streambound.evaluation.events import answers

    statement, total = evaluation.query.statement, Counter[tuple[Any, ...]]()
    for new in evaluation.run():
        if streamed and evaluation.query.passes_on:
            yield from map(answer_json, answers(statement, None, new))
        else:
            total.update(new)
    yield from map(answer_json, answers(statement, None, total))
