"""``streambound run --live``: evaluate a bounded query over streams that go on."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streambound.query.catalog import Catalog
    from streambound.query.model import Relation
    from streambound.query.registry import RegisteredQuery
    from streambound.storage.partitions import Partition

SECONDS = 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``run`` that have to do with ``--live``."""
    parser.add_argument(
        "--live", action="store_true", help="go on as streams arrive, until stopped (Ctrl-C, SIGTERM)"
    )
    parser.add_argument(
        "--available-now",
        action="store_true",
        help="with --live: stop when what is there is read",
    )
    parser.add_argument(
        "--into", metavar="FORMAT", help="with --live: answers go there as well: delta, or a sink of Spark's"
    )
    parser.add_argument(
        "--into-option",
        type=_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="with --into: an option of the sink, such as path=DIR",
    )
    parser.add_argument(
        "--key",
        type=_names,
        metavar="COLUMN,...",
        help="with --into: upserts, of each key the newest answer; by default changes",
    )
    parser.add_argument(
        "--end-of-input",
        action="store_true",
        help="with --available-now: nothing comes later, so nothing waits for it (folders: always so)",
    )
    parser.add_argument(
        "--every", type=_positive(float), metavar="SECONDS", help=f"with --live: default {SECONDS:g}"
    )
    parser.add_argument(
        "--files", type=_positive(int), metavar="N", help="with --live: of a stream at most N files at a time"
    )


def _positive(kind: type[float] | type[int]) -> Any:
    def parsed(text: str) -> float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError(text)
        return value

    parsed.__name__ = f"positive {kind.__name__}"
    return parsed


def _option(text: str) -> tuple[str, str]:
    name, is_given, value = text.partition("=")
    if not name or not is_given:
        raise ValueError(text)
    return name, value


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError(text)
    return names


_option.__name__, _names.__name__ = "NAME=VALUE", "list of columns"


def refuse_options(options: argparse.Namespace) -> None:
    """Refuse options that would be ignored.

    Raises:
        QueryError: naming them.
    """
    of_live = {
        "--available-now": options.available_now,
        "--every": options.every is not None,
        "--files": options.files is not None,
        "--end-of-input": options.end_of_input,
        "--into": options.into is not None,
    }
    of_into = {"--into-option": bool(options.into_option), "--key": options.key is not None}
    if options.into is None:
        _refuse(of_into, "they need --into", "add --into FORMAT, or leave them out")
    if not options.live:
        _refuse(of_live, "they need --live", "add --live, or leave them out")
        return
    refused = {
        "--engine": options.engine != "spark",
        "--from": options.first is not None,
        "--to": options.last is not None,
    }
    _refuse(refused, "--live runs on Spark and reads what arrives", "leave them out")
    both = {"--available-now with --every": options.available_now and options.every is not None}
    _refuse(both, "what is there is read at once", "leave out one of them")
    endless = {"--end-of-input": options.end_of_input and not options.available_now}
    _refuse(endless, "the query goes on until it is stopped", "add --available-now, or leave it out")


def _refuse(given: dict[str, bool], why: str, fix: str) -> None:
    if ignored := [name for name, is_given in given.items() if is_given]:
        raise QueryError(f"{', '.join(ignored)} cannot be given here: {why}", fix=fix)


def run_live(query: RegisteredQuery, catalog: Catalog, options: argparse.Namespace) -> int:
    """Run a query live; prints how far it is in the end."""
    from streambound.history.prepare import Registered, draft_of, require_fitting
    from streambound.live.sinks import Into
    from streambound.live.start import noted
    from streambound.spark.live.query import Pace, live
    from streambound.spark.live.stopping import StoppedTogether
    from streambound.spark.session import require_installed, session

    require_installed()
    # Of histories that lie elsewhere no checkpoints are kept.
    checkpoints = None if options.input else settings.checkpoints()
    asked: Registered = query
    if options.recompute or not noted(query.name, options.output):
        # Before Spark starts, which takes a while; what was taken in before is not read again.
        asked = draft_of(query, catalog)
        require_fitting(asked, _present)
    stop = _on_signals()
    answer = None
    _print_progress(f"{query.name}: starting Spark")
    # Spark logs the trace of whatever ends a query; what ended it is told here in its own words.
    with (
        StoppedTogether(stop.is_set),
        session(f"streambound run --live {query.name}", spark__log__level="OFF") as spark,
    ):
        answer = live(
            spark,
            asked,
            catalog,
            output=options.output,
            checkpoints=checkpoints,
            recompute=options.recompute,
            into=Into(options.into, dict(options.into_option), options.key or ()) if options.into else None,
            pace=Pace(
                seconds=None if options.available_now else options.every or SECONDS,
                files=options.files,
                stopped=stop.is_set,
                ends=options.end_of_input,
            ),
            progress=_print_progress,
        )
    if answer is None:
        _print_progress(f"{query.name}: stopped before it had begun")
    else:
        print(json.dumps(answer.to_json(), ensure_ascii=False))
    return 0


def _present(relation: Relation) -> Sequence[Partition]:
    """What of a stream lies in a folder by now."""
    from streambound.storage.partitions import present_partitions

    return () if relation.live is not None else present_partitions(relation)


def _print_progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _on_signals() -> threading.Event:
    """What Ctrl-C and SIGTERM set: an exception in the midst of a call would break Spark's gateway."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
