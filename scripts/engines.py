"""The tables of docs/engines.md: the rules of each engine, and what it keeps of public queries.

``python -m scripts.engines`` writes both: the rules from ``engines/``, the queries from the corpus of public
ones, each on its own engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from streambound.compiler import compile
from streambound.compiler.report import on_engine
from streambound.engines import ENGINES, of_dialect
from streambound.engines.model import Engine, Fact, Growth, Keeps, Rule
from streambound.engines.state import OnEngine, engine
from streambound.errors import StreamboundError
from streambound.query.parse.corpus import CorpusLine, read_corpus

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "engines.md"
CORPUS = ROOT / "tests" / "corpus" / "wild.jsonl"
RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=<!-- /rules -->)", re.DOTALL)
WILD = re.compile(r"(?<=<!-- public queries -->\n).*?(?=<!-- /public queries -->)", re.DOTALL)


def rules_text() -> str:
    """Each engine's rules, in the order in which they are looked at."""
    return "\n".join(_engine_text(engine(name)) for name in ENGINES)


def _engine_text(one: Engine) -> str:
    rows = "\n".join(_rule_row(rule) for rule in one.rules)
    head = "| operator | with | without | keeps | cleaned | known by |\n|---|---|---|---|---|---|"
    found = dict.fromkeys(rule.note for rule in one.rules if rule.note)
    notes = "".join(f"{fill(f'- {note}', 120, subsequent_indent='  ')}\n" for note in found)
    said = f"What people run into:\n\n{notes}" if notes else ""
    version = f" {one.version}" if one.version else ""
    return f"### {one.title}{version}\n\n{head}\n{rows}\n\n{said}"


def _rule_row(rule: Rule) -> str:
    kept = rule.keeps.value if rule.keeps is not Keeps.REFUSED else f"refused: `{rule.error}`"
    cleaned = "" if rule.keeps in (Keeps.REFUSED, Keeps.NOTHING) else rule.cleans
    known = f"{rule.source.evidence}: {rule.source.where}"
    facts = (_facts(rule.when), _facts(rule.unless))
    return f"| {rule.kind.value} | {facts[0]} | {facts[1]} | {kept} | {cleaned} | {known} |"


def _facts(found: frozenset[Fact]) -> str:
    return "; ".join(fact.value for fact in Fact if fact in found)


def wild_text() -> str:
    """What each public query's own engine keeps of it."""
    head = "| query | engine | needed | kept as written | by |\n|---|---|---|---|---|"
    return "\n".join([head, *_wild_rows(), ""])


def _wild_rows() -> Iterator[str]:
    for line in read_corpus(CORPUS):
        name = of_dialect(line.dialect)
        if name is not None:
            yield f"| {line.id} | {name} | {' | '.join(_answer(line, name))} |"


def _answer(line: CorpusLine, name: str) -> tuple[str, str, str]:
    assert line.catalog is not None
    try:
        job = compile(line.sql, line.catalog, line.id, dialect=line.dialect, query=line.query)
    except StreamboundError as error:
        return "not decided", "not decided", error.message.split(" is not supported")[0]
    found = on_engine(job, name)
    assert found is not None
    return job.verdict.outcome.value, _growth(found), _by(found)


def _growth(found: OnEngine) -> str:
    mode = f" ({found.mode})" if found.mode and found.operators else ""
    return (found.growth.words if found.operators else "nothing") + mode


def _by(found: OnEngine) -> str:
    """The operators that decide how it grows."""
    decisive = [one for one in found.operators if one.growth is found.growth]
    told = []
    for one in decisive:
        what = one.what if one.growth in (Growth.REFUSED, Growth.UNKNOWN) else ""
        keeps = one.rule.keeps.value if one.rule is not None and not what else ""
        told.append(f"{one.operator.kind.value}: {what or keeps}")
    return "; ".join(dict.fromkeys(told))


def main() -> None:
    """Write both tables."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for pattern, made in ((RULES, rules_text()), (WILD, wild_text())):
        text = pattern.sub(lambda _, made=made: made, text)  # type: ignore[misc]
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
