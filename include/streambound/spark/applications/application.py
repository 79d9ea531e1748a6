"""One application over registered queries: what is kept out comes from a file, what was done goes to one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from streambound import settings
from streambound.approximate.nightly.night import read
from streambound.approximate.requested_size import cache_size
from streambound.errors import DataError, QueryError, StreamboundError
from streambound.history.answer import HistoryAnswer
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.executor import ReadSoFar
from streambound.history.shards import Shard
from streambound.projects.registry import load_registry
from streambound.query.registry import RegisteredQuery
from streambound.spark.executor import spark_executor
from streambound.tasks.emit import write_json


def run_application(
    names: Sequence[str],
    *,
    first: str | None = None,
    last: str | None = None,
    exclude: Path | None = None,
    output: Path | None = None,
    summary: Path | None = None,
    run_id: str = "",
    recompute: bool = False,
    publish: bool = True,
    shard: Shard | None = None,
) -> int:
    """Evaluate the registered queries of the given names (all if none), and return the exit code.

    An equijoin whose file says ``-- cache size: N`` is evaluated in N tuples, under the policy that
    its last benchmark chose.

    Args:
        names: queries of the registry (``STREAMBOUND_REGISTRY``).
        first, last: partitions from and to, included.
        exclude: JSON file of the partitions to keep out.
        output: folder of the answers; without it, checkpoints are kept and taken up.
        summary: where to write what was done, as JSON, with the ``run_id``.
        recompute: evaluate everything, whatever is checkpointed.
        publish: put the final answers in their places; else only the checkpoints move on.
        shard: evaluate this part of the queries; other drivers, at the same time, the others.

    Raises:
        StreamboundError: nothing could be evaluated.
    """
    registry = load_registry(settings.registry())
    queries = registry.chosen(name.strip() for name in names)
    if shard is not None:
        queries = shard.chosen(queries, registry.catalog)
    excluded = read_excluded(exclude)
    memory, refused = memories(queries)
    checkpoints = settings.checkpoints_of(output)
    with spark_executor("streambound evaluate_history") as executor:
        evaluated = evaluate_history(
            executor,
            [query for query in queries if query.name not in refused],
            registry.catalog,
            first=first or None,
            last=last or None,
            excluded=excluded,
            output=output,
            checkpoints=checkpoints,
            recompute=recompute,
            publish=publish,
            memory=memory,
            progress=partial(_print_answer, summary),
        )
    done = {answer.query: answer for answer in evaluated} | refused
    answers = [done[query.name] for query in queries]
    if summary is not None:
        write_json(summary, {"run_id": run_id, "answers": [a.to_json() for a in answers]})
    return exit_code(answers)


def _print_answer(summary: Path | None, message: str) -> None:
    """Print what has been done; how many partitions have been read stands beside the summary too."""
    print(message, flush=True)
    if summary is not None and isinstance(message, ReadSoFar):
        body = {"read": message.read, "partitions": message.partitions}
        write_json(summary.with_name("progress.json"), body)


def memories(
    queries: Sequence[RegisteredQuery],
) -> tuple[dict[str, Memory], dict[str, HistoryAnswer]]:
    """The memory of each query whose file asks for one, and the answers of those that ask in vain."""
    by_query, refused = dict[str, Memory](), dict[str, HistoryAnswer]()
    for query in queries:
        try:
            if (size := cache_size(query.name, query.sql)) is not None:
                by_query[query.name] = Memory(size, read(settings.caches_root(), query.name))
        except StreamboundError as error:
            verdict = "invalid" if isinstance(error, QueryError) else "unbounded"
            refused[query.name] = HistoryAnswer(query.name, query.sql, verdict, error=error)
    return by_query, refused


def exit_code(answers: Sequence[HistoryAnswer]) -> int:
    """0, or the largest code of an error; each error is printed."""
    errors = [answer.error for answer in answers if answer.error is not None]
    for error in errors:
        print(f"evaluate_history: {error}", file=sys.stderr)
    return max((error.exit_code for error in errors), default=0)


def read_excluded(path: Path | None) -> Mapping[str, Mapping[str, str]]:
    """The partitions to keep out, and why.

    Raises:
        DataError: the file is no such JSON.
    """
    if path is None:
        return {}
    accepted = '{"departures": {"2013-01-02": "rows outside the day"}}'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", subject=str(path), accepted=accepted) from None
    reasons = document.values() if isinstance(document, dict) else [None]
    if not all(isinstance(r, dict) and all(isinstance(v, str) for v in r.values()) for r in reasons):
        raise DataError("not a mapping of streams to partitions", subject=str(path), accepted=accepted)
    return dict(document)
