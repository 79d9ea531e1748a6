"""Which columns have a finite domain once the filters have passed that an engine puts below the joins.

An engine filters each stream by the conditions on it alone, and perhaps by those that an equality carries
over from another stream (``JoinPushTransitivePredicates`` of Calcite, ``InferFiltersFromConstraints`` of
Spark). It infers nothing from inequalities: that a comparison of two streams bounds a column helps no join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from streambound.constraints.space import domain_of
from streambound.constraints.system import finite, system
from streambound.query.formula import AllOf, AnyOf, Formula, atoms_of, conjuncts
from streambound.query.model import (
    Atom,
    Attribute,
    Filter,
    Join,
    Membership,
    NullTest,
    Op,
    Output,
    Query,
    RelationKind,
)
from streambound.query.operators import Grouping
from streambound.query.statement import Block, Selection, Statement

# Conjunctions of the conditions on one stream that are looked at; past them it counts as not filtered.
CASES = 64


def aliases(formula: Formula) -> frozenset[str]:
    """The occurrences that a condition is on."""
    return frozenset(a.occurrence for atom in atoms_of(formula) for a in atom.attributes)


@dataclass(frozen=True)
class Domains:
    """The columns of a SELECT below its joins: ``conditions`` are those that hold of every row of FROM."""

    base: Query
    conditions: tuple[Formula, ...]
    infers: bool

    @classmethod
    def of(cls, selection: Selection, rest: Iterable[Selection], infers: bool, alias: str) -> Domains:
        """Those of an occurrence: what rows without a partner need not pass is no filter of theirs."""
        beside = [o for o in rest if any(occurrence.alias == alias for occurrence in o.base.occurrences)]
        common = [
            conjunct
            for conjunct in conjuncts(selection.formula)
            if all(conjunct in conjuncts(o.formula) for o in beside)
        ]
        return cls(selection.base, tuple(common), infers)

    def finite(self, attribute: Attribute) -> bool:
        """Whether a column has finitely many values, whatever comes."""
        return self._finite(attribute) or self._computed_of_finite(attribute)

    def values(self, attribute: Attribute) -> int | None:
        """How many values a column of whole numbers has, where its ends are known, or it is listed."""
        if self._inner(attribute) is None and len(self._cases(attribute.occurrence)) == 1:
            facts = system(self._query(attribute, self._cases(attribute.occurrence)[0]))
            if facts.closure is None:
                return 0
            listed = [
                a.values for a in facts.query.where if isinstance(a, Membership) and a.attribute == attribute
            ]
            if listed:
                return min(map(len, listed))
            high, low = facts.closure.upper(attribute), facts.closure.lower(attribute)
            resolution = facts.space.resolution(attribute)
            if (
                high is not None
                and low is not None
                and resolution is not None
                and finite(facts.space, facts.closure, attribute)
            ):
                return int((high[0] - low[0]) // resolution) + 1
            domain = domain_of(self.base, attribute)
            if domain is not None and domain.values is not None:
                return len(domain.values)
        return self.base.column(attribute).cardinality

    def _finite(self, attribute: Attribute) -> bool:
        occurrence = self.base.occurrence(attribute.occurrence)
        if occurrence.relation.kind in (RelationKind.STATIC, RelationKind.FINITE) or self.base.numbered(
            attribute
        ):
            return True
        if self._inner(attribute):
            return True
        cases = (case for case in self._cases(attribute.occurrence) if not _is_null(attribute, case))
        parts = (system(self._query(attribute, case)) for case in cases)
        return all(facts.closure is None or finite(facts.space, facts.closure, attribute) for facts in parts)

    def _computed_of_finite(self, attribute: Attribute) -> bool:
        relation, of = self.base.occurrence(attribute.occurrence).relation, self.base.column(attribute).of
        local_columns = [
            Attribute(attribute.occurrence, name) for name in relation.stored((attribute.column,))
        ]
        # Parts of columns of types that are not read are no columns.
        return (
            bool(of) and len(local_columns) == len(of) and all(self._finite(item) for item in local_columns)
        )

    def _inner(self, attribute: Attribute) -> bool | None:
        """Whether a column of a sub-query's rows is finite in it; None if it is not one's."""
        relation = self.base.occurrence(attribute.occurrence).relation
        if relation.fed is None:
            return None
        names = [c.name for c in relation.columns if not c.of]
        if attribute.column not in names:
            return None
        return finite_output(relation.fed, names.index(attribute.column), self.infers)

    def _query(self, attribute: Attribute, case: Sequence[Atom]) -> Query:
        return replace(self.base, select=(Output("of", attribute),), where=tuple(case), weight=())

    def _cases(self, alias: str) -> list[tuple[Atom, ...]]:
        if alias not in self._by_alias:
            self._by_alias[alias] = _cases(tuple(self._local(alias)))
        return self._by_alias[alias]

    @cached_property
    def _by_alias(self) -> dict[str, list[tuple[Atom, ...]]]:
        return {}

    def _local(self, alias: str) -> Iterator[Formula]:
        yield from (condition for condition in self.conditions if aliases(condition) == {alias})
        if not self.infers:
            return
        # What is said of a column is said of all that equal it.
        for column in self._equal:
            if column.occurrence == alias:
                yield from (
                    item for attribute in self._equal[column] for item in self._said(attribute, column)
                )

    def _said(self, attribute: Attribute, column: Attribute) -> Iterator[Formula]:
        for condition in self.conditions:
            if {a for atom in atoms_of(condition) for a in atom.attributes} == {attribute}:
                yield _renamed(condition, column)

    @cached_property
    def _equal(self) -> dict[Attribute, tuple[Attribute, ...]]:
        """The columns that each equals, by equalities that follow from each other."""
        classes: list[set[Attribute]] = []
        for join in self.conditions:
            if isinstance(join, Join) and join.op is Op.EQ and not join.offset:
                touched = [c for c in classes if c & set(join.attributes)]
                classes = [c for c in classes if c not in touched]
                classes.append(set(join.attributes).union(*touched))
        return {a: tuple(sorted(c - {a})) for c in classes for a in c}


def _is_null(attribute: Attribute, case: Sequence[Atom]) -> bool:
    return any(isinstance(a, NullTest) and a.null and a.attribute == attribute for a in case)


def _renamed(formula: Formula, column: Attribute) -> Formula:
    """A condition on one column as one on another."""
    if isinstance(formula, (AllOf, AnyOf)):
        return replace(formula, parts=tuple(_renamed(part, column) for part in formula.parts))
    if isinstance(formula, (Filter, Membership, NullTest)):
        return replace(formula, attribute=column)
    return formula


def _cases(local: tuple[Formula, ...]) -> list[tuple[Atom, ...]]:
    """Conditions on one stream as conjunctions, of which one holds; a single empty one if they are many."""
    cases = list(_disjunction(AllOf(local), CASES))
    return cases if len(cases) <= CASES else [tuple(a for a in local if not isinstance(a, (AllOf, AnyOf)))]


def _disjunction(formula: Formula, most: int) -> Iterator[tuple[Atom, ...]]:
    if isinstance(formula, AnyOf):
        for part in formula.parts:
            yield from _disjunction(part, most)
    elif isinstance(formula, AllOf):
        parts = [list(_upto(_disjunction(part, most), most)) for part in formula.parts]
        for several in _upto(product(*parts), most):
            yield tuple(atom for case in several for atom in case)
    else:
        yield (formula,)


def _upto(items: Iterable, most: int) -> Iterator:  # type: ignore[type-arg]
    for number, item in enumerate(items):
        if number > most:
            return
        yield item


def mains(block: Block) -> list[tuple[Selection, tuple[Selection, ...]]]:
    """The SELECTs of a block, each with the rows without a partner that its outer joins add."""
    matched = [s for s in block.selections if not any(guard.outer for guard in s.guards)]
    if not matched or len(matched) == len(block.selections):
        return [(selection, ()) for selection in block.selections]
    unmatched = [s for s in block.selections if s not in matched]
    selections = []
    for item in matched:
        names = {o.alias for o in item.occurrences}
        selections.append((item, tuple(s for s in unmatched if {o.alias for o in s.occurrences} <= names)))
    return selections


def finite_keys(statement: Statement, infers: bool) -> bool | None:
    """Whether the groups of an answer, or of all that it joins, have finitely many keys; None if nothing of
    that kind tells its rows apart.
    """
    then = statement.blocks[0].then
    if len(statement.blocks) == 1 and then is None:
        fed = [o.relation.fed for selection in statement.selections for o in selection.occurrences]
        return all(item is not None and finite_keys(item, infers) for item in fed) or None
    if len(statement.blocks) != 1 or not isinstance(then, Grouping) or then.session is not None:
        return None
    keys = (
        (selection, rest, selection.base.select[position].term)
        for selection, rest in mains(statement.blocks[0])
        for position in range(then.keys)
    )
    return all(
        not isinstance(term, Attribute) or Domains.of(selection, rest, infers, term.occurrence).finite(term)
        for selection, rest, term in keys
    )


def finite_output(statement: Statement, number: int, infers: bool) -> bool:
    """Whether a column of an answer has finitely many values."""
    return all(_finite_of_block(block, number, infers) for block in statement.blocks)


def _finite_of_block(block: Block, number: int, infers: bool) -> bool:
    positions: tuple[int, ...] = (number,)
    if block.then is not None:
        shown = block.then.shown[number]
        if shown.values:
            return False
        positions = shown.outputs
    for selection, rest in mains(block):
        for position in positions:
            term = selection.base.select[position].term
            if isinstance(term, Attribute):
                domains = Domains.of(selection, rest, infers, term.occurrence)
                if not domains.finite(term):
                    return False
    return True
