"""Sums: an expression as terms with factors and a constant, all exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.query.differences import microseconds

# A product of long numbers is no offset that a person writes.
MAX_BITS = 200


@dataclass(frozen=True)
class Sum:
    """``factor x term + ...  + constant``: the terms by their text, and whether the constant is of time."""

    terms: tuple[tuple[str, exp.Expr, Fraction], ...] = ()
    constant: Fraction = Fraction(0)
    timed: bool = False

    def plus(self, addend: Sum, sign: int = 1) -> Sum:
        """The sum of two, or their difference; what cancels out is left with the factor 0."""
        by_text = {text: (node, factor) for text, node, factor in self.terms}
        for text, node, factor in addend.terms:
            by_text[text] = (node, by_text.get(text, (node, Fraction(0)))[1] + sign * factor)
        terms = tuple((text, node, factor) for text, (node, factor) in by_text.items())
        return Sum(terms, self.constant + sign * addend.constant, self.timed or addend.timed)

    def times(self, factor: Fraction) -> Sum:
        """The sum with each factor multiplied."""
        terms = tuple((text, node, by * factor) for text, node, by in self.terms)
        return Sum(terms, self.constant * factor, self.timed)


def linear(node: exp.Expr) -> Sum:
    """An expression as a sum; of what is none, one term."""
    if isinstance(node, exp.Paren):
        return linear(node.this)
    if isinstance(node, exp.Literal) and not node.is_string and (number := _number(node)) is not None:
        return Sum(constant=number)
    if isinstance(node, exp.Interval) and (length := microseconds(node)) is not None:
        return Sum(constant=Fraction(length), timed=True)
    if isinstance(node, exp.Neg):
        return linear(node.this).times(Fraction(-1))
    if isinstance(node, (exp.Add, exp.Sub)):
        return linear(node.this).plus(linear(node.expression), 1 if isinstance(node, exp.Add) else -1)
    if isinstance(node, exp.Mul):
        for by_node, factor_node in ((node.this, node.expression), (node.expression, node.this)):
            by = linear(by_node)
            if not by.terms and not by.timed and by.constant:
                return linear(factor_node).times(by.constant)
    text = node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
    return Sum(((text, node, Fraction(1)),))


def _number(node: exp.Literal) -> Fraction | None:
    text = str(node.this)
    try:
        fraction = Fraction(text) if "e" not in text.lower() and len(text) < MAX_BITS else None
    except (ValueError, ZeroDivisionError):
        return None
    return fraction


def expression(terms: list[tuple[exp.Expr, Fraction]], constant: Fraction, timed: bool) -> exp.Expr:
    """Terms and a constant as one expression."""
    made: exp.Expr | None = None
    for node, factor in terms:
        part = exp.Paren(this=node.copy()) if isinstance(node, exp.Binary) else node.copy()
        if abs(factor) != 1:
            part = exp.Mul(this=_literal(abs(factor)), expression=part)
        if made is None:
            made = part if factor > 0 else exp.Neg(this=part)
        else:
            made = (exp.Add if factor > 0 else exp.Sub)(this=made, expression=part)
    assert made is not None
    if constant:
        step = _interval(abs(constant)) if timed else _literal(abs(constant))
        made = (exp.Add if constant > 0 else exp.Sub)(this=made, expression=step)
    return made


def _interval(length: Fraction) -> exp.Interval:
    return exp.Interval(this=exp.Literal.number(int(length)), unit=exp.var("MICROSECOND"))


def _literal(value: Fraction) -> exp.Expr:
    if value.denominator == 1:
        return exp.Literal.number(int(value))
    return exp.Paren(
        this=exp.Div(
            this=exp.Literal.number(value.numerator), expression=exp.Literal.number(value.denominator)
        )
    )
