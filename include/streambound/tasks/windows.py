"""Queries whose matches lie within a window of time: partitions are joined as wholes, and at their edges.

Where every stream of a query precedes every other up to an offset, all streams are one composite (see
``plan.clock``). No table is kept then, only tuples as they came, for as long as a later one may match
them. Of a partition a task computes all matches inside it, its *head*, the tuples that may match earlier
ones, and its *tail*, those that may match later ones. The tuples that are held meet only the head. Head and
tail are as long as the window, whatever the partition. The parts of a UNION go the same way together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
from sqlglot import exp

from streambound.plan.model import Plan, StreamSynopsis
from streambound.query.column_types import Family
from streambound.query.model import Attribute, Op, Query
from streambound.query.ring import Ring
from streambound.query.statement import Statement
from streambound.tasks import embedded_engine, emit, encoded_sql
from streambound.tasks.clauses import Clauses
from streambound.tasks.plans import PartPlan, StatementPlan
from streambound.tasks.statements import COUNT, PART, TUPLES

# Columns beside a stream's own; no catalog uses such names.
BUFFERED, BUCKET, WEIGHT = "streambound held", "streambound bucket", "streambound weight"
# Moments and offsets within this of zero can be added in 64 bits.
FARTHEST = 2**61
# No moment of a tuple, and earlier than all: the number of rows that were answered before.
EARLIER = -(2**62)


@dataclass(frozen=True)
class WindowPart:
    """A part of a statement whose matches lie within a window."""

    label: str
    plan: Plan

    def table(self, alias: str) -> str:
        """The name of an occurrence's tuples."""
        return self.label + alias

    @cached_property
    def synopses(self) -> Mapping[str, StreamSynopsis]:
        """What counts of each occurrence."""
        return {synopsis.alias: synopsis for synopsis in self.plan.streams}

    @cached_property
    def tables(self) -> Mapping[str, str]:
        """The name of the tuples of every occurrence."""
        return {alias: self.table(alias) for alias in self.synopses}

    def stamp(self, alias: str) -> str:
        """The column of an occurrence's application timestamps."""
        return str(self.plan.query.occurrence(alias).relation.timestamp)

    def columns(self, alias: str) -> tuple[str, ...]:
        """What its tuples consist of: the columns that may matter to an answer, and the timestamp."""
        return tuple(dict.fromkeys((*(a.column for a in self.synopses[alias].carried), self.stamp(alias))))

    def schema(self, alias: str) -> pa.Schema:
        """The types of these columns in ordered form."""
        relation = self.plan.query.occurrence(alias).relation
        return pa.schema([(c, encoded_sql.arrow_type(relation.column(c).type)) for c in self.columns(alias)])

    def lag(self, alias: str) -> int:
        """How much later than the last tuple of the others one of this occurrence may come in a match."""
        partners = [partner for partner in self.synopses if partner != alias]
        return max((self.plan.clock.latest[alias, partner] for partner in partners), default=-1)


@dataclass(frozen=True)
class WindowPlan:
    """A statement of one block, all of whose parts lie within windows."""

    statement: Statement
    parts: tuple[WindowPart, ...]

    @property
    def ring(self) -> Ring:
        """What the weights of answer rows are."""
        return self.parts[0].plan.query.ring


def window_plan(plan: StatementPlan) -> WindowPlan | None:
    """How a statement is evaluated by windows; None where it has other parts."""
    parts = tuple(_parts(plan.parts))
    if not parts or len(parts) < len(plan.parts) or len({part.block for part in plan.parts}) > 1:
        return None
    made = WindowPlan(plan.statement, parts)
    kinds = [kind for _, kind in plan.statement.outputs]
    # Rows that were answered are compared as they are in each part.
    alike = all([kind for _, kind in part.plan.query.outputs] == kinds for part in parts)
    return made if alike or not made.ring.idempotent else None


def _parts(parts: Iterable[PartPlan]) -> Iterator[WindowPart]:
    for part in parts:
        plan = part.plan
        if plan.approximate or plan.ending is not None or not plan.timed or plan.empty or plan.query.statics:
            continue
        if len(plan.clock.composites) == 1 and max(map(abs, plan.clock.latest.values())) < FARTHEST:
            yield WindowPart(part.label, plan)


# Statements.


def tuples_statement(part: WindowPart, alias: str) -> embedded_engine.EngineQuery:
    """The tuples that count of one occurrence: the number of the partition, and columns in ordered form."""
    build = Clauses(part.plan.query, f"{part.table(alias)} ", {alias: TUPLES})
    columns = [encoded_sql.column(name, TUPLES) for name in (PART, *part.columns(alias))]
    chosen = exp.select(*columns).from_(encoded_sql.table(TUPLES))
    conditions = build.accepted(part.synopses[alias])
    chosen = chosen.where(*conditions) if conditions else chosen
    return embedded_engine.EngineQuery(chosen.sql(dialect=encoded_sql.DIALECT), tuple(build.lookups))


def inside(part: WindowPart) -> exp.Select:
    """The matches within each partition: its number, a column a projected attribute, how many there are."""
    first, *rest = part.tables.values()
    own = encoded_sql.column(PART, first)
    same = [exp.EQ(this=own.copy(), expression=encoded_sql.column(PART, name)) for name in rest]
    return _matches_select(part, own, exp.Count(this=exp.Star()), same)


def across(part: WindowPart) -> exp.Select:
    """The matches of tuples that are held with tuples of a partition's head; its number is 0."""
    columns = [encoded_sql.column(BUFFERED, name) for name in part.tables.values()]
    mixed = [exp.or_(*columns), exp.not_(exp.paren(exp.and_(*(column.copy() for column in columns))))]
    return _matches_select(part, exp.Literal.number(0), _weight(part), mixed)


def completed(part: WindowPart) -> exp.Select:
    """The matches of weighted tuples, each with the moment at which it is complete for its number."""
    moments = [encoded_sql.column(part.stamp(alias), name) for alias, name in part.tables.items()]
    last = exp.Greatest(this=moments[0], expressions=moments[1:]) if len(moments) > 1 else moments[0]
    return _matches_select(part, last, _weight(part), ())


def _weight(part: WindowPart) -> exp.Expr:
    """How many matches some weighted tuples stand for."""
    numbers: list[exp.Expr] = [
        exp.cast(encoded_sql.column(WEIGHT, name), "HUGEINT") for name in part.tables.values()
    ]
    return exp.Sum(this=reduce(lambda left, right: exp.Mul(this=left, expression=right), numbers))


def _matches_select(
    part: WindowPart, number: exp.Expr, count: exp.Expr, conditions: Iterable[exp.Expr]
) -> exp.Select:
    query = part.plan.query
    build = Clauses(query, "", part.tables)
    columns = [named(f"c{i}", build.column(a)) for i, a in enumerate(query.projected)]
    many = exp.Literal.number(1) if query.ring.idempotent else count
    chosen = exp.select(named("p", number), *columns, named(COUNT, many))
    first, *rest = part.tables
    chosen = chosen.from_(encoded_sql.table(part.table(first)))
    buckets = _buckets(part)
    for name in rest:
        chosen = chosen.join(_in_buckets(part, first, name, buckets), join_type="CROSS")
    tests = [*map(build.atom, part.plan.joins), *_time_tests(part), *conditions]
    tests += [_same_bucket(part, first, name, buckets) for name in rest if buckets]
    chosen = chosen.where(*tests) if tests else chosen
    return chosen.group_by(*(exp.Literal.number(position + 1) for position in range(len(columns) + 1)))


def _time_tests(part: WindowPart) -> Iterator[exp.Expr]:
    for atom in part.plan.clock.conditions:
        left, right = (
            encoded_sql.column(a.column, part.table(a.occurrence)) for a in (atom.left, atom.right)
        )
        yield encoded_sql.comparison(atom.op, left, _later(right, atom.offset))


def _later(moment: exp.Expr, by: int) -> exp.Expr:
    return exp.Add(this=moment, expression=exp.Literal.number(by)) if by else moment


def _buckets(part: WindowPart) -> int:
    """The length of the stretches of time by which tuples are joined; 0 if equal values tell more apart.

    An engine joins by equality, and then looks at all pairs. Of columns without a declared domain few tuples
    have equal values; else only tuples of a stretch of time, as long as the window, are looked at.
    """
    query, latest = part.plan.query, part.plan.clock.latest
    equated = [a for atom in part.plan.joins if atom.op is Op.EQ for a in atom.attributes]
    if len(part.tables) == 1 or any(
        query.column(a).domain is None and _many_valued(query, a) for a in equated
    ):
        return 0
    first, *rest = part.tables
    return max(1, *(latest[name, first] + latest[first, name] for name in rest))


def _many_valued(query: Query, attribute: Attribute) -> bool:
    return query.column(attribute).type.family is not Family.BOOLEAN


def _in_buckets(part: WindowPart, first: str, second: str, length: int) -> exp.Expr:
    """The tuples of an occurrence, once for each stretch in which those of the first one may lie."""
    name, latest = part.table(second), part.plan.clock.latest
    if not length:
        return encoded_sql.table(name)
    edges = (
        exp.IntDiv(
            this=exp.paren(_later(encoded_sql.column(part.stamp(second), name), by)),
            expression=exp.Literal.number(length),
        )
        for by in (-latest[second, first], latest[first, second])
    )
    low, high = edges
    stretch = exp.Anonymous(this="RANGE", expressions=[low, _later(high, 1)])
    anonymous = exp.Anonymous(this="UNNEST", expressions=[stretch])
    chosen = exp.select(exp.Star(), named(BUCKET, anonymous)).from_(encoded_sql.table(name))
    return exp.alias_(chosen.subquery(), name, table=True, quoted=True)


def _same_bucket(part: WindowPart, first: str, second: str, length: int) -> exp.Expr:
    own = exp.IntDiv(
        this=encoded_sql.column(part.stamp(first), part.table(first)), expression=exp.Literal.number(length)
    )
    return exp.EQ(this=own, expression=encoded_sql.column(BUCKET, part.table(second)))


def first_answered(plan: WindowPlan, source: exp.Expr) -> exp.Select:
    """Of rows like those of ``added_up`` each once, with the least number; none that has EARLIER as one."""
    names = emit.answer_schema(plan.statement.outputs).names
    columns = [exp.column(name, quoted=True) for name in names[:-1]]
    first = exp.Min(this=exp.column(PART, quoted=True))
    count = exp.cast(exp.Max(this=exp.column(names[-1], quoted=True)), f"DECIMAL({encoded_sql.DIGITS}, 0)")
    chosen = exp.select(named(PART, first), *columns, named(names[-1], count)).from_(source)
    chosen = chosen.group_by(*(exp.Literal.number(position + 2) for position in range(len(columns))))
    return chosen.having(exp.GT(this=first.copy(), expression=exp.Literal.number(EARLIER)))


def added_up(plan: WindowPlan, source: exp.Expr) -> exp.Select:
    """Rows (partition, answer columns, count) in canonical order, equal ones as one."""
    names = [PART, *emit.answer_schema(plan.statement.outputs).names]
    number = exp.column(names[-1], quoted=True)
    total = exp.Max(this=number) if plan.ring.idempotent else exp.Sum(this=number)
    columns = [exp.column(name, quoted=True) for name in names[:-1]]
    ordinals = [exp.Literal.number(ordinal + 1) for ordinal in range(len(columns))]
    chosen = exp.select(*columns, named(names[-1], exp.cast(total, f"DECIMAL({encoded_sql.DIGITS}, 0)")))
    order = [exp.Ordered(this=ordinal.copy(), nulls_first=True) for ordinal in ordinals]
    return chosen.from_(source).group_by(*ordinals).order_by(*order)


def named(name: str, node: exp.Expr) -> exp.Expr:
    """An expression as a column of a SELECT."""
    return exp.alias_(node, name, quoted=True)
