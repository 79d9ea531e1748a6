"""One application over registered queries: what is kept out comes from a file, what was done goes to one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from streambound import settings
from streambound.errors import DataError
from streambound.query.registry import load_registry
from streambound.spark.answer import HistoryAnswer
from streambound.spark.emit import write_json
from streambound.spark.history import evaluate_history
from streambound.spark.session import session


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
) -> int:
    """Evaluate the registered queries of the given names (all if none), and return the exit code.

    Args:
        names: queries of the registry (``STREAMBOUND_REGISTRY``).
        first, last: partitions from and to, included.
        exclude: JSON file of the partitions to keep out.
        output: folder of the answers; without it, checkpoints are kept and taken up.
        summary: where to write what was done, as JSON, with the ``run_id``.
        recompute: evaluate everything, whatever is checkpointed.
        publish: put the final answers in their places; else only the checkpoints move on.

    Raises:
        StreamboundError: nothing could be evaluated.
    """
    registry = load_registry(settings.registry())
    queries = registry.chosen(name.strip() for name in names)
    excluded = read_excluded(exclude)
    with session("streambound evaluate_history") as spark:
        answers = evaluate_history(
            spark,
            queries,
            registry.catalog,
            first=first or None,
            last=last or None,
            excluded=excluded,
            output=output,
            checkpoints=settings.checkpoints_of(output),
            recompute=recompute,
            publish=publish,
            progress=lambda message: print(message, flush=True),
        )
    if summary is not None:
        write_json(summary, {"run_id": run_id, "answers": [a.to_json() for a in answers]})
    return exit_code(answers)


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
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", subject=str(path), accepted=accepted) from None
    reasons = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(r, dict) and all(isinstance(v, str) for v in r.values()) for r in reasons):
        raise DataError("not a mapping of streams to partitions", subject=str(path), accepted=accepted)
    return dict(found)
