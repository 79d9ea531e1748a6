"""Suggestions: how an unbounded query could become bounded, each decided again before it is told.

A search over sets of edits, fewest first: every single edit; where none suffices, pairs; then one edit
after the other for the reasons that are left. A suggestion is only what the stages of the compiler call
bounded and satisfiable on the text that is returned, and its units are theirs. The work is bounded by a
number of decisions, not by a clock, so that equal queries get equal suggestions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streambound.boundedness.criterion.verdict import Reason, Verdict
from streambound.certificate.drafts import Draft
from streambound.certificate.edits import Change, Edit, edits
from streambound.certificate.ranges import Hints
from streambound.query.catalog import Catalog
from streambound.query.column_types import Type, Value
from streambound.query.formula import atoms_of
from streambound.query.model import Domain, Relation
from streambound.query.statement import Statement

SUGGESTIONS = 3
# Decisions that a query's suggestions may take: one takes a millisecond or two, more with many columns.
DECISIONS, LEAST_DECISIONS, PAIRS_DECIDED = 48, 12, 1_600
# A number of different values, where nobody knows it.
MANY = 1_000
# How many drafts with one edit are taken further, the most promising first; none with two.
BEAMS = (3, 0)
# Decisions for what needs more than two edits, how many edits anyone would read, and which of the edits for a
# reason is taken then.
FURTHER_DECISIONS, EDITS = 24, 12
FIRST = (
    *(Change.INTERVAL, Change.LIST, Change.BOUND, Change.PROJECTION),
    *(Change.WINDOW, Change.KEY, Change.DISTINCT, Change.AGGREGATE, Change.TTL),
)


@dataclass(frozen=True)
class Size:
    """What a bounded query costs: its units, or why they are not known."""

    units: int | None
    formula: str | None = None
    unplanned: str | None = None


@dataclass(frozen=True)
class Decided:
    """What the compiler's stages say of a text; its size is planned when it is asked for."""

    verdict: Verdict
    size: Callable[[], Size]

    @property
    def serves(self) -> bool:
        """Whether the query is not empty for ever."""
        return all(reason.code != "unsatisfiable" for reason in self.verdict.reasons)


# The compiler's own stages; None for a text that they refuse.
Stages = Callable[[str, Catalog], Decided | None]


@dataclass(frozen=True)
class Suggestion:
    """A bounded variant of a query.

    Args:
        sql: the whole statement; bounded with the catalog as it is.
        change: the edits in words.
        size: what it costs.
        catalog: what to declare where domains do the same: with it the query is bounded *as it stands*.
        declared: what it costs then.
        cardinality: what to declare where the number of values does the same, of columns whose values the
            edits list and nobody knows.
        counted: what it costs then.
        made: the edits.
        whole: the user's text with them; None if they do not fit in.
        written: the query's own statement in that text.
    """

    sql: str
    change: str
    size: Size
    catalog: dict[str, Any] | None = None
    declared: Size | None = None
    cardinality: dict[str, Any] | None = None
    counted: Size | None = None
    made: tuple[Edit, ...] = ()
    whole: str | None = None
    written: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object in ``suggestions`` of ``check --format json``."""
        body: dict[str, Any] = {"sql": self.sql, "verdict": "bounded", "units": self.size.units}
        body["change"] = self.change
        if self.written is not None:
            body["statement"] = self.written
        further = {"units_formula": self.size.formula, "unplanned": self.size.unplanned}
        body.update({key: text for key, text in further.items() if text is not None})
        if self.catalog is not None and self.declared is not None:
            body |= {"catalog": self.catalog, "catalog_units": self.declared.units}
        if self.cardinality is not None and self.counted is not None:
            body |= {"cardinality": self.cardinality, "cardinality_units": self.counted.units}
        return body


@dataclass(frozen=True)
class _State:
    """A draft with the edits made so far, and what still obstructs it."""

    made: tuple[Edit, ...]
    draft: Draft
    reasons: tuple[Reason, ...]
    size: Callable[[], Size] | None = None


def suggestions(
    statement: Statement, verdict: Verdict, catalog: Catalog, stages: Stages
) -> tuple[Suggestion, ...]:
    """Up to three bounded variants of a query that is not known to be bounded, smallest change first."""
    if verdict.bounded or any(reason.code == "search-limit" for reason in verdict.reasons):
        return ()
    search = _Search(statement, catalog, stages)
    draft = Draft.of(statement.bare or statement.sql)
    if draft is None:
        # It is in words that Spark has not, and has none that Spark has.
        return ()
    states = search.bounded(_State((), draft, verdict.reasons))
    sized = [(state.size(), state) for state in states if state.size is not None]
    made = (search.suggestion_of(state, size) for size, state in _chosen(sized))
    return tuple(suggestion for suggestion in made if suggestion is not None)


class _Search:
    """The search for bounded drafts of a statement, with the number of decisions that are left."""

    def __init__(self, statement: Statement, catalog: Catalog, stages: Stages) -> None:
        self._sql = statement.bare or statement.sql
        self._catalog = catalog
        self._stages = stages
        selects = [replace(s.base, where=tuple(atoms_of(s.formula))) for s in statement.selections]
        inner = [tuple(o for g in s.guards for o in g.base.occurrences) for s in statement.selections]
        self._hints = [
            Hints(query, catalog, number, beside)
            for number, (query, beside) in enumerate(zip(selects, inner, strict=True))
        ]
        pairs = sum(max(1, len(query.mentioned) ** 2) for query in selects)
        self._left = min(DECISIONS, max(LEAST_DECISIONS, PAIRS_DECIDED // pairs))
        self._seen = {frozenset[tuple[object, str]]()}

    def bounded(self, start: _State) -> list[_State]:
        """The bounded drafts with the fewest edits that any was found with."""
        beam = [start]
        for width in BEAMS:
            tried = [further for state in beam for further in self._edited(state)]
            if states := [state for state in tried if state.size is not None]:
                return states
            beam = sorted(tried, key=_obstructed)[:width]
        return self._walked(start)

    def _edited(self, state: _State) -> Iterator[_State]:
        for edit in self._further(state, state.reasons):
            if self._left == 0:
                return
            further = self._decided((*state.made, edit), edit.apply(state.draft))
            if further is not None:
                yield further

    def _further(self, state: _State, reasons: tuple[Reason, ...]) -> list[Edit]:
        taken = {made.replaces for made in state.made}
        further: list[Edit] = []
        for hints in self._hints:
            if mine := tuple(reason for reason in reasons if self._select_of(reason) is hints):
                further += (e for e in edits(state.draft, hints, mine) if e.replaces not in taken)
        return sorted(further, key=lambda edit: edit.change)

    def _select_of(self, reason: Reason) -> Hints | None:
        """The SELECT that a reason is about: the last one with its columns that begins before its place."""
        fitting = [hints for hints in self._hints if hints.about(reason)]
        if reason.location is not None:
            position = (reason.location.line, reason.location.column)
            fitting = [hints for hints in fitting if hints.start <= position][-1:] or fitting
        return fitting[0] if fitting else None

    def _walked(self, state: _State) -> list[_State]:
        """Where pairs do not suffice: an edit for each reason at once, as often as there are reasons."""
        self._left, start = FURTHER_DECISIONS, state
        while state.size is None:
            made, draft = state.made, state.draft
            for reason in state.reasons:
                fitting = self._further(replace(state, made=made), (reason,))
                if fitting:
                    edit = min(fitting, key=lambda e: FIRST.index(e.change))
                    made, draft = (*made, edit), edit.apply(draft)
                if len(made) > EDITS:
                    return []
            further = self._decided(made, draft)
            if further is None:
                return []
            state = further
        return [self._pruned(start, state)]

    def _decided(self, made: tuple[Edit, ...], draft: Draft) -> _State | None:
        """The draft as decided; None if it is refused, empty for ever, decided already, or one too many."""
        changes = frozenset((edit.replaces, edit.words) for edit in made)
        if changes in self._seen or self._left == 0:
            return None
        self._seen.add(changes)
        self._left -= 1
        decided = self._stages(draft.plain, self._catalog)
        if decided is None or not decided.serves:
            return None
        return _State(made, draft, decided.verdict.reasons, decided.size if decided.verdict.bounded else None)

    def _pruned(self, start: _State, state: _State) -> _State:
        """Without the edits that later ones made superfluous."""
        for edit in state.made if self._left else ():
            kept, draft = tuple(e for e in state.made if e is not edit), start.draft
            for rest in kept:
                draft = rest.apply(draft)
            smaller = self._decided(kept, draft)
            if smaller is not None and smaller.size is not None:
                state = smaller
        return state

    def suggestion_of(self, state: _State, size: Size) -> Suggestion | None:
        """A bounded draft in words, with domains that would do the same; None if its text is not bounded."""
        if state.draft.sql != state.draft.plain:
            again = self._stages(state.draft.sql, self._catalog)
            if again is None or not again.verdict.bounded:
                return None
        change = "; ".join(edit.words for edit in state.made)
        suggestion = Suggestion(state.draft.sql, change, size, made=state.made)
        domains = _domains(state.made)
        if domains is None:
            return suggestion
        if (declared := self._size_with(domains)) is not None:
            suggestion = replace(suggestion, catalog=_snippet(domains), declared=declared)
        if all(edit.unknown for edit in state.made):
            numbers = {relation: dict.fromkeys(columns, MANY) for relation, columns in domains.items()}
            if (counted := self._size_with(numbers)) is not None:
                snippet = {relation.name: {"cardinality": made} for relation, made in numbers.items()}
                suggestion = replace(suggestion, cardinality=snippet, counted=counted)
        return suggestion

    def _size_with(self, declared: Mapping[Relation, Mapping[str, Domain | int]]) -> Size | None:
        """What the query costs as it stands where this is declared; None if it is not bounded then."""
        decided = self._stages(self._sql, _declared(self._catalog, declared))
        if decided is None or not decided.verdict.bounded or not decided.serves:
            return None
        return decided.size()


def _obstructed(state: _State) -> tuple[int, int]:
    """The fewest obstacles first, then the least change."""
    return len(state.reasons), sum(edit.change for edit in state.made)


def _chosen(states: list[tuple[Size, _State]]) -> list[tuple[Size, _State]]:
    """The best of each kind of change first, then the others; told in order of change and size."""
    ranked, kinds = _least(sorted(states, key=_rank)), set[tuple[Change, ...]]()
    first, rest = list[tuple[Size, _State]](), list[tuple[Size, _State]]()
    for state in ranked:
        kind = tuple(sorted(edit.change for edit in state[1].made))
        (rest if kind in kinds else first).append(state)
        kinds.add(kind)
    return sorted([*first, *rest][:SUGGESTIONS], key=_rank)


def _least(ranked: list[tuple[Size, _State]]) -> list[tuple[Size, _State]]:
    """Of those that change the same columns only the one that changes least."""
    least: dict[frozenset[object], tuple[Size, _State]] = {}
    for state in ranked:
        least.setdefault(frozenset(edit.replaces for edit in state[1].made), state)
    return list(least.values())


def _rank(sized: tuple[Size, _State]) -> tuple[int, int, bool, int]:
    size, state = sized
    changes = sum(edit.change for edit in state.made)
    return len(state.made), changes, size.units is None, size.units or 0


# For each relation and column the domain that does what some edits do.
Domains = dict[Relation, dict[str, Domain]]


def _domains(made: Iterable[Edit]) -> Domains | None:
    """The domains that do what some edits do; None if one of the edits is no bound."""
    domains: Domains = {}
    for edit in made:
        if edit.domain is None:
            return None
        relation, column, domain = edit.domain
        domains.setdefault(relation, {})[column] = domain
    return domains


def _declared(catalog: Catalog, declared: Mapping[Relation, Mapping[str, Domain | int]]) -> Catalog:
    return replace(catalog, relations=tuple(_with(r, declared.get(r, {})) for r in catalog.relations))


def _with(relation: Relation, declared: Mapping[str, Domain | int]) -> Relation:
    """A relation with the domain, or the number of different values, of some columns."""
    columns = []
    for column in relation.columns:
        said = declared.get(column.name)
        if isinstance(said, Domain):
            column = replace(column, domain=said)
        columns.append(replace(column, cardinality=said) if isinstance(said, int) else column)
    return replace(relation, columns=tuple(columns))


def _snippet(domains: Domains) -> dict[str, Any]:
    """The declarations as the catalog file spells them."""
    return {
        relation.name: {
            "domains": {column: _body(relation.column(column).type, d) for column, d in declared.items()}
        }
        for relation, declared in domains.items()
    }


def _body(kind: Type, domain: Domain) -> dict[str, Any]:
    body = {
        "min": _yaml_value(kind, domain.minimum),
        "max": _yaml_value(kind, domain.maximum),
        "values": None if domain.values is None else [_yaml_value(kind, value) for value in domain.values],
    }
    return {key: value for key, value in body.items() if value is not None}


def _yaml_value(kind: Type, value: Value | None) -> Any:
    """A value as JSON and YAML hold it, which the catalog reads back to the same."""
    decoded = kind.decode(value)
    return decoded if decoded is None or isinstance(decoded, (int, float, str)) else str(decoded)
