"""What only the user's dialect means, written as Spark SQL writes it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import expressions as exp

from streambound.query.column_types import Family, Type
from streambound.query.computing.json import is_path, spark_json
from streambound.query.computing.patterns import always_matched
from streambound.query.computing.typed import NotComputed, is_count
from streambound.query.dialects.grammar import FROM_ZERO, JOINS_TEXTS, NULL_UNMATCHED, OF_UTC

INTEGER_TYPES = (exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT)

PART_CALLS: dict[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "dayofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.Week: "week",
    exp.WeekOfYear: "week",
}

# What makes a text of texts.
_OF_TEXTS = (
    *(exp.Substring, exp.Trim, exp.Lower, exp.Upper, exp.Concat, exp.DPipe, exp.Replace, exp.Reverse),
    *(exp.Left, exp.Right, exp.SplitPart, exp.Pad, exp.RegexpExtract, exp.RegexpReplace),
)
_SPLIT = (exp.Split, exp.RegexpSplit)


def spark_form(node: exp.Expr, kinds: Callable[[str], Type | None]) -> exp.Expr:
    """The same with what only the user's dialect means written as Spark writes it.

    Args:
        kinds: the type of a column by its name; None where it is not known.

    Raises:
        NotComputed: Spark has nothing that means the same.
    """
    return _SparkForm(kinds).of(node)


class _SparkForm:
    def __init__(self, kinds: Callable[[str], Type | None]) -> None:
        self._kinds = kinds

    def of(self, part: exp.Expr) -> exp.Expr:
        if (path := spark_json(part)) is not None:
            return path
        self._refuse(part)
        rewritten = self._rewritten(part)
        return self._copied(part) if rewritten is None else rewritten

    def _refuse(self, part: exp.Expr) -> None:
        zone = part.args.get("zone")
        if isinstance(part, (exp.TimestampTrunc, exp.DateTrunc)) and zone is not None and zone.name != "UTC":
            # Spark has no place for it.
            raise NotComputed(part)
        if isinstance(part, exp.AtTimeZone) and OF_UTC not in part.meta:
            # Of a timestamp without a zone it is the other way round.
            raise NotComputed(part)
        if type(part) is exp.Cast and part.to.this in INTEGER_TYPES and not self._whole(part.this):
            # Some dialects round where Spark cuts off.
            inner = part.this
            while isinstance(inner, exp.Paren):
                inner = inner.this
            kind = self._kinds(inner.name) if isinstance(inner, exp.Column) else None
            if not self._text(inner) and (kind is None or kind.family is Family.NUMBER):
                raise NotComputed(part)
        if isinstance(part, exp.RegexpReplace) and (
            part.args.get("single_replace") or part.args.get("modifiers")
        ):
            raise NotComputed(part)

    def _rewritten(self, part: exp.Expr) -> exp.Expr | None:
        """What Spark writes otherwise; None where only what is within it may differ."""
        if isinstance(part, exp.Add) and self._text(part):
            return exp.DPipe(this=self._joined(part.this), expression=self._joined(part.expression))
        if isinstance(part, exp.Bracket) and isinstance(part.this, exp.Split):
            inner = exp.RegexpSplit(this=self.of(part.this.this), expression=self.of(part.this.expression))
            return exp.Bracket(this=inner, expressions=[self.of(position) for position in part.expressions])
        if isinstance(part, exp.RegexpExtract):
            return self._extracted(part)
        if isinstance(part, (exp.Hex, exp.LowerHex)) and isinstance(part.this, exp.MD5Digest):
            digest = exp.MD5(this=self.of(part.this.this))
            return digest if isinstance(part, exp.LowerHex) else exp.Upper(this=digest)
        if isinstance(part, exp.Div) and part.args.get("typed"):
            if self._whole(part.this) and self._whole(part.expression):
                left, right = (_bracketed(self.of(side)) for side in (part.this, part.expression))
                return exp.IntDiv(this=left, expression=right)
            return self._copied(exp.Div(this=part.this, expression=part.expression))
        return None

    def _copied(self, part: exp.Expr) -> exp.Expr:
        made = part.copy()
        if part.meta.get(FROM_ZERO):
            made.meta.pop(FROM_ZERO)
            return exp.Paren(this=exp.Sub(this=self.of(made), expression=exp.Literal.number(1)))
        for name, given in part.args.items():
            if isinstance(given, exp.Expr):
                made.set(name, self.of(given))
            elif isinstance(given, list):
                made.set(name, [self.of(item) if isinstance(item, exp.Expr) else item for item in given])
        return made

    def _extracted(self, part: exp.RegexpExtract) -> exp.Expr:
        """Which group is meant without one differs; some give NULL where there is no match."""
        group = part.args.get("group")
        if group is None or any(part.args.get(name) for name in ("position", "occurrence", "parameters")):
            raise NotComputed(part)
        value, pattern = self.of(part.this), self.of(part.expression)
        made = exp.RegexpExtract(this=value, expression=pattern, group=group.copy())
        if NULL_UNMATCHED not in part.meta:
            return made
        if not is_count(group) or not always_matched(pattern.name, int(group.name)):
            # A group without a match of its own would be NULL as well.
            raise NotComputed(part)
        matched = exp.RegexpLike(this=value.copy(), expression=pattern.copy())
        return exp.Case(ifs=[exp.If(this=matched, true=made)])

    def _joined(self, part: exp.Expr) -> exp.Expr:
        """A text in a row of others; what is a literal, or made of others so, is never NULL."""
        made = self.of(part)
        if isinstance(part, (exp.Add, exp.Literal)):
            return made
        return exp.Coalesce(this=made, expressions=[exp.Literal.string("null")])

    def _whole(self, part: exp.Expr) -> bool:
        """Whether it is a whole number."""
        while isinstance(part, (exp.Paren, exp.Neg)):
            part = part.this
        if isinstance(part, exp.Column):
            kind = self._kinds(part.name)
            return kind is not None and kind.family is Family.NUMBER and kind.resolution == 1
        if isinstance(part, exp.Literal):
            return not part.is_string and part.name.isdigit()
        if isinstance(part, exp.Cast):
            return part.to.this in INTEGER_TYPES
        if isinstance(part, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
            return self._whole(part.this) and self._whole(part.expression)
        if isinstance(part, exp.Div):
            typed = bool(part.args.get("typed"))
            return typed and self._whole(part.this) and self._whole(part.expression)
        if isinstance(part, exp.Coalesce):
            return all(map(self._whole, (part.this, *part.expressions)))
        if isinstance(part, (exp.Case, exp.If)):
            branches = [branch.args["true"] for branch in part.args.get("ifs") or [part]]
            otherwise = part.args.get("default") or part.args.get("false")
            return all(map(self._whole, [*branches, *([otherwise] if otherwise is not None else [])]))
        special = isinstance(part, (exp.IntDiv, exp.Extract, exp.Length, exp.StrPosition, exp.DateDiff))
        return special or type(part) in PART_CALLS or isinstance(part, exp.TimestampDiff)

    def _text(self, part: exp.Expr) -> bool:
        """Whether it is a text."""
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, exp.Column):
            kind = self._kinds(part.name)
            return kind is not None and kind.family is Family.STRING
        if isinstance(part, exp.Cast):
            return part.to.this in exp.DataType.TEXT_TYPES
        if isinstance(part, exp.Add):
            return JOINS_TEXTS in part.meta and self._text(part.this) and self._text(part.expression)
        if isinstance(part, exp.Bracket):
            return isinstance(part.this, _SPLIT)
        literal = isinstance(part, exp.Literal) and part.is_string
        return isinstance(part, _OF_TEXTS) or literal or is_path(part)


def _bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node
