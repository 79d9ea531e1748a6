"""Conditions to formulas: WHERE and ON in negation normal form, oriented and type-checked."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import expressions as exp

from streambound.errors import QueryError, UnsupportedError, alike, meant
from streambound.query.column_types import Family
from streambound.query.dialects.grammar import span_of
from streambound.query.expressions.derived import Expressions
from streambound.query.expressions.exactness import COMPARABLE, beside, dense, exactly, in_doubles
from streambound.query.expressions.linear import Sum, expression, linear
from streambound.query.formula import ALWAYS, Formula, all_of, any_of, false
from streambound.query.model import (
    Attribute,
    Constant,
    Filter,
    Join,
    Membership,
    Never,
    NullTest,
    Op,
    Term,
)
from streambound.query.scope import BOOLEAN, DOUBLE, describe, keyword_meant, location_of
from streambound.query.syntax import KEYWORDS, not_understood

_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.GTE: Op.GE,
    exp.GT: Op.GT,
}
# Comparisons with a constant of what is early: at most that.
_EARLY = (Op.LT, Op.LE, Op.EQ)
_NAMES: dict[type[exp.Expr], str] = {
    exp.Like: "LIKE",
    exp.NullSafeEQ: "<=> (IS NOT DISTINCT FROM)",
    exp.Exists: "EXISTS",
    exp.Between: "BETWEEN SYMMETRIC",
}
ACCEPTED = "comparisons (< <= = <> != >= >), BETWEEN, IN and IS [NOT] NULL, joined by AND, OR and NOT"
_UNITS = (
    (86_400_000_000, "DAY"),
    (3_600_000_000, "HOUR"),
    (60_000_000, "MINUTE"),
    (1_000_000, "SECOND"),
    (1, "MICROSECOND"),
)


def formula(node: exp.Expr, scope: Expressions, positive: bool = True) -> Formula:
    """A condition, or its negation, with NOT pushed down to the comparisons.

    Raises:
        QueryError: the sides of a comparison do not compare.
        UnsupportedError: a condition outside the class, with its place.
    """
    while isinstance(node, (exp.Paren, exp.Not)):
        positive = positive is not isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, (exp.And, exp.Or)):
        join = all_of if isinstance(node, exp.And) is positive else any_of
        return join(formula(part, scope, positive) for part in operands(node))
    return _condition(node, scope, positive)


def operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a chain of one connective, from the left; a chain is no nesting."""
    pending, kind = [node], type(node)
    while pending:
        part = pending.pop()
        inner = part.unnest()
        if isinstance(inner, kind):
            pending.extend((inner.expression, inner.this))
        else:
            yield part


def _condition(node: exp.Expr, scope: Expressions, positive: bool) -> Formula:
    if type(node) in _OPS:
        op = _OPS[type(node)]
        return _comparison(op if positive else op.negated, node.this, node.expression, node, scope)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        ends = ((Op.GE, node.args["low"]), (Op.LE, node.args["high"]))
        join = all_of if positive else any_of
        return join(
            _comparison(op if positive else op.negated, node.this, end, node, scope) for op, end in ends
        )
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        return _membership(node, scope, positive)
    if isinstance(node, exp.Is):
        return _is(node, scope, positive)
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
        return _as_values_alike(node, scope, positive is isinstance(node, exp.NullSafeEQ))
    if isinstance(node, (exp.Boolean, exp.Null)):
        holds_always = isinstance(node, exp.Boolean) and bool(node.this) is positive
        return ALWAYS if holds_always else Never(node.sql(dialect="spark"), location_of(node, scope.sql))
    if isinstance(node, exp.Column) and scope.type_of(scope.attribute(node)).family is Family.BOOLEAN:
        return _truth(scope.attribute(node), positive, node, scope)
    if isinstance(node, exp.Column) and scope.owner(scope.attribute(node)).relation.fed is not None:
        # What a sub-query computes has a type that may not be known here.
        computed, value = scope.holds(Op.EQ, node, exp.true())
        return _truth(computed, positive is value, node, scope)
    if isinstance(node, exp.Alias):
        raise _two_words(node, scope)
    if (attribute := _predicate(node, scope)) is not None:
        return _truth(attribute, positive, node, scope)
    raise UnsupportedError(
        f"{_NAMES.get(type(node)) or describe(node, scope.sql)} is not supported yet",
        location=location_of(node, scope.sql),
        accepted=ACCEPTED,
        fix=keyword_meant(node),
    )


def _predicate(node: exp.Expr, scope: Expressions) -> Attribute | None:
    """A condition on one tuple that no comparison of columns says, as a boolean column; else None."""
    if isinstance(node, (exp.Column, exp.Literal, exp.Tuple)):
        return None
    if scope.kind(node) not in (BOOLEAN, None):
        return None
    attributes = scope.attributes(node)
    if len({a.occurrence for a in attributes}) != 1:
        return None
    attribute = scope.typed(node, Family.BOOLEAN)
    assert isinstance(attribute, Attribute)
    return attribute if scope.type_of(attribute).family is Family.BOOLEAN else None


def _two_words(node: exp.Alias, scope: Expressions) -> QueryError:
    """The error of a condition in parentheses that ends in two words: the second is read as its alias."""
    columns = [c for c in node.this.find_all(exp.Column) if not c.table]
    last = max(
        columns,
        key=lambda c: (location_of(c, scope.sql).line, location_of(c, scope.sql).column),
        default=None,
    )
    for word in (last, node.args["alias"]):
        if word is not None and (like := alike(word.name, KEYWORDS)):
            return not_understood(word.name, location_of(word, scope.sql), like[0])
    alias = node.args["alias"]
    return QueryError(
        f"syntax error: {alias.name} is not understood here",
        location=location_of(alias, scope.sql),
        accepted=ACCEPTED,
    )


def _truth(attribute: Attribute, value: bool, node: exp.Expr, scope: Expressions) -> Filter:
    constant = Constant(int(value), str(value).upper(), BOOLEAN)
    return Filter(attribute, Op.EQ, constant, location_of(node, scope.sql))


def _is(node: exp.Is, scope: Expressions, positive: bool) -> Formula:
    """``IS NULL``, and ``IS TRUE`` and ``IS FALSE`` of a boolean column."""
    term, location = scope.term(node.this), location_of(node, scope.sql)
    if isinstance(node.expression, exp.Null):
        if isinstance(term, Constant):
            return _decided((term.value is None) is positive, node, scope)
        if not scope.nullable(term):
            return _decided(not positive, node, scope)
        return NullTest(term, positive, location)
    if isinstance(node.expression, exp.Boolean) and isinstance(term, Attribute):
        wanted = bool(node.expression.this)
        if scope.type_of(term).family is Family.BOOLEAN:
            same = _truth(term, wanted is positive, node, scope)
            return (
                same
                if positive or not scope.nullable(term)
                else any_of((same, NullTest(term, True, location)))
            )
    if scope.computes(node.this) and (attribute := _predicate(node, scope)) is not None:
        return _truth(attribute, positive, node, scope)
    # IS NOT is read as NOT of IS, so the words are those of IS alone; the place is what comes after.
    raise UnsupportedError(
        f"{node.sql(dialect='spark')} is not supported yet",
        location=location
        if isinstance(node.expression, exp.Boolean)
        else location_of(node.expression, scope.sql),
        accepted="column IS [NOT] NULL",
        fix=meant(node.expression.name, ("NULL", "TRUE", "FALSE")),
    )


def _as_values_alike(node: exp.Binary, scope: Expressions, alike: bool) -> Formula:
    """IS [NOT] DISTINCT FROM: equal, or both NULL."""
    left, right = node.this, node.expression

    def null(side: exp.Expr) -> exp.Expr:
        return exp.Is(this=side.copy(), expression=exp.Null())

    both = exp.And(this=null(left), expression=null(right))
    plain: exp.Expr = exp.Or(this=exp.EQ(this=left.copy(), expression=right.copy()), expression=both)
    if not alike:
        right_null = exp.And(this=exp.Not(this=null(left)), expression=null(right))
        left_null = exp.And(this=null(left), expression=exp.Not(this=null(right)))
        unlike = exp.NEQ(this=left.copy(), expression=right.copy())
        plain = exp.Or(this=unlike, expression=exp.Or(this=right_null, expression=left_null))
    if (span := span_of(node)) is not None:
        for part in plain.walk():
            part.meta.setdefault("span", span)
    return formula(plain, scope)


def _decided(holds_always: bool, node: exp.Expr, scope: Expressions) -> Formula:
    return ALWAYS if holds_always else Never(node.sql(dialect="spark"), location_of(node, scope.sql))


def _comparison(op: Op, left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Expressions) -> Formula:
    location = location_of(whole, scope.sql)
    if scope.computes(left) or scope.computes(right):
        return _of_expressions(op, left, right, whole, scope)
    (first, before), (second, after) = scope.shifted(left), scope.shifted(right)
    if (promised := _by_promise(op, (first, before), (second, after), whole, scope)) is not None:
        return promised
    if before or after:
        return _shifted(op, (first, before), (second, after), whole, scope)
    if isinstance(first, Constant) and isinstance(second, Constant):
        return _folded(op, first, second, whole, scope)
    if isinstance(first, Constant):
        first, second, op, right = second, first, op.mirrored, left
    assert isinstance(first, Attribute)
    if isinstance(second, Constant):
        second = _beside(first, second, right, scope)
    if isinstance(second, Attribute) and scope.type_of(first).family is scope.type_of(second).family:
        first, second = _as_values(first, second, scope)
    _refuse_mismatch(first, second, whole, scope)
    if isinstance(second, Attribute):
        _refuse_inexact([first, second], whole, scope)
        return _between(Join(first, op, second, location), whole, scope)
    if second.value is None:
        return Never(whole.sql(dialect="spark"), location, (first,))
    return _with_promise(Filter(first, op, second, location), scope)


def _with_promise(condition: Filter, scope: Expressions) -> Formula:
    """A comparison of a column with a constant; where a second time is early, so is the timestamp: the stream
    ends."""
    stamp = scope.owner(condition.attribute).relation.timestamp
    if scope.column(condition.attribute).within is None or stamp is None or condition.op not in _EARLY:
        return condition
    op = Op.LE if condition.op is Op.EQ else condition.op
    return all_of(
        [
            condition,
            replace(condition, attribute=Attribute(condition.attribute.occurrence, stamp), op=op),
        ]
    )


def _as_values(first: Attribute, second: Attribute, scope: Expressions) -> tuple[Attribute, Attribute]:
    """Two columns to be compared: a timestamp beside what is no time as a column like any other."""
    times = [scope.is_timestamp(a) or scope.column(a).bucket is not None for a in (first, second)]
    if all(times) or not any(times) or not (scope.is_timestamp(first) or scope.is_timestamp(second)):
        return first, second
    return (scope.as_value(first), second) if times[0] else (first, scope.as_value(second))


def _of_expressions(op: Op, left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Expressions) -> Formula:
    """A comparison of expressions: within one tuple a filter, between two one of derived columns."""
    sides = tuple(scope.attributes(side) for side in (left, right))
    owners = dict.fromkeys(a.occurrence for side in sides for a in side)
    if not owners:
        (first, _), (second, _) = scope.shifted(_folded_number(left)), scope.shifted(_folded_number(right))
        assert isinstance(first, Constant) and isinstance(second, Constant)
        return _folded(op, first, second, whole, scope)
    kinds = [kind.family for side in (left, right) if (kind := scope.kind(side)) is not None]
    if len(kinds) == 2 and all(kind in (Family.NUMBER, Family.TIMESTAMP) for kind in kinds):
        summed = linear(left).plus(linear(right), -1)
        if (comparison := _of_sum(op, summed, list(owners), whole, scope)) is not None:
            return comparison
    if len(owners) == 1:
        return _within(op, left, right, whole, scope)
    if len(owners) > 2 or any(len({a.occurrence for a in side}) != 1 for side in sides):
        raise scope.refused(whole)
    family = kinds[0] if kinds else None
    first, second = scope.typed(left, family), scope.typed(right, family)
    assert isinstance(first, Attribute) and isinstance(second, Attribute)
    return _compared(op, first, second, whole, scope)


def _folded_number(node: exp.Expr) -> exp.Expr:
    """A sum of numbers alone as the number."""
    summed = linear(node)
    if summed.terms or summed.timed or summed.constant.denominator != 1:
        return node
    made = exp.Literal.number(abs(int(summed.constant)))
    return exp.Neg(this=made) if summed.constant < 0 else made


def _compared(op: Op, first: Attribute, second: Attribute, whole: exp.Expr, scope: Expressions) -> Formula:
    """A comparison of derived columns of two tuples."""
    first, second = _as_values(first, second, scope)
    if scope.type_of(first).family is not scope.type_of(second).family:
        left, right = (scope.type_of(a).family.value for a in (first, second))
        raise UnsupportedError(
            f"a comparison of {first} (a {left}) with {second} (a {right}) is not supported yet",
            location=location_of(whole, scope.sql),
        )
    return Join(first, op, second, location_of(whole, scope.sql))


def _within(op: Op, left: exp.Expr, right: exp.Expr, whole: exp.Expr, scope: Expressions) -> Formula:
    """A comparison within one tuple: with a constant a filter on a column, else a boolean column."""
    for node, bound, kind in ((left, right, op), (right, left, op.mirrored)):
        constant = scope.constant(_folded_number(bound))
        if constant is None or scope.attributes(bound):
            continue
        subject = scope.typed(node, None if constant.value is None else constant.type.family)
        assert isinstance(subject, Attribute)
        if constant.value is None:
            return Never(whole.sql(dialect="spark"), location_of(whole, scope.sql), (subject,))
        family = scope.type_of(subject).family
        moment = family in (Family.DATE, Family.TIMESTAMP) and constant.type.family is Family.STRING
        if family is constant.type.family or moment:
            made = _beside(subject, constant, bound, scope)
            return Filter(subject, kind, made, location_of(whole, scope.sql))
        break
    attribute, value = scope.holds(op, left, right)
    return _truth(attribute, value, whole, scope)


def _of_sum(op: Op, summed: Sum, owners: list[str], whole: exp.Expr, scope: Expressions) -> Formula | None:
    """``sum op 0`` over the columns of one tuple or two, sorted by tuple; None where that says no more."""
    location = location_of(whole, scope.sql)
    apart: dict[str, list[tuple[exp.Expr, Fraction]]] = {}
    if not all(factor for _, _, factor in summed.terms):
        # What cancels out may still be NULL.
        return None
    for _, node, factor in summed.terms:
        of = {a.occurrence for a in scope.attributes(node)}
        if len(of) != 1:
            return None
        apart.setdefault(of.pop(), []).append((node, factor))
    if len(apart) == 1:
        ((node, factor), *rest) = next(iter(apart.values()))
        column = scope.term(node) if isinstance(node, exp.Column) else None
        if rest or not isinstance(column, Attribute) or not _stepped(column, scope) or summed.timed:
            return None
        value = -summed.constant / factor
        kind = op if factor > 0 else op.mirrored
        exact = int(value) if value.denominator == 1 else value
        text = str(exact) if value.denominator == 1 else str(float(value))
        return Filter(column, kind, Constant(exact, text, scope.type_of(column)), location)
    if len(apart) != 2:
        return None
    left, right = (apart[owner] for owner in owners)
    if any(scope.is_timestamp(scope.term(n)) for n, _ in (*left, *right) if isinstance(n, exp.Column)):
        return None
    lead = left[0][1]
    alike = len(left) == len(right) == 1 and abs(lead) == abs(right[0][1])
    by = (1 / lead) if alike else Fraction(1 if lead > 0 else -1)
    kind = op if lead > 0 else op.mirrored
    left = [(node, factor * by) for node, factor in left]
    right = [(node, -factor * by) for node, factor in right]
    constant = -summed.constant * by
    first = scope.typed(expression(left, Fraction(0), False), Family.NUMBER)
    assert isinstance(first, Attribute)
    plain = scope.typed(expression(right, Fraction(0), False), Family.NUMBER)
    assert isinstance(plain, Attribute)
    if constant and not (
        constant.denominator == 1 and all(_stepped(a, scope) or summed.timed for a in (first, plain))
    ):
        moved = scope.typed(expression(right, constant, summed.timed), Family.NUMBER)
        assert isinstance(moved, Attribute)
        return _compared(kind, first, moved, whole, scope)
    join = _compared(kind, first, plain, whole, scope)
    assert isinstance(join, Join)
    offset = int(constant)
    return replace(join, offset=offset) if offset else join


def _stepped(attribute: Attribute, scope: Expressions) -> bool:
    """Whether a column has whole numbers: then sums are exact, whatever the processor."""
    kind = scope.type_of(attribute)
    return kind.family is Family.NUMBER and kind.resolution == 1


def _refuse_mismatch(first: Attribute, second: Term, whole: exp.Expr, scope: Expressions) -> None:
    left, right = scope.type_of(first), scope.type_of(second)
    location = location_of(whole, scope.sql)
    stamps = [term for term in (first, second) if scope.is_timestamp(term)]
    if stamps and isinstance(second, Attribute) and len(stamps) == 1:
        plain = second if stamps[0] == first else first
        relation = scope.owner(plain).relation
        # What a person forgot to say, most often.
        forgotten = relation.timestamp is None and scope.type_of(plain).family is Family.TIMESTAMP
        entry = f"declare {relation.name}: {{timestamp: {plain.column}}} in the catalog"
        raise UnsupportedError(
            f"{stamps[0]} is an application timestamp and is compared with an ordinary column",
            location=location,
            accepted="timestamps with timestamps",
            fix=entry if forgotten else None,
        )
    if left.family is not right.family:
        raise QueryError(
            f"{first} ({left.name}) cannot be compared with {second} ({right.name})",
            location=location,
            accepted=f"a {left.family.value}",
        )


def _beside(attribute: Attribute, constant: Constant, node: exp.Expr, scope: Expressions) -> Constant:
    """A constant as a value of the type of the attribute that it is compared with."""
    column = scope.column(attribute)
    if constant.type is not DOUBLE or column.type.family is not Family.NUMBER or dense(column):
        made = scope.coerce(constant, column.type, node)
        _refuse_inexact([attribute, made], node, scope)
        return made
    assert constant.value is not None
    if (value := beside(column, constant.value)) is None:
        raise QueryError(
            f"Spark SQL compares {attribute} with {constant.text} as doubles, and several values of a"
            f" {column.type.name} are one double",
            location=location_of(node, scope.sql),
            accepted="numbers without an exponent",
            fix="write the number without its exponent: then it is exact",
        )
    return Constant(value, constant.text, column.type)


def _refuse_inexact(terms: Sequence[Term], whole: exp.Expr, scope: Expressions) -> None:
    """Refuse numbers that Spark would round before it compares them with each other.

    Raises:
        QueryError: naming one of them, and what to declare it.
    """
    if any(isinstance(term, Attribute) and scope.owner(term).relation.fed is not None for term in terms):
        # Of what a sub-query computes the type is a guess.
        return
    columns = {term: term if isinstance(term, Constant) else scope.column(term) for term in terms}
    if exactly(*columns.values()):
        return
    location = location_of(whole, scope.sql)
    said = [str(t) if isinstance(t, Constant) else f"{t} ({scope.type_of(t).name})" for t in columns]
    if not any(map(dense, columns.values())):
        raise QueryError(
            f"Spark SQL rounds {' or '.join(said)} to compare them: together they have too many digits",
            location=location,
            accepted=COMPARABLE,
            fix="declare fewer digits in the stream catalog, or write a number with fewer",
        )
    term = next(t for t, kind in columns.items() if not in_doubles(kind))
    kind = columns[term].type.name
    raise QueryError(
        f"Spark SQL compares {' and '.join(said)} as doubles, and not every {kind} is one",
        location=location,
        accepted=COMPARABLE,
        fix=_fix(term, kind, scope),
    )


def _fix(term: Term, kind: str, scope: Expressions) -> str:
    if isinstance(term, Constant):
        return f"compare {term} apart, joined by OR"
    whose = f"{scope.owner(term).relation.name}.{term.column}"
    cast = f"declare {whose} double in the stream catalog: its files are then read as CAST(... AS DOUBLE)"
    within = f"declare {whose} int in the stream catalog if no value is beyond 2^53, or double"
    return within if kind == "bigint" else cast


def _shifted(
    op: Op, left: tuple[Term, int], right: tuple[Term, int], whole: exp.Expr, scope: Expressions
) -> Formula:
    """A comparison of application timestamps with offsets, the offset moved to the right."""
    (first, before), (second, after) = left, right
    if isinstance(first, Constant):
        first, second, op, before, after = second, first, op.mirrored, after, before
    if not isinstance(first, Attribute):
        raise UnsupportedError(
            "arithmetic on constants is not supported",
            location=location_of(whole, scope.sql),
            accepted=ACCEPTED,
        )
    offset = after - before
    if isinstance(second, Constant):
        moved = _beside(first, second, whole, scope)
        if moved.value is None:
            return Never(whole.sql(dialect="spark"), location_of(whole, scope.sql), (first,))
        shifted = Constant(moved.value + offset, moved.text, moved.type)
        _refuse_mismatch(first, shifted, whole, scope)
        return Filter(first, op, shifted, location_of(whole, scope.sql))
    _refuse_mismatch(first, second, whole, scope)
    length = str(abs(offset)) if scope.type_of(first).family is Family.NUMBER else _interval(abs(offset))
    text = f" {'+' if offset >= 0 else '-'} {length}" if offset else ""
    return _between(Join(first, op, second, location_of(whole, scope.sql), offset, text), whole, scope)


def _by_promise(
    op: Op, left: tuple[Term, int], right: tuple[Term, int], whole: exp.Expr, scope: Expressions
) -> Formula | None:
    """What follows of the timestamps from a comparison with another stream's second time; None elsewhere.

    ``b.ts <= a.expires`` says b.ts <= a.ts + n where a.expires is at most n after a.ts, ``b.ts >= a.expires``
    that b.ts >= a.ts, and ``b.expires <= a.expires`` what b.ts <= a.expires says. Rows for which more holds
    are decided within n, so verdicts are the same. Second times that are equal are columns that are, and
    their timestamps are near each other.
    """
    (attribute, before), (partner, after) = left, right
    if (
        not (isinstance(attribute, Attribute) and isinstance(partner, Attribute))
        or attribute.occurrence == partner.occurrence
    ):
        return None
    lengths = [scope.column(a).within for a in (attribute, partner)]
    stamps = [scope.owner(a).relation.timestamp for a in (attribute, partner)]
    timed = [
        scope.is_timestamp(a) or n is not None for a, n in zip((attribute, partner), lengths, strict=True)
    ]
    if lengths == [None, None] or not all(timed) or stamps[0] is None or stamps[1] is None:
        return None
    both = None not in lengths
    if op is Op.NE or (op is Op.EQ and not both):
        raise UnsupportedError(
            f"{attribute} is compared with {partner}, a second time, by {op.value}",
            location=location_of(whole, scope.sql),
            accepted="<, <=, > and >=, and BETWEEN: what is promised of it decides these",
        )
    first, second = (
        Attribute(attribute.occurrence, stamps[0]),
        Attribute(partner.occurrence, stamps[1]),
    )
    least, most = (before, after), [by + (n or 0) for by, n in zip((before, after), lengths, strict=True)]
    upward = _shifted(Op.LE, (first, least[0]), (second, most[1]), whole, scope)
    if op is Op.EQ:
        downward = _shifted(Op.GE, (first, most[0]), (second, least[1]), whole, scope)
        return all_of([Join(attribute, op, partner, location_of(whole, scope.sql)), upward, downward])
    early = op in (Op.LT, Op.LE)
    ends = ((first, least[0]), (second, most[1])) if early else ((first, most[0]), (second, least[1]))
    made = _shifted(op, *ends, whole, scope)
    assert isinstance(made, Join)
    below = ((attribute.occurrence, not early), (partner.occurrence, early))
    return replace(made, follows=tuple(b for b, n in zip(below, lengths, strict=True) if n is not None))


def _between(join: Join, whole: exp.Expr, scope: Expressions) -> Formula:
    """A comparison; one of a timestamp, which is never NULL, with itself is decided."""
    if join.left == join.right and scope.is_timestamp(join.left):
        return _decided(join.op.holds(0, join.offset), whole, scope)
    return join


def _interval(microseconds: int) -> str:
    """A length of time in the largest unit of which it is a whole number."""
    number, unit = next((microseconds // n, unit) for n, unit in _UNITS if microseconds % n == 0)
    return f"INTERVAL {number} {unit}{'' if number == 1 else 'S'}"


def _folded(op: Op, first: Constant, second: Constant, whole: exp.Expr, scope: Expressions) -> Formula:
    if first.value is None or second.value is None:
        return _decided(False, whole, scope)
    if first.type.family is not second.type.family:
        second = scope.coerce(second, first.type, whole)
    left, right = first.value, second.value
    if DOUBLE in (first.type, second.type):
        left, right = scope.as_double(first, whole).value, scope.as_double(second, whole).value
    return _decided(op.holds(left, right), whole, scope)


def _membership(node: exp.In, scope: Expressions, positive: bool) -> Formula:
    """``IN``: a list of constants, or else the comparisons that it abbreviates."""
    if scope.computes(node.this) and all(map(scope.constant, node.expressions)):
        given = [c for item in node.expressions if (c := scope.constant(item)) and c.value is not None]
        family = given[0].type.family if given else None
        subject = scope.typed(node.this, family)
        mixed = {constant.type.family for constant in given} - {scope.type_of(subject).family}
        if mixed and isinstance(subject, Attribute):
            attribute = _predicate(node, scope)
            assert attribute is not None
            return _truth(attribute, positive, node, scope)
    subject = scope.term(node.this)
    members = [scope.term(item) for item in node.expressions]
    if isinstance(subject, Constant) or not all(isinstance(term, Constant) for term in members):
        join, op = (any_of, Op.EQ) if positive else (all_of, Op.NE)
        # Spark compares in the type of all, which pairs alone would not show.
        _refuse_inexact([subject, *members], node, scope)
        return join(_comparison(op, node.this, item, node, scope) for item in node.expressions)
    location = location_of(node, scope.sql)
    constants = [term for term in members if isinstance(term, Constant)]
    if any(term.type is DOUBLE for term in constants):
        constants = [scope.as_double(term, node) for term in constants]
    values = tuple(
        _beside(subject, term, item, scope) for term, item in zip(constants, node.expressions, strict=True)
    )
    _refuse_mismatch(subject, values[0], node, scope)
    listed = tuple(dict.fromkeys(value for value in values if value.value is not None))
    if not listed or (not positive and any(v.value is None for v in values)):
        # NULL in a list makes NOT IN never true.
        return Never(node.sql(dialect="spark"), location, (subject,))
    member = Membership(subject, listed, location)
    if not positive:
        return all_of(false(member))
    if scope.column(subject).within is None:
        return member
    latest = max(listed, key=operator.attrgetter("value"))
    return all_of([member, _with_promise(Filter(subject, Op.LE, latest, location), scope)])
