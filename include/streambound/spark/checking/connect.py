"""The plan of a DataFrame of Spark Connect, as its client sends it, as blocks over its sources.

The plan names columns as the program does; names are resolved as Spark does, and what only the server knows,
the types of columns and what views hold, is asked of it. A view's plan is told as text alone: see ``views``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from streambound.errors import UnsupportedError
from streambound.spark.checking import sql, views
from streambound.spark.checking.blocks import (
    STATIC,
    STREAM,
    Block,
    Condition,
    Field,
    Output,
    Query,
    Source,
    Text,
    Union,
    World,
    conjuncts,
    key_column,
    substituted,
)
from streambound.spark.checking.naming import placed, told
from streambound.spark.checking.sent import Sent, field_of, origin_of
from streambound.spark.checking.types import named

_KINDS = {
    1: ("Inner", ""),
    2: ("full", "FULL"),
    3: ("left", "LEFT"),
    4: ("right", "RIGHT"),
    5: ("anti", "LEFT ANTI"),
    6: ("semi", "LEFT SEMI"),
    7: ("cross", ""),
}
_SILENT = ("hint", "repartition", "repartition_by_expression", "collect_metrics")
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
_PLAIN: tuple[type[exp.Expr], ...] = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Paren,
    exp.In,
    exp.Between,
    exp.Is,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Cast,
    exp.DataType,
)
_SETS: dict[int, type[exp.Expr]] = {2: exp.Rollup, 3: exp.Cube}
_PIVOT, _GROUPING_SETS = 4, 5


@dataclass(frozen=True)
class _Name:
    """A column as a program may call it: its key, its name, and the names before the dot."""

    key: Hashable
    name: str
    owners: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Seen:
    query: Query
    names: tuple[_Name, ...]


def read(relation: Any, client: Any, world: World) -> Query:
    """The query that a relation of a client's plan is."""
    return _Reader(client, world).seen(relation).query


class _Reader:
    def __init__(self, client: Any, world: World) -> None:
        self._client, self.world = client, world
        self._schemas: dict[bytes, list[tuple[str, str, bool]]] = {}
        # The columns of each DataFrame that an expression may have been taken from.
        self._plans: dict[int, list[Hashable]] = {}
        self._views: dict[str, Any] = {}
        # Relations that the server knows only with those that they refer to.
        self._whole: dict[int, Any] = {}

    # What the server knows

    def _plan(self, relation: Any) -> Any:
        from pyspark.sql.connect.proto import base_pb2

        plan = base_pb2.Plan()
        plan.root.CopyFrom(self._whole.get(relation.common.plan_id, relation))
        return plan

    def schema(self, relation: Any) -> list[tuple[str, str, bool]]:
        """The columns of a relation: names, types, and whether they may be NULL."""
        asked = relation.SerializeToString(deterministic=True)
        if asked not in self._schemas:
            found = self._client.schema(self._plan(relation)).jsonValue()["fields"]
            self._schemas[asked] = [(one["name"], named(one["type"]), one["nullable"]) for one in found]
        return self._schemas[asked]

    def streams(self, relation: Any) -> bool:
        """Whether a relation grows."""
        return bool(self._client._analyze(method="is_streaming", plan=self._plan(relation)).is_streaming)

    # Relations

    def seen(self, relation: Any) -> _Seen:
        form = relation.WhichOneof("rel_type")
        if form == "with_relations":
            for one in relation.with_relations.references:
                if one.WhichOneof("rel_type") == "subquery_alias":
                    self._views[one.subquery_alias.alias.lower()] = one.subquery_alias.input
            self._whole[relation.with_relations.root.common.plan_id] = relation
            return self.seen(relation.with_relations.root)
        if form != "sql" and not _seen_through(relation, form) and not self.streams(relation):
            aliases = _aliases_below(relation)
            owner = aliases[-1] if aliases else None
            identity = ("table", _unnamed(relation).common.plan_id)
            found = self._leaf(relation, Source(identity, STATIC, ["table", *aliases], alias=owner), owner)
        elif form in _SILENT:
            found = self.seen(getattr(relation, form).input)
        elif (made := getattr(self, f"_{form}", None)) is not None:
            found = made(relation, getattr(relation, form))
        else:
            found = self._refused(relation, form)
        known = self._plans.setdefault(relation.common.plan_id, [])
        known += [one.key for one in found.names]
        return found

    def _leaf(self, relation: Any, source: Source, owner: str | None = None) -> _Seen:
        columns = [
            (self.world.fresh(), Field(name, kind, nullable))
            for name, kind, nullable in self.schema(relation)
        ]
        owners = (owner,) if owner else ()
        names = tuple(_Name(key, one.name, owners) for key, one in columns)
        return _Seen(self.world.source(source, columns), names)

    def _refused(self, relation: Any, form: str) -> _Seen:
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
        return self._leaf(relation, Source(object(), STREAM, [method or form]))

    def _read(self, relation: Any, sent: Any) -> _Seen:
        if sent.WhichOneof("read_type") == "named_table":
            return self._table(relation, sent.named_table.unparsed_identifier)
        held = sent.data_source
        options = {**held.options, **({"path": held.paths[0]} if held.paths else {})}
        name = held.source_name or told(held.format or "stream", options)
        identity = (
            (held.format, *sorted(options.items())) if placed(options) else ("plan", relation.common.plan_id)
        )
        return self._leaf(relation, Source(identity, STREAM, [name]))

    def _table(self, relation: Any, name: str) -> _Seen:
        last = name.rpartition(".")[2].strip("`")
        if (found := self._views.get(last.lower())) is not None:
            seen = self.seen(found)
        else:
            text = self._client.explain_string(self._plan(relation), "extended")
            query = views.read(text, last, self.schema(relation), self.world)
            if query is None:
                return self._leaf(relation, Source(("view", last), STREAM, [last]), last)
            seen = _Seen(query, tuple(_Name(one.key, one.name) for one in query.outputs))
        return _Seen(self.world.named(seen.query, last), _owned(seen.names, last))

    def _subquery_alias(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        return _Seen(self.world.named(below.query, sent.alias), _owned(below.names, sent.alias))

    def _project(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        return self._shown(relation, sent.input, below, list(sent.expressions))

    def _with_columns(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        added = {one.name[0].lower(): one.expr for one in sent.aliases}
        items: list[Any] = [added.pop(one.name.lower(), one) for one in below.names]
        return self._shown(relation, sent.input, below, [*items, *added.values()])

    def _drop(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        kept = [name for name, _, _ in self.schema(relation)]
        dropped = {one.lower() for one in sent.column_names}
        keys = {self._sent(sent.input, below).of(one).name for one in sent.columns}
        items = [n for n in below.names if n.name.lower() not in dropped and str(n.key) not in keys]
        if [one.name for one in items] != kept:
            items = [next(n for n in below.names if n.name == one) for one in kept]
        return self._shown(relation, sent.input, below, list(items))

    def _to_df(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        return self._shown(relation, sent.input, below, list(below.names))

    def _with_columns_renamed(self, relation: Any, sent: Any) -> _Seen:
        return self._to_df(relation, sent)

    def _fill_na(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        filled = {one.lower() for one in sent.cols}
        items: list[Any] = []
        for one, (_, kind, _) in zip(below.names, self.schema(sent.input), strict=True):
            places = [n for n, c in enumerate(sent.cols) if c.lower() == one.name.lower()]
            value = sent.values[places[0] if places and len(sent.values) > 1 else 0]
            fits = _fits(value.WhichOneof("literal_type"), kind)
            items.append((one, value) if fits and (not filled or places) else one)
        return self._shown(relation, sent.input, below, items)

    def _drop_na(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        names = [n for n in below.names if not sent.cols or n.name in sent.cols]
        if sent.HasField("min_non_nulls") and sent.min_non_nulls != len(names):
            self.world.refuse("na.drop of rows with some values NULL")
            return below
        tests = [exp.Not(this=exp.Is(this=key_column(n.key), expression=exp.Null())) for n in names]
        return replace(
            below,
            query=self.world.filtered(
                below.query, lambda block: [Condition(substituted(one, block.outputs)) for one in tests]
            ),
        )

    def _filter(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        made = self._conditions(sent.condition, self._sent(sent.input, below))
        return replace(below, query=self.world.filtered(below.query, lambda block: made(block.outputs)))

    def _join(self, relation: Any, sent: Any) -> _Seen:
        left, right = self.seen(sent.left), self.seen(sent.right)
        names = (*left.names, *right.names)
        _, kind = _KINDS.get(sent.join_type, ("", ""))
        merged = [(_named(left.names, one), _named(right.names, one)) for one in sent.using_columns]

        def conditions(outputs: Sequence[Output]) -> list[Condition]:
            found = [
                Condition(substituted(sql.binary(exp.EQ, key_column(a.key), key_column(b.key)), outputs))
                for a, b in merged
            ]
            if sent.HasField("join_condition"):
                both = _Seen(left.query, names)
                found += self._conditions(sent.join_condition, self._sent(None, both))(outputs)
            return found

        query = self.world.joined(left.query, right.query, kind, conditions)
        shown = left.names if kind in ("LEFT SEMI", "LEFT ANTI") else names
        if merged:
            first, again = [a for a, _ in merged], {b.key for _, b in merged}
            shown = (*first, *(n for n in shown if n not in first and n.key not in again))
            keys = [one.key for one in shown]
            query = self.world.projected(
                query, lambda block: [next(o for o in block.outputs if o.key == key) for key in keys]
            )
        return _Seen(query, tuple(shown))

    def _set_op(self, relation: Any, sent: Any) -> _Seen:
        left, right = self.seen(sent.left_input), self.seen(sent.right_input)
        if sent.set_op_type != 2 or sent.allow_missing_columns:
            self.world.refuse(
                {1: "INTERSECT", 3: "EXCEPT"}.get(sent.set_op_type, "unionByName of other columns")
            )
            return left
        other = right.query
        if sent.by_name:
            keys = [_named(right.names, one.name).key for one in left.names]
            other = self.world.projected(
                other, lambda block: [next(o for o in block.outputs if o.key == key) for key in keys]
            )
        outputs = [replace(one, value=key_column(one.key)) for one in left.query.outputs]
        query: Query = self.world.united([left.query, other], outputs)
        return _Seen(query if sent.is_all else self.world.distinct(query, None), left.names)

    def _deduplicate(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        keys = None
        if not sent.all_columns_as_keys:
            wanted = {one.lower() for one in sent.column_names}
            keys = [one.key for one in below.names if one.name.lower() in wanted]
        if not sent.within_watermark:
            return replace(below, query=self.world.distinct(below.query, keys))
        found = self.world.distinct_within(below.query, keys, sql.within_delay)
        if found is None:
            self.world.refuse("dropDuplicatesWithinWatermark without a watermark")
        return replace(below, query=found or below.query)

    def _with_watermark(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        value = self._sent(sent.input, below).text(sent.event_time)
        if not isinstance(value, exp.Column):
            self.world.refuse("a watermark of an expression")
            return below
        key = next(one.key for one in below.names if str(one.key) == value.name)
        return replace(below, query=self.world.watermarked(below.query, key, sent.delay_threshold))

    def _sort(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        made = self._sent(sent.input, below)
        query = self.world.ordered(
            below.query, lambda block: [self._in_place(made, one.child, block.outputs) for one in sent.order]
        )
        return replace(below, query=query)

    def _limit(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        return replace(below, query=self.world.limited(below.query, str(sent.limit)))

    def _aggregate(self, relation: Any, sent: Any) -> _Seen:
        below = self.seen(sent.input)
        if sent.group_type == _PIVOT:
            self.world.refuse("PIVOT")
            return self._leaf(relation, Source(object(), STREAM, ["PIVOT"]))
        made = self._sent(sent.input, below)

        def groups(block: Block) -> list[Condition]:
            def of(given: Sequence[Any]) -> list[exp.Expr]:
                return [self._in_place(made, one, block.outputs) for one in given]

            if sent.group_type == _GROUPING_SETS:
                sets = [exp.Tuple(expressions=of(one.grouping_set)) for one in sent.grouping_sets]
                return [Condition(exp.GroupingSets(expressions=sets))]
            found = of(sent.grouping_expressions)
            if (kind := _SETS.get(sent.group_type)) is not None:
                return [Condition(kind(expressions=found))]
            return [Condition(v, origin_of(o)) for v, o in zip(found, sent.grouping_expressions, strict=True)]

        query = self.world.grouped(below.query, groups, lambda block: block.outputs)
        items = [*sent.grouping_expressions, *sent.aggregate_expressions]
        return self._shown(relation, sent.input, replace(below, query=query), items)

    def _sql(self, relation: Any, sent: Any) -> _Seen:
        if not self.streams(relation):
            return self._leaf(relation, Source(object(), STATIC, ["table"]))
        try:
            tree = parse_one(sent.query, dialect="spark")
        except SqlglotError:
            self.world.refuse("a statement that is not understood", f"{sent.query} is not understood")
            return self._leaf(relation, Source(object(), STREAM, ["sql"]))
        self._with_arguments(tree, sent)
        ctes = {one.alias.lower() for one in tree.find_all(exp.CTE)}
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
            tree.set("expressions", [_called(one, schema[n][0]) for n, one in enumerate(tree.expressions)])
        names = tuple(_Name(self.world.fresh(), name) for name, _, _ in schema)
        outputs = tuple(
            Output(n.key, n.name, key_column(n.key), kind)
            for n, (_, kind, _) in zip(names, schema, strict=True)
        )
        return _Seen(Text(tree, tables, outputs), names)

    def _named_table(self, name: str) -> Query:
        from pyspark.sql.connect.proto import relations_pb2

        last = name.rpartition(".")[2].strip("`").lower()
        if last in self._views:
            return self.world.named(self.seen(self._views[last]).query, last)
        relation = relations_pb2.Relation()
        relation.read.named_table.unparsed_identifier = name
        if not self.streams(relation):
            return self._leaf(relation, Source(("table", name), STATIC, [last])).query
        return self._table(relation, name).query

    def _with_arguments(self, tree: exp.Expr, sent: Any) -> None:
        """Put what a statement was given in place of its markers."""
        given = [*sent.pos_arguments]
        sends = self._sent(None, _Seen(Union((), ()), ()))
        for marker in list(tree.find_all(exp.Placeholder, exp.Parameter)):
            name = marker.name or ""
            if name in sent.named_arguments:
                marker.replace(sends.of(sent.named_arguments[name]))
            elif given and not name:
                marker.replace(sends.of(given.pop(0)))

    # Expressions

    def _sent(self, relation: Any, below: _Seen) -> Sent:
        types = (
            {one.key: one.type for one in below.query.outputs} if not isinstance(below.query, Text) else {}
        )

        def resolve(parts: Sequence[str], plan: int | None) -> exp.Expr:
            name, fields = self._resolved(parts, plan, below.names)
            made: exp.Expr = key_column(name.key)
            kind = types.get(name.key)
            for one in fields:
                made = field_of(made, one, kind)
                kind = None
            return made

        def kind(sent: Any) -> str:
            from pyspark.sql.connect.proto import relations_pb2

            if relation is None:
                return "object(unknown)"
            asked = relations_pb2.Relation()
            asked.project.input.CopyFrom(relation)
            asked.project.expressions.append(sent)
            return self.schema(asked)[0][1]

        return Sent(self.world, resolve, kind)

    def _resolved(
        self, parts: Sequence[str], plan: int | None, names: Sequence[_Name]
    ) -> tuple[_Name, Sequence[str]]:
        """The column that a name is, and the fields within it that follow."""
        low = [one.lower() for one in parts]
        mine = self._plans.get(plan, []) if plan is not None else []
        chosen = [n for n in names if plan is None or n.key in mine] or list(names)
        for owners in (1, 0):
            for one in chosen:
                owned = len(low) > owners and (not owners or low[0] in [o.lower() for o in one.owners])
                if owned and one.name.lower() == low[owners]:
                    return one, parts[owners + 1 :]
        if len(low) > 2:
            # A table's name in full: the last part before the column is its owner.
            return self._resolved(parts[1:], plan, names)
        raise UnsupportedError(
            f"the name {'.'.join(parts)} is not understood", fix="name a column that is selected before"
        )

    def _in_place(
        self, made: Sent, sent: Any, outputs: Sequence[Output], called: str | None = None
    ) -> exp.Expr:
        with self.world.written_at(lambda: origin_of(sent)):
            value = made.of(sent)
        value = value.this if isinstance(value, exp.Alias) else value
        return sql.unnested(substituted(value, outputs), self.world, called)

    def _conditions(self, sent: Any, made: Sent) -> Callable[[Sequence[Output]], list[Condition]]:
        def of(outputs: Sequence[Output]) -> list[Condition]:
            function = sent.unresolved_function
            if sent.HasField("unresolved_function") and function.function_name.lower() == "and":
                return [c for one in function.arguments for c in self._conditions(one, made)(outputs)]
            before = len(self.world.missing)
            value = self._in_place(made, sent, outputs)
            if len(self.world.missing) > before:
                return []
            return [Condition(one, origin_of(sent)) for one in conjuncts(value)]

        return of

    def _shown(self, relation: Any, under: Any, below: _Seen, items: Sequence[Any]) -> _Seen:
        """SELECT: of each column a name, an expression as sent, or a name and what fills its NULLs."""
        made = self._sent(under, below)
        schema = self.schema(relation)
        values = [one for item in items for one in self._expanded(item, below, made)]
        if len(values) != len(schema):
            self.world.refuse("a projection that is not understood")
            return self._leaf(relation, Source(object(), STREAM, ["projection"]))
        below = self._exploded(below, values, schema, made)
        names: list[_Name] = []
        for (_, kept, _), (name, _, _) in zip(values, schema, strict=True):
            key = kept.key if kept is not None else self.world.fresh()
            names.append(_Name(key, name, kept.owners if kept is not None and kept.name == name else ()))

        def outputs(block: Any) -> list[Output]:
            found = []
            for (value, _, origin), one, (name, kind, _) in zip(values, names, schema, strict=True):
                placed_value = substituted(value, block.outputs)
                if sql.TYPE in placed_value.meta and sql.WINDOW not in placed_value.meta:
                    placed_value.meta[sql.TYPE] = kind
                made_value = sql.unnested(placed_value, self.world, name)
                found.append(Output(one.key, name, made_value, kind, origin))
            return found

        if getattr(below.query, "groups", None) is not None:
            query = replace(below.query, outputs=tuple(outputs(below.query)))
        else:
            query = self.world.projected(below.query, outputs)
        return _Seen(query, tuple(names))

    def _exploded(
        self,
        below: _Seen,
        values: list[tuple[exp.Expr, _Name | None, str | None]],
        schema: Sequence[tuple[str, str, bool]],
        made: Sent,
    ) -> _Seen:
        """Put a column in place of each value that makes rows, and the rows into the query."""
        for place, (value, _, origin) in enumerate(values):
            name = value.key if isinstance(value, exp.Explode) else value.name.lower()
            if not isinstance(value, (exp.Anonymous, exp.Explode)) or not name.startswith("explode"):
                continue
            given = value.this if isinstance(value, exp.Explode) else value.expressions[0]
            key = self.world.fresh()

            def call(block: Block, given: exp.Expr = given) -> exp.Expr:
                return sql.call("explode", [sql.unnested(substituted(given, block.outputs), self.world)])

            columns = [(key, Field(schema[place][0], schema[place][1]))]
            query = self.world.generated(below.query, call, columns, name.endswith("outer"))
            below = replace(below, query=query)
            values[place] = (key_column(key), None, origin)
        return below

    def _expanded(
        self, item: Any, below: _Seen, made: Sent
    ) -> list[tuple[exp.Expr, _Name | None, str | None]]:
        if isinstance(item, _Name):
            return [(key_column(item.key), item, None)]
        if isinstance(item, tuple):
            name, value = item
            return [(sql.call("coalesce", [key_column(name.key), made._literal(value)]), None, None)]
        origin = origin_of(item)
        with self.world.written_at(lambda: origin):
            value = made.of(item)
        bare = value.this if isinstance(value, exp.Alias) else value
        if isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)):
            target = item.unresolved_star.unparsed_target.removesuffix(".*")
            target = target or (bare.table if isinstance(bare, exp.Column) else "")
            return self._starred(target.strip("`"), below, made)
        if isinstance(bare, exp.Column) and not isinstance(value, exp.Alias) and not item.HasField("alias"):
            kept = next(n for n in below.names if str(n.key) == bare.name)
            return [(bare, kept, None)]
        return [(bare, None, origin)]

    def _starred(
        self, target: str, below: _Seen, made: Sent
    ) -> list[tuple[exp.Expr, _Name | None, str | None]]:
        if not target:
            return [(key_column(n.key), n, None) for n in below.names]
        owned = [n for n in below.names if target.lower() in [o.lower() for o in n.owners]]
        if owned:
            return [(key_column(n.key), n, None) for n in owned]
        # The fields of a struct.
        name, _ = self._resolved([target], None, below.names)
        kind = next(o.type for o in below.query.outputs if o.key == name.key)
        fields = exp.DataType.build(kind, dialect="spark").expressions
        return [(field_of(key_column(name.key), one.name, kind), None, None) for one in fields]


def _owned(names: Sequence[_Name], owner: str) -> tuple[_Name, ...]:
    return tuple(replace(one, owners=(owner,)) for one in names)


def _named(names: Sequence[_Name], name: str) -> _Name:
    return next(one for one in names if one.name.lower() == name.lower())


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


def _seen_through(relation: Any, form: str) -> bool:
    """Whether a part of a plan is read as it stands, over tables as over streams."""
    sent = getattr(relation, form)
    if form == "project":
        named_only = (one.alias.expr if one.HasField("alias") else one for one in sent.expressions)
        return all(one.HasField("unresolved_attribute") for one in named_only)
    return form == "subquery_alias" or (form == "filter" and _simple(sent.condition))


def _simple(sent: Any) -> bool:
    """Whether a condition is made of comparisons of columns and constants alone."""
    if sent.HasField("expression_string"):
        try:
            return all(isinstance(one, _PLAIN) for one in parse_one(sent.expression_string.expression).walk())
        except SqlglotError:
            return False
    function = sent.unresolved_function
    if sent.HasField("unresolved_function"):
        known = (*sql.OPERATORS, "not", "in", "isnull", "isnotnull")
        return function.function_name.lower() in known and all(map(_simple, function.arguments))
    return bool(sent.HasField("unresolved_attribute") or sent.HasField("literal"))


def _unnamed(relation: Any) -> Any:
    while (form := relation.WhichOneof("rel_type")) in ("subquery_alias", *_SILENT):
        relation = getattr(relation, form).input
    return relation


def _aliases_below(relation: Any) -> list[str]:
    """The names of a table, the innermost first."""
    found: list[str] = []
    while True:
        sent = getattr(relation, relation.WhichOneof("rel_type"))
        if relation.HasField("subquery_alias"):
            found.insert(0, sent.alias)
        if relation.HasField("read") and sent.WhichOneof("read_type") == "named_table":
            found.insert(0, sent.named_table.unparsed_identifier.rpartition(".")[2].strip("`"))
        if "input" not in sent.DESCRIPTOR.fields_by_name:
            return found
        relation = sent.input
