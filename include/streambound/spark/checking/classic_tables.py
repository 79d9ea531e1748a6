"""Leaves of an analysed plan: what tells sources and tables from others, and what they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping

from streambound.spark.checking.naming import placed, source_name
from streambound.spark.checking.tree import Node

# What says nothing of the question: how the work is shared out, and names for metrics.
SILENT = (
    "ResolvedHint",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "CollectMetrics",
    "LocalLimit",
    "WriteToStream",
    "WriteToStreamStatement",
    "WriteToMicroBatchDataSource",
    "WriteToMicroBatchDataSourceV1",
    "ReturnAnswer",
    "UnresolvedHint",
    "WithMetadataColumns",
)


def source_of(node: Node) -> tuple[Hashable, list[str]]:
    """What tells a source from others, and names that it may go by, the least telling first."""
    made = node.jvm
    options: Mapping[str, str] = {}
    name = str(node.args.get("sourceName") or node.kind)
    if node.kind == "StreamingRelation":
        source = made.dataSource()
        options = _mapping(str(source.options().toString()))
        name = str(source.className())
    elif node.kind == "StreamingRelationV2":
        source = made.table()
        options = {str(item): str(made.extraOptions().get(item)) for item in made.extraOptions().keySet()}
    else:
        source = made
    given = node.args.get("sourceIdentifyingName")
    chosen = given.get("name") if isinstance(given, dict) else None
    # What is read from one place has the same rows, however often it is read.
    identity = (name, *sorted(options.items())) if placed(options) else (name, int(source.hashCode()))
    return identity, [chosen or source_name(name, options)]


def _mapping(text: str) -> dict[str, str]:
    """What Scala prints of a map."""
    pairs = (item.partition(" -> ") for item in text[text.find("(") + 1 : -1].split(", "))
    return {key: value for key, _, value in pairs}


def unnamed(node: Node) -> Node:
    while node.kind in ("SubqueryAlias", *SILENT):
        (node,) = node.children
    return node


# Of a table the parts that add to the question: names, and conditions on its columns.
_SIMPLE = frozenset(
    (
        "AttributeReference",
        "Literal",
        "Cast",
        "And",
        "Or",
        "Not",
        "In",
        "IsNull",
        "IsNotNull",
        "EqualTo",
        "LessThan",
        "LessThanOrEqual",
        "GreaterThan",
        "GreaterThanOrEqual",
        "Between",
        "Alias",
    )
)


def seen_through(node: Node) -> bool:
    """Whether a part of a plan over tables is read as it stands, and is not a table by itself."""
    if node.kind == "Project":
        return all(
            item.kind == "AttributeReference" or item.children[0].kind == "AttributeReference"
            for item in node.several("projectList")
        )
    if node.kind == "Filter":
        return _simple(node.expression("condition"))
    return node.kind == "SubqueryAlias"


def _simple(node: Node) -> bool:
    return node.kind in _SIMPLE and (node.kind == "Between" or all(map(_simple, node.children)))


# Where the leaf of a table holds its rows.
_ROWS = {"LogicalRDD": "rdd", "LogicalRelation": "relation", "DataSourceV2Relation": "table"}


def shape(node: Node) -> str:
    """A plan as text that is equal for two mentions of one table: without the numbers of columns."""
    rows = getattr(node.jvm, _ROWS[node.kind])().hashCode() if node.kind in _ROWS else ""
    args = re.sub(r'"id": \d+', "", json.dumps(node.args))
    return f"{node.kind}{rows}{args}({', '.join(map(shape, node.children))})"


def names_below(node: Node) -> list[str]:
    """The aliases of a table, the innermost first."""
    names: list[str] = []
    while True:
        if node.kind == "SubqueryAlias":
            names.insert(0, str(node.args["identifier"]["name"]))
        if len(node.children) != 1:
            return names
        (node,) = node.children
