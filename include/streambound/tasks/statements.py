"""A plan's cells as SQL: one grouped SELECT a cell, which gives what adding row by row would.

The statements read the table ``tuples``, whose columns are in ordered form (see ``encoded_sql``); one more
column numbers the partitions, so that many small ones cost no more than a large one. A cell's SELECT
yields, for each partition, its buckets: key classes, the pattern of a mixed extremum, the columns that
take part in ``<>``, a count, and the ends. Where there are ``<>`` columns only as many of
their values as can matter leave the engine. Constant lists too long for SQL text travel as lookup
tables. Nodes are sqlglot's, so another dialect can render them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from streambound.plan.flow import First, Partial
from streambound.plan.model import Cell, Extremum, Keep, Plan, StreamSynopsis
from streambound.query.model import Atom, Attribute, Query
from streambound.state.table import Layout
from streambound.tasks import encoded_sql
from streambound.tasks.clauses import Clauses, Lookup
from streambound.tasks.weights import measuring, weighing

TUPLES = "tuples"
# The number of the partition, in a form that no catalog uses for a column.
PART = "streambound part"
MOMENT = "t"
COUNT = "n"
END = "streambound end"

Named = tuple[str, exp.Expr]


@dataclass(frozen=True)
class TaskStatement:
    """A SELECT and the lookup tables that it names; ``weights`` columns are before the number of rows."""

    select: exp.Select
    lookups: tuple[Lookup, ...] = ()
    weights: int = 0

    def sql(self, dialect: str = encoded_sql.DIALECT) -> str:
        """The text in a dialect."""
        return self.select.sql(dialect=dialect)


def cell_statement(query: Query, synopsis: StreamSynopsis, cell: Cell, number: int) -> TaskStatement:
    """The summary of one cell: p, k* (key classes), m* (pattern), u* (``<>``), n (count), e* (ends)."""
    build = Clauses(query, f"{synopsis.alias} {number} ", {synopsis.alias: TUPLES})
    groups = [_part(), *((f"k{i}", build.key(key)) for i, key in enumerate(cell.keys))]
    for extremum in cell.extrema:
        if extremum.mixed:
            groups += [(f"m{i}", e) for i, e in enumerate(build.pattern(extremum))]
    groups += [(f"u{i}", build.outward(a)) for i, (a, _) in enumerate(cell.unequal)]
    conditions = [*build.accepted(synopsis), *(build.condition(c) for c in cell.conditions)]
    further, number_of = weighing(build, query.weighing(synopsis.alias))
    groups += further
    select = _grouped(groups, _ends(build, cell), number_of).from_(encoded_sql.table(TUPLES))
    for join in build.joins:
        select = select.join(join)
    select = select.where(*conditions) if conditions else select
    select = _few(select, cell, len(groups))
    if cell.unequal or not _ends(build, cell):
        # Which entries the others serve depends on the order in which they come, where several sets would do;
        # and columns are stored as they come.
        select = select.order_by(*(exp.Literal.number(i + 1) for i in range(len(groups))))
    return TaskStatement(select, tuple(build.lookups), len(further))


def _ends(build: Clauses, cell: Cell) -> list[Named]:
    positions = ((key.attribute, Keep.LEAST) for key in cell.keys if key.points is not None)
    ends: list[Named] = []
    for index, (end, keep) in enumerate((*Layout(cell).ends, *positions)):
        value = build.combined(end) if isinstance(end, Extremum) else build.outward(end)
        ends.append((f"e{index}", exp.Min(this=value) if keep is Keep.LEAST else exp.Max(this=value)))
    return ends


def _grouped(groups: Sequence[Named], ends: Sequence[Named], number: exp.Expr | None = None) -> exp.Select:
    select = _selected([*groups, (COUNT, number or exp.Count(this=exp.Star())), *ends])
    return select.group_by(*_ordinals(groups))


def _ordinals(columns: Sequence[Named]) -> list[exp.Expr]:
    return [exp.Literal.number(i + 1) for i in range(len(columns))]


def _selected(columns: list[Named]) -> exp.Select:
    return exp.select(*(exp.alias_(e, name, quoted=True) for name, e in columns))


def _part() -> Named:
    return "p", encoded_sql.column(PART, TUPLES)


def _few(select: exp.Select, cell: Cell, groups: int) -> exp.Select:
    """Of each ``<>`` column only the values that can matter: one more than it has comparisons.

    Under equal other columns, the best entries of that many values escape any choice of forbidden
    ones as well as all do. Of a mixed extremum no single end says which are best, and all are kept.
    """
    if any(extremum.mixed for extremum in cell.extrema):
        return select
    names = [str(e.alias) for e in select.expressions]
    for index, (_, count) in enumerate(cell.unequal):
        partition = [encoded_sql.column(n, "few") for n in names[:groups] if n != f"u{index}"]
        order: list[exp.Expr] = [encoded_sql.column(f"u{index}", "few")]
        for extremum in cell.extrema:
            least = extremum.keep is Keep.LEAST
            order.insert(0, exp.Ordered(this=encoded_sql.column("e0", "few"), desc=not least))
        window = exp.Window(this=exp.RowNumber(), partition_by=partition, order=exp.Order(expressions=order))
        ranked = exp.select(
            *(encoded_sql.column(n, "few") for n in names), exp.alias_(window, "rank", quoted=True)
        ).from_(exp.alias_(select.subquery(), "few", table=True, quoted=True))
        select = (
            exp.select(*(encoded_sql.column(n, "ranked") for n in names))
            .from_(exp.alias_(ranked.subquery(), "ranked", table=True, quoted=True))
            .where(
                exp.LTE(this=encoded_sql.column("rank", "ranked"), expression=exp.Literal.number(count + 1))
            )
        )
    return select


def stateless_statement(
    plan: Plan,
    outward: bool = False,
    best: tuple[int, bool] | None = None,
    first: First | None = None,
    partial: Partial | None = None,
) -> TaskStatement:
    """The answer rows of each partition: p, a column a projected attribute (c*), and their number n.

    Static relations are tables under their aliases; a partition's rows come in canonical order (NULL first).

    Args:
        outward: columns are as result sets return them, not as files hold them.
        best: of rows that differ in an output alone only that with the least (or greatest) is wanted.
        first: only the rows that come first are wanted, and those that tie with them.
        partial: rows are alike in their first columns alone; what they come to is in columns m* before n.
    """
    synopsis, query = plan.streams[0], plan.query
    statics = {o.alias: static_table(o.relation.name) for o in query.statics}
    build = Clauses(query, f"{synopsis.alias} ", {synopsis.alias: TUPLES, **{a: a for a in statics}})
    shown = build.outward if outward else build.column
    alike = query.projected if partial is None else query.shown(partial.keys)
    columns = [_part(), *((f"c{i}", shown(a)) for i, a in enumerate(alike))]
    further, number = weighing(build, query.weight)
    columns += further
    # Of a constant all rows have the least and the greatest value.
    constant = best is None or not isinstance(query.select[best[0]].term, Attribute)
    if partial is not None:
        terms = [output.term for output in query.select]
        made = ((f"m{i}", measuring(build, terms, measure)) for i, measure in enumerate(partial.measures))
        grouped = _selected([*columns, *made, (COUNT, number)]).group_by(*_ordinals(columns))
    elif best is None or constant:
        grouped = _grouped(columns, [], number)
    else:
        grouped = _best(query, columns, number, *best)
    select = grouped.from_(encoded_sql.table(TUPLES))
    for alias, table in statics.items():
        select = select.join(
            exp.alias_(encoded_sql.table(table), alias, table=True, quoted=True), join_type="CROSS"
        )
    own = [atom for atom in query.where if _is_static_filter(query, atom)]
    # Also of a comparison that follows from others, and so is left out, the sides must not be NULL.
    present = [build.present(a) for a in sorted(query.present) if query.is_static(a)]
    conditions = [*build.accepted(synopsis), *present, *(build.atom(a) for a in (*plan.joins, *own))]
    if conditions:
        select = select.where(*conditions)
    if first is not None:
        select = _first(query, select, columns, first)
    order = [exp.Ordered(this=exp.Literal.number(i + 1), nulls_first=True) for i in range(len(columns))]
    return TaskStatement(select.order_by(*order), tuple(build.lookups), len(further))


def _first(query: Query, select: exp.Select, columns: Sequence[Named], first: First) -> exp.Select:
    """The rows of a grouped SELECT that come first in each partition of files and of values."""

    def of(positions: Sequence[int]) -> list[tuple[int, exp.Expr]]:
        terms = [(p, query.select[p].term) for p in positions]
        indices = [(p, 1 + query.projected.index(t)) for p, t in terms if isinstance(t, Attribute)]
        return [(p, columns[position][1].copy()) for p, position in indices]

    falls = dict(first.order)
    ordering = [
        exp.Ordered(this=column, desc=falls[p], nulls_first=not falls[p]) for p, column in of(list(falls))
    ]
    if not ordering:
        return select
    alike = [columns[0][1].copy(), *(column for _, column in of(first.partition))]
    rank = exp.Window(
        this=exp.Anonymous(this="DENSE_RANK"), partition_by=alike, order=exp.Order(expressions=ordering)
    )
    return select.qualify(exp.LTE(this=rank, expression=exp.Literal.number(first.number)))


def _best(query: Query, columns: Sequence[Named], number: exp.Expr, output: int, least: bool) -> exp.Select:
    """Columns (the partition first), of rows alike in all but one the least or greatest value there."""
    at = 1 + query.projected.index(query.select[output].term)
    name, own = columns[at]
    end = exp.Min(this=own) if least else exp.Max(this=own)
    shown = [*columns[:at], (name, end), *columns[at + 1 :], (COUNT, number)]
    groups = (exp.Literal.number(position + 1) for position in range(len(columns)) if position != at)
    return _selected(shown).group_by(*groups)


def relation_statement(query: Query, synopsis: StreamSynopsis) -> TaskStatement:
    """What counts of one occurrence: p, t (timestamp), c* (carried columns), and their number n.

    The columns that rows weigh are among the carried ones, after the others.
    """
    return _counting(query, synopsis, lambda columns: _grouped(columns, []))


def extreme_statement(query: Query, synopsis: StreamSynopsis, last: int) -> TaskStatement:
    """The same, but of tuples that differ in time alone the first and the last, each with number 1.

    Of the ``last`` stretch of time before the end of a partition all moments are given.
    """
    made = tuple_statement(query, synopsis)
    part, moment, *rest = (encoded_sql.column(str(e.alias), TUPLES) for e in made.select.expressions)
    first, end = exp.Min(this=moment), exp.Max(this=moment.copy())
    ends: exp.Expr = exp.Array(expressions=[first, end])
    source = made.select
    if last:
        own, when = (e.this for e in made.select.expressions[:2])
        latest = exp.Window(this=exp.Max(this=when.copy()), partition_by=[own.copy()])
        source = source.select(exp.alias_(latest, END, quoted=True))
        edge = exp.Sub(this=encoded_sql.column(END, TUPLES), expression=exp.Literal.number(last))
        late = exp.Filter(
            this=exp.Anonymous(this="LIST", expressions=[moment.copy()]),
            expression=exp.Where(this=exp.GT(this=moment.copy(), expression=edge)),
        )
        ends = exp.Anonymous(this="LIST_CONCAT", expressions=[ends, late])
    missing = exp.LT(this=exp.Count(this=moment.copy()), expression=exp.Count(this=exp.Star()))
    different = exp.Anonymous(this="LIST_DISTINCT", expressions=[ends])
    moments = exp.case().when(missing, exp.Array(expressions=[exp.null()])).else_(different)
    columns = [("p", part), (MOMENT, exp.Anonymous(this="UNNEST", expressions=[moments]))]
    columns += [(f"c{i}", column) for i, column in enumerate(rest)]
    select = _selected([*columns, (COUNT, exp.Literal.number(1))])
    select = select.from_(exp.alias_(source.subquery(), TUPLES, table=True, quoted=True))
    positions = [1, *range(3, len(columns) + 1)]
    return TaskStatement(
        select.group_by(*(exp.Literal.number(position) for position in positions)), made.lookups
    )


def tuple_statement(query: Query, synopsis: StreamSynopsis) -> TaskStatement:
    """The tuples that count of one occurrence: p, t (timestamp), c* (carried columns)."""
    return _counting(query, synopsis, _selected)


def _counting(
    query: Query, synopsis: StreamSynopsis, select_of: Callable[[list[Named]], exp.Select]
) -> TaskStatement:
    timestamp = query.occurrence(synopsis.alias).relation.timestamp
    assert timestamp is not None
    build = Clauses(query, f"{synopsis.alias} ", {synopsis.alias: TUPLES})
    columns = [_part(), (MOMENT, build.outward(Attribute(synopsis.alias, timestamp)))]
    carried = (*synopsis.carried, *query.weighing(synopsis.alias))
    columns += [(f"c{i}", build.outward(a)) for i, a in enumerate(carried)]
    select = select_of(columns).from_(encoded_sql.table(TUPLES))
    conditions = build.accepted(synopsis)
    return TaskStatement(select.where(*conditions) if conditions else select, tuple(build.lookups))


def _is_static_filter(query: Query, atom: Atom) -> bool:
    occurrences = {a.occurrence for a in atom.attributes}
    return len(occurrences) == 1 and all(query.is_static(a) for a in atom.attributes)


def static_table(relation: str) -> str:
    """The name under which the rows of a static relation are known."""
    return f"static {relation}"
