"""OR within a SELECT, and SELECTs joined by UNION ALL and UNION.

A SELECT without self-joins is bounded iff each of its cases is, since cases are told apart by single
tuples (Arasu et al., Theorems 4.3 and 5.3); a case of one conjunction is decided by the exact
criterion. All parts bounded makes the whole bounded. The converse is false for parts that share matches or
answers: of such a statement this module only says which parts are not bounded, and UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations, product

from streambound.boundedness.criterion.exact import NAME, exact
from streambound.boundedness.criterion.verdict import Outcome, Reason, Verdict
from streambound.boundedness.unions.containment import contained
from streambound.boundedness.unions.shifts import level
from streambound.boundedness.unions.vacuous import without_vacuous
from streambound.constraints.cases import CASE_LIMIT, PART_LIMIT, Case, cases, refined
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.query.alike import without_alike
from streambound.query.expressions.independence import derives, independent, shown_less
from streambound.query.formula import Formula, all_of, any_of
from streambound.query.model import Atom, Attribute, Constant, Filter, NullTest, Occurrence, Op, Query
from streambound.query.renaming import renamed, renamed_atom, renamed_formula
from streambound.query.ring import INTEGERS
from streambound.query.statement import Block, Selection, Statement

TOO_MANY = f"OR splits into more than {CASE_LIMIT:,} cases, or more comparisons than a table holds"
NO_ENGINE = "it is no join with filters that tables of counts and extrema answer"
UNPLANNED = f"OR splits what makes the answer into more than {PART_LIMIT:,} parts"


@dataclass(frozen=True)
class Part:
    """A conjunction of a statement: the number of its block, and the verdict on it alone."""

    block: int
    query: Query
    verdict: Verdict


def decide(statement: Statement) -> Decision:
    """The exact criterion on a statement; its expressions are columns (see ``query.expressions.derived``).

    With free columns in place of expressions "bounded" is sound. "Unbounded" is where they are free indeed,
    or where they are only shown, and the rest is unbounded without them.
    """
    decision = _decide(statement)
    if decision.verdict.bounded or not derives(statement) or independent(statement):
        return decision
    flat = level(statement)
    if flat is not None:
        without = _decide(flat)
        if without.verdict.outcome in (Outcome.BOUNDED, Outcome.UNBOUNDED):
            return replace(without, deciding=(), judged=(), operators=True)
    for less in (shown_less(without_alike(statement)), without_vacuous(statement)):
        if less is statement or not independent(less):
            continue
        without = _decide(less)
        if without.verdict.outcome is Outcome.UNBOUNDED:
            return without
    first = decision.verdict.reasons[0]
    what = (
        "an expression and what it is computed from are both used, or not every value of it is known to occur"
    )
    reason = replace(first, code="derived-column", message=f"{what}; if it were a column: {first.message}")
    return replace(decision, verdict=Verdict(Outcome.UNKNOWN, NAME, (reason,)))


def _decide(statement: Statement) -> Decision:
    if statement.simple is not None:
        verdict = exact(statement.simple)
        kept = any(reason.code == "irredundant-tuples" for reason in verdict.reasons)
        return Decision(verdict, (Part(0, statement.simple, verdict),), operators=kept)
    try:
        return _decided(statement)
    except SearchLimit:
        return Decision(Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", TOO_MANY),)), ())


@dataclass(frozen=True)
class _Judged:
    """A SELECT with its cases, each with the verdicts on its parts."""

    block: int
    selection: Selection
    cases: tuple[tuple[Case, tuple[Verdict, ...]], ...]
    refined: bool = False

    @property
    def parts(self) -> Iterator[Part]:
        for case, verdicts in self.cases:
            for query, verdict in zip(case.parts, verdicts, strict=True):
                yield Part(self.block, query, verdict)

    @property
    def relaxed(self) -> Iterator[Query]:
        return (query for case, _ in self.cases for query in case.relaxed)

    @property
    def bounded(self) -> bool:
        return all(part.verdict.bounded for part in self.parts)


@dataclass(frozen=True)
class Decision:
    """The verdict on a statement, and the parts that decide it.

    The statement is UNKNOWN if some parts are not known to be bounded and none of them alone proves it
    unbounded: then a witness on the whole statement would.
    """

    verdict: Verdict
    deciding: tuple[Part, ...]
    judged: tuple[_Judged, ...] = ()
    # Whether groups, ranks, frames or guards were decided, by parts that are not its answers.
    operators: bool = False

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts whose answers make the statement's if it is bounded; else those that decide it."""
        if not self.verdict.bounded:
            return self.deciding
        try:
            parts = (
                Part(judged.block, query, self.verdict)
                for judged in self.judged
                for case in (refined if judged.refined else cases)(judged.selection, whole=True)
                for query in case.parts
            )
            return (*self.deciding, *parts)
        except SearchLimit:
            return ()

    @property
    def unplanned(self) -> str | None:
        """Why a bounded statement that has answers has no parts."""
        if self.operators:
            return NO_ENGINE
        return UNPLANNED if self.judged and not self.parts else None


def _decided(statement: Statement) -> Decision:
    merged = _joined(replace(b, selections=_merged(b.selections)) for b in _possible(statement))
    judged = [_judged(number, s, False) for number, block in enumerate(merged) for s in block.selections]
    judged = _needed([judgement for judgement in judged if judgement.cases])
    proof = _proof(judged)
    if proof is None and any(_refinable(judgement) for judgement in judged):
        judged = _needed([_finer(judgement) if _refinable(judgement) else judgement for judgement in judged])
        proof = _proof(judged)
    parts = tuple(part for judgement in judged for part in judgement.parts)
    if not parts:
        message = "no tuples can meet the conditions together: the answer is always empty"
        return Decision(Verdict(Outcome.BOUNDED, NAME, (Reason("unsatisfiable", message),)), ())
    if all(judgement.bounded for judgement in judged):
        return Decision(Verdict(Outcome.BOUNDED, NAME, _reasons(parts)), (), tuple(judged))
    if len(parts) == 1 and judged[0].cases[0][0].exact:
        return Decision(parts[0].verdict, parts)
    if proof is not None:
        return Decision(proof, parts)
    return Decision(_unknown(judged, [part for part in parts if not part.verdict.bounded]), parts)


def _possible(statement: Statement) -> Iterator[Block]:
    """The blocks without the SELECTs that have no answers; as they are if there is one SELECT."""
    if len(statement.selections) == 1:
        yield from statement.blocks
        return
    for block in statement.blocks:
        if selections := tuple(s for s in block.selections if cases(s)):
            yield replace(block, selections=selections)


def _refinable(judged: _Judged) -> bool:
    return any(not case.exact and not all(v.bounded for v in verdicts) for case, verdicts in judged.cases)


def _finer(judged: _Judged) -> _Judged:
    """A SELECT with its cases split further; as it is where they are too many, which depends on the text."""
    try:
        return _judged(judged.block, judged.selection, True)
    except SearchLimit:
        return judged


def _needed(judged: list[_Judged]) -> list[_Judged]:
    """Without the SELECTs of duplicate-free blocks whose rows another SELECT gives as well."""
    needed = list(judged)
    for judgement in judged:
        rest = [
            candidate
            for candidate in needed
            if candidate is not judgement and candidate.block == judgement.block
        ]
        queries = [part.query for candidate in rest for part in candidate.parts]
        if all(
            relaxed.ring.idempotent and any(contained(relaxed, q) for q in queries)
            for relaxed in judgement.relaxed
        ):
            needed = [candidate for candidate in needed if candidate is not judgement]
    return needed


def _reasons(parts: tuple[Part, ...]) -> tuple[Reason, ...]:
    """The reasons of several verdicts, each said once."""
    return tuple(dict.fromkeys(reason for part in parts for reason in part.verdict.reasons))


def _judged(block: int, selection: Selection, finer: bool) -> _Judged:
    split = (refined if finer else cases)(selection)
    return _Judged(block, selection, tuple((case, tuple(map(exact, case.parts))) for case in split), finer)


def _proof(judged: list[_Judged]) -> Verdict | None:
    """The verdict of a part that is all that is left on some inputs, and is unbounded on them.

    If only such tuples arrive as pass the part's conditions on single tuples, and none on streams
    that it does not read, the statement's answer is the part's.
    """
    filters = [(judgement, query, _filters(query)) for judgement in judged for query in judgement.relaxed]
    for item in judged:
        for case, verdicts in item.cases:
            if not case.exact or verdicts[0].outcome is not Outcome.UNBOUNDED:
                continue
            (left,), (relaxed,) = case.parts, case.relaxed
            own = _filters(left)
            filtered = ((q, right, judgement is item and not item.refined) for judgement, q, right in filters)
            if not any(_lives(left, own, q, right, same) for q, right, same in filtered if q is not relaxed):
                return verdicts[0]
    return None


@dataclass(frozen=True, eq=False)
class _Filter:
    """An occurrence and the conditions on its tuple alone; one object where they are the same."""

    occurrence: Occurrence
    atoms: tuple[Atom, ...]


def _filters(query: Query) -> tuple[_Filter, ...]:
    """The filter of each occurrence."""
    return tuple(_filter(o, tuple(a for a in query.where if _local(a, o.alias))) for o in query.occurrences)


_filter = lru_cache(maxsize=4096)(_Filter)


def _lives(
    left: Query, own: tuple[_Filter, ...], query: Query, right: tuple[_Filter, ...], same: bool
) -> bool:
    """Whether ``query`` has answer rows of ``left`` among tuples that pass the filters of ``left``.

    The filters are the conditions on single tuples. Of ``same``, other cases of one SELECT, a match whose
    tuples pass the filters of ``left`` each in its own place is one of ``left``.
    """
    rows = _same_rows(left, query)
    if rows is None:
        return False
    ways = []
    for there in right:
        passing = [(here.occurrence.alias, _passing(here, there)) for here in own]
        ways.append([(alias, atoms) for alias, atoms in passing if atoms is not None])
    aliases = tuple(o.alias for o in query.occurrences)
    for combination in product(*ways):
        if same and tuple(alias for alias, _ in combination) == aliases:
            continue
        where = (*query.where, *rows, *(atom for _, atoms in combination for atom in atoms))
        if system(replace(query, where=where)).satisfiable():
            return True
    return False


@lru_cache(maxsize=65_536)
def _passing(here: _Filter, there: _Filter) -> tuple[Atom, ...] | None:
    """The conditions of ``here`` on a tuple of ``there``; None if none passes both."""
    if here.occurrence.relation != there.occurrence.relation:
        return None
    names = {here.occurrence.alias: there.occurrence.alias}
    atoms = tuple(renamed_atom(a, names) for a in here.atoms)
    return atoms if _met(there.occurrence, (*there.atoms, *atoms)) else None


@lru_cache(maxsize=4096)
def _met(occurrence: Occurrence, atoms: tuple[Atom, ...]) -> bool:
    return system(Query("", "", INTEGERS, (), (occurrence,), atoms)).satisfiable()


def _same_rows(mine: Query, query: Query) -> tuple[Atom, ...] | None:
    """What makes a row of ``query`` one of ``mine``, as far as constants tell; None if none ever is."""
    equalities: list[Atom] = []
    for output, two in zip(mine.select, query.select, strict=True):
        if isinstance(output.term, Attribute) and isinstance(two.term, Attribute):
            continue
        if isinstance(output.term, Constant) and isinstance(two.term, Constant):
            if output.term.value != two.term.value:
                return None
        elif isinstance(two.term, Attribute):
            assert isinstance(output.term, Constant)
            equalities.append(_equal(two.term, output.term))
        elif isinstance(output.term, Attribute):
            with_value = replace(mine, where=(*mine.where, _equal(output.term, two.term)))
            if not system(with_value).satisfiable():
                return None
    return tuple(equalities)


def _equal(attribute: Attribute, constant: Constant) -> Atom:
    return NullTest(attribute, True) if constant.value is None else Filter(attribute, Op.EQ, constant)


def _local(atom: Atom, alias: str) -> bool:
    return {a.occurrence for a in atom.attributes} == {alias}


def _unknown(judged: list[_Judged], parts: list[Part]) -> Verdict:
    if any(_refinable(judgement) and not judgement.refined for judgement in judged):
        return Verdict(Outcome.UNKNOWN, NAME, (Reason("search-limit", TOO_MANY),))
    part = parts[0]
    first = part.verdict.reasons[0]
    if len(judged) > 1:
        code, what = (
            "union-member",
            "one SELECT of the union is not bounded alone, but another may answer for it",
        )
    else:
        code = "disjunction"
        what = "one alternative of OR is not bounded alone, but another may hold with it"
    reason = replace(first, code=code, message=f"{what}: {first.message}")
    return Verdict(Outcome.UNKNOWN, NAME, (reason,))


def _merged(selections: tuple[Selection, ...]) -> tuple[Selection, ...]:
    """Selections of one block, those with the same FROM and SELECT as one with OR."""
    merged: list[Selection] = []
    for selection in selections:
        for number, target in enumerate(merged):
            if (renamed := _as(selection, target)) is not None:
                merged[number] = replace(target, formula=any_of((target.formula, renamed)))
                break
        else:
            merged.append(selection)
    return tuple(merged)


def _joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks of a statement, bags of the same FROM and SELECT that share no match as one with OR."""
    merged: list[Block] = []
    for block in blocks:
        position = None if block.ring.idempotent else next((p for p in _partners(merged, block)), None)
        if position is None:
            merged.append(block)
        else:
            number, formula = position
            mine = merged[number].selections[0]
            merged[number] = Block(block.ring, (replace(mine, formula=any_of((mine.formula, formula))),))
    return tuple(merged)


def _partners(blocks: list[Block], block: Block) -> Iterator[tuple[int, Formula]]:
    for number, partner in enumerate(blocks):
        mine = partner.selections[0]
        renamed = None if partner.ring.idempotent else _as(block.selections[0], mine)
        if renamed is not None and not cases(replace(mine, formula=all_of((mine.formula, renamed)))):
            yield number, renamed


def _as(selection: Selection, target: Selection) -> Formula | None:
    """The conditions of a selection under the aliases of another with the same FROM and SELECT."""
    left, right = _by_relation(selection.base), _by_relation(target.base)
    if {name: len(aliases) for name, aliases in left.items()} != {n: len(a) for n, a in right.items()}:
        return None
    wanted = [o.term for o in target.base.select]
    for orders in product(*(permutations(aliases) for aliases in left.values())):
        names = {
            alias: partner
            for order, name in zip(orders, left, strict=True)
            for alias, partner in zip(order, right[name], strict=True)
        }
        if [renamed(o.term, names) for o in selection.base.select] == wanted:
            return renamed_formula(selection.formula, names)
    return None


def _by_relation(query: Query) -> dict[str, list[str]]:
    by_relation: dict[str, list[str]] = {}
    for occurrence in query.occurrences:
        by_relation.setdefault(occurrence.relation.name, []).append(occurrence.alias)
    return by_relation
