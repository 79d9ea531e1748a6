"""Expressions of a SELECT in terms of the streams of its parts: names replaced by what they stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.query.dialects.grammar import span_of
from streambound.query.parse.text.parts import (
    Part,
    at_location,
    stands_for,
)
from streambound.query.scope import is_word
from streambound.query.windows import END, START, edge_called

if TYPE_CHECKING:
    from streambound.query.parse.inlining.names import Names


@dataclass
class Substitution:
    """Expressions of a SELECT in terms of the streams of its parts."""

    scope: Names
    parts: list[Part]
    # Outputs of the same SELECT that have been named before.
    earlier: dict[str, exp.Expr] = field(default_factory=dict)

    def of(self, node: exp.Expr) -> exp.Expr:
        """A copy of an expression without names of views, its windows as functions of a timestamp."""
        root = exp.Paren(this=node.copy())
        for call in list(root.find_all(exp.Anonymous)):
            if str(call.this).upper() == "DATE_DIFF_WITHIN" and len(call.expressions) == 1:
                # Timeplus: of the timestamps of both sides.
                for source in (self.scope.sources[0], self.scope.sources[-1]):
                    call.append("expressions", self.scope.stamp_named(source, call))
            whole = call.parent if isinstance(call.parent, exp.Dot) else call
            if (edge := edge_called(whole)) is not None and call.find_ancestor(exp.Query) is None:
                window, end = edge
                whole.replace(window.value(end, whole, window.stamp or self.scope.stamp(call)))
        for column in list(root.find_all(exp.Column)):
            if column.find_ancestor(exp.Query) is not None or isinstance(column.this, exp.Star):
                continue
            column.replace(self._value(column))
        made: exp.Expr = root.this
        made.pop()
        if node.meta.get("within"):
            made.meta["within"] = True
        return made

    def names(self) -> frozenset[str]:
        """The names of the streams here and around, in lower case."""
        around = frozenset() if self.scope.outer is None else self.scope.outer.names()
        tables = (table for part in self.parts for table in part.tables)
        return around | {table.args["alias"].name.lower() for table in tables}

    def _value(self, column: exp.Column) -> exp.Expr:
        outer = self.scope.outer
        if outer is not None and not self.scope.knows(column) and outer.knows(column):
            return outer._value(column)
        if (window := self._of_window(column)) is not None:
            return window
        at = self.scope.resolve(column)
        if at is not None:
            return at_location(self.parts[at[0]].columns[at[1]].value, column)
        key = self.scope.inliner.key(column.this)
        if not column.args.get("table") and key in self.earlier:
            return at_location(self.earlier[key], column)
        if (inner := self._within(column)) is not None:
            return inner
        if is_word(column):
            return column
        if column.find_ancestor(exp.DateDiff) and (stamp := self.scope.stamp_of(key, self.parts)) is not None:
            return at_location(stamp, column)
        raise self.scope.unknown(column)

    def _within(self, column: exp.Column) -> exp.Expr | None:
        """``doc.ip`` of a column ``doc``: what lies within its value."""
        owner = column.args.get("table")
        if owner is None or any(source.key.lower() == owner.name.lower() for source in self.scope.sources):
            # The name of a table of elements is that of an element too.
            whole = exp.Column(this=(owner or column.this).copy())
            if owner is None or not self.scope.is_element(owner):
                return None
        else:
            whole = exp.Column(this=owner.copy(), table=column.args.get("db"))
        at = self.scope.resolve(whole) if self.scope.knows(whole) else None
        if at is None:
            return None
        value = self.parts[at[0]].columns[at[1]].value
        if isinstance(value, exp.Null):
            return value.copy()
        made = exp.Dot(this=at_location(value, column), expression=column.this.copy())
        if (span := span_of(column)) is not None:
            made.meta["span"] = span
        return made

    def knows(self, column: exp.Column) -> bool:
        """Whether a name is that of a column in FROM, here or around."""
        outer = self.scope.outer
        return self.scope.knows(column) or (outer is not None and outer.knows(column))

    def _of_window(self, column: exp.Column) -> exp.Expr | None:
        """``w.start`` of a column ``w`` that is a window."""
        owner = column.args.get("table")
        if owner is None or column.name.lower() not in ("start", "end", "window_start", "window_end"):
            return None
        if any(source.key.lower() == owner.name.lower() for source in self.scope.sources):
            return None
        whole = exp.Column(this=owner.copy())
        if column.args.get("db"):
            whole.set("table", column.args["db"].copy())
        at = self.scope.resolve(whole) if self.scope.knows(whole) else None
        if at is None:
            return None
        value = self.parts[at[0]].columns[at[1]].value
        if isinstance(value, exp.Anonymous) and str(value.this) in (START, END):
            made = at_location(value, column)
            made.set("this", END if column.name.lower() in ("end", "window_end") else START)
            return made
        direct = isinstance(value, exp.Null) or stands_for(value, "value") is not None
        return at_location(value, column) if direct or self.scope.is_window(value) else None
