"""What a SELECT asks of its rows: outputs, over streams as any SELECT has them, and aggregates of them.

Names of outputs and of aggregates stand in the expressions that are shown (``parts.Done``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import expressions as exp

from streambound.query.expressions import blockers
from streambound.query.expressions.aggregates import (
    Called,
    owners,
    polynomial,
)
from streambound.query.operators import (
    KEYS,
    Aggregate,
    AggregateKind,
    Polynomial,
)
from streambound.query.parse.inlining.names import Names
from streambound.query.parse.text.parts import output
from streambound.query.scope import is_word, location_of

# What they make of a polynomial follows from its terms.
_OF_POLYNOMIALS = (
    AggregateKind.COUNT,
    AggregateKind.SUM,
    AggregateKind.MEAN,
    AggregateKind.LEAST,
    AggregateKind.GREATEST,
)


@dataclass
class SelectOutputs:
    """The outputs that a SELECT asks of its rows, each once, and what it makes of them."""

    names: Names
    outputs: list[exp.Expr] = field(default_factory=list)
    # What an aggregate reads that is over several tuples, over outputs.
    over: dict[Aggregate, exp.Expr] = field(default_factory=dict)
    # What rows are partitioned by that is over several tuples, over outputs.
    by: list[exp.Expr] = field(default_factory=list)
    _positions: dict[str, int] = field(default_factory=dict)

    def output(self, node: exp.Expr) -> int:
        """The position of an expression among the outputs."""
        key = self.names.canonical(node)
        if key not in self._positions:
            self._positions[key] = len(self.outputs)
            self.outputs.append(node)
        return self._positions[key]

    def in_outputs(self, node: exp.Expr) -> exp.Expr:
        """An expression with outputs for its columns."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if not is_word(column):
                column.replace(self._in_outputs(column))
        resolved: exp.Expr = root.this
        return resolved

    def _in_outputs(self, column: exp.Column) -> exp.Expr:
        """A column as an output; one that a sub-query computed of several tuples as what it is of theirs."""
        bases = list(self.names.bases(column))
        if bases == [column]:
            return output(self.output(column))
        root = exp.Paren(this=self.names.computed(column).copy())
        own = [part for part in root.find_all(exp.Column) if not is_word(part)]
        for part, base in zip(own, bases, strict=True):
            part.replace(output(self.output(base)))
        return root

    def spread(self, node: exp.Expr, different: bool = True) -> tuple[int, ...]:
        """The positions of an expression; of one over several tuples those of its columns.

        Where ``different`` values of it are told apart, it may be of no times: rows of one value may differ
        in these for ever, and so they do not say when there are no more of it.
        """
        if len(owners(node, self.names.owner)) <= 1:
            return (self.output(node),)
        columns = [column for column in node.find_all(exp.Column) if not is_word(column)]
        if different and any(map(self.names.of_time, columns)) and not self._latest(node):
            self.names.inliner.refuse("a key over timestamps of several streams", node)
        self.names.inliner.spread.append(node)
        outputs = []
        for column in columns:
            for made in self.names.bases(column):
                made.meta["within"] = True
                outputs.append(self.output(made))
        return tuple(dict.fromkeys(outputs))

    def partition(self, keys: Sequence[exp.Expr]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions of what rows are partitioned by; and its own, if some is computed: see ``Over``."""
        spread = self.names.inliner.spread
        positions, own = list[int](), list[int]()
        for key in keys:
            before = len(spread)
            some = self.spread(key)
            positions += some
            if len(spread) > before:
                del spread[before:]
                own.append(KEYS + len(self.by))
                self.by.append(self.in_outputs(key))
            else:
                own.append(some[0])
        return tuple(positions), tuple(own) if any(n >= KEYS for n in own) else ()

    def _latest(self, node: exp.Expr) -> bool:
        """Whether an expression is the latest of several timestamps: no row is later than it."""
        return isinstance(node, exp.Greatest) and all(
            map(self.names.is_stamp, (node.this, *node.expressions))
        )

    def aggregate(self, called: Called) -> Aggregate:
        """An aggregate over positions."""
        sql, spread = self.names.inliner.text, self.names.inliner.spread
        words, location, before = blockers.words(called.node, sql), location_of(called.node, sql), len(spread)
        summed = self._summed(called)
        if summed is not None:
            read = tuple(dict.fromkeys(n for _, positions in summed for n in positions))
        else:
            read = tuple(dict.fromkeys(n for a in called.arguments for n in self.spread(a, called.distinct)))
        extreme = called.kind in (AggregateKind.LEAST, AggregateKind.GREATEST)
        if extreme and not read and called.by is None:
            # Of a constant: the same in every group.
            return Aggregate(AggregateKind.ANY, words, location=location, function="a constant")
        by = None if called.by is None else self.output(called.by)
        made = Aggregate(
            called.kind,
            words,
            # The row with the least or greatest value: the other columns of it are free.
            (by,) if extreme and by is not None else read,
            summed,
            called.distinct,
            by,
            location,
            called.function,
            read[0] if by is not None and len(read) == 1 else None,
        )
        if summed is None and len(called.arguments) == 1:
            (given,) = called.arguments
            if len(owners(given, self.names.owner)) > 1:
                made = made if by is None else replace(made, further=read)
                self.over[made] = self.in_outputs(given)
                # It is computed of each row.
                del spread[before:]
        return made

    def _summed(self, called: Called) -> Polynomial | None:
        """What is added up or compared, as a polynomial over positions; None if it is none."""
        if called.kind not in _OF_POLYNOMIALS or called.distinct or called.by is not None:
            return None
        if len(called.arguments) != 1:
            return None
        terms = polynomial(called.arguments[0], self.names.owner)
        return None if terms is None else tuple((by, tuple(map(self.output, own))) for by, own in terms)
