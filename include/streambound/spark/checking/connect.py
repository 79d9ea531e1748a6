"""The plan of a DataFrame of Spark Connect, as its client sends it, as blocks over its sources.

The plan names columns as the program does; names are resolved as Spark does, and what only the server knows,
the types of columns and what views hold, is asked of it. A view's plan is told as text alone: see ``views``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from streambound.spark.checking import sql, views
from streambound.spark.checking.blocks import (
    STATIC,
    STREAM,
    Block,
    Condition,
    Output,
    Query,
    Source,
    Text,
    Union,
    key_column,
    substituted,
)
from streambound.spark.checking.connect_columns import Columns, Name, Seen
from streambound.spark.checking.connect_expressions import origin_of
from streambound.spark.checking.connect_tables import SILENT, aliases_below, seen_through, unnamed
from streambound.spark.checking.naming import placed, source_name
from streambound.spark.checking.plan_sources import PlanSources

_KINDS = {
    1: ("Inner", ""),
    2: ("full", "FULL"),
    3: ("left", "LEFT"),
    4: ("right", "RIGHT"),
    5: ("anti", "LEFT ANTI"),
    6: ("semi", "LEFT SEMI"),
    7: ("cross", ""),
}
_CODE = {
    "map_partitions": "mapPartitions",
    "group_map": "applyInPandas",
    "co_group_map": "cogroup().applyInPandas",
    "apply_in_pandas_with_state": "applyInPandasWithState",
}
# The same by how the function is called.
_KIND_OF = {
    201: "applyInPandas",
    205: "mapInPandas",
    206: "cogroup().applyInPandas",
    207: "mapInArrow",
    208: "applyInPandasWithState",
    209: "applyInArrow",
    210: "cogroup().applyInArrow",
    **dict.fromkeys((211, 212, 213, 214), "transformWithState"),
}
_NAMED = {
    "sample": "sample",
    "offset": "OFFSET",
    "tail": "tail",
    "unpivot": "UNPIVOT",
    "as_of_join": "an as-of join",
    "lateral_join": "LATERAL",
    "transpose": "transpose",
}
_SETS: dict[int, type[exp.Expr]] = {2: exp.Rollup, 3: exp.Cube}
_PIVOT, _GROUPING_SETS = 4, 5


def read(relation: Any, client: Any, world: PlanSources) -> Query:
    """The query that a relation of a client's plan is."""
    return _Reader(client, world).seen(relation).query


class _Reader(Columns):
    # Relations

    def seen(self, relation: Any) -> Seen:
        form = relation.WhichOneof("rel_type")
        if form == "with_relations":
            for reference in relation.with_relations.references:
                if reference.WhichOneof("rel_type") == "subquery_alias":
                    self.views[reference.subquery_alias.alias.lower()] = reference.subquery_alias.input
            self.whole[relation.with_relations.root.common.plan_id] = relation
            return self.seen(relation.with_relations.root)
        if form != "sql" and not seen_through(relation, form) and not self.streams(relation):
            aliases = aliases_below(relation)
            owner = aliases[-1] if aliases else None
            identity = ("table", unnamed(relation).common.plan_id)
            leaf = self.leaf(relation, Source(identity, STATIC, ["table", *aliases], alias=owner), owner)
        elif form in SILENT:
            leaf = self.seen(getattr(relation, form).input)
        elif (made := getattr(self, f"_{form}", None)) is not None:
            leaf = made(relation, getattr(relation, form))
        else:
            leaf = self._refused(relation, form)
        hashables = self.plans.setdefault(relation.common.plan_id, [])
        hashables += [name.key for name in leaf.names]
        return leaf

    def _refused(self, relation: Any, form: str) -> Seen:
        """What cannot be decided, as a source of its own; what is below it is read for what else there is."""
        sent = getattr(relation, form)
        for part in ("input", "left", "right", "left_input", "right_input"):
            if part in sent.DESCRIPTOR.fields_by_name and sent.HasField(part):
                self.seen(getattr(sent, part))
        method = _CODE.get(form)
        if method is not None:
            method = _KIND_OF.get(sent.func.python_udf.eval_type, method)
            name = sent.func.function_name
            shown = f"{method} ({name})" if name and name != "transformWithStateUDF" else method
            self.world.refuse(method, f"{shown} is code, which cannot be seen: what it keeps is not known")
        else:
            self.world.refuse(_NAMED.get(form, form.replace("_", " ")))
        return self.leaf(relation, Source(object(), STREAM, [method or form]))

    def _read(self, relation: Any, sent: Any) -> Seen:
        if sent.WhichOneof("read_type") == "named_table":
            return self._table(relation, sent.named_table.unparsed_identifier)
        source = sent.data_source
        options = {**source.options, **({"path": source.paths[0]} if source.paths else {})}
        name = source.source_name or source_name(source.format or "stream", options)
        identity = (
            (source.format, *sorted(options.items()))
            if placed(options)
            else ("plan", relation.common.plan_id)
        )
        return self.leaf(relation, Source(identity, STREAM, [name]))

    def _table(self, relation: Any, name: str) -> Seen:
        last = name.rpartition(".")[2].strip("`")
        if (view := self.views.get(last.lower())) is not None:
            seen = self.seen(view)
        else:
            text = self.client.explain_string(self.plan(relation), "extended")
            query = views.read(text, last, self.schema(relation), self.world)
            if query is None:
                return self.leaf(relation, Source(("view", last), STREAM, [last]), last)
            seen = Seen(query, tuple(Name(output.key, output.name) for output in query.outputs))
        return Seen(self.world.named(seen.query, last), _owned(seen.names, last))

    def _subquery_alias(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        return Seen(self.world.named(below.query, sent.alias), _owned(below.names, sent.alias))

    def _project(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        return self.shown(relation, sent.input, below, list(sent.expressions))

    def _with_columns(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        added = {alias.name[0].lower(): alias.expr for alias in sent.aliases}
        items: list[Any] = [added.pop(name.name.lower(), name) for name in below.names]
        return self.shown(relation, sent.input, below, [*items, *added.values()])

    def _drop(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        kept = [name for name, _, _ in self.schema(relation)]
        dropped = {item.lower() for item in sent.column_names}
        keys = {self.sent(sent.input, below).of(column).name for column in sent.columns}
        items = [n for n in below.names if n.name.lower() not in dropped and str(n.key) not in keys]
        if [item.name for item in items] != kept:
            items = [next(n for n in below.names if n.name == item) for item in kept]
        return self.shown(relation, sent.input, below, list(items))

    def _to_df(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        return self.shown(relation, sent.input, below, list(below.names))

    def _with_columns_renamed(self, relation: Any, sent: Any) -> Seen:
        return self._to_df(relation, sent)

    def _fill_na(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        filled = {column.lower() for column in sent.cols}
        items: list[Any] = []
        for name, (_, kind, _) in zip(below.names, self.schema(sent.input), strict=True):
            positions = [n for n, c in enumerate(sent.cols) if c.lower() == name.name.lower()]
            value = sent.values[positions[0] if positions and len(sent.values) > 1 else 0]
            fits = _fits(value.WhichOneof("literal_type"), kind)
            items.append((name, value) if fits and (not filled or positions) else name)
        return self.shown(relation, sent.input, below, items)

    def _drop_na(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        names = [n for n in below.names if not sent.cols or n.name in sent.cols]
        if sent.HasField("min_non_nulls") and sent.min_non_nulls != len(names):
            self.world.refuse("na.drop of rows with some values NULL")
            return below
        tests = [exp.Not(this=exp.Is(this=key_column(n.key), expression=exp.Null())) for n in names]
        return replace(
            below,
            query=self.world.filtered(
                below.query, lambda block: [Condition(substituted(test, block.outputs)) for test in tests]
            ),
        )

    def _filter(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        made = self.conditions(sent.condition, self.sent(sent.input, below))
        return replace(below, query=self.world.filtered(below.query, lambda block: made(block.outputs)))

    def _join(self, relation: Any, sent: Any) -> Seen:
        left, right = self.seen(sent.left), self.seen(sent.right)
        names = (*left.names, *right.names)
        _, kind = _KINDS.get(sent.join_type, ("", ""))
        merged = [(_named(left.names, column), _named(right.names, column)) for column in sent.using_columns]

        def conditions(outputs: Sequence[Output]) -> list[Condition]:
            equalities = [
                Condition(substituted(sql.binary(exp.EQ, key_column(a.key), key_column(b.key)), outputs))
                for a, b in merged
            ]
            if sent.HasField("join_condition"):
                both = Seen(left.query, names)
                equalities += self.conditions(sent.join_condition, self.sent(None, both))(outputs)
            return equalities

        query = self.world.joined(left.query, right.query, kind, conditions)
        shown = left.names if kind in ("LEFT SEMI", "LEFT ANTI") else names
        if merged:
            first, again = [a for a, _ in merged], {b.key for _, b in merged}
            shown = (*first, *(n for n in shown if n not in first and n.key not in again))
            keys = [name.key for name in shown]
            query = self.world.projected(
                query, lambda block: [next(o for o in block.outputs if o.key == key) for key in keys]
            )
        return Seen(query, tuple(shown))

    def _set_op(self, relation: Any, sent: Any) -> Seen:
        left, right = self.seen(sent.left_input), self.seen(sent.right_input)
        if sent.set_op_type != 2 or sent.allow_missing_columns:
            self.world.refuse(
                {1: "INTERSECT", 3: "EXCEPT"}.get(sent.set_op_type, "unionByName of other columns")
            )
            return left
        operand = right.query
        if sent.by_name:
            keys = [_named(right.names, name.name).key for name in left.names]
            operand = self.world.projected(
                operand, lambda block: [next(o for o in block.outputs if o.key == key) for key in keys]
            )
        outputs = [replace(output, value=key_column(output.key)) for output in left.query.outputs]
        query: Query = self.world.union_all([left.query, operand], outputs)
        return Seen(query if sent.is_all else self.world.distinct(query, None), left.names)

    def _deduplicate(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        self.world.deduplicates = True
        keys = None
        if not sent.all_columns_as_keys:
            wanted = {item.lower() for item in sent.column_names}
            keys = [name.key for name in below.names if name.name.lower() in wanted]
        if not sent.within_watermark:
            return replace(below, query=self.world.distinct(below.query, keys))
        block = self.world.distinct_within(below.query, keys, sql.within_delay)
        if block is None:
            self.world.refuse("dropDuplicatesWithinWatermark without a watermark")
        return replace(below, query=block or below.query)

    def _with_watermark(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        value = self.sent(sent.input, below).text(sent.event_time)
        if not isinstance(value, exp.Column):
            self.world.refuse("a watermark of an expression")
            return below
        key = next(name.key for name in below.names if str(name.key) == value.name)
        return replace(below, query=self.world.watermarked(below.query, key, sent.delay_threshold))

    def _sort(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        made = self.sent(sent.input, below)
        query = self.world.ordered(
            below.query, lambda block: [self.in_place(made, item.child, block.outputs) for item in sent.order]
        )
        return replace(below, query=query)

    def _limit(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        return replace(below, query=self.world.limited(below.query, str(sent.limit)))

    def _aggregate(self, relation: Any, sent: Any) -> Seen:
        below = self.seen(sent.input)
        if sent.group_type == _PIVOT:
            self.world.refuse("PIVOT")
            return self.leaf(relation, Source(object(), STREAM, ["PIVOT"]))
        made = self.sent(sent.input, below)

        def groups(block: Block) -> list[Condition]:
            def of(given: Sequence[Any]) -> list[exp.Expr]:
                return [self.in_place(made, item, block.outputs) for item in given]

            if sent.group_type == _GROUPING_SETS:
                sets = [exp.Tuple(expressions=of(item.grouping_set)) for item in sent.grouping_sets]
                return [Condition(exp.GroupingSets(expressions=sets))]
            nodes = of(sent.grouping_expressions)
            if (kind := _SETS.get(sent.group_type)) is not None:
                return [Condition(kind(expressions=nodes))]
            return [Condition(v, origin_of(o)) for v, o in zip(nodes, sent.grouping_expressions, strict=True)]

        query = self.world.grouped(below.query, groups, lambda block: block.outputs)
        items = [*sent.grouping_expressions, *sent.aggregate_expressions]
        return self.shown(relation, sent.input, replace(below, query=query), items)

    def _sql(self, relation: Any, sent: Any) -> Seen:
        if not self.streams(relation):
            return self.leaf(relation, Source(object(), STATIC, ["table"]))
        try:
            tree = parse_one(sent.query, dialect="spark")
        except SqlglotError:
            self.world.refuse("a statement that is not understood", f"{sent.query} is not understood")
            return self.leaf(relation, Source(object(), STREAM, ["sql"]))
        self._with_arguments(tree, sent)
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        tables: dict[str, Query] = {}
        for table in list(tree.find_all(exp.Table)):
            if not isinstance(table.this, exp.Identifier) or (not table.db and table.name.lower() in ctes):
                continue
            query = self._named_table(table.sql(dialect="spark", comments=False).partition(" AS ")[0])
            alias = table.args.get("alias")
            number = f"#{len(tables)}"
            tables[number] = query
            made = exp.Table(this=exp.to_identifier(number, quoted=True))
            made.set("alias", alias or exp.TableAlias(this=exp.to_identifier(table.name)))
            table.replace(made)
        schema = self.schema(relation)
        if isinstance(tree, exp.Select) and len(tree.expressions) == len(schema):
            tree.set(
                "expressions",
                [_called(expression, schema[n][0]) for n, expression in enumerate(tree.expressions)],
            )
        names = tuple(Name(self.world.fresh(), name) for name, _, _ in schema)
        outputs = tuple(
            Output(n.key, n.name, key_column(n.key), kind)
            for n, (_, kind, _) in zip(names, schema, strict=True)
        )
        return Seen(Text(tree, tables, outputs), names)

    def _named_table(self, name: str) -> Query:
        from pyspark.sql.connect.proto import relations_pb2

        last = name.rpartition(".")[2].strip("`").lower()
        if last in self.views:
            return self.world.named(self.seen(self.views[last]).query, last)
        relation = relations_pb2.Relation()
        relation.read.named_table.unparsed_identifier = name
        if not self.streams(relation):
            return self.leaf(relation, Source(("table", name), STATIC, [last])).query
        return self._table(relation, name).query

    def _with_arguments(self, tree: exp.Expr, sent: Any) -> None:
        """Put what a statement was given in place of its markers."""
        given = [*sent.pos_arguments]
        sends = self.sent(None, Seen(Union((), ()), ()))
        for marker in list(tree.find_all(exp.Placeholder, exp.Parameter)):
            name = marker.name or ""
            if name in sent.named_arguments:
                marker.replace(sends.of(sent.named_arguments[name]))
            elif given and not name:
                marker.replace(sends.of(given.pop(0)))


def _owned(names: Sequence[Name], owner: str) -> tuple[Name, ...]:
    return tuple(replace(name, owners=(owner,)) for name in names)


def _named(names: Sequence[Name], name: str) -> Name:
    return next(item for item in names if item.name.lower() == name.lower())


def _fits(literal: str | None, kind: str) -> bool:
    """Whether ``na.fill`` puts a value into columns of a type."""
    if literal == "string":
        return kind == "string"
    if literal == "boolean":
        return kind == "boolean"
    return kind.partition("(")[0] in ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def _called(node: exp.Expr, name: str) -> exp.Expr:
    if isinstance(node, (exp.Alias, exp.Column, exp.Star)):
        return node
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
