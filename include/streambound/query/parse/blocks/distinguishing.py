"""Whether what is shown of a number tells numbers apart: ``ROUND(AVG(x), 2)`` and ``x > LAG(x)`` do.

A row is looked for in which two numbers show differently. Numbers as far apart as one likes are told by
monotone functions and by thresholds; what an unknown function makes of its arguments may be anything.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from streambound.query.parse.text.parts import stands_for

_THROUGH = (exp.Paren, exp.Neg, exp.Round, exp.Floor, exp.Ceil, exp.Abs, exp.Sqrt, exp.Pow, exp.Ln, exp.Exp)
_COMPARED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_VALUES = exp.DataType.NUMERIC_TYPES | exp.DataType.TEXT_TYPES | exp.DataType.TEMPORAL_TYPES


def distinguishes(node: exp.Expr, number: int, counts: bool) -> bool:
    """Whether an expression tells values of a number (see ``parts.value``) apart.

    Args:
        counts: it is a number of rows: 1 or more.
    """
    columns = [column for column in node.find_all(exp.Column) if stands_for(column, "value") == number]
    return any(_reaches(column, node, number, counts) for column in columns)


def _reaches(node: exp.Expr, root: exp.Expr, number: int, counts: bool) -> bool:
    while node is not root:
        parent = node.parent
        if parent is None or not _passes(parent, node, number):
            return False
        if counts and isinstance(parent, _COMPARED) and not _turns(parent, node):
            return False
        node = parent
    return True


def _turns(parent: exp.Expr, node: exp.Expr) -> bool:
    """Whether a comparison of a number of rows is true of some numbers and false of others."""
    literal = parent.expression if parent.this is node else parent.this
    if not isinstance(literal, exp.Literal) or not isinstance(node, exp.Column):
        return not isinstance(literal, exp.Literal)
    if literal.is_string or not literal.name.isdigit():
        return False
    kind = type(parent) if parent.this is node else _MIRRORED.get(type(parent), type(parent))
    least = 2 if kind in (exp.LT, exp.GTE) else 1
    return int(literal.name) >= least


def _passes(parent: exp.Expr, node: exp.Expr, number: int) -> bool:
    """Whether a node shows of one of its parts what tells its values apart."""
    if isinstance(parent, (*_THROUGH, exp.Anonymous)):
        return all(part is node or not part.find(exp.Column) for part in parent.iter_expressions())
    if isinstance(parent, exp.Cast):
        return parent.to.this in _VALUES
    if isinstance(parent, exp.Coalesce):
        return parent.this is node
    if isinstance(parent, (exp.Add, exp.Sub, exp.Mul, exp.Div, *_COMPARED)):
        literal = parent.expression if parent.this is node else parent.this
        zero = isinstance(literal, exp.Literal) and not literal.is_string and not literal.name.strip("0.")
        apart = not any(stands_for(c, "value") == number for c in literal.find_all(exp.Column))
        return apart and not (zero and isinstance(parent, (exp.Mul, exp.Div)))
    if isinstance(parent, (exp.DPipe, exp.Concat)):
        return True
    if isinstance(parent, exp.If):
        case = parent.parent
        return isinstance(case, exp.Case) and _differs(case)
    if isinstance(parent, exp.Case):
        return _differs(parent)
    return False


def _differs(case: exp.Case) -> bool:
    """Whether a CASE has two results that are not the same."""
    results = [branch.args["true"] for branch in case.args["ifs"]]
    if case.args.get("default") is not None:
        results.append(case.args["default"])
    return len({result.sql() for result in results}) > 1 or len(results) == len(case.args["ifs"])
