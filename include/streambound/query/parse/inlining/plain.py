"""Whether a query stands as it is read: joins with filters over streams, in the words of Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.query.clock import (
    is_clock,
    is_fresh,
)
from streambound.query.dialects.grammar import WITHIN
from streambound.query.differences import plain
from streambound.query.expressions.aggregates import is_aggregate
from streambound.query.model import RelationKind
from streambound.query.parse.inlining.across import spans
from streambound.query.parse.text.idioms import with_elements
from streambound.query.parse.text.parts import (
    conditions_of,
)
from streambound.query.windows import called as called_window

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner

_DIRECT = ("this", "alias")


def stands_as_it_is(inliner: Inliner, tree: exp.Expr) -> bool:
    """Whether nothing has to be written out: then a query is read as it stands."""
    if isinstance(tree, exp.Union):
        parts = [value for key, value in tree.args.items() if key not in ("this", "expression", "distinct")]
        if any(parts):
            return False
        return stands_as_it_is(inliner, tree.this) and stands_as_it_is(inliner, tree.expression)
    if isinstance(tree, exp.Subquery) and not [k for k, v in tree.args.items() if v and k != "this"]:
        return stands_as_it_is(inliner, tree.this)
    if not isinstance(tree, exp.Select):
        return not isinstance(tree, (exp.Query, exp.DDL))
    if tree.args.get("from_") is None:
        return True
    if any(
        v for k, v in tree.args.items() if k not in ("expressions", "distinct", "from_", "joins", "where")
    ):
        return False
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        return False
    joins = tree.args.get("joins") or []
    if any(value for join in joins for key, value in join.args.items() if key not in ("this", "on", "kind")):
        return False
    if any(str(join.args.get("kind") or "INNER") not in ("INNER", "CROSS") for join in joins):
        return False
    tables = [tree.args["from_"].this, *(join.this for join in joins)]
    if not all(_is_stream(inliner, table) for table in tables):
        return False
    awkward = (exp.Star, exp.Query, exp.Window, exp.AggFunc, exp.Filter)
    if inliner.language.name != "spark" or any(part.find(*awkward) for part in tree.iter_expressions()):
        return False
    calls = (call for part in tree.iter_expressions() for call in part.find_all(exp.Anonymous))
    if any(is_aggregate(call) or called_window(call) is not None for call in calls):
        return False
    if with_elements(tree) is not tree:
        return False
    conditions = list(conditions_of(tree))
    if any(
        is_clock(node) or is_fresh(node) for part in (*conditions, *tree.expressions) for node in part.walk()
    ):
        return False
    if len(tables) > 1 and any(map(spans, conditions)):
        return False
    return all(plain(condition, "spark", inliner.relaxed) is condition for condition in conditions)


def _is_stream(inliner: Inliner, table: exp.Expr) -> bool:
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    alias = table.args.get("alias")
    if any(value for key, value in table.args.items() if key not in _DIRECT) or table.meta.get(WITHIN):
        return False
    if (alias is not None and alias.args.get("columns")) or inliner.key(table.this) in inliner.views:
        return False
    relation = inliner.catalog.find(table.name)
    if relation is None:
        return inliner.catalog.query(table.name) is None
    return relation.kind is not RelationKind.VERSIONED and not relation.opaque
