"""Relations of a client's plan over tables: which are read as they stand, and what they are called."""

from __future__ import annotations

from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from streambound.spark.checking import sql

# What says nothing of the question: how the work is shared out.
SILENT = ("hint", "repartition", "repartition_by_expression", "collect_metrics")
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


def seen_through(relation: Any, form: str) -> bool:
    """Whether a part of a plan is read as it stands, over tables as over streams."""
    sent = getattr(relation, form)
    if form == "project":
        named_only = (
            expression.alias.expr if expression.HasField("alias") else expression
            for expression in sent.expressions
        )
        return all(item.HasField("unresolved_attribute") for item in named_only)
    return form == "subquery_alias" or (form == "filter" and _simple(sent.condition))


def _simple(sent: Any) -> bool:
    """Whether a condition is made of comparisons of columns and constants alone."""
    if sent.HasField("expression_string"):
        try:
            return all(
                isinstance(node, _PLAIN) for node in parse_one(sent.expression_string.expression).walk()
            )
        except SqlglotError:
            return False
    function = sent.unresolved_function
    if sent.HasField("unresolved_function"):
        functions = (*sql.OPERATORS, "not", "in", "isnull", "isnotnull")
        return function.function_name.lower() in functions and all(map(_simple, function.arguments))
    return bool(sent.HasField("unresolved_attribute") or sent.HasField("literal"))


def unnamed(relation: Any) -> Any:
    while (form := relation.WhichOneof("rel_type")) in ("subquery_alias", *SILENT):
        relation = getattr(relation, form).input
    return relation


def aliases_below(relation: Any) -> list[str]:
    """The names of a table, the innermost first."""
    aliases: list[str] = []
    while True:
        sent = getattr(relation, relation.WhichOneof("rel_type"))
        if relation.HasField("subquery_alias"):
            aliases.insert(0, sent.alias)
        if relation.HasField("read") and sent.WhichOneof("read_type") == "named_table":
            aliases.insert(0, sent.named_table.unparsed_identifier.rpartition(".")[2].strip("`"))
        if "input" not in sent.DESCRIPTOR.fields_by_name:
            return aliases
        relation = sent.input
