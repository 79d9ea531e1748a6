"""``streambound witness``: the prefixes that every evaluation of an unbounded query must tell apart."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.cli.options import add_text, command, refuse_file, refuse_ignored
from streambound.errors import DataError, QueryError, StreamboundError

if TYPE_CHECKING:
    from streambound.query.catalog import Catalog

# A query's id, its SQL and catalog; the error says why there are none; its dialect, and which one it is.
Given = tuple[str, str, "Catalog | None", StreamboundError | None, str | None, str | None]


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = command(commands, "witness", _witness, "show input that no finite state can tell apart")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a registered query or a .sql file")
    add_text(parser)
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="one query a line, as JSON")
    parser.add_argument(
        "--size", type=int, required=True, metavar="N", help="slots: 2^N prefixes are told apart"
    )
    parser.add_argument("--verify", action="store_true", help="replay every prefix on the definition")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write DIR/QUERY.jsonl instead of printing")


def _witness(options: argparse.Namespace) -> int:
    from streambound.certificate.verification import refuse_size
    from streambound.certificate.witness import SIZE_LIMIT

    refuse_size(options.size, "--size", SIZE_LIMIT)
    if options.verify:
        refuse_size(options.size, "--size with --verify")
    refuse_file("--out", options.out)
    if options.corpus is None:
        return _replayed(_registered(options), options)
    given = {
        "QUERY": options.query is not None,
        "--catalog": options.catalog is not None,
        "--dialect": options.dialect is not None,
        "--query": options.chosen is not None,
    }
    refuse_ignored(given, "the queries and the streams are in its lines")
    exit_codes = [0]
    for query in _corpus_lines(options.corpus):
        try:
            exit_codes.append(_replayed(query, options))
        except StreamboundError as error:
            _print({"query": query[0], "error": error.about(query[0]).one_line()})
            exit_codes.append(error.exit_code)
    return max(exit_codes)


def _registered(options: argparse.Namespace) -> Given:
    from streambound.cli.queries import registered_or_file

    if options.query is None:
        raise QueryError("no query is named", accepted="QUERY, or --corpus FILE")
    query, catalog = registered_or_file(options.query, options.catalog, options.dialect, options.chosen)
    return query.name, query.sql, catalog, None, query.dialect, query.query


def _corpus_lines(path: Path) -> Iterator[Given]:
    from streambound.query.parse.corpus import queries_of, read_corpus

    for line in chain.from_iterable(map(queries_of, read_corpus(path))):
        yield line.id, line.sql, line.catalog, line.error, line.dialect, line.query


def _replayed(given: Given, options: argparse.Namespace) -> int:
    """Print or write the witness of one query; 1 if its replay tells fewer prefixes apart than it should."""
    from streambound.boundedness.statements import decide
    from streambound.certificate.statements import statement_witness
    from streambound.certificate.verification import verify
    from streambound.query.parse import statement

    name, sql, catalog, error, dialect, chosen = given
    if error is not None or catalog is None:
        raise error or QueryError("the line has no catalog")
    query = statement(sql, catalog, name, dialect, chosen)
    witness = statement_witness(query, decide(query), options.size)
    verification = verify(query, witness) if options.verify else None
    slots = (json.dumps(slot, ensure_ascii=False) for slot in witness.to_json())
    if options.out is None:
        for slot in slots:
            print(slot)
    else:
        file = name if chosen is None else name.replace("/", ".")
        print(f"wrote {_written(options.out, file, slots)}", file=sys.stderr)
    if verification is None:
        return 0
    _print(verification.to_json())
    return 0 if verification.holds else 1


def _print(document: dict[str, Any]) -> None:
    print(json.dumps(document, ensure_ascii=False), flush=True)


def _written(folder: Path, name: str, lines: Iterable[str]) -> Path:
    """Write lines to ``folder/name.jsonl``, whole or not at all."""
    if Path(name).name != name:
        raise DataError(f"the id {name} names no file", accepted="an id without slashes", fix="rename it")
    from streambound.durable import write_text

    target = folder / f"{name}.jsonl"
    write_text(target, "".join(f"{line}\n" for line in lines))
    return target
