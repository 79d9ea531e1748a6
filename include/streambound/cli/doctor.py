"""``streambound doctor``: what a run would refuse and what it would read, before Spark starts."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.cli.options import add_text, command

if TYPE_CHECKING:
    from streambound.history.inspection.doctor import Cost, Diagnosis, Examined, Finding


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "doctor", _doctor, "say what run would refuse, and what it would read")
    parser.add_argument(
        "query", nargs="?", metavar="QUERY", help="a registered query or a .sql file (default: all)"
    )
    add_text(parser)
    parser.add_argument("--input", type=Path, metavar="DIR", help="folder of the streams' histories")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _doctor(options: argparse.Namespace) -> int:
    from streambound.cli.queries import registered_or_file
    from streambound.history.inspection.doctor import diagnose
    from streambound.projects.registry import load_registry

    if options.input is not None:
        os.environ["STREAMBOUND_STREAMS"] = str(options.input.resolve())
    if options.query is None:
        registry = load_registry(settings.registry())
        chosen, catalog = registry.queries, registry.catalog_of(options.catalog)
    else:
        query, catalog = registered_or_file(options.query, options.catalog, options.dialect, options.chosen)
        chosen = (query,)
    streams, diagnoses = diagnose(chosen, catalog, settings.checkpoints())
    findings = len([f for s in streams for f in s.findings] + [f for q in diagnoses for f in q.findings])
    if options.format == "json":
        print(json.dumps(_json(streams, diagnoses), ensure_ascii=False))
    else:
        print("\n".join(_lines(streams, diagnoses)))
        print("nothing found" if not findings else f"{findings} finding{'' if findings == 1 else 's'}")
    invalid = any(registered_or_file.verdict == "invalid" for registered_or_file in diagnoses)
    return 2 if invalid else 1 if findings else 0


def _json(streams: Iterable[Examined], diagnoses: Iterable[Diagnosis]) -> dict[str, Any]:
    return {"queries": [q.to_json() for q in diagnoses], "streams": [s.to_json() for s in streams]}


def _lines(streams: Iterable[Examined], diagnoses: Iterable[Diagnosis]) -> Iterator[str]:
    for stream in streams:
        yield from _stream_lines(stream)
    shown = {id(finding) for stream in streams for finding in stream.findings}
    for query in diagnoses:
        units = "" if query.units is None else f", at most {query.units:,} units"
        yield f"{query.query}: {query.verdict}{units}"
        if query.streams:
            anew = "all" if query.anew == query.cost else _cost(query.anew)
            yield f"  reads {', '.join(query.streams)}: {_cost(query.cost)}; of that the next run: {anew}"
        # What is said of its streams stands above.
        for finding in query.findings:
            repeated = id(finding) in shown
            yield from [f"  ! {finding.check}: see above"] if repeated else _finding_lines(finding)


def _stream_lines(stream: Examined) -> Iterator[str]:
    from streambound.history.inspection.doctor import summed

    if not stream.parts and not stream.findings:
        yield f"{stream.stream}: only Spark reads its history, which was not looked at"
        return
    names = [part.partition for part in stream.parts]
    span = f" ({names[0]} to {names[-1]})" if stream.key and names else ""
    empty = f"; {len(stream.empty)} empty" if stream.empty else ""
    yield f"{stream.stream}: {_cost(summed(stream.parts))}{span}{empty}"
    if stream.newest is not None:
        yield f"  newest: {stream.newest}"
    for name, (low, high, domain) in (stream.ranges or {}).items():
        declared = "" if domain is None else f"; declared: {domain}"
        yield f"    {name}: {low} to {high}{declared}"
    if stream.most is not None:
        declared = "no number declared" if stream.declared is None else f"declared: {stream.declared}"
        yield f"    rows at one timestamp: at most {stream.most}; {declared}"
    if stream.zone is not None:
        yield f"    time zone: {stream.zone or 'none, read as UTC'}"
    for finding in stream.findings:
        yield from _finding_lines(finding)


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield f"  ! {finding.check}: {finding.message}"
    if finding.fix:
        yield f"    fix: {finding.fix}"


def _cost(cost: Cost) -> str:
    named = zip(("partition", "file", "byte", "row"), vars(cost).values(), strict=True)
    return ", ".join(f"{number:,} {name}{'' if number == 1 else 's'}" for name, number in named)
