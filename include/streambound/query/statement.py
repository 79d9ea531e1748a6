"""Statements: SELECTs whose conditions may have OR, joined by UNION ALL and UNION.

The answer of a statement is the bag sum of its *blocks*: a block is one SELECT, or the
duplicate-free union of several. That form is all there is to UNION and UNION ALL, whatever the
nesting: UNION makes one duplicate-free block of everything below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from streambound.errors import Location
from streambound.query.clock import CLOCK
from streambound.query.column_types import Type
from streambound.query.formula import ALWAYS, Formula, all_of, atoms_of, conjunction
from streambound.query.model import (
    Atom,
    Attribute,
    Constant,
    NullTest,
    Occurrence,
    Op,
    Query,
    Reads,
    Relation,
)
from streambound.query.modes import FINAL
from streambound.query.operators import Operator, Shown
from streambound.query.ring import Ring


@dataclass(frozen=True)
class Guard:
    """[NOT] EXISTS: rows pass that have a match, or have none, among tuples of further occurrences.

    ``base`` holds those (its SELECT is empty), ``formula`` the conditions on them and on the rows. ``outer``
    says that it is the side of an outer join that found no partner: the rows that found one are another
    selection of the block.
    """

    base: Query
    formula: Formula
    negated: bool
    outer: bool = False
    location: Location = field(compare=False, default=Location(1, 1))


@dataclass(frozen=True)
class AsOf:
    """As-of join: of the tuples of ``alias`` with the same ``keys`` the last before a row's own time.

    ``op`` is between the row's timestamp (left; None: its arrival) and the tuple's. With a tolerance
    (microseconds, or ticks) no tuple is older than that. ``outer``: rows without a tuple are kept.
    """

    alias: str
    keys: tuple[tuple[Attribute, Attribute], ...]
    left: Attribute | None
    right: Attribute | None
    op: Op
    tolerance: int | None = None
    outer: bool = False
    location: Location = field(compare=False, default=Location(1, 1))
    # What else ON asks of the tuple that is looked for: the last one of which it holds.
    where: Formula = ALWAYS


@dataclass(frozen=True)
class Selection(Reads):
    """One SELECT: ``base`` holds what it projects and joins, without conditions; ``formula`` those.

    ``shown`` is what rows show where some of it is computed of several outputs; else these are shown.
    """

    base: Query
    formula: Formula
    guards: tuple[Guard, ...] = ()
    as_of: tuple[AsOf, ...] = ()
    shown: tuple[Shown, ...] = ()

    @property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """The occurrences in FROM, and those of the guards."""
        return (*self.base.occurrences, *(o for guard in self.guards for o in guard.base.occurrences))

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of all conditions, those of the guards among them."""
        formulas = (self.formula, *(guard.formula for guard in self.guards))
        return tuple(atom for formula in formulas for atom in atoms_of(formula))

    @property
    def computes(self) -> bool:
        """Whether rows are more than the values of their outputs' terms."""
        return bool(self.shown) or any(output.moved for output in self.base.select)

    def with_queries(self, of: Callable[[Query], Query]) -> Selection:
        """The statement over other queries, in FROM and in the guards."""
        guards = tuple(replace(guard, base=of(guard.base)) for guard in self.guards)
        return replace(self, base=of(self.base), guards=guards)

    @property
    def raw(self) -> Selection:
        """The same with the terms of the outputs as its rows: these tell no less of what came."""
        if not self.computes:
            return self
        select = tuple(replace(output, moved=0) for output in self.base.select)
        return replace(self, base=replace(self.base, select=select), shown=())

    def part(self, atoms: Iterable[Atom]) -> Query:
        """The query of the same SELECT and FROM under a conjunction, its NULL tests made plain.

        What IS NULL is projected as NULL, and what a comparison needs is not tested again.
        """
        query = replace(self.base, where=tuple(dict.fromkeys(atoms)))
        nulls = query.nulls
        compared = {x for a in query.where if not isinstance(a, NullTest) for x in a.attributes}
        where = (
            a for a in query.where if not (isinstance(a, NullTest) and not a.null and a.attribute in compared)
        )
        return replace(
            query,
            select=tuple(
                replace(o, term=Constant(None, "NULL", query.type_of(o.term))) if o.term in nulls else o
                for o in query.select
            ),
            where=tuple(where),
        )


@dataclass(frozen=True)
class Block:
    """Selections whose rows carry weights of one ring, and what is done to the rows (see ``operators``).

    Several only where the ring is idempotent, where ``then`` is done to all of them, or where they are the
    sides of an outer join.
    """

    ring: Ring
    selections: tuple[Selection, ...]
    then: Operator | None = None

    @property
    def outputs(self) -> tuple[tuple[str, Type], ...]:
        """Name and type of each answer column; the types are those of the first selection."""
        shown = self.selections[0].shown if self.then is None else self.then.shown
        if self.then is not None or shown:
            return tuple((column.name, column.type) for column in shown)
        return self.selections[0].base.outputs

    @property
    def plain(self) -> bool:
        """Whether it is a bag or a union of joins with filters."""
        alone = self.ring.idempotent or len(self.selections) == 1
        return (
            self.then is None
            and alone
            and not any(s.guards or s.as_of or s.computes for s in self.selections)
        )


@dataclass(frozen=True)
class Statement(Reads):
    """A whole query text; ``outputs`` are the names and types of its answer columns.

    ``bare`` is the same query as one statement of Spark SQL over streams, where ``sql`` is more or otherwise,
    and over the ``views`` of its text, as WITH has them, those first that others read;
    ``unevaluated`` says why its answers cannot be computed although it is decided; ``undefined`` why not even
    by the definition: what was read is wider than what was written. ``final`` asks for each row once, when
    nothing takes it back any more.
    """

    name: str
    sql: str
    blocks: tuple[Block, ...]
    outputs: tuple[tuple[str, Type], ...]
    metadata: tuple[tuple[str, str], ...] = ()
    bare: str | None = None
    views: tuple[str, ...] = ()
    unevaluated: str | None = None
    undefined: str | None = None
    final: bool = False

    @classmethod
    def of(cls, query: Query) -> Statement:
        """A conjunctive query as a statement of one block."""
        block = Block(query.ring, (Selection(replace(query, where=()), all_of(query.where)),))
        return cls(query.name, query.sql, (block,), query.outputs, query.metadata)

    def with_selections(self, of: Callable[[Selection], Selection]) -> Statement:
        """The statement with other selections; itself where they are the same."""
        blocks = tuple(replace(b, selections=tuple(map(of, b.selections))) for b in self.blocks)
        return self if blocks == self.blocks else replace(self, blocks=blocks)

    def in_mode(self, mode: str | None) -> Statement:
        """The statement in a mode of answers (``modes.MODES``); None: as it is."""
        return self if mode is None else replace(self, final=mode == FINAL)

    @cached_property
    def raw(self) -> Statement:
        """The statement that the criteria decide: see ``Selection.raw``."""
        if not any(selection.computes for selection in self.selections):
            return self
        blocks = tuple(replace(b, selections=tuple(s.raw for s in b.selections)) for b in self.blocks)
        return replace(self, blocks=blocks, outputs=blocks[0].outputs)

    @property
    def projection(self) -> str:
        """``eliminating`` if no row is answered twice, else ``preserving``."""
        return "eliminating" if len(self.blocks) == 1 and self.blocks[0].ring.idempotent else "preserving"

    @property
    def selections(self) -> tuple[Selection, ...]:
        """Every SELECT, in the order of the text."""
        return tuple(selection for block in self.blocks for selection in block.selections)

    @property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """The occurrences of every SELECT, in the order of the text, and of what it looks for beside them."""
        return tuple(o for selection in self.selections for o in selection.occurrences)

    @property
    def scanned(self) -> tuple[Relation, ...]:
        """The relations of the catalog that it reads, each once, those of its sub-queries among them.

        A relation has all columns that are computed from its own, wherever they are read.
        """
        relations: dict[str, Relation] = {}
        for relation in (o.relation for o in self.occurrences if o.relation != CLOCK):
            for r in (relation,) if relation.fed is None else relation.fed.scanned:
                relations[r.name] = relations[r.name].with_computed(r) if r.name in relations else r
        return tuple(relations.values())

    @property
    def fed(self) -> tuple[Relation, ...]:
        """The relations whose rows are those of its sub-queries, each with what is computed from them."""
        relations: dict[str, Relation] = {}
        for relation in (o.relation for o in self.occurrences if o.relation.fed is not None):
            relations[relation.name] = relations.get(relation.name, relation).with_computed(relation)
        return tuple(relations.values())

    @property
    def plain(self) -> bool:
        """Whether it is made of joins, filters, DISTINCT and UNION over relations of the catalog alone."""
        return all(block.plain for block in self.blocks) and not any(
            o.relation.fed or o.relation == CLOCK for o in self.occurrences
        )

    @cached_property
    def simple(self) -> Query | None:
        """The one conjunctive query that the statement is; None if it is not one."""
        if len(self.selections) != 1 or not self.plain:
            return None
        selection = self.selections[0]
        atoms = conjunction(selection.formula)
        return None if atoms is None else replace(selection.part(atoms), metadata=self.metadata)

    def columns(self, relation: str) -> frozenset[str]:
        """The columns of a relation that are projected or that conditions mention."""
        columns: set[str] = set()
        for selection in self.selections:
            aliases = {o.alias for o in selection.occurrences if o.relation.name == relation}
            mentioned = {a for atom in selection.atoms for a in atom.attributes}
            for as_of in selection.as_of:
                mentioned.update(a for pair in as_of.keys for a in pair)
                mentioned.update(a for a in (as_of.left, as_of.right) if a is not None)
            mentioned.update(selection.base.projected)
            columns.update(a.column for a in mentioned if a.occurrence in aliases)
        return frozenset(columns).union(*(inner.columns(relation) for inner in self._inner))

    def reads(self, relation: Relation) -> frozenset[str]:
        """The columns of a relation that are mentioned, with those that they are computed from."""
        return frozenset(relation.read(self.columns(relation.name)))

    @property
    def timed(self) -> bool:
        """Whether conditions compare application timestamps."""
        return any(inner.timed for inner in self._inner) or any(
            s.base.is_timestamp(a) for s in self.selections for x in atoms_of(s.formula) for a in x.attributes
        )

    @property
    def _inner(self) -> tuple[Statement, ...]:
        """The sub-queries that are not written out."""
        return tuple(relation.fed for relation in self.fed if relation.fed is not None)

    def reads_time(self, relation: Relation) -> bool:
        """Whether the answer depends on the application timestamps of a relation.

        It does if they are named; if a condition or a distinct row names those of any stream, since tuples
        of all streams are then put in order; and if they tell when rows are settled.
        """
        return relation.timestamp is not None and (
            self.final
            or relation.timestamp in self.reads(relation)
            or self.timed
            or any(
                block.ring.idempotent and any(map(s.base.is_timestamp, s.base.projected))
                for block in self.blocks
                for s in block.selections
            )
            or any(inner.reads_time(relation) for inner in self._inner)
        )
