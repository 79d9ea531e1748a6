"""The columns of a plan of Spark Connect: what names mean, as Spark resolves them, and what is shown.

What only the server knows, the types of columns and which relations grow, is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import expressions as exp

from streambound.errors import UnsupportedError
from streambound.spark.checking import sql
from streambound.spark.checking.blocks import (
    STREAM,
    Block,
    Condition,
    Field,
    Output,
    Query,
    Source,
    Text,
    conjuncts,
    key_column,
    substituted,
)
from streambound.spark.checking.connect_expressions import Sent, field_of, origin_of
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.types import named


@dataclass(frozen=True)
class Name:
    """A column as a program may call it: its key, its name, and the names before the dot."""

    key: Hashable
    name: str
    owners: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """A relation that was read, with the names of its columns."""

    query: Query
    names: tuple[Name, ...]


class Columns:
    """What the server knows of a client's relations, and expressions over their columns."""

    def __init__(self, client: Any, world: PlanSources) -> None:
        self.client, self.world = client, world
        self._schemas: dict[bytes, list[tuple[str, str, bool]]] = {}
        # The columns of each DataFrame that an expression may have been taken from.
        self.plans: dict[int, list[Hashable]] = {}
        self.views: dict[str, Any] = {}
        # Relations that the server knows only with those that they refer to.
        self.whole: dict[int, Any] = {}

    # What the server knows

    def plan(self, relation: Any) -> Any:
        """A relation as a plan that the server takes."""
        from pyspark.sql.connect.proto import base_pb2

        plan = base_pb2.Plan()
        plan.root.CopyFrom(self.whole.get(relation.common.plan_id, relation))
        return plan

    def schema(self, relation: Any) -> list[tuple[str, str, bool]]:
        """The columns of a relation: names, types, and whether they may be NULL."""
        asked = relation.SerializeToString(deterministic=True)
        if asked not in self._schemas:
            fields = self.client.schema(self.plan(relation)).jsonValue()["fields"]
            self._schemas[asked] = [
                (field["name"], named(field["type"]), field["nullable"]) for field in fields
            ]
        return self._schemas[asked]

    def streams(self, relation: Any) -> bool:
        """Whether a relation grows."""
        return bool(self.client._analyze(method="is_streaming", plan=self.plan(relation)).is_streaming)

    def leaf(self, relation: Any, source: Source, owner: str | None = None) -> Seen:
        """A relation as a source, whatever it is made of."""
        columns = [
            (self.world.fresh(), Field(name, kind, nullable))
            for name, kind, nullable in self.schema(relation)
        ]
        owners = (owner,) if owner else ()
        names = tuple(Name(key, field.name, owners) for key, field in columns)
        return Seen(self.world.source(source, columns), names)

    # Expressions

    def sent(self, relation: Any, below: Seen) -> Sent:
        """Expressions over the columns of a relation that was read."""
        types = (
            {output.key: output.type for output in below.query.outputs}
            if not isinstance(below.query, Text)
            else {}
        )

        def resolve(parts: Sequence[str], plan: int | None) -> exp.Expr:
            name, fields = self._resolved(parts, plan, below.names)
            made: exp.Expr = key_column(name.key)
            kind = types.get(name.key)
            for field in fields:
                made = field_of(made, field, kind)
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
        self, parts: Sequence[str], plan: int | None, names: Sequence[Name]
    ) -> tuple[Name, Sequence[str]]:
        """The column that a name is, and the fields within it that follow."""
        low = [part.lower() for part in parts]
        mine = self.plans.get(plan, []) if plan is not None else []
        chosen = [n for n in names if plan is None or n.key in mine] or list(names)
        for owners in (1, 0):
            for name in chosen:
                owned = len(low) > owners and (not owners or low[0] in [o.lower() for o in name.owners])
                if owned and name.name.lower() == low[owners]:
                    return name, parts[owners + 1 :]
        if len(low) > 2:
            # A table's name in full: the last part before the column is its owner.
            return self._resolved(parts[1:], plan, names)
        raise UnsupportedError(
            f"the name {'.'.join(parts)} is not understood", fix="name a column that is selected before"
        )

    def in_place(self, made: Sent, sent: Any, outputs: Sequence[Output]) -> exp.Expr:
        """An expression over outputs."""
        with self.world.written_at(lambda: origin_of(sent)):
            value = made.of(sent)
        value = value.this if isinstance(value, exp.Alias) else value
        return sql.unnested(substituted(value, outputs), self.world)

    def conditions(self, sent: Any, made: Sent) -> Callable[[Sequence[Output]], list[Condition]]:
        """The conjuncts of a condition, over the outputs that they are given."""

        def of(outputs: Sequence[Output]) -> list[Condition]:
            function = sent.unresolved_function
            if sent.HasField("unresolved_function") and function.function_name.lower() == "and":
                return [
                    c for argument in function.arguments for c in self.conditions(argument, made)(outputs)
                ]
            before = len(self.world.missing)
            value = self.in_place(made, sent, outputs)
            if len(self.world.missing) > before:
                return []
            return [Condition(node, origin_of(sent)) for node in conjuncts(value)]

        return of

    def shown(self, relation: Any, under: Any, below: Seen, items: Sequence[Any]) -> Seen:
        """SELECT: of each column a name, an expression as sent, or a name and what fills its NULLs."""
        made = self.sent(under, below)
        schema = self.schema(relation)
        values = [each for item in items for each in self._expanded(item, below, made)]
        if len(values) != len(schema):
            self.world.refuse("a projection that is not understood")
            return self.leaf(relation, Source(object(), STREAM, ["projection"]))
        below = self._exploded(below, values, schema)
        names: list[Name] = []
        for (_, kept, _), (name, _, _) in zip(values, schema, strict=True):
            key = kept.key if kept is not None else self.world.fresh()
            names.append(Name(key, name, kept.owners if kept is not None and kept.name == name else ()))

        def outputs(block: Any) -> list[Output]:
            listed = []
            for (value, _, origin), entry, (name, kind, _) in zip(values, names, schema, strict=True):
                placed_value = substituted(value, block.outputs)
                if sql.TYPE in placed_value.meta and sql.WINDOW not in placed_value.meta:
                    placed_value.meta[sql.TYPE] = kind
                made_value = sql.unnested(placed_value, self.world, name)
                listed.append(Output(entry.key, name, made_value, kind, origin))
            return listed

        if getattr(below.query, "groups", None) is not None:
            query = replace(below.query, outputs=tuple(outputs(below.query)))
        else:
            query = self.world.projected(below.query, outputs)
        return Seen(query, tuple(names))

    def _exploded(
        self,
        below: Seen,
        values: list[tuple[exp.Expr, Name | None, str | None]],
        schema: Sequence[tuple[str, str, bool]],
    ) -> Seen:
        """Put a column in place of each value that makes rows, and the rows into the query."""
        for position, (value, _, origin) in enumerate(values):
            name = value.key if isinstance(value, exp.Explode) else value.name.lower()
            if not isinstance(value, (exp.Anonymous, exp.Explode)) or not name.startswith("explode"):
                continue
            given = value.this if isinstance(value, exp.Explode) else value.expressions[0]
            key = self.world.fresh()

            def call(block: Block, given: exp.Expr = given) -> exp.Expr:
                return sql.call("explode", [sql.unnested(substituted(given, block.outputs), self.world)])

            columns = [(key, Field(schema[position][0], schema[position][1]))]
            query = self.world.generated(below.query, call, columns, name.endswith("outer"))
            below = replace(below, query=query)
            values[position] = (key_column(key), None, origin)
        return below

    def _expanded(self, item: Any, below: Seen, made: Sent) -> list[tuple[exp.Expr, Name | None, str | None]]:
        if isinstance(item, Name):
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
            return self._starred(target.strip("`"), below)
        if isinstance(bare, exp.Column) and not isinstance(value, exp.Alias) and not item.HasField("alias"):
            kept = next(n for n in below.names if str(n.key) == bare.name)
            return [(bare, kept, None)]
        return [(bare, None, origin)]

    def _starred(self, target: str, below: Seen) -> list[tuple[exp.Expr, Name | None, str | None]]:
        if not target:
            return [(key_column(n.key), n, None) for n in below.names]
        owned = [n for n in below.names if target.lower() in [o.lower() for o in n.owners]]
        if owned:
            return [(key_column(n.key), n, None) for n in owned]
        # The fields of a struct.
        name, _ = self._resolved([target], None, below.names)
        kind = next(o.type for o in below.query.outputs if o.key == name.key)
        fields = exp.DataType.build(kind, dialect="spark").expressions
        return [(field_of(key_column(name.key), field.name, kind), None, None) for field in fields]
