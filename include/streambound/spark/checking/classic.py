"""The analysed plan of a DataFrame in this process's JVM, as blocks over its sources."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import expressions as exp

from streambound.spark.checking.blocks import (
    STATIC,
    STREAM,
    Block,
    Condition,
    Field,
    Output,
    Query,
    Source,
    conjuncts,
    key_column,
    substituted,
)
from streambound.spark.checking.classic_expressions import expression, type_of
from streambound.spark.checking.classic_tables import (
    SILENT,
    names_below,
    seen_through,
    shape,
    source_of,
    unnamed,
)
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.sql import GENERATORS, call, unnested, within_delay
from streambound.spark.checking.tree import Node, tree
from streambound.spark.checking.types import named

JOINS = {
    "Inner": "",
    "Cross": "",
    "LeftOuter": "LEFT",
    "RightOuter": "RIGHT",
    "FullOuter": "FULL",
    "LeftSemi": "LEFT SEMI",
    "LeftAnti": "LEFT ANTI",
}
# Code that takes rows and gives rows, by the name of the method that runs it.
CODE = {
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithStateInPySpark": "transformWithState",
    "TransformWithState": "transformWithState",
    "FlatMapGroupsWithState": "mapGroupsWithState",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapGroupsInArrow": "applyInArrow",
    "FlatMapCoGroupsInPandas": "cogroup().applyInPandas",
    "FlatMapCoGroupsInArrow": "cogroup().applyInArrow",
    "MapInPandas": "mapInPandas",
    "MapInArrow": "mapInArrow",
    "PythonMapInArrow": "mapInArrow",
    "MapGroups": "mapGroups",
    "CoGroup": "cogroup",
    "MapElements": "map",
    "MapPartitions": "mapPartitions",
    "TypedFilter": "filter with code",
    "AppendColumns": "groupByKey",
}
_NAMED = {
    "Expand": "rows made several times",
    "Intersect": "INTERSECT",
    "Except": "EXCEPT",
    "AsOfJoin": "an as-of join",
    "LateralJoin": "LATERAL",
    "Sample": "sample",
    "Offset": "OFFSET",
    "Unpivot": "UNPIVOT",
    "Pivot": "PIVOT",
}


def read(plan: Any, world: PlanSources) -> Query:
    """The query that an analysed plan of a JVM is."""
    return _Reader(world).query(tree(plan))


class _Reader:
    def __init__(self, world: PlanSources) -> None:
        self.world = world
        self.ctes: dict[int, Node] = {}

    def query(self, node: Node) -> Query:
        if node.kind == "WithCTE":
            return self._with(node)
        if not node.jvm.isStreaming() and node.kind != "CTERelationRef" and not seen_through(node):
            return self._table(node)
        if node.kind in SILENT:
            return self.query(node.children[0])
        made = _READ.get(node.kind)
        if made is not None:
            return made(self, node)
        if not node.children and node.kind not in CODE:
            return self._stream(node)
        return self._refused(node)

    def _with(self, node: Node) -> Query:
        *defined, body = sorted(node.children, key=lambda definition: definition.kind != "CTERelationDef")
        for definition in defined:
            self.ctes[int(definition.args["id"])] = definition.children[0]
        return self.query(body)

    def cte(self, node: Node) -> Query:
        query = self.query(self.ctes[int(node.args["cteId"])])
        keys = [column.key for column in node.several("output")]
        outputs = tuple(replace(o, key=key) for o, key in zip(query.outputs, keys, strict=True))
        return replace(query, outputs=outputs)

    # Sources

    def _stream(self, node: Node) -> Query:
        identity, names = source_of(node)
        return self.world.source(Source(identity, STREAM, names), self._columns(node))

    def _table(self, node: Node) -> Query:
        aliases = names_below(node)
        identity = ("table", shape(unnamed(node)))
        source = Source(identity, STATIC, ["table", *aliases], alias=aliases[-1] if aliases else None)
        return self.world.source(source, self._columns(node))

    def _columns(self, node: Node) -> list[tuple[Hashable, Field]]:
        output = node.jvm.output()
        fields: list[tuple[Hashable, Field]] = []
        for number in range(output.size()):
            attribute = output.apply(number)
            kind = named(str(attribute.dataType().catalogString()))
            fields.append(
                (int(attribute.exprId().id()), Field(str(attribute.name()), kind, bool(attribute.nullable())))
            )
        return fields

    def _refused(self, node: Node) -> Query:
        """What cannot be decided, as a source of its own; what is below it is read for what else there is."""
        below = [self.query(child) for child in node.children]
        origin = None
        if (method := CODE.get(node.kind)) is not None:
            function = [item for item in node.several("functionExpr") if item.args.get("name")]
            name = str(function[0].args["name"]) if function else ""
            shown = f"{method} ({name})" if name and name != "transformWithStateUDF" else method
            message = f"{shown} is code, which cannot be seen: what it keeps is not known"
            self.world.refuse(method, message, origin)
        elif node.kind == "Generate":
            generator = node.expression("generator")
            self.world.refuse(str(generator.jvm.prettyName()), None, generator.origin)
        else:
            self.world.refuse(_NAMED.get(node.kind, node.kind))
            if node.kind in ("Sample", "Offset"):
                # The columns stay those of its input.
                return below[0]
        return self.world.source(Source(object(), STREAM, [method or node.kind]), self._columns(node))

    # Operations

    def _in_place(self, node: Node, outputs: Sequence[Output], called: str | None = None) -> exp.Expr:
        return unnested(substituted(expression(node, self.world), outputs), self.world, called)

    def _outputs(self, nodes: Sequence[Node], outputs: Sequence[Output]) -> list[Output]:
        made = []
        for node in nodes:
            name = str(node.args.get("name", ""))
            with self.world.written_at(lambda: node.origin):  # noqa: B023
                value = self._in_place(node, outputs, name)
            made.append(Output(node.key, name, value, type_of(node), _origin(node, value)))
        return made

    def _conditions(self, node: Node, outputs: Sequence[Output]) -> list[Condition]:
        if node.kind == "And":
            return [condition for child in node.children for condition in self._conditions(child, outputs)]
        before, origin = len(self.world.missing), node.origin
        with self.world.written_at(lambda: origin):
            value = self._in_place(node, outputs)
        # A condition that cannot be decided is refused by name; the rest is read without it.
        return (
            [Condition(conjunct, origin) for conjunct in conjuncts(value)]
            if len(self.world.missing) == before
            else []
        )

    def project(self, node: Node) -> Query:
        (child,) = node.children
        names = node.several("projectList")
        if _not_null(child) and any(map(_makes_window, names)):
            # That a moment is there is what a window asks, not what the program does.
            (child,) = child.children
        query = self.query(child)
        return self.world.projected(query, lambda block: self._outputs(names, block.outputs))

    def filter(self, node: Node) -> Query:
        (child,) = node.children
        condition = node.expression("condition")
        if child.kind == "Expand" and _not_null(node) and (hopping := self._hopping(child)) is not None:
            return hopping
        query = self.query(child)
        if (
            _not_null(node)
            and child.kind == "Project"
            and any(map(_makes_window, child.several("projectList")))
        ):
            return query
        return self.world.filtered(query, lambda block: self._conditions(condition, block.outputs))

    def _hopping(self, node: Node) -> Query | None:
        """A window that slides: Spark writes as many rows as there are windows of a moment."""
        names = node.several("output")
        first = node.projection(0)
        if not any(item.kind == "CreateNamedStruct" for item in first):
            return None

        def outputs(block: Block) -> list[Output]:
            return [
                Output(name.key, str(name.args["name"]), self._in_place(item, block.outputs), type_of(item))
                for name, item in zip(names, first, strict=True)
            ]

        return self.world.projected(self.query(node.children[0]), outputs)

    def join(self, node: Node) -> Query:
        left, right = map(self.query, node.children)
        kind = str(node.args["joinType"].get("object", "")).rpartition(".")[2].rstrip("$")
        if kind not in JOINS:
            self.world.refuse(f"the join {kind or node.jvm.joinType().sql()}")
        conditions = node.several("condition")
        return self.world.joined(
            left,
            right,
            JOINS.get(kind, ""),
            lambda outputs: [c for condition in conditions for c in self._conditions(condition, outputs)],
        )

    def distinct(self, node: Node) -> Query:
        keys = [key.key for key in node.several("keys")] if node.kind == "Deduplicate" else None
        self.world.deduplicates |= keys is not None
        return self.world.distinct(self.query(node.children[0]), keys)

    def distinct_within(self, node: Node) -> Query:
        query = self.query(node.children[0])
        self.world.deduplicates = True
        keys = {key.key for key in node.several("keys")}
        every = {o.key for o in query.outputs} <= keys
        block = self.world.distinct_within(query, None if every else [*keys], within_delay)
        if block is None:
            self.world.refuse("dropDuplicatesWithinWatermark without a watermark")
        return block or query

    def generate(self, node: Node) -> Query:
        generator = node.expression("generator")
        name = str(generator.jvm.prettyName())
        if name not in GENERATORS:
            return self._refused(node)
        query = self.query(node.children[0])
        columns = [
            (item.key, Field(str(item.args["name"]), type_of(item)))
            for item in node.several("generatorOutput")
        ]

        def made(block: Block) -> exp.Expr:
            with self.world.written_at(lambda: generator.origin):
                return call(name, [self._in_place(child, block.outputs) for child in generator.children])

        return self.world.generated(query, made, columns, bool(node.args["outer"]))

    def window(self, node: Node) -> Query:
        query = self.query(node.children[0])
        made = node.several("windowExpressions")
        return self.world.projected(
            query, lambda block: [*block.outputs, *self._outputs(made, block.outputs)]
        )

    def watermark(self, node: Node) -> Query:
        query = self.query(node.children[0])
        return self.world.watermarked(
            query, node.expression("eventTime").key, str(node.jvm.delay().toString())
        )

    def alias(self, node: Node) -> Query:
        return self.world.named(self.query(node.children[0]), str(node.args["identifier"]["name"]))

    def view(self, node: Node) -> Query:
        name = node.args.get("desc", {}).get("identifier", {}).get("table")
        query = self.query(node.children[0])
        return self.world.named(query, str(name)) if name else query

    def aggregate(self, node: Node) -> Query:
        groups, outputs = node.several("groupingExpressions"), node.several("aggregateExpressions")
        if node.children[0].kind == "Expand":
            return self._grouping_sets(node.children[0], groups, outputs)
        return self.world.grouped(
            self.query(node.children[0]),
            lambda block: [Condition(self._in_place(group, block.outputs), group.origin) for group in groups],
            lambda block: self._outputs(outputs, block.outputs),
        )

    def _grouping_sets(self, node: Node, groups: Sequence[Node], shown: Sequence[Node]) -> Query:
        """CUBE and the like: Spark writes each row once a set, with NULL for what is not in it."""
        names = node.several("output")
        rows = [node.projection(number) for number in range(len(node.args["projections"]))]
        by_name = {name.key: [row[position] for row in rows] for position, name in enumerate(names)}
        *keys, number = [group.key for group in groups]

        def outputs(block: Block) -> list[Output]:
            grouped = []
            for name in names:
                grouping = next((item for item in by_name[name.key] if not _null(item)), by_name[name.key][0])
                value = self._in_place(grouping, block.outputs)
                value = call("grouping_id", []) if name.key == number else value
                grouped.append(Output(name.key, str(name.args["name"]), value, type_of(name)))
            return grouped

        def sets(block: Block) -> list[Condition]:
            values = {output.key: output.value for output in block.outputs}
            return [
                Condition(
                    exp.GroupingSets(
                        expressions=[
                            exp.Tuple(
                                expressions=[
                                    values[k].copy() for k in keys if not _null(by_name[k][position])
                                ]
                            )
                            for position in range(len(rows))
                        ]
                    )
                )
            ]

        query = self.world.projected(self.query(node.children[0]), outputs)
        return self.world.grouped(query, sets, lambda block: self._outputs(shown, block.outputs))

    def union(self, node: Node) -> Query:
        queries = [self.query(child) for child in node.children]
        return self.world.union_all(
            queries, [replace(output, value=key_column(output.key)) for output in queries[0].outputs]
        )

    def sort(self, node: Node) -> Query:
        keys = [item.children[0] for item in node.several("order")]
        return self.world.ordered(
            self.query(node.children[0]), lambda block: [self._in_place(key, block.outputs) for key in keys]
        )

    def limit(self, node: Node) -> Query:
        number = str(node.expression("limitExpr").args.get("value", 1))
        return self.world.limited(self.query(node.children[0]), number)


def _origin(node: Node, value: exp.Expr) -> str | None:
    """Where an output was written; of a column that is only passed on it is not asked."""
    return None if node.kind == "AttributeReference" and isinstance(value, exp.Column) else node.origin


def _null(node: Node) -> bool:
    return node.kind == "Literal" and node.args["value"] is None


def _not_null(node: Node) -> bool:
    """Whether a filter asks only that a value is there."""
    return node.kind == "Filter" and node.expression("condition").kind == "IsNotNull"


def _makes_window(node: Node) -> bool:
    """Whether an output is a window of time, as Spark's analysis writes it."""
    return node.args.get("name") in ("window", "session_window") and any(
        child.kind == "CreateNamedStruct" for child in node.children
    )


_READ: dict[str, Callable[[_Reader, Node], Query]] = {
    "Project": _Reader.project,
    "Filter": _Reader.filter,
    "Join": _Reader.join,
    "Deduplicate": _Reader.distinct,
    "Distinct": _Reader.distinct,
    "DeduplicateWithinWatermark": _Reader.distinct_within,
    "Generate": _Reader.generate,
    "Window": _Reader.window,
    "EventTimeWatermark": _Reader.watermark,
    "SubqueryAlias": _Reader.alias,
    "View": _Reader.view,
    "Aggregate": _Reader.aggregate,
    "Union": _Reader.union,
    "Sort": _Reader.sort,
    "GlobalLimit": _Reader.limit,
    "CTERelationRef": _Reader.cte,
}
