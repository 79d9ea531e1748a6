"""The operators of a statement that may keep rows, as an engine plans it: from the streams up.

Joins stand in the order of FROM, each of what stands before it with the next; an engine prunes the columns
that nothing above needs, and filters each stream by the conditions on it alone (see ``domains``). Views and
sub-queries that are joins and filters are part of the SELECT that reads them; others come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from streambound.engines.domains import Domains, aliases, finite_keys, mains
from streambound.engines.model import Fact, Input, Operator, OperatorKind
from streambound.errors import Location
from streambound.query.clock import CLOCK
from streambound.query.column_types import Family
from streambound.query.formula import Formula, all_of, atoms_of, conjuncts
from streambound.query.model import (
    Attribute,
    Filter,
    Join,
    Membership,
    NullTest,
    Occurrence,
    Op,
    Query,
    RelationKind,
    Term,
)
from streambound.query.operators import AggregateKind, Grouping, Over, Ranking, WindowCalls
from streambound.query.statement import AsOf, Block, Guard, Selection, Statement

_LOOKED_UP = re.compile(r"[^\s]+\s+(?:AS\s+\w+\s+)?FOR\s+SYSTEM_TIME\s+AS\s+OF\b", re.IGNORECASE)
_AS_JOIN = re.compile(r"\b(SEMI|ANTI)\s+JOIN\b", re.IGNORECASE)
_ON_CLOSE = re.compile(r"[^;]*\bEMIT\s+ON\s+WINDOW\s+CLOSE\b", re.IGNORECASE)
_PATTERN = re.compile(r"\bPATTERN\s*\((.*?)\b(?:WITHIN|DEFINE)\b", re.IGNORECASE | re.DOTALL)
# A quantifier without a greatest number of rows.
_ANY_NUMBER = re.compile(r"[*+]|,\s*\}")
# What an aggregate of all rows, or of each key, hands on: rows that change.
_CHANGING = (OperatorKind.GROUP, OperatorKind.TOP, OperatorKind.ANTI, OperatorKind.CLOCK)
_TIME_KEYS = {Fact.EVENT_TIME, Fact.TIME_FUNCTION, Fact.WINDOW, Fact.BOTH_ENDS, Fact.WHOLE_WINDOW}
_END = re.compile(r"\.\s*(?:start|end)\W*$", re.IGNORECASE)
_ABOVE = {OperatorKind.GROUP: Fact.ABOVE_AGGREGATE, OperatorKind.DISTINCT: Fact.ABOVE_DISTINCT}
_UPPER, _LOWER = (Op.LT, Op.LE), (Op.GT, Op.GE)


@dataclass(frozen=True)
class Rows:
    """What comes out of some operators: whether it is taken back, and which joins stand below."""

    facts: frozenset[Fact] = frozenset()
    joins: frozenset[int] = frozenset()

    def beside(self, rows: Rows) -> Rows:
        """The rows of both together."""
        return Rows(self.facts | rows.facts, self.joins | rows.joins)

    def put(self, operator: Operator, plan: list[Operator]) -> Rows:
        """What comes out of an operator over it, which is added to those that were found."""
        plan.append(replace(operator, over=self.joins))
        facts = set(self.facts)
        if operator.kind in _ABOVE:
            facts.add(_ABOVE[operator.kind])
        windowed = operator.facts & {Fact.WINDOW, Fact.SESSION, Fact.RANGE, Fact.WAITS}
        if (operator.kind in _CHANGING or Fact.OUTER in operator.facts) and not windowed:
            facts.add(Fact.UPDATES)
        # The answer stands before all that are found.
        inputs = (
            {len(plan)}
            if operator.kind in (OperatorKind.JOIN, OperatorKind.SEMI, OperatorKind.ANTI)
            else set()
        )
        return Rows(frozenset(facts), self.joins | inputs)


def operators(statement: Statement, infers: bool = True) -> tuple[Operator, ...]:
    """The operators of a statement that may keep rows, those below first; before them the answer itself.

    Args:
        infers: whether a filter passes an equality to the other side of a join.
    """
    plan: list[Operator] = []
    rows = _statement(statement, infers, None, plan)
    return (Operator(OperatorKind.ANSWER, "", (), rows.facts), *plan)


def _statement(statement: Statement, infers: bool, used: frozenset[str] | None, plan: list[Operator]) -> Rows:
    """The operators of a statement of which some columns are used (None: all); what comes out of it."""
    rows = Rows()
    for block in statement.blocks:
        below = Rows()
        selections = [
            _Selection(statement.sql, selection, rest, block, infers, used)
            for selection, rest in mains(block)
        ]
        for selection in selections:
            below = below.beside(selection.operators(plan))
        for operator in _above(block, selections, below.facts):
            below = below.put(operator, plan)
        rows = rows.beside(below)
    return rows


@dataclass(frozen=True)
class _Selection:
    """One SELECT and the rows without a partner that its outer joins add."""

    sql: str
    selection: Selection
    unmatched: tuple[Selection, ...]
    block: Block
    infers: bool
    used: frozenset[str] | None

    @property
    def base(self) -> Query:
        return self.selection.base

    @cached_property
    def domains(self) -> dict[str, Domains]:
        """The domains of each occurrence, by its alias."""
        return {
            o.alias: Domains.of(self.selection, self.unmatched, self.infers, o.alias)
            for o in self.base.occurrences
        }

    @cached_property
    def outer(self) -> frozenset[str]:
        """The occurrences whose rows may be missing."""
        return frozenset(o.alias for s in self.unmatched for g in s.guards for o in g.base.occurrences)

    @cached_property
    def conditions(self) -> tuple[Formula, ...]:
        """The conditions that are no comparison with the present time."""
        return tuple(
            conjunct for conjunct in conjuncts(self.selection.formula) if CLOCK.name not in aliases(conjunct)
        )

    @cached_property
    def clocked(self) -> dict[str, tuple[Join, bool]]:
        """The occurrences that a filter by the present time is on, with a condition, and whether it ends."""
        clocks: dict[str, tuple[Join, bool]] = {}
        for join in conjuncts(self.selection.formula):
            if isinstance(join, Join) and CLOCK.name in aliases(join) and join.location != Location(1, 1):
                local, op, _, offset = _turned(join, *(a for a in aliases(join) if a != CLOCK.name))
                # Of a row that is no later than now nothing is waited for.
                ends, begins = op in (Op.GT, Op.GE), op in (Op.LT, Op.LE) and offset < 0
                if ends or (begins and local.occurrence not in clocks):
                    clocks[local.occurrence] = (join, ends)
        return clocks

    @property
    def matched(self) -> bool:
        """Whether rows of it are taken back only for the same ones with a partner, if at all."""
        return not self.selection.guards and not self.clocked and _of_streams(self.base)

    def expires(self, names: Iterable[str]) -> bool:
        """Whether a filter by the present time ends the rows of some occurrences."""
        return any(self.clocked.get(name, (None, False))[1] for name in names)

    @cached_property
    def joined(self) -> tuple[Occurrence, ...]:
        """The occurrences that are joined, in the order of FROM."""
        looked_up = {as_of.alias for as_of in self.selection.as_of}
        return tuple(
            o for o in self.base.occurrences if o.alias not in looked_up and o.relation.name != CLOCK.name
        )

    @cached_property
    def shown(self) -> tuple[Attribute, ...]:
        """The columns that the rows are needed for above all joins."""
        numbers = _used(self.block, self.used)
        terms = (self.base.select[n].term for n in numbers)
        return tuple(dict.fromkeys(attribute for attribute in terms if isinstance(attribute, Attribute)))

    def named(self, attribute: Attribute) -> str:
        """A column as people write it."""
        return named(self.base, attribute)

    def needed(self, names: frozenset[str], done: frozenset[str]) -> tuple[Attribute, ...]:
        """The columns of some occurrences that the rest of the query reads, where some are joined already."""
        needed: dict[Attribute, None] = {}
        for condition in self.conditions:
            if len(aliases(condition)) > 1 and not aliases(condition) <= done:
                needed.update(dict.fromkeys(a for atom in atoms_of(condition) for a in atom.attributes))
        for as_of in self.selection.as_of:
            pairs = (a for pair in as_of.keys for a in pair)
            needed.update(dict.fromkeys(a for a in (*pairs, as_of.left, as_of.right) if a is not None))
        for guard in self.selection.guards:
            needed.update(dict.fromkeys(a for atom in atoms_of(guard.formula) for a in atom.attributes))
        for shown in self.shown:
            # An expression is computed above the joins, of the columns that it reads.
            relation = self.base.occurrence(shown.occurrence).relation
            own = relation.stored((shown.column,)) or (shown.column,)
            needed.update(dict.fromkeys(Attribute(shown.occurrence, name) for name in own))
        return tuple(a for a in needed if a.occurrence in names)

    def input(
        self, names: Sequence[str], keys: Iterable[Attribute] = (), done: frozenset[str] = frozenset()
    ) -> Input:
        """What comes from some occurrences, joined."""
        needed = self.needed(frozenset(names), done)
        keys = tuple(dict.fromkeys(keys))
        columns = tuple(dict.fromkeys((*keys, *needed)))
        relations = [self.base.occurrence(name).relation for name in names]
        endless = any(
            relation.kind in (RelationKind.STREAM, RelationKind.VERSIONED) for relation in relations
        )
        return Input(
            " and ".join(names),
            tuple(map(self.named, columns)),
            tuple(self.named(a) for a in columns if not self.domains[a.occurrence].finite(a)),
            tuple(map(self.named, keys)),
            frozenset(self.named(a) for a in columns if self.base.is_time(a)),
            *self.unique(names),
            endless,
            self.expires(names),
            self.most(columns),
        )

    def unique(self, names: Sequence[str]) -> tuple[bool, bool]:
        """Whether something tells the joined rows of some occurrences apart, and whether that has finitely
        many values: primary keys, or the keys of the groups of sub-queries.
        """
        each_unique = [self._unique(name) for name in names]
        return all(unique for unique, _ in each_unique), all(few for _, few in each_unique)

    def _unique(self, name: str) -> tuple[bool, bool]:
        relation = self.base.occurrence(name).relation
        finite = None if relation.fed is None else finite_keys(relation.fed, self.infers)
        if finite is not None:
            return True, finite
        key = [Attribute(name, column) for column in relation.primary_key or ()]
        return bool(key), bool(key) and all(map(self.domains[name].finite, key))

    def most(self, columns: Iterable[Attribute]) -> int | None:
        """How many rows of some columns there can be."""
        product = 1
        for attribute in columns:
            values = self.domains[attribute.occurrence].values(attribute)
            if values is None:
                return None
            product *= values + self.nulls(attribute)
        return product

    def nulls(self, attribute: Attribute) -> int:
        """1 where NULL is a further value of a column."""
        asked = self.domains[attribute.occurrence].conditions
        present = any(isinstance(a, (Filter, Join, Membership)) and attribute in a.attributes for a in asked)
        return int(self.base.nullable(attribute) and not present)

    def operators(self, plan: list[Operator]) -> Rows:
        """The operators of it, its joins among them; what comes out."""
        made = {o.alias: self.source(o, plan) for o in self.base.occurrences}
        for alias, (condition, ends) in self.clocked.items():
            waits = frozenset(() if ends else (Fact.WAITS,))
            clock = Operator(
                OperatorKind.CLOCK, str(condition), (self.input([alias]),), waits, condition.location
            )
            made[alias] = made[alias].put(clock, plan)
        first, *later = self.joined
        names, rows = [first.alias], made[first.alias]
        for occurrence in later:
            rows = rows.beside(made[occurrence.alias])
            rows = rows.put(self.join(names, occurrence, rows.facts), plan)
            names.append(occurrence.alias)
        for as_of in self.selection.as_of:
            rows = rows.beside(made[as_of.alias])
            rows = rows.put(self.as_of(names, as_of, rows.facts), plan)
        for guard in self.selection.guards:
            for occurrence in guard.base.occurrences:
                rows = rows.beside(self.source(occurrence, plan))
            rows = rows.put(self.guard(names, guard, rows.facts), plan)
        return rows

    def source(self, occurrence: Occurrence, plan: list[Operator]) -> Rows:
        """What an occurrence brings; of a sub-query its operators come first."""
        relation = occurrence.relation
        if relation.fed is None:
            changing = relation.kind is RelationKind.VERSIONED
            return Rows(facts=frozenset({Fact.UPDATES} if changing else ()))
        mentioned = {
            a for condition in self.conditions for atom in atoms_of(condition) for a in atom.attributes
        }
        mentioned |= {a for g in self.selection.guards for x in atoms_of(g.formula) for a in x.attributes}
        mentioned |= {a for as_of in self.selection.as_of for pair in as_of.keys for a in pair}
        mentioned |= {
            *self.shown,
            *(a for as_of in self.selection.as_of for a in (as_of.left, as_of.right) if a),
        }
        own = {a.column for a in mentioned if a.occurrence == occurrence.alias}
        used = frozenset(n for name in own for n in (name, *relation.column(name).of))
        numbers = {c.name: n for n, c in enumerate(c for c in relation.columns if not c.of)}
        names = frozenset(relation.fed.outputs[numbers[n]][0] for n in used if n in numbers)
        return _statement(relation.fed, self.infers, names, plan)

    def join(self, names: list[str], occurrence: Occurrence, facts: frozenset[Fact]) -> Operator:
        """The join of what stands before an occurrence with it."""
        done, alias = frozenset(names), occurrence.alias
        on = [
            condition
            for condition in self.conditions
            if alias in aliases(condition)
            and len(aliases(condition)) > 1
            and aliases(condition) <= done | {alias}
        ]
        pairs = [item for item in on if isinstance(item, Join)]
        compared = [_turned(pair, alias) for pair in pairs]
        equal = [(left, right) for left, op, right, offset in compared if op is Op.EQ and not offset]
        sides = (
            self.input(names, (right for _, right in equal), done),
            self.input([alias], (left for left, _ in equal), done),
        )
        made = set(facts) | self._times(compared)
        made |= {Fact.NO_EQUALITY} if all(op is not Op.EQ for _, op, _, _ in compared) else set()
        made |= {Fact.OUTER} if self.outer & {alias, *(names if len(names) == 1 else ())} else set()
        kinds = {self.base.occurrence(name).relation.kind for name in (*names, alias)}
        made |= {Fact.TABLE} if RelationKind.VERSIONED in kinds else set()
        static = self.base.occurrence(alias).relation.kind is RelationKind.STATIC
        static |= all(self.base.occurrence(name).relation.kind is RelationKind.STATIC for name in names)
        made |= {Fact.STATIC} if static else set()
        statics = {o.alias for o in self.base.statics}
        kept = Fact.OUTER in made and bool(statics & {*names, alias} - self.outer)
        made |= {Fact.STATIC_KEPT} if static and kept else set()
        made |= {Fact.SCALAR} if any(self._single_row(name) for name in (*names, alias)) else set()
        looked_up = static and self._looked_up(occurrence)
        text = " AND ".join(_said(self.base, item) for item in on) or f"of {' and '.join((*names, alias))}"
        location = on[0].location if on and not hasattr(on[0], "parts") else occurrence.location
        return Operator(
            OperatorKind.LOOKUP if looked_up else OperatorKind.JOIN, text, sides, frozenset(made), location
        )

    def _single_row(self, alias: str) -> bool:
        fed = self.base.occurrence(alias).relation.fed
        if fed is None or len(fed.blocks) != 1:
            return False
        then = fed.blocks[0].then
        return isinstance(then, Grouping) and then.keys == 0

    def _looked_up(self, occurrence: Occurrence) -> bool:
        return _LOOKED_UP.match(_from(self.sql, occurrence.location)) is not None

    def _times(self, compared: Sequence[tuple[Attribute, Op, Attribute, int]]) -> set[Fact]:
        """What a join says of times."""
        facts: set[Fact] = set()
        events: dict[tuple[str, str], list[Op]] = {}
        plain: dict[tuple[str, str], list[Op]] = {}
        ends, specs = set[str](), set[object]()
        for left, op, right, _ in compared:
            pair = (left.occurrence, right.occurrence)
            kinds = time_of(self.base, left), time_of(self.base, right)
            if kinds == ("stamp", "stamp"):
                events.setdefault(pair, []).append(op)
            elif op is Op.EQ and kinds[0] == kinds[1] and kinds[0] in ("start", "end"):
                ends.add(kinds[0])
                specs |= {_window(self.base, left), _window(self.base, right)}
            elif all(self.base.type_of(a).family is Family.TIMESTAMP for a in (left, right)):
                plain.setdefault(pair, []).append(op)
        for ops in events.values():
            equal, upper, lower = Op.EQ in ops, any(o in _UPPER for o in ops), any(o in _LOWER for o in ops)
            if equal or (upper and lower):
                facts.add(Fact.RANGE)
                facts |= {Fact.TIME_EQUALITY} if equal else set()
                facts |= {Fact.BOUNDS} if len(ops) == (1 if equal else 2) else set()
            elif upper or lower:
                facts.add(Fact.ONE_SIDED)
        if ends:
            facts |= {Fact.RANGE, Fact.TIME_EQUALITY}
            facts |= {Fact.WINDOWS} if len(ends) == 2 and len(specs) == 1 else set()
        if Fact.RANGE not in facts and any(
            Op.EQ in ops or (any(o in _UPPER for o in ops) and any(o in _LOWER for o in ops))
            for ops in _mixed(events, plain)
        ):
            facts.add(Fact.PLAIN_RANGE)
        return facts

    def as_of(self, names: Sequence[str], of: AsOf, facts: frozenset[Fact]) -> Operator:
        """The as-of join of what stands before with the last tuple of a stream or table."""
        sides = (
            self.input(names, (a for a, _ in of.keys)),
            self.input([of.alias], (a for _, a in of.keys)),
        )
        text = " AND ".join(f"{a} = {b}" for a, b in of.keys) or f"of {of.alias}"
        made = facts | ({Fact.OUTER} if of.outer else set())
        return Operator(OperatorKind.AS_OF, text, sides, made, of.location)

    def guard(self, names: Sequence[str], guard: Guard, facts: frozenset[Fact]) -> Operator:
        """EXISTS, IN and their negations: the rows with a match, or with none."""
        inner = {o.alias: o for o in guard.base.occurrences}
        base = replace(self.base, occurrences=(*self.base.occurrences, *inner.values()))
        asked = (*self.conditions, *conjuncts(guard.formula))
        # What rows with a match must pass filters both sides; of rows without one only the other side.
        domains = Domains(base, asked, self.infers)
        mine_too = (
            self if guard.negated else replace(self, selection=replace(self.selection, formula=all_of(asked)))
        )
        compared = [
            _turned(join, *inner)
            for join in conjuncts(guard.formula)
            if isinstance(join, Join) and len(aliases(join) & set(inner)) == 1
        ]
        equal = [(mine, theirs) for mine, op, theirs, offset in compared if op is Op.EQ and not offset]
        theirs = tuple(b for _, b in equal)
        mine = tuple(a for a, _ in equal)
        read = (a for atom in atoms_of(guard.formula) for a in atom.attributes if a.occurrence in inner)
        columns = tuple(dict.fromkeys((*mine, *read)))
        right = Input(
            " and ".join(inner),
            tuple(named(base, a) for a in columns),
            tuple(named(base, a) for a in columns if not domains.finite(a)),
            tuple(named(base, a) for a in mine),
            frozenset(named(base, a) for a in columns if guard.base.is_time(a)),
            endless=any(
                o.relation.kind in (RelationKind.STREAM, RelationKind.VERSIONED) for o in inner.values()
            ),
        )
        made = set(facts) | replace(self, selection=replace(self.selection, base=base))._times(compared)
        made |= {Fact.NO_EQUALITY} if all(op is not Op.EQ for _, op, _, _ in compared) else set()
        made |= {Fact.NOT_IN} if any(map(_not_in, conjuncts(guard.formula))) else set()
        made |= {Fact.STATIC} if not right.endless else set()
        made |= {Fact.AS_JOIN} if _AS_JOIN.search(self.sql) else set()
        kind = OperatorKind.ANTI if guard.negated else OperatorKind.SEMI
        left = mine_too.input(names, theirs)
        text = (
            " AND ".join(_said(base, conjunct) for conjunct in conjuncts(guard.formula))
            or f"of {' and '.join(inner)}"
        )
        return Operator(kind, text, (left, right), frozenset(made), guard.location)

    def of_outputs(self, numbers: Iterable[int], keys: Iterable[int]) -> Input:
        """What comes out of the joins, by positions of its outputs."""
        given = {n: self.base.select[n].term for n in dict.fromkeys((*keys, *numbers))}
        columns = tuple(
            dict.fromkeys(attribute for attribute in given.values() if isinstance(attribute, Attribute))
        )
        chosen = tuple(dict.fromkeys(t for n in keys if isinstance(t := given[n], Attribute)))
        endless = any(
            o.relation.kind in (RelationKind.STREAM, RelationKind.VERSIONED) for o in self.base.occurrences
        )
        return Input(
            " and ".join(o.alias for o in self.joined),
            tuple(map(self.named, columns)),
            tuple(self.named(a) for a in columns if not self.domains[a.occurrence].finite(a)),
            tuple(map(self.named, chosen)),
            frozenset(self.named(a) for a in columns if time_of(self.base, a) is not None),
            *self.unique([o.alias for o in self.base.occurrences]),
            endless=endless,
            expires=self.expires(self.clocked),
            most=self.most(chosen),
        )


def _from(sql: str, location: Location) -> str:
    """The rest of a text from a place on."""
    lines = sql.split("\n")[location.line - 1 :]
    return "\n".join([line[location.column - 1 :] for line in lines[:1]] + lines[1:])


def _not_in(formula: Formula) -> bool:
    """Whether it is the comparison of NOT IN: equal, or one of both NULL."""
    parts = getattr(formula, "parts", ())
    equal = [join for join in parts if isinstance(join, Join) and join.op is Op.EQ]
    return len(equal) == 1 and all(part in equal or isinstance(part, NullTest) for part in parts)


def _mixed(
    events: dict[tuple[str, str], list[Op]], plain: dict[tuple[str, str], list[Op]]
) -> Iterator[list[Op]]:
    yield from ([*ops, *events.get(pair, ())] for pair, ops in plain.items())


def _turned(join: Join, *alias: str) -> tuple[Attribute, Op, Attribute, int]:
    """A comparison with the side of some occurrences on the left."""
    if join.left.occurrence in alias:
        return join.left, join.op, join.right, join.offset
    return join.right, join.op.mirrored, join.left, -join.offset


def _said(query: Query, formula: Formula) -> str:
    if hasattr(formula, "parts"):
        word = " AND " if type(formula).__name__ == "AllOf" else " OR "
        return f"({word.join(_said(query, part) for part in formula.parts)})"
    if isinstance(formula, Join):
        left, right = (named(query, attribute) for attribute in formula.attributes)
        return f"{left} {formula.op.value} {right}{formula.offset_text}"
    return str(formula)


def named(query: Query, attribute: Attribute) -> str:
    """A column as people write it: also the end of a window of a table function, or one that is moved."""
    column = query.column(attribute)
    if _of_table_function(attribute):
        return f"{attribute.occurrence}.window_{column.edge}"
    if column.shift and column.type.resolution is not None and column.type.family is Family.NUMBER:
        sign = "-" if column.shift < 0 else "+"
        return f"{attribute.occurrence}.{column.of[0]} {sign} {abs(column.shift)}"
    return str(attribute)


def _of_table_function(attribute: Attribute) -> bool:
    """Whether it is an end of a window of FROM, and not of GROUP BY."""
    return any(word in attribute.column.upper() for word in ("DESCRIPTOR", "TABLE"))


def time_of(query: Query, attribute: Attribute) -> str | None:
    """Whether a column is an event time (``stamp``), the start or end of a window of it, or another monotone
    function of it (``function``); None if it is none.
    """
    relation, column = query.occurrence(attribute.occurrence).relation, query.column(attribute)
    if column.of:
        return (
            None if column.bucket is None else column.edge if column.edge in ("start", "end") else "function"
        )
    if relation.fed is not None:
        names = [c.name for c in relation.columns if not c.of]
        return _time_of_output(relation.fed, names.index(attribute.column))
    return "stamp" if relation.timestamp == attribute.column else None


def _window(query: Query, attribute: Attribute) -> tuple[int | None, int | None, bool] | None:
    """The length of a window, and how far the next one begins after it."""
    relation, column = query.occurrence(attribute.occurrence).relation, query.column(attribute)
    if column.of:
        return column.bucket, column.slide, column.cumulative
    if relation.fed is None:
        return None
    number = [c.name for c in relation.columns if not c.of].index(attribute.column)
    windows = set()
    for block in relation.fed.blocks:
        position = number if block.then is None else block.then.shown[number].outputs[0]
        for selection in block.selections:
            term = selection.base.select[position].term
            windows.add(_window(selection.base, term) if isinstance(term, Attribute) else None)
    return windows.pop() if len(windows) == 1 else None


def _time_of_output(statement: Statement, number: int) -> str | None:
    times = set()
    for block in statement.blocks:
        position = number
        if block.then is not None:
            shown = block.then.shown[number]
            if not shown.plain or len(shown.outputs) != 1:
                return None
            position = shown.outputs[0]
        for selection in block.selections:
            term = selection.base.select[position].term
            times.add(time_of(selection.base, term) if isinstance(term, Attribute) else None)
    return times.pop() if len(times) == 1 else None


def _used(block: Block, names: frozenset[str] | None) -> tuple[int, ...]:
    """The outputs of the rows of a block that are read, where of its answers some columns are."""
    then = block.then
    if then is None:
        every = enumerate(block.outputs)
        if block.ring.idempotent:
            names = None
        return tuple(n for n, (name, _) in every if names is None or name in names)
    shown = [output for output in then.shown if names is None or output.name in names]
    used = {n for output in shown for n in output.outputs}
    values = {v for output in shown for v in output.values}
    if isinstance(then, Grouping):
        values |= set(then.having.aggregates) if then.having is not None else set()
        used |= set(range(then.keys))
        for value in values:
            aggregate = then.aggregates[value]
            used |= {*aggregate.arguments, *(p for p in (aggregate.by, aggregate.value) if p is not None)}
    elif isinstance(then, Ranking):
        used |= {*then.partition, *(position for position, _ in then.order)}
    else:
        for function in then.functions:
            used |= {*function.partition, *(position for position, _ in function.order), *function.arguments}
            used |= set(function.aggregate.arguments) if function.aggregate is not None else set()
    return tuple(sorted(used))


def _above(block: Block, selections: Sequence[_Selection], facts: frozenset[Fact]) -> Iterator[Operator]:
    """What is done to the rows of a block after its joins."""
    used = _used(block, selections[0].used)
    then = block.then
    if then is None:
        if block.ring.idempotent:
            every = range(len(block.selections[0].base.select))
            inputs = tuple(selection.of_outputs(every, every) for selection in selections)
            location = block.selections[0].base.select[0].location if every else Location(1, 1)
            text = ", ".join(name for name, _ in block.outputs)
            keys = _of_keys(selections[0].base, every) & _TIME_KEYS
            yield Operator(OperatorKind.DISTINCT, text, inputs, facts | keys, location)
    elif isinstance(then, Grouping):
        yield _group(then, selections, used, facts)
    elif isinstance(then, Ranking):
        yield _top(then, selections, used, facts)
    else:
        yield _over(then, selections, used, facts)


def _of_keys(query: Query, keys: Iterable[int]) -> set[Fact]:
    """What times there are among some outputs."""
    facts: set[Fact] = set()
    kinds = set()
    for number in keys:
        term = query.select[number].term
        if not isinstance(term, Attribute):
            continue
        kind = time_of(query, term)
        if kind == "stamp" and query.select[number].moved:
            # Engines know an event time by its column, which this no longer is.
            kind = "function"
        kinds.add(kind)
        if kind in ("start", "end"):
            facts.add(Fact.WINDOW)
            # A window of GROUP BY itself, not of a table function.
            if query.column(term).of and not _of_table_function(term):
                facts |= {Fact.BOTH_ENDS, Fact.GROUP_WINDOW}
            # A derived column has the name that it is written with.
            if not query.column(term).of or not _END.search(term.column):
                facts.add(Fact.WHOLE_WINDOW)
    if {"start", "end"} <= kinds:
        facts.add(Fact.BOTH_ENDS)
    if "stamp" in kinds:
        facts.add(Fact.EVENT_TIME)
    if "function" in kinds:
        facts.add(Fact.TIME_FUNCTION)
    return facts


def _in_order(query: Query, keys: Iterable[int]) -> list[Attribute]:
    """The keys of a GROUP BY as its rows are kept by them: where one is computed they stand as they are
    written, else as the columns do that they are, to which those of sliding windows are added.
    """
    terms = [term for n in keys if isinstance(term := query.select[n].term, Attribute)]
    columns = {term: query.column(term) for term in terms}
    if any(column.of and column.slide is None for column in columns.values()):
        return terms

    def location(term: Attribute) -> tuple[int, int]:
        aliases = [o.alias for o in query.occurrences]
        names = [c.name for c in query.occurrence(term.occurrence).relation.columns if not c.of]
        at = len(names) if columns[term].of else names.index(term.column)
        return aliases.index(term.occurrence), at

    return sorted(terms, key=location)


def _timed(query: Query, terms: Sequence[Term]) -> bool:
    """Whether the first of some keys is an event time, or an end of a window."""
    first = terms[0] if terms else None
    return isinstance(first, Attribute) and time_of(query, first) in ("stamp", "start", "end")


def _terms(query: Query, numbers: Iterable[int]) -> str:
    terms = (query.select[n].term for n in numbers)
    return ", ".join(
        dict.fromkeys(named(query, term) if isinstance(term, Attribute) else str(term) for term in terms)
    )


def _group(
    then: Grouping, selections: Sequence[_Selection], used: Sequence[int], facts: frozenset[Fact]
) -> Operator:
    base = selections[0].base
    keys = range(then.keys)
    read = [aggregate for aggregate in then.aggregates if set(aggregate.arguments) <= set(used)]
    made = set(facts) | _of_keys(base, keys)
    made |= {Fact.SESSION} if then.session is not None else set()
    made |= {Fact.TIME_FIRST} if _timed(base, _in_order(base, keys)) else set()
    made |= {Fact.NO_AGGREGATE} if not then.aggregates else set()
    made |= {Fact.VALUES} if any(aggregate.distinct for aggregate in read) else set()
    made |= {Fact.LIST} if any(aggregate.kind is AggregateKind.LIST for aggregate in read) else set()
    made |= (
        {Fact.EXTREMUM}
        if any(aggregate.kind in (AggregateKind.LEAST, AggregateKind.GREATEST) for aggregate in read)
        else set()
    )
    ends = [
        aggregate for aggregate in read if aggregate.kind in (AggregateKind.LEAST, AggregateKind.GREATEST)
    ]
    rises = (
        selection.matched or _monotone(selection.base, aggregate.arguments, aggregate.kind)
        for selection in selections
        for aggregate in ends
        if aggregate.arguments
    )
    made |= {Fact.MONOTONE} if ends and all(rises) else set()
    distinct = sorted({p for aggregate in read if aggregate.distinct for p in aggregate.arguments})
    inputs = tuple(selection.of_outputs(distinct, keys) for selection in selections)
    text = _terms(base, keys) or "all rows"
    location = (
        base.select[0].location
        if then.keys
        else then.aggregates[0].location
        if then.aggregates
        else Location(1, 1)
    )
    made |= {Fact.ON_CLOSE} if _ON_CLOSE.match(_from(selections[0].sql, location)) else set()
    return Operator(OperatorKind.GROUP, text, inputs, frozenset(made), location)


def _top(
    then: Ranking, selections: Sequence[_Selection], used: Sequence[int], facts: frozenset[Fact]
) -> Operator:
    base = selections[0].base
    made = set(facts) | _of_keys(base, then.partition)
    made |= {Fact.TIME_FIRST} if _timed(base, [base.select[n].term for n in then.partition]) else set()
    made |= {Fact.FIRST} if then.last == 1 and then.function == "ROW_NUMBER" and not then.beyond else set()
    made |= {Fact.UNORDERED} if not then.order else set()
    made |= {Fact.RANK} if then.function != "ROW_NUMBER" else set()
    made |= {Fact.BEYOND} if then.beyond else set()
    made |= {Fact.LIMIT} if not then.partition else set()
    made |= {Fact.TIME_ORDER} if _by_time(base, then.order) else set()
    if len(then.order) == 1:
        (((first, descends),), end) = then.order, AggregateKind.LEAST
        end = AggregateKind.GREATEST if descends else AggregateKind.LEAST
        made |= (
            {Fact.MONOTONE}
            if all(_monotone(selection.base, (first,), end) for selection in selections)
            else set()
        )
    inputs = tuple(selection.of_outputs(used, then.partition) for selection in selections)
    # A star has no place.
    locations = [base.select[n].location for n in (*then.partition, *(n for n, _ in then.order))]
    location = next(
        (item for item in (then.shown[0].location, *locations) if item != Location(1, 1)), Location(1, 1)
    )
    text = f"{then.function} {then.op.value} {then.limit} of {_terms(base, then.partition) or 'all rows'}"
    return Operator(OperatorKind.TOP, text, inputs, frozenset(made), location)


def _monotone(query: Query, positions: Sequence[int], end: AggregateKind) -> bool:
    """Whether an output is an aggregate of a stream's groups that only moves towards an end: a number of
    rows, or an extremum, towards its own.
    """
    term = query.select[positions[0]].term
    fed = query.occurrence(term.occurrence).relation.fed if isinstance(term, Attribute) else None
    then = fed.blocks[0].then if fed is not None else None
    if (
        fed is None
        or not isinstance(term, Attribute)
        or not isinstance(then, Grouping)
        or len(fed.blocks) > 1
    ):
        return False
    relation = query.occurrence(term.occurrence).relation
    shown = then.shown[[c.name for c in relation.columns if not c.of].index(term.column)]
    plain = all(
        _of_streams(selection.base) and not selection.guards and not selection.as_of
        for selection in fed.selections
    )
    if not (plain and shown.plain and shown.values):
        return False
    kind = then.aggregates[shown.values[0]].kind
    return kind is end or (kind is AggregateKind.COUNT and end is AggregateKind.GREATEST)


def _of_streams(query: Query) -> bool:
    """Whether it reads streams alone, of which no row is taken back."""
    return all(o.relation.fed is None and o.relation.kind is RelationKind.STREAM for o in query.occurrences)


def _by_time(query: Query, order: Sequence[tuple[int, bool]]) -> bool:
    term = query.select[order[0][0]].term if order else None
    return isinstance(term, Attribute) and time_of(query, term) is not None


def _over(
    then: WindowCalls, selections: Sequence[_Selection], used: Sequence[int], facts: frozenset[Fact]
) -> Operator:
    base = selections[0].base
    functions = then.functions
    # The worst of several decides; they mostly share a window.
    first: Over = max(functions, key=lambda over: (over.frame.before is None, over.frame.rows))
    pattern = first.name == "MATCH_RECOGNIZE"
    rows = _PATTERN.search(_from(selections[0].sql, first.location)) if pattern else None
    made = set(facts) | _of_keys(base, first.partition)
    made |= {Fact.TIME_ORDER} if all(_by_time(base, over.order) for over in functions) else set()
    made |= {Fact.BOUNDED} if all(over.frame.before is not None for over in functions) else set()
    made |= {Fact.BY_RANGE} if not first.frame.rows else set()
    made |= {Fact.ANY_NUMBER} if rows is not None and _ANY_NUMBER.search(rows[1]) else set()
    made |= {Fact.NEIGHBOUR} if {over.name for over in functions} <= {"LAG", "LEAD"} else set()
    inputs = tuple(selection.of_outputs(used, first.partition) for selection in selections)
    partition = _terms(base, first.partition)
    names = ", ".join(dict.fromkeys(over.name for over in functions))
    text = f"{names} by {partition}" if partition else names
    return Operator(
        OperatorKind.PATTERN if pattern else OperatorKind.OVER, text, inputs, frozenset(made), first.location
    )
