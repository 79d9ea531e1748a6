"""Nested columns by their paths: ``o.user.id`` where ``user`` is a ``struct<id: bigint, ...>``.

A path that ends at a value is a column of that name, ``user.id``, of the relation, for the query that names
it. It may be NULL wherever one above it is. Arrays and maps have no paths.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from sqlglot import expressions as exp

from streambound.errors import QueryError, meant, unknown_column
from streambound.query.catalog import Catalog
from streambound.query.column_types import parse_type
from streambound.query.dialects.tokens import location_at
from streambound.query.model import Column, Relation
from streambound.query.parse.text.parts import View
from streambound.query.scope import location_of
from streambound.query.type_names import canonical

_STRUCT = re.compile(r"\s*(?:struct|row|tuple)\s*[<(](.*)[>)]\s*", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"\s*(`[^`]+`|\"[^\"]+\"|[\w$]+)\s*(?::|\s)\s*(.+)", re.DOTALL)


def fields(text: str) -> dict[str, str]:
    """The fields of a struct with their types, as any engine writes it; none of another type.

    >>> fields("struct<id: bigint, geo: struct<lat: double, at: decimal(3,1)>>")
    {'id': 'bigint', 'geo': 'struct<lat: double, at: decimal(3,1)>'}
    >>> fields("ROW<`a b` INT NOT NULL, c ARRAY<INT>>"), fields("array<int>")
    ({'a b': 'INT', 'c': 'ARRAY<INT>'}, {})
    """
    match = _STRUCT.fullmatch(text)
    matched = (_FIELD.fullmatch(part) for part in _parts(match[1])) if match else ()
    return {
        item[1].strip('`"'): re.sub(r"\s+(not\s+)?null\s*$", "", item[2], flags=re.IGNORECASE).strip()
        for item in matched
        if item is not None
    }


def _parts(text: str) -> Iterator[str]:
    """A list at its commas, but for those within brackets."""
    depth, start = 0, 0
    for position, sign in enumerate(text):
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def with_paths(
    tree: exp.Expr, catalog: Catalog, views: Mapping[str, View], sql: str
) -> tuple[exp.Expr, Mapping[str, View], Catalog]:
    """A query and its views with a column for each path, and the catalog that has these columns.

    Args:
        views: their names are of no relation of the catalog.
        sql: the text that the query is of.

    Raises:
        QueryError: a path names a field that a struct does not have.
    """
    if not any(relation.opaque for relation in catalog.relations):
        return tree, views, catalog
    columns: dict[str, dict[str, Column]] = {}
    done: dict[int, View] = {}

    def of(view: View) -> View:
        if id(view) not in done:
            around = None if view.around is None else {key: of(item) for key, item in view.around.items()}
            visible = view.around if view.around is not None else views
            made = _with_paths(view.tree, catalog, visible, columns, sql)
            done[id(view)] = replace(view, tree=made, around=around)
        return done[id(view)]

    made = _with_paths(tree, catalog, views, columns, sql)
    around = {name: of(view) for name, view in views.items()}
    if not columns:
        return made, around, catalog

    def wider(relation: Relation) -> Relation:
        column_names = {column.name for column in relation.columns}
        paths = columns.get(relation.name, {}).values()
        further = tuple(column for column in paths if column.name not in column_names)
        return replace(relation, columns=(*relation.columns, *further)) if further else relation

    relations = map(wider, catalog.relations)
    return made, around, replace(catalog, relations=tuple(relations))


def _with_paths(
    tree: exp.Expr,
    catalog: Catalog,
    views: Collection[str],
    columns: dict[str, dict[str, Column]],
    sql: str,
) -> exp.Expr:
    hidden = {name.lower() for name in views} | {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    given = {
        part.name.lower()
        for alias in tree.find_all(exp.TableAlias)
        for part in (alias.this, *alias.columns)
        if part is not None
    }
    made = tree.copy()
    for node in list(made.find_all(exp.Dot, exp.Column)):
        select = node.find_ancestor(exp.Select)
        if select is None or isinstance(node.parent, exp.Dot) or not _path(node):
            continue
        scopes: list[dict[str, Relation]] = []
        while select is not None:
            scopes.append(_tables(select, catalog, hidden))
            select = select.find_ancestor(exp.Select)
        owner = next(
            (owned for tables in scopes if (owned := _column(_path(node), tables)) is not None), None
        )
        if owner is not None:
            alias, relation, column = owner
            columns.setdefault(relation.name, {})[column.name] = column
            path = _path(node)
            named: exp.Expr = _named(alias, column.name, path)
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                # It goes by the last name of its path, as in Spark.
                named = exp.Alias(this=named, alias=path[-1].copy())
            node.replace(named)
            continue
        for tables in scopes:
            # What FROM names itself may hide a column.
            shown = tables if _path(node)[0].name.lower() not in given - set(map(str.lower, tables)) else {}
            if (error := _no_field(node, shown, sql)) is not None:
                raise error
        if (dots := _dots(_path(node), scopes)) is not None:
            node.replace(dots)
    return made


def is_path(relation: Relation, column: str) -> bool:
    """Whether a column lies within another one."""
    return len(relation.path(column)) > 1


def read_by_spark(catalog: Catalog) -> bool:
    """Whether rows with columns that lie within others come through Spark's readers."""
    return any(
        (item.live is not None or (item.history is not None and not item.history.direct))
        and any(is_path(item, column.name) for column in item.columns)
        for item in catalog.relations
    )


def _path(node: exp.Expr) -> list[exp.Identifier]:
    """The names of a path, from the left; none of anything else, or of one name alone."""
    names = _names(node)
    return names if len(names) > 1 else []


def _names(node: exp.Expr) -> list[exp.Identifier]:
    if isinstance(node, exp.Dot):
        before = _names(node.this)
        return [*before, node.expression] if before and isinstance(node.expression, exp.Identifier) else []
    parts = node.parts if isinstance(node, exp.Column) else []
    names = [part for part in parts if isinstance(part, exp.Identifier)]
    return names if len(names) == len(parts) else []


def _dots(path: list[exp.Identifier], scopes: list[dict[str, Relation]]) -> exp.Expr | None:
    """A path deep into a column that ends at no value: what lies there is any value; None of other paths."""
    for tables in scopes:
        owners = [alias for alias in tables if alias.lower() == path[0].name.lower()]
        start = len(owners[:1])
        for alias in owners or tables:
            whole = {name.lower() for name, _ in tables[alias].opaque}
            if len(path) > start + 2 and path[start].name.lower() in whole:
                made: exp.Expr = _named(alias, path[start].name, path)
                for part in path[start + 1 :]:
                    made = exp.Dot(this=made, expression=part.copy())
                return made
    return None


def _tables(select: exp.Select, catalog: Catalog, hidden: Collection[str]) -> dict[str, Relation]:
    """The relations that a SELECT itself names in FROM, by their aliases."""
    first = select.args.get("from_")
    sources = [*([first.this] if first else []), *(join.this for join in select.args.get("joins") or [])]
    tables = (table for table in sources if isinstance(table, exp.Table) and table.name.lower() not in hidden)
    return {
        table.alias_or_name: relation
        for table in tables
        if (relation := catalog.find(table.name)) is not None
    }


def _column(path: list[exp.Identifier], tables: dict[str, Relation]) -> tuple[str, Relation, Column] | None:
    """The occurrence, its relation and the column that a path ends at; None if it is no path."""
    first, *rest = (part.name for part in path)
    owners = [alias for alias in tables if alias.lower() == first.lower()]
    for alias in owners or tables:
        names = rest if owners else [first, *rest]
        if (column := _leaf(tables[alias], names)) is not None:
            return alias, tables[alias], column
    return None


def _no_field(node: exp.Expr, tables: dict[str, Relation], sql: str) -> QueryError | None:
    """The error of a path that goes on where a struct has no such field; None of any other."""
    path = _path(node)
    owners = [alias for alias in tables if alias.lower() == path[0].name.lower()]
    names = path[len(owners[:1]) :]
    for alias in owners or tables:
        kinds = {name.lower(): kind for name, kind in tables[alias].opaque}
        for number, part in enumerate(names[:-1]):
            if (kind := kinds.get(part.name.lower())) is None:
                break
            within = fields(kind)
            # What lies in arrays and maps has names of its own.
            if not within and canonical(kind) is None:
                break
            kinds = {name.lower(): inner for name, inner in within.items()}
            after = names[number + 1]
            if after.name.lower() in kinds:
                continue
            owner = ".".join(name.name for name in names[: number + 1])
            what = f"{owner} has no field" if within else f"{owner} is a {canonical(kind)} and has no field"
            start, end = after.meta.get("start"), after.meta.get("end")
            location = (
                location_of(node, sql) if start is None or end is None else location_at(sql, start, end + 1)
            )
            fix = meant(after.name, within)
            return unknown_column(f"{what} {after.name}", after.name, location, within, fix)
    return None


def _leaf(relation: Relation, names: list[str]) -> Column | None:
    path, kinds, kind = [], dict(relation.opaque), ""
    if len(names) < 2:
        return None
    for name in names:
        alike = [item for item in kinds if item.lower() == name.lower()]
        if not alike or "." in alike[0]:
            return None
        path.append(alike[0])
        kind = kinds[alike[0]]
        kinds = fields(kind)
    plain = canonical(kind)
    return None if plain is None else Column(".".join(path), parse_type(plain))


def _named(alias: str, column: str, path: list[exp.Identifier]) -> exp.Column:
    made = exp.column(exp.to_identifier(column, quoted=True), table=exp.to_identifier(alias, quoted=True))
    start, end = path[0].meta.get("start"), path[-1].meta.get("end")
    if start is not None and end is not None:
        for part in made.find_all(exp.Identifier):
            part.meta.update(start=start, end=end)
    return made
