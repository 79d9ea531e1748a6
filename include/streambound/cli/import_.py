"""``streambound import``: a stream catalog from what is there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.cli import check
from streambound.cli.options import Parser
from streambound.errors import CatalogError, PlatformError, QueryError, meant

if TYPE_CHECKING:
    from streambound.imports.entry import Entry

FILES = ("parquet", "orc", "delta")
SCHEMAS = ("avro", "jsonschema", "protobuf")
TOOLS = ("iceberg", "registry", "spark", "dbt")


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    text = "print a stream catalog of what is there, or add it to one"
    parser = commands.add_parser("import", help=text, description=text)
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help=f"{', '.join((*FILES, *SCHEMAS, *TOOLS))}; or a script's dialect: flink, ksql, spark-sql, ...",
    )
    parser.add_argument(
        "place", metavar="WHERE", help="file or folder; a registry's address; a table of Spark's"
    )
    parser.add_argument("--name", metavar="NAME", help="of the stream, or of the message of a .proto file")
    parser.add_argument("--subject", metavar="SUBJECT", help="in the schema registry, such as orders-value")
    parser.add_argument(
        "--merge", type=Path, metavar="FILE", help="add to this catalog, and change nothing in it"
    )
    parser.add_argument("--observe", action="store_true", help="read the rows, and say what they have")
    parser.add_argument(
        "--timestamp", metavar="COLUMN", help="by which --observe counts rows and their order"
    )
    parser.add_argument(
        "--check",
        nargs="+",
        type=Path,
        default=[],
        metavar="PATH",
        help="decide these .sql files, or folders of them, over the catalog that results",
    )
    parser.set_defaults(run=_import, parser=parser)


def _import(options: argparse.Namespace) -> int:
    from streambound.imports.text import document, merge

    _refuse(options)
    entries = _entries(options)
    origin = f"streambound import {options.source} {options.place}"
    if options.merge is None:
        text = document(entries, origin)
        if not options.check:
            print(text, end="")
            return 0
        return _checked(text, options.check)
    for line in merge(options.merge, entries, origin):
        print(line, file=sys.stderr if options.check else sys.stdout)
    return _decided(options.check, options.merge) if options.check else 0


def _decided(paths: list[Path], catalog: Path) -> int:
    """What ``check`` prints and answers."""
    parser = Parser(prog="streambound")
    check.add_parser(parser.add_subparsers())
    options = parser.parse_args(["check", "--catalog", str(catalog), "--", *map(str, paths)])
    code: int = options.run(options)
    return code


def _checked(text: str, paths: list[Path]) -> int:
    """Decide queries over a catalog that is kept nowhere."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "streams.yml"
        file.write_text(text, encoding="utf-8")
        return _decided(paths, file)


def _refuse(options: argparse.Namespace) -> None:
    """Refuse options that say nothing of a source.

    Raises:
        QueryError: naming them.
    """
    given = {
        "--observe": (options.observe, FILES),
        "--timestamp": (options.timestamp is not None, FILES),
        "--subject": (options.subject is not None, ("registry",)),
        "--name": (options.name is not None, (*FILES, *SCHEMAS, "iceberg", "registry", "spark")),
    }
    for option, (is_given, sources) in given.items():
        if is_given and options.source not in sources:
            raise QueryError(
                f"{option} cannot be given with {options.source}", accepted=f"with {', '.join(sources)}"
            )
    if options.source == "registry" and options.subject is None:
        raise QueryError("which schema of the registry is meant is not said", fix="add --subject SUBJECT")
    if options.timestamp is not None and not options.observe:
        raise QueryError("--timestamp says by what --observe counts", fix="add --observe")


def _entries(options: argparse.Namespace) -> Sequence[Entry]:
    source, path = options.source, Path(options.place)
    reader = _READERS.get(source)
    if reader is None:
        from streambound.imports.scripts import entries

        return entries(path, _dialect(source))
    try:
        return reader(options, path)
    except ModuleNotFoundError as error:
        raise PlatformError(
            f"the package {error.name} is not installed, and import {source} needs it",
            fix=settings.installing(settings.extra_of(str(error.name))),
        ) from None


def _dialect(source: str) -> str:
    from streambound.query.dialects.guess import language
    from streambound.query.dialects.languages import LANGUAGES

    dialects = ("spark-sql", *(name for name in LANGUAGES if name != "spark"))
    try:
        # Plain spark is a table of a session.
        return language("spark" if source == "spark-sql" else source).name
    except QueryError:
        every = (*_READERS, *dialects)
        raise QueryError(
            f"{source} is no source of catalogs", accepted=", ".join(every), fix=meant(source, every)
        ) from None


def _of_files(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports import arrow

    name = options.name
    rows = arrow.delta(path, name) if options.source == "delta" else arrow.files(path, options.source, name)
    if not options.observe:
        return [rows.entry]
    from streambound.imports.observe import observed

    return [observed(rows.entry, rows.dataset, options.timestamp)]


def _iceberg(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports.iceberg import entry

    return [entry(path, options.name)]


def _json(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports import schemas

    read = schemas.avro if options.source == "avro" else schemas.json_schema
    tree = schemas.read_json(path, f"a schema of {options.source} as JSON")
    return [read(tree, str(path), options.name)]


def _protobuf(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports.protobuf import entry
    from streambound.imports.schemas import read_text

    return [entry(read_text(path, "a .proto file"), str(path), options.name)]


def _registry(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports.registry import entry

    return [entry(options.place, options.subject, options.name)]


def _spark(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports.entry import Entry, typed
    from streambound.query.histories import history_of
    from streambound.spark.table_columns import columns

    described = columns(options.place)
    fields = tuple(typed(name, kind, nullable) for name, kind, nullable in described)
    name = options.name or options.place.split(".")[-1].strip("`")
    try:
        history_of(name, {"table": options.place})
    except CatalogError:
        note = "For its history register it under a plain name, and declare history: {table: NAME}."
        return [Entry(name, fields, notes=(note,))]
    return [Entry(name, fields, {"history": {"table": options.place}})]


def _dbt(options: argparse.Namespace, path: Path) -> Sequence[Entry]:
    from streambound.imports.dbt import entries

    return entries(path)


_READERS: dict[str, Callable[[argparse.Namespace, Path], Sequence[Entry]]] = {
    **dict.fromkeys(FILES, _of_files),
    "iceberg": _iceberg,
    "avro": _json,
    "jsonschema": _json,
    "protobuf": _protobuf,
    "registry": _registry,
    "spark": _spark,
    "dbt": _dbt,
}
