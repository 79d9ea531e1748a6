"""What an engine keeps of a statement: its rules, applied to the operators as it plans them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from streambound.engines import ENGINES
from streambound.engines.model import (
    Engine,
    Fact,
    Growth,
    Input,
    Keeps,
    Operator,
    OperatorKind,
    Rule,
    growth,
    most,
    worst,
)
from streambound.engines.operators import operators
from streambound.errors import Location, QueryError, meant
from streambound.query.column_types import shown
from streambound.query.model import Relation
from streambound.query.registry import metadata
from streambound.query.statement import Statement

# What only some engines look at.
_PASSED_OVER = (OperatorKind.ANSWER, OperatorKind.SORT)
# A line of a file's first comments: -- for: flink
SAID = "for"


def engine(name: str, **where: Any) -> Engine:
    """The engine of a name.

    Args:
        where: what a ``QueryError`` says of the place of the name.

    Raises:
        QueryError: there is none of that name.
    """
    if name.lower() not in ENGINES:
        raise QueryError(
            f"the engine is {shown(name)}", accepted=", ".join(ENGINES), fix=meant(name, ENGINES), **where
        )
    modelled: Engine = import_module(f"streambound.engines.{name.lower()}").ENGINE
    return modelled


def engine_for(sql: str, given: str | None, otherwise: str | None = None) -> Engine | None:
    """The engine that is given, or else that of a line ``-- for: NAME`` in a text, or else another one.

    Raises:
        QueryError: there is none of that name.
    """
    said = dict(metadata(sql)).get(SAID)
    if given is not None or said is None:
        name = given or otherwise
        return None if name is None else engine(name)
    lines = enumerate(sql.splitlines(), start=1)
    number, line = next((n, item) for n, item in lines if said in item and item.lstrip().startswith("--"))
    return engine(said, location=Location(number, line.rindex(said) + 1, len(said)), text=sql)


@dataclass(frozen=True)
class OperatorState:
    """An operator with the rule that holds of it; None: the engine is not modelled there."""

    operator: Operator
    rule: Rule | None
    growth: Growth
    most: int | None = None

    @property
    def what(self) -> str:
        """What is kept, in words."""
        if self.rule is None:
            return f"not modelled: {self.operator.kind.value}"
        if self.rule.keeps is Keeps.REFUSED:
            return f"refused: {self.rule.error}"
        text: str = self.rule.keeps.value
        if self.rule.keeps is Keeps.DISTINCT_ROWS:
            text = f"each distinct row of {' and of '.join(_columns(side) for side in self.operator.inputs)}"
        if self.most:
            text += f", at most {self.most:,}"
        return text

    @property
    def why(self) -> str | None:
        """What makes it grow; None if nothing does."""
        if self.growth in (Growth.CONSTANT, Growth.UNKNOWN, Growth.REFUSED) or self.rule is None:
            return None
        if self.rule.keeps in (Keeps.ROWS, Keeps.INPUT):
            return "every row that arrives is one more"
        keyed = self.rule.keeps not in (Keeps.DISTINCT_ROWS, Keeps.VALUES)
        free = dict.fromkeys(
            name
            for operand in self.operator.inputs
            if operand.endless
            for name in (operand.free_keys if keyed else operand.free)
        )
        verb = "has" if len(free) == 1 else "have"
        return f"{', '.join(free)} {verb} no finite domain"

    def to_json(self) -> dict[str, Any]:
        """The object that ``check --format json`` prints of it."""
        location = self.operator.location
        body: dict[str, Any] = {
            "operator": self.operator.kind.value,
            "on": self.operator.text,
            "keeps": self.what,
            "growth": self.growth.value,
            "where": {"line": location.line, "column": location.column},
        }
        if self.rule is not None:
            body |= {"cleaned": self.rule.cleans, "evidence": self.rule.source.evidence}
            body |= {"source": self.rule.source.where}
        further = {"why": self.why, "most": self.most}
        return body | {key: value for key, value in further.items() if value is not None}


def _columns(operand: Input) -> str:
    return ", ".join(operand.needed) or f"{operand.name} (no column)"


@dataclass(frozen=True)
class OnEngine:
    """What an engine keeps of a query as it is written; ``mode`` is how answers are written."""

    engine: Engine
    operators: tuple[OperatorState, ...]
    mode: str | None = None
    # What people run into, and what the other modes do.
    notes: tuple[str, ...] = ()

    @property
    def growth(self) -> Growth:
        """The growth of the worst operator."""
        return worst(state.growth for state in self.operators)

    @property
    def constant(self) -> bool:
        """Whether no operator keeps more and more."""
        return self.growth is Growth.CONSTANT

    @property
    def most(self) -> int | None:
        """The most entries in all, where every operator has a number."""
        counted = [state.most for state in self.operators]
        return None if None in counted else sum(number or 0 for number in counted)

    @property
    def named(self) -> str:
        """The engine and its version."""
        mode = f" ({self.mode})" if self.mode else ""
        version = f" {self.engine.version}" if self.engine.version else ""
        return f"{self.engine.title}{version}{mode}"

    def to_json(self) -> dict[str, Any]:
        """The object that ``check --format json`` prints."""
        return {
            "name": self.engine.name,
            "version": self.engine.version,
            "mode": self.mode,
            "growth": self.growth.value,
            "operators": [state.to_json() for state in self.operators],
            "notes": list(self.notes),
        }

    def moved(self, lines: dict[int, int]) -> OnEngine:
        """The same with its places in a text that has the lines elsewhere; those that are not there at its
        beginning.
        """

        def location(old: Location) -> Location:
            return replace(old, line=lines[old.line]) if old.line in lines else Location(1, 1)

        states = (
            replace(state, operator=replace(state.operator, location=location(state.operator.location)))
            for state in self.operators
        )
        return replace(self, operators=tuple(states))


def state_of(
    statement: Statement,
    on: Engine,
    facts: frozenset[Fact] = frozenset(),
    further: tuple[Operator, ...] = (),
) -> OnEngine:
    """What an engine keeps of a statement, in the first of its modes that does not refuse it.

    Args:
        facts: what is known of every operator beyond the text, such as that a DataFrame drops duplicates.
        further: operators that the statement has not, as they change no answer.
    """
    made = in_modes(statement, on, facts, further)
    best = min(made, key=lambda on_engine: (on_engine.growth is Growth.REFUSED, made.index(on_engine)))
    rest = [on_engine for on_engine in made if on_engine.growth is not best.growth]
    notes = [*_notes(best, () if Fact.DATAFRAME in facts else statement.scanned)]
    notes += (said for on_engine in rest if (said := _another_engine(on_engine)) is not None)
    return replace(best, notes=tuple(dict.fromkeys(notes)))


def in_modes(
    statement: Statement,
    on: Engine,
    facts: frozenset[Fact] = frozenset(),
    further: tuple[Operator, ...] = (),
) -> tuple[OnEngine, ...]:
    """What an engine keeps in each of its modes, the preferred one first; of most engines there is one."""
    made = operators(statement, on.infers)
    facts |= {Fact.APPEND_ONLY} if _append_only(statement) else set()
    every = (*made, *(replace(operator, over=frozenset(range(len(made)))) for operator in further))
    return tuple(_in_mode(every, on, mode, facts) for mode in on.modes or (None,))


def _append_only(statement: Statement) -> bool:
    """Whether the text declares all tables that a statement reads append-only, as Feldera's may."""
    names = [re.escape(relation.name) for relation in statement.scanned]
    return "append_only" in statement.sql and all(
        re.search(rf"\bTABLE\s+[\"`]?{name}\b[^;]*'append_only'\s*=\s*'true'", statement.sql, re.IGNORECASE)
        for name in names
    )


def _in_mode(plan: Iterable[Operator], on: Engine, mode: Fact | None, declared: frozenset[Fact]) -> OnEngine:
    facts = declared | ({mode} if mode is not None else set())
    states = []
    # The joins whose rows stay: later ones find them, so what comes out has no order in time.
    stay: set[int] = set()
    for number, operator in enumerate(plan):
        if operator.over & stay:
            operator = replace(operator, facts=operator.facts | {Fact.UNTIMED})
        rule = next((item for item in on.rules if item.fits(operator, facts)), None)
        if rule is None and operator.kind in _PASSED_OVER:
            continue
        if rule is None:
            states.append(OperatorState(operator, None, Growth.UNKNOWN))
            continue
        if rule.keeps in (Keeps.ROWS, Keeps.DISTINCT_ROWS):
            stay.add(number)
        grown = growth(rule.keeps, operator, on.expires)
        bound = most(rule.keeps, operator) if grown is Growth.CONSTANT else None
        states.append(OperatorState(operator, rule, grown, bound))
    return OnEngine(on, tuple(states), None if mode is None else mode.value)


def _notes(on_engine: OnEngine, scanned: Iterable[Relation]) -> Iterator[str]:
    """What people run into; of the relations it is assumed that their timestamps are the engine's own."""
    for item in on_engine.operators:
        if item.rule is not None and item.rule.note is not None:
            yield item.rule.note
    if any(state.rule is not None and state.rule.watermarks for state in on_engine.operators):
        stamps = sorted(
            f"{relation.name}.{relation.timestamp}" for relation in scanned if relation.timestamp is not None
        )
        if stamps:
            yield f"taken for event times with watermarks: {', '.join(stamps)} ({on_engine.engine.watermark})"
    if on_engine.growth in (Growth.TIME, Growth.KEYS, Growth.ROWS):
        yield from on_engine.engine.notes


def _another_engine(on_engine: OnEngine) -> str | None:
    """What another mode does, in a sentence; None where it is none for such a query at all."""
    refused = next((state for state in on_engine.operators if state.growth is Growth.REFUSED), None)
    if refused is not None:
        answer = refused.operator.kind is OperatorKind.ANSWER
        return None if answer else f"{on_engine.mode}: {refused.what}"
    grown = max(on_engine.operators, key=lambda state: state.growth.rank, default=None)
    return f"{on_engine.mode}: {on_engine.growth.words}" + ("" if grown is None else f" ({grown.what})")
