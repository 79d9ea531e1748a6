"""What the documentation of each dialect shows is read, or refused by name: nothing valid is bad syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.errors import PlatformError, UnsupportedError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.dialects import languages
from streambound.query.dialects.languages import LANGUAGES
from streambound.query.parse import defined, named_queries

FOLDER = Path(__file__).parent / "dialects"
CATALOG = catalog_from_mapping(
    {
        "t": {
            "columns": {"id": "int", "k": "string", "v": "double", "ts": "timestamp", "d": "date"},
            "timestamp": "ts",
        },
        "u": {
            "columns": {"id": "int", "k": "string", "w": "double", "ts": "timestamp"},
            "timestamp": "ts",
        },
        "s": {"columns": {"k": "string", "n": "int"}, "kind": "static"},
    }
)


def cases() -> Iterator[tuple[str, str, str]]:
    """The dialect, the text and what is said of it."""
    for file in sorted(FOLDER.glob("*.sql")):
        lines = file.read_text(encoding="utf-8").splitlines()[2:]
        for said, text in zip(lines[::2], lines[1::2], strict=True):
            yield file.stem, text, said.removeprefix("-- ")


CASES = list(cases())


def test_every_dialect_has_its_file() -> None:
    assert {file.stem for file in FOLDER.glob("*.sql")} == set(LANGUAGES)


@pytest.mark.parametrize(("dialect", "text", "said"), CASES, ids=str)
def test_what_a_dialect_has_is_read_or_named(dialect: str, text: str, said: str) -> None:
    name = named_queries(text, CATALOG, dialect)[-1]
    report = check(text, CATALOG, suggest=False, dialect=dialect, query=name)
    if report.error is None:
        assert report.verdict == said
        return
    assert isinstance(report.error, UnsupportedError), report.error
    found = dict.fromkeys(one.message.partition(" is not supported yet")[0] for one in report.error.blockers)
    assert f"refused: {' | '.join(found)}" == said
    assert all(one.location is not None for one in report.error.blockers)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("azure", "SELECT id, COUNT(*) AS n FROM t GROUP BY id, SessionWindow(second, 5, 10)"),
        (
            "timeplus",
            "SELECT window_start, count() FROM session(t, 1m, 5m) PARTITION BY id GROUP BY window_start",
        ),
    ],
)
def test_a_session_with_a_greatest_length_is_not_evaluated_as_one_without(dialect: str, text: str) -> None:
    job = compile(text, CATALOG, dialect=dialect)
    said = "a session with a greatest length is decided, and cannot be evaluated yet"
    assert job.verdict.bounded and job.unplanned == said
    with pytest.raises(UnsupportedError, match=said):
        defined(text, CATALOG, dialect=dialect)


def broken(seed: int) -> tuple[str, str]:
    """A text of a dialect with some words left out, doubled, exchanged, or from another dialect."""
    r = Random(seed)
    dialect, text, _ = CASES[seed % len(CASES)]
    words = re.findall(r"\s+|\w+|'[^']*'|.", text)
    for _ in range(r.choice([1, 1, 2, 4])):
        at, how = r.randrange(len(words)), r.random()
        if how < 0.3:
            words[at] = ""
        elif how < 0.5:
            words[at] *= 2
        elif how < 0.7:
            other = r.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        else:
            strange = CASES[r.randrange(len(CASES))][1]
            words[at] = r.choice(re.findall(r"\w+|'[^']*'|\S", strange))
    return r.choice([dialect, dialect, *LANGUAGES]), "".join(words)


def survive(seed: int) -> None:
    dialect, text = broken(seed)
    for name in named_queries(text, CATALOG, dialect):
        report = check(text, CATALOG, suggest=False, dialect=dialect, query=name)
        assert report.verdict in ("bounded", "unbounded", "unknown", "invalid"), text
        location = None if report.error is None else report.error.location
        if location is not None:
            assert 1 <= location.line <= text.count("\n") + 1, f"{dialect}: {text!r}: {report.error}"


def test_broken_texts_of_dialects_are_refused_with_typed_errors() -> None:
    for seed in range(100):
        survive(seed)


@pytest.mark.heavy
def test_many_broken_texts_of_dialects_are_refused_with_typed_errors() -> None:
    for seed in range(100, 60_000):
        survive(seed)


def test_a_prompt_of_ksql_reads_on_after_a_backslash_at_the_end_of_a_line() -> None:
    report = check("SELECT id, \\\n v \\\nFROM t EMIT CHANGES;", CATALOG, suggest=False, dialect="ksql")
    assert report.verdict == "bounded"
    within = check("SELECT id \\ v FROM t EMIT CHANGES;", CATALOG, suggest=False, dialect="ksql")
    assert within.verdict == "invalid"


def test_compiled_parsers_are_no_fault_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """sqlglotc puts them beside sqlglot's own, for every tool of the environment."""
    monkeypatch.setattr(languages.sqlglot_parser, "__file__", "sqlglot/parser.cpython-311.so")
    monkeypatch.delitem(vars(LANGUAGES["timeplus"]), "dialect", raising=False)
    with pytest.raises(PlatformError, match="sqlglotc is installed"):
        check("SELECT id FROM t", CATALOG, dialect="timeplus")
