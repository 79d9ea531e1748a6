"""From a compiled query and an engine to SQL whose operators keep what the plan keeps (docs/rewrites.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

from sqlglot import exp

from streambound.boundedness.criterion.exact import exact
from streambound.compiler import Planned
from streambound.compiler.report import on_engine
from streambound.errors import PlanError, UnsupportedError
from streambound.plan.flow import Applied, Grouped, Leaf, Node, Ranked, leaves
from streambound.plan.model import Plan
from streambound.plan.parts import PlannedPart
from streambound.plan.tables.planner import plan_of
from streambound.plan.tables.statement import not_evaluated
from streambound.query.model import Attribute, Op, Query
from streambound.rewrites.branch import Branch, Kept
from streambound.rewrites.clauses import Clauses, Names, identifier
from streambound.rewrites.groups import counted, leaves_of, named_operation, windowed
from streambound.rewrites.intervals import dated, implied_bounds, within
from streambound.rewrites.joined import joined
from streambound.rewrites.merged import merged
from streambound.rewrites.ordered import running
from streambound.rewrites.sides import sides_of
from streambound.rewrites.targets import Target, target


@dataclass(frozen=True)
class Rewrite:
    """A query as an engine runs it within its bound; or (``refused``) why there is none.

    ``sql`` is the user's own where nothing has to be rewritten (``rules`` is empty then). ``columns`` are the
    answer's, ``further`` those beside them that tell rows apart which are added up, and ``number`` the column
    with how often a row is an answer. ``keys`` are those by which a changed row is found, none where rows
    are appended; ``instead`` is what to do where it is refused.
    """

    query: str
    engine: str
    sql: str | None = None
    rules: tuple[str, ...] = ()
    note: str = ""
    kept: tuple[Kept, ...] = ()
    columns: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    number: str | None = None
    keys: tuple[str, ...] = ()
    refused: str | None = None
    instead: tuple[str, ...] = ()

    @property
    def units(self) -> int | None:
        """Values that the operators keep in all; None if there is no number."""
        each_units = [kept.units for kept in self.kept]
        counted_units = [units for units in each_units if units is not None]
        return sum(counted_units) if len(counted_units) == len(each_units) else None

    def to_json(self) -> dict[str, Any]:
        """The object that ``streambound rewrite --format json`` prints."""
        kept = [
            {"operator": op.operator, "rows": op.rows, "width": op.width, "formula": op.formula or None}
            for op in self.kept
        ]
        return {**asdict(self), "kept": kept, "units": self.units}


def rewrite(job: Planned, engine: str | Target, said: str | None = None) -> Rewrite:
    """The SQL that keeps the bound of a query on an engine.

    Args:
        engine: its name (see ``targets.TARGETS``).
        said: the query as commands are told to read it; without it by its name.

    Raises:
        QueryError: there is no such engine.
    """
    to = engine if isinstance(engine, Target) else target(engine)
    try:
        return _written(job, to)
    except (PlanError, UnsupportedError) as error:
        if job.verdict.bounded and _constant(job, to):
            return _unchanged(job, to, f"what {to.title} keeps of it as it is written is constant")
        return _refused(job, to, error.message, said or quote(job.name))


def _written(job: Planned, to: Target) -> Rewrite:
    if not job.verdict.bounded:
        raise PlanError(f"the query is {job.verdict.outcome.value}: no SQL keeps a bound that there is not")
    if to.unwritable is not None:
        raise PlanError(to.unwritable)
    if job.unplanned is not None:
        raise not_evaluated(job.name, job.unplanned)
    if isinstance(job.node, Applied):
        return _grouped(job, job.node, to)
    if job.node is not None:
        raise PlanError("no rewrite is derived from its plan yet")
    if not job.planned_parts:
        raise PlanError("its answer is always empty")
    if (why := _as_written(job, to)) and _constant(job, to):
        return _unchanged(job, to, why)
    numbers = dict.fromkeys(part.block for part in job.planned_parts)
    blocks = [[part for part in job.planned_parts if part.block == number] for number in numbers]
    every = [[branch for part in block for branch in _branches(part, to)] for block in blocks]
    return _together(job, to, [branch for branches in every for branch in _summands(branches, to)])


def _constant(job: Planned, to: Target) -> bool:
    """Whether the rules of the engine say that it keeps no more and more of the query as it is written."""
    engine = on_engine(job, to.name)
    return engine is not None and engine.constant


def _plan(part: PlannedPart) -> Plan:
    if part.plan.ending is not None:
        raise PlanError("tuples are kept until a stream ends, which no statement of SQL says")
    if part.query.statics:
        raise PlanError("static relations are joined with what is kept, which is not written as SQL yet")
    return part.plan


def _branches(part: PlannedPart, to: Target) -> list[Branch]:
    """The SELECTs of a part, one for each choice of cells."""
    plan = _plan(part)
    if plan.empty:
        return []
    build = Clauses(plan.query, to)
    if plan.timed:
        timeless = _timeless(plan.query)
        if timeless is None:
            return [_in_time(plan, build)]
        plan, build = timeless, Clauses(timeless.query, to)
    make = joined if _joins(plan, to) else merged
    branches = [make(plan, build, sides) for sides in sides_of(plan, build)]
    # A self-join that the plan folded is no join any more.
    folded = len(plan.streams) < len(part.query.streams)
    return [replace(branch, rules=("R0", *branch.rules)) for branch in branches] if folded else branches


def _timeless(query: Query) -> Plan | None:
    """The plan of a DISTINCT query whose timestamps are columns like others, if it is bounded so.

    Whether rows with some order of their times exist does not depend on when they come: ends of times tell.
    """
    if (
        not query.ring.idempotent
        or any(map(query.is_time, query.projected))
        or any(j.offset for j in query.joins)
    ):
        return None
    occurrences = tuple(replace(o, relation=replace(o.relation, timestamp=None)) for o in query.occurrences)
    query = replace(query, occurrences=occurrences)
    if not exact(query).bounded:
        return None
    with suppress(PlanError):
        plan = plan_of(query)
        return plan if plan.ending is None else None
    return None


def _in_time(plan: Plan, build: Clauses) -> Branch:
    to = build.target
    if _dated(plan) and to.windowing:
        return dated(plan, build)
    if len(plan.clock.composites) == 1 and to.watermarked and len(plan.streams) > 1:
        return within(plan, build)
    if len(plan.clock.composites) == 1:
        raise PlanError(
            f"rows of a window are kept, and when {to.title} forgets them its statement does not say"
        )
    if plan.query.ring.idempotent:
        raise PlanError("real matches are kept in time, which are no ends of columns")
    if not to.running:
        raise PlanError(
            f"numbers are kept in the order of time, and {to.title} counts no earlier rows in bounded state"
        )
    return running(plan, build)


def _joins(plan: Plan, to: Target) -> bool:
    """Whether groups of streams are joined; else one GROUP BY does it."""
    return to.chained and (len(plan.streams) == 1 or to.theta or _equated(plan))


def _equated(plan: Plan) -> bool:
    """Whether equalities link all streams."""
    linked, rest = {plan.streams[0].alias}, True
    while rest:
        more = {
            a.occurrence
            for join in plan.joins
            if join.op is Op.EQ and {a.occurrence for a in join.attributes} & linked
            for a in join.attributes
        }
        rest = not more <= linked
        linked |= more
    return len(linked) == len(plan.streams)


def _as_written(job: Planned, to: Target) -> str | None:
    """Why an engine keeps no more of the query than its plan, as it is written; None if it does."""
    if all(p.plan.stateless or p.plan.empty for p in job.planned_parts):
        return "rows pass one by one, and nothing is kept"
    plans = [_plan(part) for part in job.planned_parts]
    alone = len(plans) == 1 and len(plans[0].streams) == len(job.planned_parts[0].query.occurrences) == 1
    if alone and not _dated(plans[0]):
        return "the different rows of one stream are kept once there too"
    if to.merging and all(map(_finite, plans)):
        return (
            "a join keeps equal rows once there, and every column that reaches one has finitely many values"
        )
    if to.watermarked and not to.windowing and all(map(_dated, plans)):
        return "a row goes with the watermark, since its timestamp is in the key"
    if to.watermarked and all(_explicit(plan, to) for plan in plans):
        return "both timestamps bound each other where the streams are joined; they need watermarks"
    return None


def _dated(plan: Plan) -> bool:
    """Whether it is of one stream, whose timestamp is in the row."""
    return len(plan.streams) == 1 and any(map(plan.query.is_timestamp, plan.query.projected))


def _finite(plan: Plan) -> bool:
    """Whether every column that reaches a join has finitely many values as it is."""
    cells = [cell for table in plan.synopses for cell in table.cells]
    exact = all(k.points is None and k.low is None and k.high is None for cell in cells for k in cell.keys)
    return exact and not plan.timed and not any(c.extrema or c.follow or c.unequal for c in cells)


def _grouped(job: Planned, node: Applied, to: Target) -> Rewrite:
    """Groups: as they are over one stream, unless a time is in their key; else over what a join keeps."""
    if _streams(node) == 1:
        return _over_stream(job, node, to)
    operation, leaves = leaves_of(node)
    plans = [_plan(part) for leaf in leaves for part in leaf.parts]
    if to.merging and all(map(_finite, plans)) and _constant(job, to):
        return _unchanged(job, to, "a join keeps equal rows once there, and a group has one row")
    if any(plan.query.is_time(term) for plan in plans for term in _keys(operation, plan)):
        raise PlanError(f"a time is in the key, and when {to.title} forgets such a group is not known")
    below = [_rows(leaf, to) for leaf in leaves]
    kinds = [[kind for _, kind in leaf.statement.outputs] for leaf in leaves]
    branch = counted(operation, Clauses(plans[0].query, to), below, kinds, _whole(leaves))
    return _together(job, to, [replace(branch, rules=("R9", *branch.rules)) if len(leaves) > 1 else branch])


def _whole(leaves: Sequence[Leaf]) -> int:
    """The leaf that has all rows: the others ask for more, that what is aggregated is there.

    Raises:
        PlanError: there is none.
    """
    asked = [{*leaf.parts[0].query.where} for leaf in leaves]
    for number, leaf in enumerate(leaves):
        if not leaf.parts[0].query.weight and all(asked[number] <= count for count in asked):
            return number
    raise PlanError("aggregates are computed from joins of which none has all rows")


def _keys(operation: Grouped, plan: Plan) -> list[Attribute]:
    terms = (output.term for output in plan.query.select[: len(operation.keys)])
    return [attribute for attribute in terms if isinstance(attribute, Attribute)]


def _rows(leaf: Leaf, to: Target) -> Branch:
    """The rows of a join with filters.

    Raises:
        PlanError: there is none, or its alternatives would be rows of their own.
    """
    branches = [branch for part in leaf.parts for branch in _branches(part, to)]
    if not branches:
        raise PlanError("its answer is always empty")
    if len(branches) > 1:
        raise PlanError("alternatives are grouped together")
    return branches[0]


def _streams(node: Node) -> int:
    """How many streams a tree reads, each as often as it does.

    Raises:
        PlanError: none, as no row passes its conditions.
    """
    read = [len(p.query.arriving) for leaf in leaves(node) for p in leaf.parts]
    if not read:
        raise PlanError("no row is ever in a group, so its answer never changes")
    return max(read)


def _over_stream(job: Planned, node: Applied, to: Target) -> Rewrite:
    operation, first = node.operation, node.inputs[0]
    what = named_operation(operation)
    if not isinstance(first, Leaf) or first.fed or len(job.statement.selections) > 1:
        raise PlanError(f"{what} over rows that change: not rewritten yet")
    query = job.statement.selections[0].base
    if isinstance(operation, Grouped) and operation.then.session is None:
        # The first input has all rows, whatever else aggregates are computed from.
        if any(_is_time(query, p) for p in operation.keys):
            if not to.watermarked or len(first.parts) != 1:
                raise PlanError(
                    f"a time is in the key, and when {to.title} forgets such a group is not known"
                )
            branch = windowed(operation, query, _plan(first.parts[0]), to)
            if branch is not None:
                return _together(job, to, [branch])
        if not to.chained and any(aggregate.distinct for aggregate in operation.then.aggregates):
            raise PlanError(f"{to.title} refuses DISTINCT in an aggregate of a stream")
        return _unchanged(job, to, "a group has one row there too")
    ranked = isinstance(operation, Ranked) and not any(_is_time(query, p) for p in operation.then.partition)
    if ranked and to.chained:
        return _unchanged(job, to, "the first rows of each partition are kept there too")
    raise PlanError(f"what {to.title} keeps of {what} is not known to be bounded")


def _is_time(query: Query, position: int) -> bool:
    term = query.select[position].term
    return isinstance(term, Attribute) and query.is_time(term)


def _explicit(plan: Plan, to: Target) -> bool:
    """Whether a bag is joined within windows that its conditions say, of every two streams."""
    if to.single_time and len(plan.streams) > 2:
        return False
    linked = len(plan.clock.composites) == 1 and len(plan.streams) > 1 and (to.theta or _equated(plan))
    return linked and not plan.query.ring.idempotent and not implied_bounds(plan)


def _unchanged(job: Planned, to: Target, why: str) -> Rewrite:
    kept: tuple[Kept, ...] = ()
    if job.units_formula is not None:
        kept = (Kept("join", None, formula=job.units_formula),)
    elif job.units:
        kept = (Kept("join", job.units),)
    return Rewrite(job.name, to.name, job.sql, note=f"nothing to rewrite: {why}", kept=kept)


def _summands(branches: list[Branch], to: Target) -> list[Branch]:
    """The rows of a block: of a bag those of each branch; of a set those of all together."""
    if len(branches) < 2 or branches[0].number is not None:
        return branches
    if any(branch.further for branch in branches):
        raise PlanError("of several alternatives each would have groups of its own in one answer")
    select: exp.Query = branches[0].select
    for branch in branches[1:]:
        select = exp.union(select, branch.select, distinct=to.chained)
    kept = [operator for branch in branches for operator in branch.kept]
    if to.chained:
        kept.append(Kept("UNION", sum(branch.kept[-1].rows or 0 for branch in branches)))
    return [replace(branches[0], select=select, kept=tuple(kept), rules=_rules(branches))]


def _rules(branches: Iterable[Branch]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule for branch in branches for rule in branch.rules))


def _together(job: Planned, to: Target, branches: Sequence[Branch]) -> Rewrite:
    """The statement: the rows of all its summands."""
    if not branches:
        raise PlanError("its answer is always empty")
    branch = branches[0] if len(branches) == 1 else _added(branches, to)
    keys = () if branch.appends else branch.keys or (*branch.columns, *branch.further)
    sql = branch.select.sql(dialect=to.dialect, pretty=True)
    made = Rewrite(
        job.name,
        to.name,
        sql,
        branch.rules,
        "",
        branch.kept,
        branch.columns,
        branch.further,
        branch.number,
        keys,
    )
    return replace(made, note=_note(made, to))


def _added(branches: Sequence[Branch], to: Target) -> Branch:
    """Several summands as one: each row says which it is of, since the same row of others has a number too.

    Raises:
        PlanError: their rows cannot go into one answer.
    """
    first = branches[0]
    if (
        any(branch.number is None and isinstance(branch.select, exp.SetOperation) for branch in branches)
        and not to.chained
    ):
        raise PlanError("a DISTINCT row of several alternatives would be added up")
    if any(branch.further or branch.keys for branch in branches):
        raise PlanError("of several SELECTs each would have groups of its own in one answer")
    if len({branch.appends for branch in branches}) > 1:
        raise PlanError("rows that are appended and rows that change do not go into one answer")
    names = Names(first.columns)
    part, number = names.fresh("part"), names.fresh("n")
    tagged = not first.appends
    select: exp.Query | None = None
    for position, branch in enumerate(branches, 1):
        which = [exp.alias_(exp.Literal.number(position), part)] if tagged else []
        rows = _numbered(branch, which, number, to)
        select = rows if select is None else exp.union(select, rows, distinct=False)
    assert select is not None
    kept = tuple(kept for branch in branches for kept in branch.kept)
    further = (part,) if tagged else ()
    return replace(first, select=select, further=further, number=number, kept=kept, rules=_rules(branches))


def _numbered(branch: Branch, which: Sequence[exp.Expr], number: str, to: Target) -> exp.Query:
    """Its columns, further ones, and how often each row is an answer."""
    inner = exp.Subquery(this=branch.select, alias=exp.TableAlias(this=exp.to_identifier("u")))
    columns = [exp.column(identifier(name, to), "u") for name in branch.columns]
    count = exp.Literal.number(1) if branch.number is None else exp.column(identifier(branch.number, to), "u")
    return exp.select(*columns, *which, exp.alias_(count, number)).from_(inner)


def _note(made: Rewrite, to: Target) -> str:
    """What changes for who reads the answer."""
    row, keys = ", ".join(made.columns), ", ".join(made.keys)
    if not made.keys and made.number is None:
        return "rows are appended, as they are by the query as it is written"
    if not made.keys:
        return f"rows are appended, and {made.number} says how often each is an answer: ({row}) is no key"
    notes = []
    if not to.chained:
        notes.append("run it in update mode")
    if made.number is not None:
        notes.append(f"copies of a row become a table, upserted by ({keys}), with how often in {made.number}")
        if made.further:
            notes.append(f"add up {made.number} over rows with the same ({row})")
    elif not to.chained:
        notes.append(f"write into a sink that upserts by ({keys}), since a group comes again when it changes")
    return "; ".join(notes) or "the answer is the same set of rows"


def _refused(job: Planned, to: Target, why: str, said: str) -> Rewrite:
    instead = []
    if job.verdict.bounded and job.unplanned is None:
        instead.append(f"streambound run {said} --live")
        if to.program:
            instead.append(f"streambound rewrite {said} --for {to.name} --as pyspark")
    return Rewrite(job.name, to.name, refused=why, instead=tuple(instead))
