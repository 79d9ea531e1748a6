"""The rows of a join: those that found partners, those that found none, as-of joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.clock import conjuncts
from streambound.query.dialects.grammar import PUT_IN
from streambound.query.parse.parts import GROUPED, Item, Latest, Part, Partners
from streambound.query.parse.substitution import Substitution
from streambound.query.scope import place_of

if TYPE_CHECKING:
    from streambound.query.parse.names import Names

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


def _as_of(names: Names, number: int, row: Joined, part: Part, substitution: Substitution) -> Joined:
    node = names.sources[number].node
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    rest: list[exp.Expr] = list(names.using(number, substitution.parts))
    times: list[tuple[exp.Expr, exp.Expr, type[exp.Expr], exp.Expr | None]] = []
    mine = {table.args["alias"].name for table in part.tables}
    stamp = names.sources[number].node.args.get("version") if isinstance(node, exp.Table) else None
    if stamp is None and not names.ons[number] and not rest:
        raise QueryError(
            "an as-of join has no condition",
            place=place_of(node, names.inliner.text),
            accepted="ON with the keys, and with the times: r.k = l.k AND r.ts <= l.ts",
        )
    for condition in names.ons[number]:
        for conjunct in conjuncts(substitution.of(condition)):
            left, right = _sides(conjunct, mine)
            if left is None or right is None:
                rest.append(names.condition(conjunct))
            elif isinstance(conjunct, exp.EQ) and not names.is_time(right):
                keys.append((left, right))
            elif names.is_time(right):
                times.append((left, right, _mirrored(conjunct, mine), conjunct))
            else:
                rest.append(names.condition(conjunct))
    if stamp is not None:
        of = substitution.of(stamp.expression)
        over = {column.table for column in of.find_all(exp.Column)}
        # By the present time, whoever's, a row is joined as it arrives.
        left = of if over and not over & mine else names.time_of(row.tables)
        right = names.time_of(part.tables)
        times.insert(0, (left or exp.Null(), right or exp.Null(), exp.GTE, None))
    if not times:
        times.append(
            (names.time_of(row.tables) or exp.Null(), names.time_of(part.tables) or exp.Null(), exp.GTE, None)
        )
    # A time with an offset says how far away a tuple may be.
    plain = (t for t in times if not any(isinstance(side.unnest(), (exp.Add, exp.Sub)) for side in t[:2]))
    chosen = next(plain, times[0])
    left, right, op, _ = chosen
    behind = op in (exp.GTE, exp.GT)
    tolerances = []
    for time in times:
        if time is not chosen and (time[2] in (exp.GTE, exp.GT)) is behind and time[3] is not None:
            rest.append(names.condition(time[3]))
        elif time is not chosen:
            tolerances.append(time[2](this=time[0].copy(), expression=time[1].copy()))
    if len(tolerances) > 1:
        names.inliner.refuse("an as-of join with several tolerances", node)
    latest = Latest(
        part.tables[0].args["alias"].name,
        tuple(keys),
        left,
        right,
        behind,
        op in (exp.GT, exp.LT),
        tolerances[0] if tolerances else None,
        names.sides[number].endswith("LEFT"),
        node,
        tuple(rest),
    )
    return Joined(
        substitution.parts[: number + 1],
        (*row.tables, *part.tables),
        (*row.conditions, *part.conditions),
        (*row.partners, *part.partners),
        (*row.latest, *part.latest, latest),
    )


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
