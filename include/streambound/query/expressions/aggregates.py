"""Aggregates, however processors name them: what each keeps of the rows of its group, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import expressions as exp

from streambound.query.expressions.linear import linear
from streambound.query.operators import AggregateKind
from streambound.query.scope import is_word

_KINDS: dict[AggregateKind, tuple[str, ...]] = {
    AggregateKind.COUNT: ("COUNT", "COUNT_IF", "COUNT_BIG", "COUNTIF", "COUNT_DISTINCT", "REGR_COUNT"),
    AggregateKind.SUM: ("SUM", "SUM_IF", "SUMIF", "SUM0", "TOTAL"),
    AggregateKind.MEAN: (
        *("AVG", "AVG_IF", "MEAN", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STDEV", "STDEVP", "VAR", "VARP"),
        *("VARIANCE", "VARIANCE_POP", "VAR_POP", "VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "SKEWNESS"),
        *("KURTOSIS", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_AVGX", "REGR_AVGY"),
    ),
    AggregateKind.LEAST: ("MIN", "LOGICAL_AND", "BOOL_AND", "EVERY", "ARG_MIN", "MIN_BY", "ARGMIN"),
    AggregateKind.GREATEST: (
        *("MAX", "LOGICAL_OR", "BOOL_OR", "ANY", "SOME", "ARG_MAX", "MAX_BY", "ARGMAX"),
    ),
    AggregateKind.FIRST: ("FIRST", "FIRST_VALUE", "EARLIEST", "EARLIEST_BY_OFFSET"),
    AggregateKind.LAST: ("LAST", "LAST_VALUE", "LATEST", "LATEST_BY_OFFSET"),
    AggregateKind.ANY: ("ANY_VALUE", "TOPONE"),
    AggregateKind.LIST: (
        *("ARRAY_AGG", "COLLECT_LIST", "GROUP_ARRAY", "GROUP_CONCAT", "LISTAGG", "STRING_AGG", "COLLECT"),
        *("ARRAY_CONCAT_AGG", "JSONB_AGG", "JSON_AGG", "COLLECTTOP", "QUANTILE", "MEDIAN", "MODE"),
        *("PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "JSONB_OBJECT_AGG", "MAP_AGG", "JSON_ARRAYAGG"),
        *("LIST_AGG", "JSON_OBJECTAGG", "MULTISET_AGG"),
        *("COLLECT_SET", "ARRAY_UNIQUE_AGG", "GROUP_UNIQ_ARRAY", "HISTOGRAM", "TOPK", "TOPKDISTINCT"),
    ),
    AggregateKind.SKETCH: (
        *("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT", "HLL", "APPROX_QUANTILE", "APPROX_PERCENTILE"),
        *("PERCENTILE_APPROX", "UNIQ", "UNIQUE", "APPROX_TOP_K", "COUNT_MIN_SKETCH", "P90", "P95", "P99"),
        *("BIT_AND", "BIT_OR", "BIT_XOR", "BITWISE_AND_AGG", "BITWISE_OR_AGG", "BITWISE_XOR_AGG"),
    ),
}
# One name of each meaning, where processors have several.
_CANONICAL = {
    **dict.fromkeys(
        ("COUNT_IF", "COUNT_BIG", "COUNTIF", "COUNT_DISTINCT", "UNIQ_EXACT", "UNIQUE_EXACT"), "COUNT"
    ),
    **dict.fromkeys(("SUM_IF", "SUMIF"), "SUM"),
    **dict.fromkeys(("AVG_IF", "MEAN"), "AVG"),
    **dict.fromkeys(("STDDEV", "STDEV"), "STDDEV_SAMP"),
    **{"STDEVP": "STDDEV_POP", "VAR": "VAR_SAMP", "VARIANCE": "VAR_SAMP", "VARP": "VAR_POP"},
    **{"VARIANCE_POP": "VAR_POP", "TOTAL": "SUM0"},
    **dict.fromkeys(("LOGICAL_AND", "EVERY"), "BOOL_AND"),
    **dict.fromkeys(("LOGICAL_OR", "ANY", "SOME"), "BOOL_OR"),
    **dict.fromkeys(("MIN_BY", "ARGMIN"), "ARG_MIN"),
    **dict.fromkeys(("MAX_BY", "ARGMAX"), "ARG_MAX"),
    **dict.fromkeys(("FIRST_VALUE", "EARLIEST", "EARLIEST_BY_OFFSET"), "FIRST"),
    **dict.fromkeys(("LAST_VALUE", "LATEST", "LATEST_BY_OFFSET"), "LAST"),
    **dict.fromkeys(("COLLECT_LIST", "GROUP_ARRAY", "COLLECT"), "ARRAY_AGG"),
    **dict.fromkeys(("COLLECT_SET", "ARRAY_UNIQUE_AGG", "GROUP_UNIQ_ARRAY"), "ARRAY_AGG"),
    **dict.fromkeys(("GROUP_CONCAT", "LISTAGG"), "STRING_AGG"),
    **dict.fromkeys(("APPROX_DISTINCT", "HLL", "UNIQ", "UNIQUE"), "APPROX_COUNT_DISTINCT"),
    **dict.fromkeys(("APPROX_QUANTILE", "APPROX_PERCENTILE"), "PERCENTILE_APPROX"),
}
# Of these a row that does not pass a FILTER is none, and not one with NULL.
_WITH_NULLS = ("FIRST", "LAST", "ANY_VALUE", "ARRAY_AGG", "ARG_MIN", "ARG_MAX", "TOPONE")
_CHOOSING = ("FIRST", "LAST", "ANY_VALUE")
# ksqlDB passes over NULLs unless it is told not to.
_OVER_NULLS = ("EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET")
_BY_NAME = {name: kind for kind, names in _KINDS.items() for name in names}
# What there is nothing of without a column.
SUMMING = (AggregateKind.SUM, AggregateKind.MEAN)
# Of their values only the different ones count: an exact number of them needs every one.
_DISTINCT = frozenset(("COUNT_DISTINCT", "UNIQ_EXACT", "UNIQUE_EXACT", "COLLECT_SET")) | frozenset(
    ("ARRAY_UNIQUE_AGG", "GROUP_UNIQ_ARRAY", "TOPKDISTINCT")
)
_BY = frozenset(("ARG_MIN", "ARG_MAX", "MIN_BY", "MAX_BY", "ARGMIN", "ARGMAX"))
_CONDITIONAL = frozenset(("COUNT_IF", "COUNTIF", "SUM_IF", "AVG_IF", "SUMIF"))


@dataclass(frozen=True)
class Called:
    """An aggregate as it is called: the expressions that it reads, and by which one it chooses a row.

    ``function`` is its canonical name, with what else changes its meaning.
    """

    kind: AggregateKind
    arguments: tuple[exp.Expr, ...]
    distinct: bool
    by: exp.Expr | None
    node: exp.Expr
    function: str


def name_of(node: exp.Expr) -> str:
    """The name of a function, in upper case."""
    while isinstance(node, (exp.Filter, exp.WithinGroup)):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    return node.sql_name() if isinstance(node, exp.Func) else node.key.upper()


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is the call of an aggregate."""
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        return True
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
        return is_aggregate(node.this)
    return isinstance(node, exp.AggFunc) or (
        isinstance(node, (exp.Anonymous, exp.Func))
        and (name_of(node) in _BY_NAME or name_of(node) in _DISTINCT)
    )


def aggregate(node: exp.Expr) -> Called | None:
    """The aggregate that a node calls; None of one that is not known."""
    condition, passes_over = None, False
    inner = node
    while isinstance(inner, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        if isinstance(inner, exp.Filter):
            condition = inner.expression.this
        passes_over = passes_over or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    name = name_of(inner)
    kind = AggregateKind.COUNT if name in ("UNIQ_EXACT", "UNIQUE_EXACT") else _BY_NAME.get(name)
    if kind is None:
        return None
    given = list(_arguments(inner))
    function = _CANONICAL.get(name, name)
    if function in _CHOOSING and (passes_over or (name in _OVER_NULLS and len(given) == 1)):
        function += " IGNORE NULLS"
    elif (function in _CHOOSING and len(given) > 1) or (name in _BY and len(given) > 2):
        # Numbers of rows, or whether NULLs count.
        function += " OF SEVERAL"
    distinct = name in _DISTINCT
    if len(given) == 1 and isinstance(given[0], exp.Distinct):
        given, distinct = list(given[0].expressions), True
    given = [item.this if isinstance(item, exp.Order) else item for item in given]
    if name in _CONDITIONAL and given:
        condition = given.pop()
    constant = (exp.Star, exp.Literal, exp.Boolean)
    if distinct and any(isinstance(item, exp.Star) for item in given):
        return None
    if distinct:
        given = [item for item in given if not isinstance(item, constant)] or given[:1]
    elif kind is AggregateKind.COUNT and given and isinstance(given[0], constant):
        given = []
    by = given[1] if name in _BY and len(given) > 1 else None
    if name in _BY:
        given = given[:1]
    if name == "TOPONE":
        # Its row is the first in an order that stands in its OVER.
        given = []
    if kind in (
        AggregateKind.LEAST,
        AggregateKind.GREATEST,
        AggregateKind.FIRST,
        AggregateKind.LAST,
        AggregateKind.SKETCH,
        AggregateKind.ANY,
    ):
        given = given[:1]
    if condition is not None:
        if function in _WITH_NULLS:
            function += " FILTER"
        given = [_where(item, condition) for item in given or [exp.Literal.number(1)]]
    distinct = distinct and kind not in (AggregateKind.LEAST, AggregateKind.GREATEST)
    return Called(kind, tuple(given), distinct, by, node, function)


def _arguments(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return node.expressions
    nodes = [node.this] if isinstance(node.this, exp.Expr) else []
    for part in ("expression", "expressions"):
        more = node.args.get(part)
        nodes += more if isinstance(more, list) else [more] if isinstance(more, exp.Expr) else []
    return nodes


def _where(node: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """What an aggregate reads of the rows that pass its FILTER, NULL of the others."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=node.copy())])


# A factor, and what it multiplies: expressions over one tuple each.
Monomial = tuple[Fraction, tuple[exp.Expr, ...]]
# Of which tuple a column is.
Owner = Callable[[exp.Column], frozenset[str]]


def polynomial(node: exp.Expr, owner: Owner) -> tuple[Monomial, ...] | None:
    """An expression as a sum of products of expressions over one tuple each; None where it is none."""
    made: list[Monomial] = []
    summed = linear(node)
    for _, term, factor in summed.terms:
        products = _product(term, owner)
        if products is None:
            return None
        made += [(factor * by, factors) for by, factors in products]
    if summed.constant or not made:
        made.append((summed.constant, ()))
    return tuple(made)


def _product(node: exp.Expr, owner: Owner) -> list[Monomial] | None:
    node = node.unnest()
    if len(owners(node, owner)) <= 1:
        return [(Fraction(1), (node,))]
    if isinstance(node, exp.Mul):
        left, right = polynomial(node.this, owner), polynomial(node.expression, owner)
        if left is None or right is None:
            return None
        return [(a * b, (*left_nodes, *right_nodes)) for a, left_nodes in left for b, right_nodes in right]
    if isinstance(node, exp.Cast) and node.to.this in exp.DataType.NUMERIC_TYPES:
        terms = polynomial(node.this, owner)
        return None if terms is None else list(terms)
    return None


def owners(node: exp.Expr, owner: Owner) -> set[str]:
    """The tuples that an expression is over."""
    columns = (column for column in node.find_all(exp.Column) if not is_word(column))
    return {name for column in columns for name in owner(column)}
