"""What the DDL of a script says of its tables, as entries of a catalog.

A primary key makes a table versioned where its rows change: its latest row of each key is what it holds.
``WATERMARK FOR`` and ``LATENESS`` name the application timestamp and how late a row may come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import expressions as exp

from streambound.errors import CatalogError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.clock import is_clock
from streambound.query.column_types import Family, parse_type
from streambound.query.dialects.grammar import WATERMARK
from streambound.query.dialects.languages import Language
from streambound.query.dialects.statements import DeclaredColumn, DeclaredTable, Written
from streambound.query.differences import microseconds
from streambound.query.model import Column, Relation, RelationKind
from streambound.query.type_names import canonical, type_named

# The pseudo-columns that every stream of a processor has.
ROWKEY = "ROWKEY"
STAMPS = {"ksql": "ROWTIME", "timeplus": "_tp_time", "arroyo": "_timestamp"}
# The timestamp of a table that a query computes with TIMESTAMP BY.
COMPUTED = "_timestamp"
# Connectors and formats by which rows are changed and deleted, not only added.
_CHANGING = ("upsert", "cdc", "debezium", "canal", "maxwell", "ogg")
_UNITS = (("days", 86_400_000_000), ("hours", 3_600_000_000), ("minutes", 60_000_000), ("seconds", 1_000_000))
_STAMPS = ("event_time_column", "event_time_field", "timestamp_field", "timestamp")


# By names in lower case, what of a table cannot be read: the queries that read it are refused, and no others.
Wrong = dict[str, CatalogError]


def declared(
    tables: Iterable[Written], queries: Iterable[exp.Expr], language: Language
) -> tuple[Catalog, Wrong]:
    """The catalog of a script's tables, without those that are wrong, and these.

    Args:
        queries: each may say the timestamp of a table that it reads (``TIMESTAMP BY``, ``WATERMARK``).
    """
    wrong: Wrong = {}
    bodies: dict[str, dict[str, Any]] = {}
    declarations: dict[str, DeclaredTable] = {}
    for written in tables:
        if written.name is None or written.table is None:
            continue
        original = written.table.options.get("like", "").lower()
        made = _alike(written.table, declarations[original]) if original in declarations else written.table
        declarations[written.name.name.lower()] = made
        with _noted(wrong, written.name.name):
            if body := _body(made, language, _body_named(bodies, original) or {}):
                bodies[written.name.name] = body
    for query in queries:
        for table in query.find_all(exp.Table):
            if WATERMARK in table.meta and (body := _body_named(bodies, table.name)):
                with _noted(wrong, table.name):
                    _stamped(body, *table.meta[WATERMARK])
    relations: list[Relation] = []
    for name, body in bodies.items():
        with _noted(wrong, name):
            relations += catalog_from_mapping({name: body}, "the script").relations
    return Catalog(tuple(relations), "the script"), wrong


@contextmanager
def _noted(wrong: Wrong, name: str) -> Iterator[None]:
    try:
        yield
    except CatalogError as error:
        wrong.setdefault(name.lower(), error)


def completed(catalog: Catalog, script: Catalog, own: Collection[str], wrong: Wrong) -> Catalog:
    """The tables of a catalog and of a script; a catalog that is named completes what the script says.

    What contradicts the catalog is noted as wrong.
    """
    if catalog.default:
        catalog = replace(
            catalog,
            relations=tuple(relation for relation in catalog.relations if relation.name.lower() not in own),
        )
    both: list[Relation] = []
    for relation in script.relations:
        with _noted(wrong, relation.name):
            catalogued = catalog.find(relation.name)
            both.append(_completed(relation, catalogued) if catalogued else relation)
    names = {relation.name.lower() for relation in both}
    rest = tuple(relation for relation in catalog.relations if relation.name.lower() not in names)
    return replace(catalog, relations=(*rest, *both))


def with_stamps(catalog: Catalog, queries: Iterable[exp.Expr]) -> Catalog:
    """A catalog with the timestamps that queries themselves name, where it has none.

    Raises:
        CatalogError: it names another one.
    """
    relations = {item.name: item for item in catalog.relations}
    for query in queries:
        for table in query.find_all(exp.Table):
            relation = catalog.find(table.name)
            if WATERMARK not in table.meta or relation is None:
                continue
            column, lateness = table.meta[WATERMARK]
            # A time that the clause computes and names is no column of the catalog's.
            if relations[relation.name].timestamp is not None and not isinstance(column, exp.Alias):
                continue
            if any(c.name == column.alias for c in relations[relation.name].columns):
                continue
            if not isinstance(column, exp.Column):
                name = column.alias or COMPUTED
                made = Column(name, parse_type("timestamp"), nullable=False)
                computed = replace(relation, columns=(*relation.columns, made), timestamp=name)
                relations[relation.name] = computed
                continue
            named = [c for c in relation.columns if c.name.lower() == column.name.lower()]
            if named and named[0].type.family is Family.TIMESTAMP:
                late = relation.allowed_lateness or _duration(lateness)
                relations[relation.name] = replace(relation, timestamp=named[0].name, allowed_lateness=late)
    return replace(catalog, relations=tuple(relations.values()))


def _alike(table: DeclaredTable, original: DeclaredTable) -> DeclaredTable:
    """A table with the key and the connector of the one that it is like, unless it has its own."""
    keys = original.primary_key or tuple(
        declared_column.name for declared_column in original.columns if declared_column.primary
    )
    if any(declared_column.primary for declared_column in table.columns):
        keys = ()
    return replace(
        table,
        primary_key=table.primary_key or keys,
        options={**original.options, **table.options},
    )


def _body_named(bodies: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any] | None:
    return next((body for key, body in bodies.items() if key.lower() == name.lower()), None)


def _body(table: DeclaredTable, language: Language, like: Mapping[str, Any]) -> dict[str, Any] | None:
    """A table as the entry of a catalog; None where the text lists no columns.

    Args:
        like: the entry of the table whose columns it has as well; may be empty.
    """
    columns: dict[str, str] = dict(like.get("columns", {}))
    not_null: list[str] = list(like.get("not_null", []))
    stamp = {key: like[key] for key in ("timestamp", "allowed_lateness") if key in like}
    body: dict[str, Any] = {**stamp, "columns": columns}
    arrival: str | None = None
    for column in table.columns:
        name = column.name.name
        if (kind := _type(column, table)) is None:
            continue
        columns[name] = kind
        if column.not_null:
            not_null.append(name)
        if column.lateness is not None and canonical(kind) == "timestamp":
            _stamped(body, column.name, column.lateness)
        if column.computed is not None and is_clock(column.computed):
            arrival = name
    if not columns and table.kind == "source" and table.options.get("format") == "json":
        # Materialize: a source of JSON has one column.
        columns["data"] = "jsonb"
    if not columns:
        return None
    if table.watermark is not None:
        _stamped(body, *table.watermark)
    keys = [key.name for key in table.primary_key] or [c.name.name for c in table.columns if c.primary]
    if language.name == "ksql":
        _of_ksql(body, table)
        if table.kind == "table" and not keys:
            # Before keys were declared, a table had that of its records, which an option may call a column.
            named = _spelt(columns, table.options.get("key", ROWKEY))
            keys = [named if named in columns else ROWKEY]
            columns.setdefault(keys[0], "string")
    else:
        _named_stamp(body, table)
    if language.name in STAMPS and "timestamp" not in body:
        columns[STAMPS[language.name]] = "timestamp"
        body["timestamp"] = STAMPS[language.name]
    if arrival is not None:
        # The time at which a row arrives: without another one, rows come in its order.
        body.setdefault("timestamp", arrival)
    for key in (_spelt(columns, key) for key in keys):
        if key in columns and canonical(columns[key]) is None:
            # What can be told apart is a value, whatever its type.
            columns[key] = "string"
    if keys and _changes(table, language):
        body.update(kind=RelationKind.VERSIONED.value, primary_key=[_spelt(columns, key) for key in keys])
    if not_null:
        body["not_null"] = [name for name in not_null if canonical(columns[name])]
    return body


def _spelt(columns: Mapping[str, str], name: str) -> str:
    return next((column for column in columns if column.lower() == name.lower()), name)


def _type(column: DeclaredColumn, table: DeclaredTable) -> str | None:
    """The type of a column as a catalog names it; what has none that is known is kept as nested data."""
    if column.type is None:
        if table.watermark is not None and table.watermark[0].name.lower() == column.name.name.lower():
            # A computed column with a watermark is a moment, whatever it is computed from.
            return "timestamp"
        if column.computed is None or is_clock(column.computed):
            return None if column.computed is None else "timestamp"
        return f"computed({column.computed.sql()[:60]})"
    return type_named(column.type)


def _changes(table: DeclaredTable, language: Language) -> bool:
    """Whether rows of a table with a key are replaced by later ones."""
    words = " ".join(f"{key}={value}" for key, value in table.options.items()).lower()
    if table.append_only or table.options.get("append_only", "").lower() == "true":
        return False
    if language.name == "ksql":
        return table.kind == "table"
    if language.name in ("flink", "sqrl", "arroyo"):
        # A key is a promise there; the connector or the format says whether rows change.
        return any(word in words for word in _CHANGING)
    return True


def _of_ksql(body: dict[str, Any], table: DeclaredTable) -> None:
    columns = body["columns"]
    name = table.options.get("timestamp")
    stamp = None if name is None else _spelt(columns, name)
    if stamp in columns:
        # Text by its format, or milliseconds: the moment is what counts.
        columns[stamp] = "timestamp"
        body["timestamp"] = stamp


def _named_stamp(body: dict[str, Any], table: DeclaredTable) -> None:
    for option in _STAMPS:
        stamp = _spelt(body["columns"], table.options.get(option, ""))
        if "timestamp" not in body and canonical(body["columns"].get(stamp, "object")) == "timestamp":
            body["timestamp"] = stamp


def _stamped(body: dict[str, Any], column: exp.Expr, lateness: exp.Expr | None) -> None:
    """Note the timestamp, and how late a row may come: an interval, or the column less one."""
    if not isinstance(column, (exp.Column, exp.Identifier)):
        # A moment, whatever it is computed from.
        column = exp.to_identifier(column.alias or COMPUTED)
        body["columns"][column.name] = "timestamp"
    name = _spelt(body["columns"], column.name)
    if canonical(body["columns"].get(name, "object")) != "timestamp":
        if name not in body["columns"]:
            raise CatalogError(
                f"the watermark is of {name}, which is not a column", accepted=", ".join(body["columns"])
            )
        return
    body["timestamp"] = name
    if (late := _duration(lateness)) is not None:
        body["allowed_lateness"] = late


def _duration(lateness: exp.Expr | None) -> str | None:
    if isinstance(lateness, exp.Sub):
        lateness = lateness.expression
    length = None if lateness is None else microseconds(lateness)
    if not length or length < 0:
        return None
    unit, size = next(((unit, size) for unit, size in _UNITS if length % size == 0), _UNITS[-1])
    return f"{length // size if length % size == 0 else length / size} {unit}"


def _fits(script: Column, catalog: Column, relation: Relation) -> bool:
    """Whether what the catalog says of a column can be said of it as the script declares it."""
    if relation.timestamp == catalog.name and script.type.family is not catalog.type.family:
        return False
    if catalog.domain is None or script.type == catalog.type:
        return True
    if script.type.family is not catalog.type.family:
        return False
    resolution, domain = script.type.resolution, catalog.domain
    ends = [value for value in (domain.minimum, domain.maximum, *(domain.values or ())) if value is not None]
    return (
        resolution is None
        or script.type.family is not Family.NUMBER
        or not any(Fraction(v) % resolution for v in ends)
    )


def _completed(script: Relation, catalog: Relation) -> Relation:
    in_catalog = {column.name.lower(): column for column in catalog.columns}
    for column in script.columns:
        if (declared := in_catalog.get(column.name.lower())) is not None and not _fits(
            column, declared, catalog
        ):
            raise CatalogError(
                f"stream {catalog.name}, column {column.name}: the script declares it {column.type.name},"
                f" the catalog {declared.type.name}",
                fix="give it one type in both",
            )
    columns = [
        replace(
            column,
            domain=declared.domain,
            nullable=column.nullable and declared.nullable,
            observed=declared.observed,
            cardinality=declared.cardinality,
            within=declared.within,
        )
        if (declared := in_catalog.pop(column.name.lower(), None)) is not None
        else column
        for column in script.columns
    ]
    here = {column.name.lower(): column.name for column in (*columns, *in_catalog.values())}
    stamp = catalog.timestamp or script.timestamp
    return replace(
        catalog,
        name=script.name,
        kind=script.kind if catalog.kind is RelationKind.STREAM else catalog.kind,
        columns=(*columns, *in_catalog.values()),
        timestamp=None if stamp is None else here.get(stamp.lower(), stamp),
        allowed_lateness=catalog.allowed_lateness or script.allowed_lateness,
        primary_key=catalog.primary_key or script.primary_key,
        opaque=(*script.opaque, *(pair for pair in catalog.opaque if pair not in script.opaque)),
    )
