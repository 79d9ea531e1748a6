"""Groups on top of a rewrite: what is summed of rows that come with how often each is an answer.

Over one stream an engine keeps a row for each group as it is, unless a time is in the key: such groups go
where the key is a window that the engine knows (R7). Over a join the rows below are those of the plan's
leaves, so COUNT is a sum of their numbers and SUM one of products, or of the numbers of a leaf whose rows
weigh what is summed; what is read of different leaves stands in different columns of a UNION ALL (R9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from streambound.errors import PlanError
from streambound.plan.flow import (
    Applied,
    Computed,
    Grouped,
    Guarded,
    Hopped,
    Irredundant,
    Joined,
    Leaf,
    LookedUp,
    Operation,
    Ranked,
    Reads,
    Settled,
    TimeFiltered,
    WindowFunctions,
)
from streambound.plan.model import Plan
from streambound.query.column_types import Type
from streambound.query.model import Attribute, Constant, Query
from streambound.query.operators import Aggregate, AggregateKind, Shown
from streambound.rewrites.branch import Branch, Kept, Merged
from streambound.rewrites.clauses import Clauses, Names, formula_of, interval
from streambound.rewrites.intervals import window_table
from streambound.rewrites.sides import product_of
from streambound.rewrites.targets import Target

# Units of date_trunc whose windows begin at whole multiples of their length, whatever the time zone.
_FIXED = ("SECOND", "MINUTE", "HOUR")
# Aggregates of one value a group, where rows come one by one.
_PLAIN = (
    AggregateKind.COUNT,
    AggregateKind.SUM,
    AggregateKind.MEAN,
    AggregateKind.LEAST,
    AggregateKind.GREATEST,
)


def leaves_of(node: Applied) -> tuple[Grouped, list[Leaf]]:
    """A grouping of the rows of joins with filters.

    Raises:
        PlanError: it is another operation, or of other rows.
    """
    operation = node.operation
    if not isinstance(operation, Grouped):
        raise PlanError(f"{named_operation(operation)} over a join: not rewritten yet")
    if operation.then.session is not None:
        raise PlanError("sessions are kept, which is not rewritten yet")
    leaves = [leaf for leaf in node.inputs if isinstance(leaf, Leaf) and not leaf.fed]
    if len(leaves) != len(node.inputs):
        raise PlanError("rows that change are grouped, which is not rewritten yet")
    return operation, leaves


# How SQL calls what is done to rows.
_CALLED: dict[type[Operation], str] = {
    Grouped: "GROUP BY",
    Ranked: "the first rows in an order",
    WindowFunctions: "window functions",
    Guarded: "EXISTS and NOT EXISTS",
    LookedUp: "as-of joins",
    Joined: "joins of rows that change",
    Hopped: "windows that overlap",
    Computed: "expressions over several streams",
    TimeFiltered: "conditions on the present time",
    Settled: "rows that are final",
    Irredundant: "joins of which irredundant tuples are kept",
}


def named_operation(operation: Operation) -> str:
    """What SQL calls an operation."""
    return _CALLED[type(operation)]


@dataclass(frozen=True)
class _Read:
    """The columns of what is grouped: of the keys, and of each input its others and how often a row is there.

    Where there are several inputs, those of the others are NULL in the rows of one.
    """

    source: exp.Query
    keys: tuple[exp.Expr, ...]
    extra: Mapping[int, tuple[exp.Expr, ...]]
    numbers: Mapping[int, exp.Expr]
    conditions: tuple[exp.Expr, ...] = ()
    # How many values its own GROUP BY keeps of each group, if there is one.
    width: int | None = None

    def columns(self, operation: Grouped, read: Reads) -> dict[int, exp.Expr]:
        """The columns of the outputs that an aggregate reads, by position."""
        width = len(self.keys)
        columns = dict(zip(operation.keys, self.keys, strict=True))
        for position, at in read.positions.items():
            columns[position] = self.keys[at] if at < width else self.extra[read.input][at - width]
        return columns


def counted(
    operation: Grouped, build: Clauses, below: Sequence[Branch], kinds: Sequence[Sequence[Type]], whole: int
) -> Branch:
    """The groups of rows of rewrites, one for each input.

    Args:
        below: the rows, each with the number of times that it is an answer.
        kinds: the types of their columns.
        whole: the input that has all rows, and so all groups.

    Raises:
        PlanError: an aggregate is not a sum, a mean, an extremum or a number of rows.
    """
    once = not build.target.chained
    reads = operation.reads
    inputs = {n for read in reads for n in (read.input, *(n for _, n in read.terms))} - {whole}
    used = [whole, *sorted(inputs)]
    make = _grouped_once if once else _side_by_side
    read = make(build, len(operation.keys), below, kinds, used)
    keyed = bool(operation.keys)
    values = [
        _value(
            aggregate, each, read.columns(operation, each), read.numbers, once, keyed and each.input == whole
        )
        for aggregate, each in zip(operation.then.aggregates, reads, strict=True)
    ]
    of = dict(zip(operation.keys, read.keys, strict=True))
    columns = _shown(operation.then.shown, build, Names(), of, values)
    source = exp.Subquery(this=read.source, alias=exp.TableAlias(this=build.name("g")))
    select = exp.select(*(build.aliased(node, name) for name, node in columns)).from_(source)
    select = select.where(*read.conditions) if read.conditions else select
    if operation.then.having is not None:
        if once:
            raise PlanError(
                "HAVING may take a group back, and an update says nothing of groups that it drops"
            )
        select = select.having(_formula(operation.then.having.formula, of, values))
    chosen = [below[n] for n in used]
    kept = tuple(kept for branch in chosen for kept in branch.kept)
    if read.width is not None:
        kept = (Kept("GROUP BY", kept[0].rows, read.width),)
    if not once:
        # A literal in GROUP BY would be a position.
        select = select.group_by(*(node.copy() for node in read.keys)) if keyed else select
        kept = (*kept, Kept("GROUP BY", None, formula="a row for each group"))
    titles = tuple(
        name for (name, _), shown in zip(columns, operation.then.shown, strict=True) if shown.outputs
    )
    return Branch(
        select,
        tuple(name for name, _ in columns),
        (),
        None,
        kept,
        tuple(dict.fromkeys(rule for branch in chosen for rule in branch.rules)),
        keys=titles,
    )


def _side_by_side(
    build: Clauses,
    width: int,
    below: Sequence[Branch],
    kinds: Sequence[Sequence[Type]],
    used: Sequence[int],
) -> _Read:
    """What is grouped: the rows of one input, or the UNION ALL of several, each with columns of its own."""

    def number(branch: Branch) -> exp.Expr:
        return exp.Literal.number(1) if branch.number is None else build.column(branch.number, "g")

    if len(used) == 1:
        (n,) = used
        columns = tuple(build.column(name, "g") for name in below[n].columns)
        return _Read(below[n].select, columns[:width], {n: columns[width:]}, {n: number(below[n])})
    names = Names()
    keys = [names.fresh(name) for name in below[used[0]].columns[:width]]
    extra = {n: [names.fresh(name) for name in below[n].columns[width:]] for n in used}
    numbers = {n: names.fresh("n") for n in used}
    source: exp.Query | None = None
    for n in used:
        input_branch = below[n]
        select = exp.select(
            *(
                build.aliased(build.column(c, "g"), k)
                for c, k in zip(input_branch.columns, keys, strict=False)
            )
        )
        for m in used:
            own = [build.column(c, "g") for c in below[m].columns[width:]]
            nulls = [exp.cast(exp.null(), kind.name) for kind in kinds[m][width:]]
            pairs = zip(extra[m], own if m == n else nulls, strict=True)
            select = select.select(*(build.aliased(node, name) for name, node in pairs))
            weight = number(input_branch) if m == n else exp.cast(exp.null(), "INT")
            select = select.select(build.aliased(weight, numbers[m]))
        select = select.from_(
            exp.Subquery(this=input_branch.select, alias=exp.TableAlias(this=build.name("g")))
        )
        source = select if source is None else exp.union(source, select, distinct=False)
    assert source is not None
    return _Read(
        source,
        tuple(build.column(name, "g") for name in keys),
        {n: tuple(build.column(name, "g") for name in pairs) for n, pairs in extra.items()},
        {n: build.column(name, "g") for n, name in numbers.items()},
    )


def _grouped_once(
    build: Clauses,
    width: int,
    below: Sequence[Branch],
    kinds: Sequence[Sequence[Type]],
    used: Sequence[int],
) -> _Read:
    """What groups are read from where no aggregate stands above another: one GROUP BY for all inputs, each
    with aggregates of its own there.

    Raises:
        PlanError: a group of the answer has several groups of an input.
    """
    inputs = _common_keys(build, width, [below[n].merged for n in used])
    once = _OneGroupBy(
        build, [local_columns for _, local_columns in inputs[0].by], [name for name, _ in inputs[0].by]
    )
    columns = [once.add(branch) for branch in inputs]
    first = inputs[0]
    # Groups are those of the first input; without keys there is one, whatever comes.
    always = [_renamed(build, node, columns[0]) for node in first.conditions] if width else []

    def value(node: exp.Expr, position: int) -> exp.Expr:
        """A value of an input, NULL in a group that the input has no rows of."""
        node = _renamed(build, node, columns[position])
        conditions = (_renamed(build, c, columns[position]) for c in inputs[position].conditions)
        # NULL is what a value of NULL gives anyway.
        asked = [
            condition
            for condition in conditions
            if condition not in always
            and not (isinstance(condition, exp.Is) and condition.this in [*node.find_all(exp.Column)])
        ]
        return exp.Case().when(exp.and_(*asked), node) if asked else node

    numbered = list(enumerate(zip(used, inputs, strict=True)))
    return _Read(
        once.select(),
        tuple(_renamed(build, node, columns[0]) for node in first.columns[:width]),
        {n: tuple(value(c, position) for c in branch.columns[width:]) for position, (n, branch) in numbered},
        {n: value(branch.number, position) for position, (n, branch) in numbered},
        tuple(always),
        len(once.aggregates),
    )


def _common_keys(build: Clauses, width: int, branches: Sequence[Merged | None]) -> list[Merged]:
    """The inputs, each from one GROUP BY by the same keys, of which the first has all in its output.

    Raises:
        PlanError: they are not.
    """
    first = branches[0]
    shown = set() if first is None else {node.name for node in first.columns[:width]}
    if first is None or not {name for name, _ in first.by} <= shown:
        raise PlanError(f"groups are made of groups, and {build.target.title} chains no aggregates")
    keys = {local_columns for _, local_columns in first.by}
    inputs = [
        branch
        for branch in branches
        if branch is not None and {local_columns for _, local_columns in branch.by} == keys
    ]
    if len(inputs) < len(branches):
        raise PlanError("aggregates are computed from groups with different keys")
    return inputs


def _renamed(build: Clauses, node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """An expression over the columns of an input as one over those of the one GROUP BY."""
    return node.transform(
        lambda column: build.column(names[column.name], "g") if isinstance(column, exp.Column) else column
    )


@dataclass(frozen=True)
class _SharedAggregate:
    """An aggregate of the one GROUP BY: its name, and NULL of the type of its argument."""

    name: str
    node: exp.Expr
    null: exp.Expr


@dataclass(frozen=True)
class _ReadRows:
    """Rows that inputs read: a SELECT of the keys for each part of a UNION ALL.

    ``arguments`` has of each aggregate over them its argument in each part.
    """

    parts: list[exp.Select]
    arguments: dict[str, list[exp.Expr]] = field(default_factory=dict)


class _OneGroupBy:
    """One GROUP BY for several inputs; what is the same of them is there once.

    Args:
        keys: the attributes of each key.
        names: what each is called.
    """

    def __init__(self, build: Clauses, keys: Sequence[frozenset[Attribute]], names: Sequence[str]) -> None:
        self.build, self.keys = build, dict(zip(keys, names, strict=True))
        self.names = Names(names)
        self.rows: dict[tuple[str, ...], _ReadRows] = {}
        self.aggregates: dict[tuple[str, ...], _SharedAggregate] = {}

    def add(self, branch: Merged) -> dict[str, str]:
        """Take in an input; returns what each of its columns is called here."""
        names = {name: self.keys[local_columns] for name, local_columns in branch.by}
        parts = [_keyed(self.build, part, names) for part in _parts(branch.inner)]
        read = tuple(part.sql() for part, _ in parts)
        rows = self.rows.setdefault(read, _ReadRows([part for part, _ in parts]))
        nulls = dict(branch.nulls)
        for name, aggregate in branch.aggregates:
            arguments = [columns[name] for _, columns in parts]
            identity = (*read, type(aggregate).__name__, *(node.sql() for node in arguments))
            if identity not in self.aggregates:
                shared = _SharedAggregate(self.names.fresh(name), aggregate, nulls[name])
                self.aggregates[identity] = shared
                rows.arguments[shared.name] = arguments
            names[name] = self.aggregates[identity].name
        return names

    def select(self) -> exp.Select:
        """The GROUP BY, over the UNION ALL of all rows."""
        build, keys = self.build, self.keys.values()
        select = exp.select(*(build.column(name, "g") for name in keys))
        for shared in self.aggregates.values():
            aggregate = type(shared.node)(this=build.column(shared.name, "g"))
            select = select.select(build.aliased(aggregate, shared.name))
        select = select.from_(exp.Subquery(this=self._union(), alias=exp.TableAlias(this=build.name("g"))))
        return select.group_by(*(build.column(name, "g") for name in keys)) if keys else select

    def _union(self) -> exp.Query:
        first, *remaining = (
            part.select(*self._arguments(rows, number))
            for rows in self.rows.values()
            for number, part in enumerate(rows.parts)
        )
        union: exp.Query = first
        for select in remaining:
            union = exp.union(union, select, distinct=False)
        return union

    def _arguments(self, rows: _ReadRows, part: int) -> Iterator[exp.Expr]:
        """The arguments of all aggregates in a part of some rows: NULL of those over other rows."""
        for shared in self.aggregates.values():
            own = rows.arguments.get(shared.name)
            yield self.build.aliased(shared.null.copy() if own is None else own[part], shared.name)


def _parts(query: exp.Query) -> list[exp.Select]:
    """The SELECTs of a UNION ALL."""
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.left), *_parts(query.right)]
    assert isinstance(query, exp.Select)
    return [query]


def _keyed(
    build: Clauses, part: exp.Select, table: Mapping[str, str]
) -> tuple[exp.Select, dict[str, exp.Expr]]:
    """A SELECT of its keys alone, under their names in a table, and its other columns."""
    by_name = {column.alias_or_name: column.unalias() for column in part.expressions}
    keys = [build.aliased(by_name.pop(name), new) for name, new in table.items()]
    return part.select(*sorted(keys, key=lambda node: node.alias_or_name), append=False), by_name


def _value(
    aggregate: Aggregate,
    read: Reads,
    of: Mapping[int, exp.Expr],
    numbers: Mapping[int, exp.Expr],
    once: bool,
    keyed: bool,
) -> exp.Expr:
    """An aggregate over rows that come some number of times each.

    Args:
        keyed: whether every group has a row; else there may be one without.
    """
    number = numbers[read.input]

    def total(node: exp.Expr) -> exp.Expr:
        return node if once else exp.Sum(this=node)

    def count(node: exp.Expr) -> exp.Expr:
        sum_ = total(node)
        return sum_ if keyed else exp.Coalesce(this=sum_, expressions=[exp.Literal.number(0)])

    def mean(sum_: exp.Expr, of_number: exp.Expr) -> exp.Expr:
        some = exp.Nullif(this=of_number, expression=exp.Literal.number(0))
        return exp.Div(this=exp.cast(sum_, "DOUBLE"), expression=some)

    refused = PlanError(f"{aggregate.text} over a join is not rewritten yet")
    if aggregate.kind not in _PLAIN or aggregate.by is not None or read.measures:
        raise refused
    if read.weighed:
        if aggregate.function == "COUNT":
            return count(number.copy())
        if aggregate.function not in ("SUM", "AVG") or not read.terms:
            raise refused
        totals = {n: total(numbers[n].copy()) for _, n in read.terms}
        sum_node = _sum_of([(factor, (n,)) for factor, n in read.terms], totals)
        return sum_node if aggregate.function == "SUM" else mean(sum_node, total(number.copy()))
    # Rows that are keys alone are counted where what COUNT reads of them is never NULL.
    if aggregate.counts_rows or (
        aggregate.function == "COUNT" and not aggregate.distinct and not set(aggregate.arguments) & set(of)
    ):
        return count(number.copy())
    summed = aggregate.function in ("SUM", "AVG") and aggregate.polynomial is not None
    if not set(aggregate.arguments) <= set(of) or not aggregate.arguments:
        raise refused
    if not summed and (
        len(aggregate.arguments) != 1
        or aggregate.polynomial not in (None, ((Fraction(1), aggregate.arguments),))
    ):
        raise refused
    argument = _sum_of(aggregate.polynomial or (), of) if summed else of[aggregate.arguments[0]]
    if aggregate.kind in (AggregateKind.LEAST, AggregateKind.GREATEST):
        pick = exp.Min if aggregate.kind is AggregateKind.LEAST else exp.Max
        return argument.copy() if once else pick(this=argument.copy())
    if aggregate.distinct:
        if once or aggregate.kind is not AggregateKind.COUNT:
            raise refused
        return exp.Count(this=exp.Distinct(expressions=[argument.copy()]))
    there = exp.Is(this=argument.copy(), expression=exp.Not(this=exp.null()))
    present = exp.Case().when(there, number.copy()).else_(exp.Literal.number(0))
    if aggregate.kind is AggregateKind.COUNT:
        return count(present)
    product = exp.Mul(this=argument.copy(), expression=number.copy())
    if aggregate.kind is AggregateKind.SUM and aggregate.function == "SUM":
        return total(product)
    if aggregate.function == "AVG":
        return exp.cast(argument.copy(), "DOUBLE") if once else mean(total(product), total(present))
    raise refused


def _sum_of(polynomial: Sequence[tuple[Fraction, tuple[int, ...]]], of: Mapping[int, exp.Expr]) -> exp.Expr:
    """A sum of products of columns.

    Raises:
        PlanError: a factor is no whole number.
    """
    terms = []
    for factor, positions in polynomial:
        if factor.denominator != 1:
            raise PlanError(f"a factor of a sum is {factor}, which is not rewritten yet")
        node = product_of([of[p].copy() for p in positions])
        scale = exp.Literal.number(factor.numerator)
        terms.append(node if factor == 1 else exp.Mul(this=scale, expression=node))
    sum_node = terms[0]
    for node in terms[1:]:
        sum_node = exp.Add(this=sum_node, expression=node)
    return sum_node if len(terms) == 1 else exp.paren(sum_node)


def _shown(
    shown: Sequence[Shown],
    build: Clauses,
    names: Names,
    of: Mapping[int, exp.Expr],
    values: Sequence[exp.Expr],
) -> list[tuple[str, exp.Expr]]:
    expressions = []
    for column in shown:
        if column.plain:
            node = values[column.values[0]] if column.values else of[column.outputs[0]]
        else:
            node = _formula(column.formula, of, values)
        expressions.append((names.fresh(build.shown(column.name)), node.copy()))
    return expressions


def _formula(text: str | None, of: Mapping[int, exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    if text is None:
        raise PlanError("an expression of the answer cannot be computed")
    by_placeholder = {f"o{p}": node for p, node in of.items()} | {
        f"v{i}": node for i, node in enumerate(values)
    }
    return formula_of(text, lambda column: exp.paren(by_placeholder[column.name].copy()))


def windowed(operation: Grouped, query: Query, plan: Plan, to: Target) -> Branch | None:
    """Groups of one stream by a window; None where no key is a time that is truncated.

    Args:
        query: the SELECT that is grouped, with all that aggregates read.
        plan: that of all rows that are grouped.

    Raises:
        PlanError: the time in the key is no window that begins at whole multiples of its length.
    """
    build = Clauses(query, to)
    terms = [query.select[p].term for p in operation.keys]
    timed = [t for t in terms if isinstance(t, Attribute) and query.is_time(t)]
    if not timed:
        return None
    (alias,) = (o.alias for o in query.occurrences)
    stamp = str(query.occurrence(alias).relation.timestamp)
    lengths = {_length(build, attribute) for attribute in timed}
    if None in lengths:
        if to.windowing and any(map(query.is_timestamp, timed)):
            raise PlanError("a timestamp is in the key, and groups go only where a window is")
        return None
    if len(lengths) != 1:
        raise PlanError("windows of different lengths are in one key")
    (length,) = lengths
    assert length is not None
    start, end, windows, source = _edges(build, alias, stamp, length)
    of: dict[int, exp.Expr] = {}
    for at, term in zip(operation.keys, terms, strict=True):
        if isinstance(term, Constant):
            raise PlanError("a constant is in the key")
        edge = end if query.column(term).edge == "end" else start
        of[at] = edge if term in timed else build.attribute(term)
    for p, output in enumerate(query.select):
        if isinstance(output.term, Attribute):
            of.setdefault(p, build.attribute(output.term))
    values = [_own_value(aggregate, of) for aggregate in operation.then.aggregates]
    columns = _shown(operation.then.shown, build, Names(), of, values)
    select = exp.select(*(build.aliased(node, name) for name, node in columns)).from_(source)
    accepted = build.accepted(plan.streams[0])
    select = select.where(*accepted) if accepted else select
    untimed = [of[p].copy() for p, term in zip(operation.keys, terms, strict=True) if term not in timed]
    select = select.group_by(*windows, *untimed)
    if operation.then.having is not None:
        select = select.having(_formula(operation.then.having.formula, of, values))
    kept = (Kept("GROUP BY", None, formula="a row for each group of the open windows"),)
    titles = tuple(
        name for (name, _), shown in zip(columns, operation.then.shown, strict=True) if shown.outputs
    )
    return Branch(select, tuple(name for name, _ in columns), (), None, kept, ("R7",), False, titles)


def _length(build: Clauses, attribute: Attribute) -> int | None:
    """The length of the windows that a time is truncated to; None if it is a timestamp or a window itself."""
    column = build.query.column(attribute)
    if column.bucket is None or column.formula is None:
        return None
    trunc = formula_of(column.formula, lambda column: column).find(exp.TimestampTrunc, exp.DateTrunc)
    if trunc is None:
        return None
    if str(trunc.args["unit"].name).upper() not in _FIXED:
        raise PlanError(f"the windows of {attribute} do not begin at whole multiples of their length")
    return column.bucket


def _edges(
    build: Clauses, alias: str, stamp: str, length: int
) -> tuple[exp.Expr, exp.Expr, list[exp.Expr], exp.Expr]:
    """Where a window begins and ends, what is grouped by, and the source that has it."""
    if build.target.windowing:
        edges = [build.column(name, alias) for name in ("window_start", "window_end")]
        table = window_table(build, alias, stamp, length)
        return edges[0], edges[1], [edge.copy() for edge in edges], table
    # Grouped by the whole window, since the watermark is told by it and not by its start.
    text = exp.Literal.string(interval(length).sql("spark").removeprefix("INTERVAL ").replace("'", ""))
    window = exp.Anonymous(this="WINDOW", expressions=[build.column(stamp, alias), text])
    first, last = (exp.Dot(this=window.copy(), expression=exp.to_identifier(p)) for p in ("start", "end"))
    return first, last, [window], build.source(alias)


def _own_value(aggregate: Aggregate, of: Mapping[int, exp.Expr]) -> exp.Expr:
    """An aggregate over tuples, as it is written."""
    if aggregate.counts_rows:
        return exp.Count(this=exp.Star())
    whole = ((Fraction(1), aggregate.arguments),)
    plain = len(aggregate.arguments) == 1 and aggregate.by is None and aggregate.polynomial in (None, whole)
    if aggregate.kind not in _PLAIN or not plain or aggregate.arguments[0] not in of:
        raise PlanError(f"{aggregate.text} of windows is not rewritten yet")
    argument = of[aggregate.arguments[0]].copy()
    if aggregate.distinct:
        argument = exp.Distinct(expressions=[argument])
    return exp.func(aggregate.function, argument)
