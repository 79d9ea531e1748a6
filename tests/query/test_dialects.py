"""What the documentation of each dialect shows is read, or refused by name: nothing valid is bad syntax."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streambound.compiler import check, named_queries
from streambound.errors import UnsupportedError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.dialects.reading import LANGUAGES

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


def test_every_dialect_has_its_file() -> None:
    assert {file.stem for file in FOLDER.glob("*.sql")} == set(LANGUAGES)


@pytest.mark.parametrize(("dialect", "text", "said"), list(cases()), ids=str)
def test_what_a_dialect_has_is_read_or_named(dialect: str, text: str, said: str) -> None:
    name = named_queries(text, CATALOG, dialect)[-1]
    report = check(text, CATALOG, suggest=False, dialect=dialect, query=name)
    if report.error is None:
        assert report.verdict == said
        return
    assert isinstance(report.error, UnsupportedError), report.error
    found = dict.fromkeys(one.message.removesuffix(" is not supported yet") for one in report.error.blockers)
    assert f"refused: {' | '.join(found)}" == said
    assert all(one.place is not None for one in report.error.blockers)
