"""``NOW()`` in a condition: the present time as a stream of one tuple a tick.

An answer at a time has the rows whose conditions hold then. So a condition that ends, ``ts > NOW() - INTERVAL
'1' HOUR``, is a join with a clock: of each row with the times from its own on for which it holds. Rows that
leave are taken back, which needs what they were. A condition that only begins, ``ts < NOW() - INTERVAL '1'
HOUR``, delays a row for a finite time and then holds for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import expressions as exp

from streambound.query.column_types import parse_type
from streambound.query.model import Column, Relation, RelationKind

# A name that no stream has, and as the user writes it.
CLOCK = Relation(
    "NOW()",
    RelationKind.STREAM,
    (Column("time", parse_type("timestamp"), nullable=False),),
    timestamp="time",
    max_rows_per_timestamp=1,
)
_CALLS = frozenset(
    ("NOW", "NOW64", "MZ_NOW", "PROCTIME", "GETDATE", "SYSDATE", "SYSUTCDATETIME", "CURRENT_TIMESTAMP")
)
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def is_clock(node: exp.Expr) -> bool:
    """Whether an expression is the present time."""
    if isinstance(node, (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)):
        return True
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in _CALLS and not node.expressions


def clock_column() -> exp.Column:
    """The time of the clock."""
    names = (exp.to_identifier(name, quoted=True) for name in ("time", CLOCK.name))
    return exp.column(*names)


def with_clock(condition: exp.Expr) -> exp.Expr:
    """A condition with the clock's column for the present time, whatever its type is said to be."""

    def of(node: exp.Expr) -> exp.Expr:
        inner = node
        while isinstance(inner, (exp.Cast, exp.Paren)):
            inner = inner.this
        if not is_clock(inner):
            return node
        made = clock_column()
        made.meta.update(node.meta)
        return made

    return condition.transform(of) if any(is_clock(node) for node in condition.walk()) else condition


def reads_clock(node: exp.Expr) -> bool:
    """Whether an expression has the clock's column."""
    return any(column.table == CLOCK.name for column in node.find_all(exp.Column))


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that one joins by AND, from the left."""
    pending = [condition]
    while pending:
        node = pending.pop()
        inner = node.unnest()
        if isinstance(inner, exp.And):
            pending += [inner.expression, inner.this]
        elif isinstance(inner, exp.Between) and reads_clock(inner) and not inner.args.get("symmetric"):
            yield exp.GTE(this=inner.this.copy(), expression=inner.args["low"].copy())
            yield exp.LTE(this=inner.this.copy(), expression=inner.args["high"].copy())
        else:
            yield inner if reads_clock(inner) else node


def bounds_clock(condition: exp.Expr, stamps: Iterable[tuple[str, str]] | None) -> bool:
    """Whether a condition compares the clock with one of the application timestamps (alias and column).

    Args:
        stamps: None: with any one column.
    """
    if type(condition) not in _ORDERS:
        return False
    columns = list(condition.find_all(exp.Column))
    bounding = {(column.table, column.name) for column in columns if column.table != CLOCK.name}
    return len(columns) == 2 and len(bounding) == 1 and (stamps is None or bounding <= set(stamps))


def clocked(
    tables: Sequence[exp.Table], conditions: Sequence[exp.Expr], stamps: Iterable[tuple[str, str]]
) -> tuple[tuple[exp.Table, ...], list[exp.Expr]]:
    """FROM and WHERE with the clock; the answer at a time is of what has arrived until then."""
    clock = exp.Table(this=exp.to_identifier(CLOCK.name, quoted=True))
    clock.set("alias", exp.TableAlias(this=exp.to_identifier(CLOCK.name, quoted=True)))
    arrived = [
        exp.GTE(
            this=clock_column(),
            expression=exp.column(
                exp.to_identifier(column, quoted=True), table=exp.to_identifier(alias, quoted=True)
            ),
        )
        for alias, column in stamps
    ]
    return (*tables, clock), [*conditions, *arrived]
