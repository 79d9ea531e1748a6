"""What an engine keeps of a query: as text, and as a table beside what is needed."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from streambound.compiler.report import Report
from streambound.engines.model import Growth, Keeps
from streambound.engines.state import OnEngine, OperatorState
from streambound.errors import Location, underlined
from streambound.report.sizes import size_text

if TYPE_CHECKING:
    from streambound.compiler import Planned
    from streambound.rewrites.rewrite import Rewrite

STATE, REFUSED = "engine-state", "engine-refused"


def code_of(growth: Growth) -> str:
    """The code of a finding about what is kept."""
    return REFUSED if growth is Growth.REFUSED else STATE


def summary(on_engine: OnEngine) -> str:
    """What is kept in all, in a sentence."""
    if on_engine.growth is Growth.REFUSED:
        return f"{on_engine.named} refuses the query as it is written"
    if not on_engine.operators:
        return f"{on_engine.named} keeps nothing of the query as it is written"
    bound = f", at most {on_engine.most:,} entries" if on_engine.most is not None else ""
    verb = "is " if on_engine.growth in (Growth.CONSTANT, Growth.UNKNOWN) else ""
    return f"as it is written, what {on_engine.named} keeps {verb}{on_engine.growth.words}{bound}"


def operator_text(state: OperatorState) -> str:
    """An operator, what is kept of it, when that goes, how it grows and why, and how that is known."""
    said = f"{state.operator.kind.value} {state.operator.text}: {state.what}"
    if state.rule is None or state.growth is Growth.REFUSED:
        return said
    cleaned = "" if state.rule.keeps is Keeps.NOTHING else f"; cleaned: {state.rule.cleans}"
    why = f", since {state.why}" if state.why else ""
    return f"{said}{cleaned}; {state.growth.words}{why} ({state.rule.source.evidence})"


def engine_lines(on_engine: OnEngine, sql: str) -> Iterator[str]:
    """The lines below a verdict: each operator at its place, and the notes."""
    yield f"  {code_of(on_engine.growth)}: {summary(on_engine)}"
    for state in on_engine.operators:
        yield f"    {operator_text(state)}"
        if state.operator.location != Location(1, 1):
            yield from underlined(sql, state.operator.location)
    yield from (f"    note: {note}" for note in on_engine.notes)


class Answer(NamedTuple):
    """A row of that table."""

    question: str
    answer: str
    # What is copied of it; empty: nothing.
    sql: str = ""


def answers(report: Report, job: Planned | None = None, said: str | None = None) -> tuple[Answer, ...]:
    """What the query needs, what the engine keeps of it as it is written, and what of its rewrite.

    Args:
        job: the query as it was compiled; None if it cannot be read.
        said: see ``rewrite``.
    """
    on_engine = report.engine
    if on_engine is None:
        return ()
    bounded = report.verdict == "bounded"
    needed = size_text(report.units, report.units_formula, report.unplanned) if bounded else report.verdict
    rows = (
        Answer("needed", needed or "bounded"),
        Answer(f"{on_engine.named}, as written", kept_text(on_engine)),
    )
    made = rewritten(report, job, said)
    if made is None:
        return rows
    if made.sql is None:
        return (*rows, Answer("rewritten", "; ".join((f"not: {made.refused}", *made.instead))))
    kept = "; ".join(map(str, made.kept)) or "nothing"
    return (*rows, Answer("rewritten", f"{kept}. {made.note}".removesuffix(". "), made.sql))


def rewritten(report: Report, job: Planned | None, said: str | None = None) -> Rewrite | None:
    """A bounded query as the engine keeps its bound; None where it does so as it is written.

    Args:
        said: see ``rewrite``.
    """
    on_engine = report.engine
    if on_engine is None or job is None or report.verdict != "bounded" or on_engine.growth is Growth.CONSTANT:
        return None
    from streambound.rewrites.rewrite import rewrite

    made = rewrite(job, on_engine.engine.name, said)
    return made if made.rules or made.sql is None else None


def rewrite_lines(report: Report, job: Planned | None, said: str | None = None) -> Iterator[str]:
    """The lines below what an engine keeps: what it keeps of the rewrite, or why there is none.

    Args:
        said: see ``rewrite``.
    """
    made = rewritten(report, job, said)
    if made is None:
        return
    yield from kept_lines(report, made)
    yield from (f"    instead: {text}" for text in made.instead)
    if made.sql is not None:
        yield f"    streambound rewrite {said or quote(report.query)} --for {made.engine} prints the SQL"


def kept_lines(report: Report, made: Rewrite) -> Iterator[str]:
    """What an engine keeps of a rewrite, or why there is none."""
    if made.sql is None or report.engine is None:
        yield f"  not rewritten: {made.refused}"
        return
    kept = "; ".join(map(str, made.kept)) or "nothing"
    yield f"  rewritten ({', '.join(made.rules)}): {report.engine.engine.title} keeps {kept}"


def kept_text(on_engine: OnEngine) -> str:
    """What is kept in all, and of the operators that decide it, in a few words."""
    if not on_engine.operators:
        return "nothing"
    decisive = (state for state in on_engine.operators if state.growth is on_engine.growth)
    texts = dict.fromkeys(
        f"{item.operator.kind.value} {item.operator.text}: {item.what}" for item in decisive
    )
    return f"{on_engine.growth.words} ({'; '.join(texts)})"
