"""R2 and R3 (docs/rewrites.md): UNION ALL of the streams and one GROUP BY.

Engines that chain no aggregates can still join with one: the tuples of all streams are put under common keys,
and what is kept of each stream is an aggregate over its own tuples (R2). A key that a stream does not have is
enumerated: its tuples are replicated to the values that it can have, those that they compare with (R3). So a
comparison either holds by where tuples are sent, or is asked of the group's aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from sqlglot import exp

from streambound.constraints.closure import Closure
from streambound.errors import PlanError
from streambound.plan.model import Key, Plan
from streambound.plan.tables.facts import Facts, facts_of
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Join, Op
from streambound.rewrites.branch import Branch, Kept, Merged, shown
from streambound.rewrites.clauses import NODES, Clauses, Names, literal, null_test
from streambound.rewrites.sides import Side, comparison, end_of, product_of

# Rows that are made of one row at most.
REPLICAS = 10_000
# Values that are listed one by one.
LISTED = 1_000
UNION = "u"


@dataclass(frozen=True)
class Common:
    """A key of the one GROUP BY: the sides that have it, with the name that it has there."""

    name: str
    own: Mapping[str, str]
    attributes: tuple[Attribute, ...]
    key: Key


def merged(plan: Plan, build: Clauses, sides: Sequence[Side]) -> Branch:
    """The rows of a choice of cells, from one GROUP BY.

    Raises:
        PlanError: a key that a stream does not have has too many values to enumerate, or values that are
            not known.
    """
    if any(side.plain for side in sides):
        raise PlanError("rows that are appended and rows that change do not go into one query")
    return _OneGroupBy(plan, build, sides).branch()


class _OneGroupBy:
    """The one GROUP BY of some sides: ``every`` key that a side has, and the ``common`` ones that are needed.

    ``sides`` have the names that their columns have in the union; ``sent`` are the comparisons that hold by
    where tuples are sent.
    """

    def __init__(self, plan: Plan, build: Clauses, sides: Sequence[Side]) -> None:
        facts = facts_of(plan.query)
        assert facts is not None
        self.plan, self.build, self.facts = plan, build, facts
        names = Names()
        self.every = _common(plan, sides, names)
        self.common = _without(plan, sides, self.every)
        self.sides = [_renamed(side, self.every, names) for side in sides]
        # Equal keys are one, so nothing is asked of them.
        self.sent = {
            join
            for join in plan.joins
            if join.op is Op.EQ and any({*join.attributes} <= {*c.attributes} for c in self.common)
        }

    def branch(self) -> Branch:
        """The rows that the groups give.

        Raises:
            PlanError: tuples would be sent to too many groups.
        """
        build, query = self.build, self.plan.query
        inner = self._union()
        aggregates, nulls = self._aggregates()
        conditions = self._conditions()
        values = {
            a: build.column(name, UNION)
            for side in self.sides
            for a, name in side.answer(query.projected).items()
        }
        columns = shown(build, query, Names(), values)
        inside = {node.name for _, node in columns if isinstance(node, exp.Column)}
        outer = exp.select(*(build.aliased(node, name) for name, node in columns))
        more = Names(name for name, _ in columns)
        further = [(more.fresh(item.name), item.name) for item in self.common if item.name not in inside]
        rows, width = prod(item.key.size for item in self.common), sum(side.width for side in self.sides)
        kept = [Kept("GROUP BY", rows, width)]
        if query.ring.idempotent and further and build.target.chained:
            # Several groups have the same answer.
            outer, further = outer.distinct(), []
            kept.append(Kept("DISTINCT", rows))
        outer = outer.select(*(build.aliased(build.column(own, UNION), name) for name, own in further))
        number = None
        weight: exp.Expr = exp.Literal.number(1)
        if not query.ring.idempotent:
            number = more.fresh("n")
            weight = product_of([build.column(side.number, UNION) for side in self.sides if side.number])
            outer = outer.select(build.aliased(weight.copy(), number))
        grouped = self._grouped(inner, aggregates)
        return Branch(
            outer.from_(_table(build, grouped)).where(*conditions),
            tuple(name for name, _ in columns),
            tuple(name for name, _ in further),
            number,
            tuple(kept),
            self._rules(),
            merged=Merged(
                tuple((item.name, frozenset(item.attributes)) for item in self.common),
                inner,
                tuple(nulls),
                tuple(aggregates),
                tuple(conditions),
                tuple(node for _, node in columns),
                weight,
            ),
        )

    def _rules(self) -> tuple[str, ...]:
        if len(self.sides) == 1:
            return ()
        aliases = {side.alias for side in self.sides}
        return ("R3",) if any(set(item.own) != aliases for item in self.common) else ("R2",)

    def _union(self) -> exp.Query:
        """The tuples of all sides. From then on ``sent`` has all comparisons that hold by where they are."""
        first, *remaining = [self._sent(side) for side in self.sides]
        union: exp.Query = first
        for select in remaining:
            union = exp.union(union, select, distinct=False)
        return union

    def _aggregates(self) -> tuple[list[tuple[str, exp.Expr]], list[tuple[str, exp.Expr]]]:
        """What is kept of each group by name, and NULL of the type of each argument."""
        aggregates: list[tuple[str, exp.Expr]] = []
        nulls: list[tuple[str, exp.Expr]] = []
        for side in self.sides:
            for name, node, keep in side.ends:
                aggregates.append((name, end_of(self.build.column(name, UNION), keep)))
                nulls.append((name, _null(self.build, node, side, name)))
            if side.number is not None:
                aggregates.append((side.number, _total(side, self.build.column(side.number, UNION))))
                nulls.append((side.number, exp.cast(exp.null(), "INT")))
        return aggregates, nulls

    def _grouped(self, inner: exp.Query, aggregates: Sequence[tuple[str, exp.Expr]]) -> exp.Select:
        keys = [self.build.column(item.name, UNION) for item in self.common]
        grouped = exp.select(*keys).from_(_table(self.build, inner))
        grouped = grouped.select(*(self.build.aliased(node.copy(), name) for name, node in aggregates))
        return grouped.group_by(*(node.copy() for node in keys)) if keys else grouped

    def _conditions(self) -> list[exp.Expr]:
        """What is asked of a group: the comparisons that are left, and that each side has a tuple there."""
        by_alias, tables = (
            {side.alias: side for side in self.sides},
            dict.fromkeys((side.alias for side in self.sides), UNION),
        )
        conditions = [
            node
            for join in self.plan.joins
            if join not in self.sent
            for node in comparison(self.build, join, by_alias, tables)
        ]
        compared = {column.name for node in conditions for column in node.find_all(exp.Column)}
        # What is compared is there.
        uncompared = (side for side in self.sides if not compared & {name for name, _, _ in side.ends})
        return conditions + [_there(self.build, side) for side in uncompared]

    def _sent(self, side: Side) -> exp.Select:
        """The tuples of a side under the common keys."""
        build = self.build
        select = exp.select().from_(build.source(side.alias))
        if side.accepted:
            select = select.where(*(node.copy() for node in side.accepted))
        missing = [item for item in self.common if side.alias not in item.own]
        enumerated = self._enumerated(side, missing)
        columns = [
            build.aliased(next(node for name, node, _ in side.keys if name == item.name).copy(), item.name)
            for item in self.common
            if item not in missing
        ]
        # What is compared is a column of the tuple, or of the group that it is sent to.
        decided = [join for join in self.plan.joins if _decided(join, side, self.common, self.every)]
        self.sent.update(decided)
        carried = {a for join in decided for a in join.attributes if a.occurrence == side.alias}
        names = Names([column.name for column in self.common])
        own = {a: names.fresh(f"own_{a.column}") for a in sorted(carried)}
        columns += [build.aliased(build.attribute(a), name) for a, name in own.items()]
        select = select.select(*columns, *self._arguments(side))
        for name, values in enumerated.items():
            # One function that makes rows for each SELECT.
            if any(select.find_all(exp.Explode)):
                select = exp.select(exp.Star()).from_(_table(build, select))
            select = select.select(build.aliased(exp.Explode(this=values), name))
        if not enumerated and not own:
            return select
        all_names = [column.name for column in self.common]
        for sender in self.sides:
            all_names += [n for n in (*(name for name, _, _ in sender.ends), sender.number) if n]
        select = exp.select(*(build.column(name, UNION) for name in all_names)).from_(_table(build, select))
        conditions = [_where_sent(build, join, self.common, own) for join in decided]
        return select.where(*conditions) if conditions else select

    def _enumerated(self, side: Side, missing: Sequence[Common]) -> dict[str, exp.Expr]:
        """The values of the keys that a side does not have, as arrays.

        Raises:
            PlanError: they are not known or too many, or the target does not take replicated rows.
        """
        enumerated: dict[str, exp.Expr] = {}
        replicas = 1
        for item in missing:
            enumerated[item.name], number = _values(self.build, self.facts, item)
            replicas *= number
        target = self.build.target
        if enumerated and not target.generating:
            raise PlanError(
                f"rows of {side.alias} would be replicated, and what {target.title} keeps of that grows"
            )
        if replicas > REPLICAS:
            raise PlanError(
                f"each row of {side.alias} would be sent to {replicas:,} groups (at most {REPLICAS:,} are)"
            )
        return enumerated

    def _arguments(self, side: Side) -> Iterator[exp.Expr]:
        """The arguments of all aggregates in the rows of a side: NULL of those of other sides."""
        for target in self.sides:
            local = target.alias == side.alias
            for name, node, _ in target.ends:
                argument = node.copy() if local else _null(self.build, node, target, name)
                yield self.build.aliased(argument, name)
            if target.number is not None:
                factors = [node.copy() for node in side.weighed]
                weight = product_of(factors) if local else exp.cast(exp.null(), "INT")
                yield self.build.aliased(weight, target.number)


def _table(build: Clauses, query: exp.Query) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=build.name(UNION)))


def _total(side: Side, own: exp.Expr) -> exp.Expr:
    return exp.Sum(this=own) if side.weighed else exp.Count(this=own)


def _there(build: Clauses, side: Side) -> exp.Expr:
    """That a group has a tuple of a side."""
    if side.number is not None and not side.weighed:
        return exp.GT(this=build.column(side.number, UNION), expression=exp.Literal.number(0))
    name = side.ends[0][0] if side.ends else side.number
    assert name is not None
    return null_test(build.column(name, UNION), False)


def _common(plan: Plan, sides: Sequence[Side], names: Names) -> list[Common]:
    """The keys of all sides; those that are equal are one."""
    same = {local: mate for side in sides for local, mate in side.cell.same}
    classes: list[dict[str, tuple[str, Attribute, Key]]] = []
    for side in sides:
        for name, _, key in side.keys:
            if key is None or key.points is not None:
                raise PlanError("classes of values between constants are kept, which are not enumerated")
            classes.append({side.alias: (name, key.attribute, key)})
    for join in plan.joins:
        if join.op is not Op.EQ:
            continue
        left, right = (
            next(c for c in classes if any(a == same.get(b, b) for _, a, _ in c.values()))
            for b in join.attributes
        )
        if left is not right:
            if set(left) & set(right):
                # Two columns of one occurrence: they stay apart, and are compared.
                continue
            left.update(right)
            classes.remove(right)
    commons = []
    for members in classes:
        smallest = min((key for _, _, key in members.values()), key=lambda key: key.size)
        own = {alias: name for alias, (name, _, _) in members.items()}
        name = names.fresh(next(iter(own.values())))
        commons.append(Common(name, own, tuple(a for _, a, _ in members.values()), smallest))
    return commons


def _without(plan: Plan, sides: Sequence[Side], every: list[Common]) -> list[Common]:
    """The keys that are needed: not those of one side whose tuples are sent to what they compare with."""
    kept, needed = list(every), set(plan.query.projected)
    for common in sorted(every, key=lambda member: -member.key.size):
        (first, *more) = common.attributes
        if more or first in needed or any(first in pair for side in sides for pair in side.cell.same):
            continue
        partners = [
            attribute
            for join in plan.joins
            if first in join.attributes
            for attribute in join.attributes
            if attribute != first
        ]
        columns = [next((c for c in kept if attribute in c.attributes), None) for attribute in partners]
        if partners and all(column is not None and column is not common for column in columns):
            kept.remove(common)
            needed.update(partners)
    return kept


def _renamed(side: Side, every: Sequence[Common], names: Names) -> Side:
    """A side whose columns have the names that they have in the union, or would have if they were there."""
    table = {common.own[side.alias]: common.name for common in every if side.alias in common.own}
    keys = tuple((table[name], node, key) for name, node, key in side.keys)
    for name, _, _ in side.ends:
        table[name] = names.fresh(name)
    number = None
    if side.number is not None:
        number = names.fresh(f"{side.number}_{side.alias}" if not side.ends else side.number)
    elif not side.ends:
        # That there is a tuple at all.
        number = names.fresh(f"n_{side.alias}")
    columns = {
        own: tuple((table[name], shift) for name, shift in pairs) for own, pairs in side.columns.items()
    }
    ends = tuple((table[name], node, keep) for name, node, keep in side.ends)
    return Side(side.alias, side.cell, side.accepted, keys, ends, number, side.weighed, columns)


def _decided(join: Join, side: Side, common: Sequence[Common], every: Sequence[Common]) -> bool:
    """Whether a comparison holds by where the tuples of a side are sent: to a key that they do not have, or
    to one of theirs if what is compared with it is no key any more.
    """
    local_columns = [a for a in join.attributes if a.occurrence == side.alias]
    if len(local_columns) != 1:
        return False
    (attribute,) = (a for a in join.attributes if a not in local_columns)
    if not any(local_columns[0] in item.attributes for item in every):
        return False
    there = next((column for column in common if attribute in column.attributes), None)
    gone = not any(local_columns[0] in column.attributes for column in common)
    return there is not None and (gone or side.alias not in there.own)


def _where_sent(
    build: Clauses, join: Join, common: Sequence[Common], own: Mapping[Attribute, str]
) -> exp.Expr:
    def value(attribute: Attribute) -> exp.Expr:
        if attribute in own:
            return build.column(own[attribute], UNION)
        return build.column(next(column.name for column in common if attribute in column.attributes), UNION)

    return NODES[join.op](this=value(join.left), expression=value(join.right))


def _null(build: Clauses, node: exp.Expr, side: Side, name: str) -> exp.Expr:
    """NULL of the type of an aggregate's argument."""
    own = next(a for a, columns in side.columns.items() if any(column == name for column, _ in columns))
    attribute = own if isinstance(own, Attribute) else own[0]
    return exp.cast(exp.null(), build.kind(attribute).name)


def _values(build: Clauses, facts: Facts, common: Common) -> tuple[exp.Expr, int]:
    """The values that a key can have, as an array, and how many they are.

    Raises:
        PlanError: they are not known, or too many.
    """
    attribute, kind = common.key.attribute, build.kind(common.key.attribute)
    within: Closure = facts.alone
    listed = facts.finite_values(attribute, within)
    nullable = attribute not in facts.query.present and facts.query.nullable(attribute)
    null = [exp.cast(exp.null(), kind.name)] * nullable
    if listed is None:
        ends, resolution = _ends(facts, within, common.key), facts.resolution(attribute)
        if ends is None or resolution is None:
            raise PlanError(f"nobody knows which values {attribute} has, so they are not enumerated")
        low, high = ends
        space, family = facts.facts.space, facts.facts.space.family(attribute)
        number = (high - low) // resolution + 1
        if number > REPLICAS:
            raise PlanError(
                f"{attribute} has {number:,} values, of which at most {REPLICAS:,} are enumerated"
            )
        listed = [space.value(family, n) for n in range(low, high + 1, resolution)]
        if (
            kind.resolution == 1
            and all(isinstance(v, int) for v in listed)
            and kind.name in ("int", "bigint", "smallint", "tinyint")
        ):
            first, last = (exp.Literal.number(listed[at]) for at in (0, -1))
            node: exp.Expr = exp.GenerateSeries(start=first, end=last)
            if null:
                node = exp.ArrayConcat(this=node, expressions=[exp.Array(expressions=null)])
            return node, number + nullable
    if len(listed) > LISTED:
        raise PlanError(f"{attribute} has {len(listed):,} values, of which at most {LISTED:,} are listed")
    nodes = [literal(value, kind, kind) for value in listed]
    return exp.Array(expressions=[*nodes, *null]), len(listed) + nullable


def _ends(facts: Facts, within: Closure, key: Key) -> tuple[int, int] | None:
    """The least and the greatest class of a key, as numbers of the closure."""
    space, family = facts.facts.space, facts.facts.space.family(key.attribute)
    lower, upper = within.lower(key.attribute), within.upper(key.attribute)

    def end(value: Value | None) -> int | None:
        return None if value is None else space.embed(family, value)

    lows = [n for n in (end(key.low), None if lower is None else lower[0]) if n is not None]
    highs = [n for n in (end(key.high), None if upper is None else upper[0]) if n is not None]
    return (max(lows), min(highs)) if lows and highs else None
