"""The rows of a join: those that found partners, those that found none, as-of joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.clock import conjuncts
from streambound.query.dialects.grammar import PUT_IN
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.text.parts import GROUPED, Item, Latest, Part, Partners
from streambound.query.scope import location_of

if TYPE_CHECKING:
    from streambound.query.parse.inlining.names import Names

# What stands in the place of a column of a side that has no row.
_MISSING = "missing"
# Of NULL they are NULL.
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs)


@dataclass(frozen=True)
class Joined:
    """One way in which rows come about: what is in each side's place, and what must hold."""

    sides: list[Part]
    tables: tuple[exp.Table, ...]
    conditions: tuple[exp.Expr, ...] = ()
    partners: tuple[Partners, ...] = ()
    latest: tuple[Latest, ...] = ()


def alternatives(names: Names, parts: Sequence[Part]) -> Iterator[Joined]:
    """The ways in which rows of a FROM clause come about: one without outer joins."""
    first, *rest = parts
    rows = [Joined([first], first.tables, first.conditions, first.partners, first.latest)]
    group: list[Part] = []
    for number, part in enumerate(rest, start=1):
        group.append(part)
        if names.sides[number] == GROUPED:
            continue
        rows = [made for row in rows for made in _joined(names, number, row, group, len(rows) == 1)]
        group = []
    yield from rows


def _joined(names: Names, number: int, row: Joined, group: list[Part], alone: bool) -> Iterator[Joined]:
    side, node = names.sides[number], names.sources[number].node
    sides, part = [*row.sides, *group], _together(group)
    later = [_nothing(part) for part in names_rest(names, number)]
    substitution = Substitution(names, [*sides, *later])
    if side.startswith("ASOF"):
        yield _as_of(names, number, row, part, substitution)
        return
    on = [names.condition(substitution.of(condition)) for condition in names.ons[number]]
    first = number + 1 - len(group)
    on += [condition for member in range(first, number + 1) for condition in names.using(member, sides)]
    on += [condition for member in range(first, number + 1) for condition in names.near(member, sides)]
    if len(group) > 1:
        inner_ons = (on_ for member in range(first, number) for on_ in names.ons[member])
        on += [names.condition(substitution.of(condition)) for condition in inner_ons]
    both = (*row.conditions, *part.conditions, *on)
    inner = Joined(sides, (*row.tables, *part.tables), both, (*row.partners, *part.partners), row.latest)
    if side in ("SEMI", "ANTI"):
        match = Partners(part.tables, (*part.conditions, *on), side == "ANTI", False, node)
        yield replace(row, sides=sides, partners=(*row.partners, match))
        return
    yield replace(inner, latest=(*row.latest, *part.latest))
    if side in ("LEFT", "FULL"):
        none = Partners(part.tables, (*part.conditions, *on), True, True, node)
        if part.partners or part.latest:
            names.inliner.refuse("an outer join of an outer join", node)
        yield replace(row, sides=[*row.sides, *map(_nothing, group)], partners=(*row.partners, none))
    if side in ("RIGHT", "FULL"):
        if not alone or row.partners or row.latest:
            names.inliner.refuse(f"a {side} JOIN of an outer join", node)
            return
        none = Partners(row.tables, (*row.conditions, *on), True, True, node)
        yield Joined(
            [*map(_nothing, row.sides), *group],
            part.tables,
            part.conditions,
            (*part.partners, none),
            part.latest,
        )


def _together(group: list[Part]) -> Part:
    """Parts that are joined with each other, as one."""
    if len(group) == 1:
        return group[0]
    return Part(
        tuple(table for part in group for table in part.tables),
        tuple(condition for part in group for condition in part.conditions),
        (),
        tuple(partners for part in group for partners in part.partners),
        tuple(latest for part in group for latest in part.latest),
    )


def names_rest(names: Names, number: int) -> list[Part]:
    """The parts of the sources after one, which its ON cannot name."""
    return [source.parts[0] for source in names.sources[number + 1 :]]


def _nothing(part: Part) -> Part:
    """A side without a row: its columns are NULL."""
    columns = (Item(column.name, column.key, _null()) for column in part.columns)
    return Part((), (), tuple(columns))


def _null() -> exp.Expr:
    made = exp.Null()
    made.meta[_MISSING] = True
    return made


class _TimeComparison(NamedTuple):
    """``left op right`` of an as-of join, with the tables that are looked up on the right; where it stands.

    ``condition`` is None where no condition says it: ``FOR SYSTEM_TIME AS OF``, or no time at all.
    """

    left: exp.Expr
    right: exp.Expr
    op: type[exp.Expr]
    condition: exp.Expr | None

    @property
    def behind(self) -> bool:
        """Whether the latest tuple before is looked up, not the first one after."""
        return self.op in (exp.GTE, exp.GT)

    @property
    def plain(self) -> bool:
        """Whether it is without an offset, which says how far away a tuple may be."""
        return not any(isinstance(side.unnest(), (exp.Add, exp.Sub)) for side in (self.left, self.right))


@dataclass
class _AsOfConditions:
    """What the conditions of an as-of join say: equal keys, comparisons of times, and what is left."""

    keys: list[tuple[exp.Expr, exp.Expr]]
    times: list[_TimeComparison]
    left_over: list[exp.Expr]


def _as_of(names: Names, number: int, row: Joined, part: Part, substitution: Substitution) -> Joined:
    node = names.sources[number].node
    conditions = _as_of_conditions(names, number, row, part, substitution)
    chosen = next((time for time in conditions.times if time.plain), conditions.times[0])
    tolerances = []
    for time in conditions.times:
        if time is not chosen and time.behind is chosen.behind and time.condition is not None:
            conditions.left_over.append(names.condition(time.condition))
        elif time is not chosen:
            tolerances.append(time.op(this=time.left.copy(), expression=time.right.copy()))
    if len(tolerances) > 1:
        names.inliner.refuse("an as-of join with several tolerances", node)
    latest = Latest(
        part.tables[0].args["alias"].name,
        tuple(conditions.keys),
        chosen.left,
        chosen.right,
        chosen.behind,
        chosen.op in (exp.GT, exp.LT),
        tolerances[0] if tolerances else None,
        names.sides[number].endswith("LEFT"),
        node,
        tuple(conditions.left_over),
    )
    return Joined(
        substitution.parts[: number + 1],
        (*row.tables, *part.tables),
        (*row.conditions, *part.conditions),
        (*row.partners, *part.partners),
        (*row.latest, *part.latest, latest),
    )


def _as_of_conditions(
    names: Names, number: int, row: Joined, part: Part, substitution: Substitution
) -> _AsOfConditions:
    """The conditions of an as-of join, of which there is at least one comparison of times.

    Raises:
        QueryError: it has no condition.
    """
    node = names.sources[number].node
    conditions = _AsOfConditions([], [], list(names.using(number, substitution.parts)))
    local = {table.args["alias"].name for table in part.tables}
    version = node.args.get("version") if isinstance(node, exp.Table) else None
    if version is None and not names.ons[number] and not conditions.left_over:
        raise QueryError(
            "an as-of join has no condition",
            location=location_of(node, names.inliner.text),
            accepted="ON with the keys, and with the times: r.k = l.k AND r.ts <= l.ts",
        )
    for condition in names.ons[number]:
        for conjunct in conjuncts(substitution.of(condition)):
            left, right = _sides(conjunct, local)
            if left is None or right is None:
                conditions.left_over.append(names.condition(conjunct))
            elif isinstance(conjunct, exp.EQ) and not names.is_time(right):
                conditions.keys.append((left, right))
            elif names.is_time(right):
                conditions.times.append(_TimeComparison(left, right, _mirrored(conjunct, local), conjunct))
            else:
                conditions.left_over.append(names.condition(conjunct))
    if version is None and conditions.times:
        return conditions
    row_time, part_time = names.time_of(row.tables), names.time_of(part.tables)
    if version is not None:
        of = substitution.of(version.expression)
        over = {column.table for column in of.find_all(exp.Column)}
        # By the present time, whoever's, a row is joined as it arrives.
        row_time = of if over and not over & local else row_time
    conditions.times.insert(
        0, _TimeComparison(row_time or exp.Null(), part_time or exp.Null(), exp.GTE, None)
    )
    return conditions


def _sides(node: exp.Expr, mine: set[str]) -> tuple[exp.Expr | None, exp.Expr | None]:
    """The side of a comparison that is over other tables, and that which is over these; None of others."""
    if not isinstance(node, (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
        return None, None
    ends = node.this, node.expression
    over = [{column.table for column in end.find_all(exp.Column)} for end in ends]
    if over[1] and over[1] <= mine and not over[0] & mine:
        return ends
    if over[0] and over[0] <= mine and not over[1] & mine:
        return ends[1], ends[0]
    return None, None


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}


def _mirrored(node: exp.Expr, mine: set[str]) -> type[exp.Expr]:
    """The comparison with the side that is over these tables on the right."""
    over = {column.table for column in node.expression.find_all(exp.Column)}
    return type(node) if over and over <= mine else _MIRRORED[type(node)]


def sought_after(partners: Sequence[Partners]) -> list[Partners] | None:
    """Partners without those that a row with a missing side cannot have; None if it must have one of them."""
    kept = []
    for partner in partners:
        conditions = without_nulls(partner.conditions)
        if conditions is not None:
            kept.append(replace(partner, conditions=tuple(conditions)))
        elif not partner.negated:
            return None
    return kept


def without_nulls(conditions: Sequence[exp.Expr]) -> list[exp.Expr] | None:
    """Conditions without those that the columns of a missing side make true; None if they make one false."""
    kept = []
    for condition in conditions:
        if not any(node.meta.get(_MISSING) for node in condition.find_all(exp.Null)):
            kept.append(condition)
            continue
        for part in conjuncts(condition):
            holds = _holds(part)
            if holds is False:
                return None
            if holds is None:
                kept.append(part)
    return kept


def _holds(node: exp.Expr) -> bool | None:
    """Whether a condition holds whatever the other columns are; None if it depends on them."""
    node = node.unnest()
    if isinstance(node, exp.Not):
        inner = _is_null(node.this)
        return None if inner is None else not inner
    if (null := _is_null(node)) is not None:
        return null
    if isinstance(node, (exp.And, exp.Or)):
        ends = [_holds(node.this), _holds(node.expression)]
        if isinstance(node, exp.And):
            return False if False in ends else None if None in ends else True
        return True if True in ends else None if None in ends else False
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ, exp.Dot, exp.Bracket)):
        return None
    if isinstance(node, (exp.Binary, exp.Between, exp.In)) and any(
        _nothing_in(end) for end in node.iter_expressions()
    ):
        return False
    return None


def _is_null(node: exp.Expr) -> bool | None:
    """What IS [NOT] NULL says of a missing column."""
    node = node.unnest()
    if isinstance(node, exp.Is) and _nothing_in(node.this):
        return isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Not):
        inner = _is_null(node.this)
        return None if inner is None else not inner
    return None


def without_missing(node: exp.Expr) -> exp.Expr:
    """An expression without the missing columns that COALESCE passes over, and what they make NULL."""

    def of(part: exp.Expr) -> exp.Expr:
        if isinstance(part, _STRICT) and _nothing_in(part):
            return _null()
        if not isinstance(part, exp.Coalesce):
            return part
        kept = [item for item in (part.this, *part.expressions) if not _nothing_in(item)]
        if len(kept) == 1 + len(part.expressions):
            return part
        fewer = kept[0] if kept else _null()
        if len(kept) > 1:
            fewer = exp.Coalesce(this=kept[0], expressions=kept[1:])
        fewer.meta[PUT_IN] = True
        return fewer

    if node.find(exp.Coalesce, *_STRICT) is None:
        return node
    made: exp.Expr = exp.Paren(this=node.copy()).transform(of).this
    return made


def _nothing_in(node: exp.Expr) -> bool:
    node = node.unnest()
    if isinstance(node, _STRICT):
        return any(map(_nothing_in, node.iter_expressions()))
    return isinstance(node, exp.Null) and bool(node.meta.get(_MISSING))
