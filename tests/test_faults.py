"""Pages that say what holds, and by which test: each names tests that there are."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("faults.md", "threats.md")


def named(page: str) -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))


def is_there(name: str) -> bool:
    """Whether there is such a test, or a file of such a name."""
    file, _, function = name.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return not function or function in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


def rows(page: str) -> list[str]:
    """The rows of all tables of a page of which the last column is a test."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    headings = [number for number, line in enumerate(lines) if line.endswith("| test |")]
    assert headings
    found = [list(takewhile(bool, lines[start + 2 :])) for start in headings]
    assert all(found)
    return [row for table in found for row in table]


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_a_test_and_each_that_is_named_is_there(page: str) -> None:
    for name in named(page):
        assert is_there(name) and Path(name.partition("::")[0]).name.startswith("test_"), name
    assert [row for row in rows(page) if "`tests/" not in row.rsplit("|", 2)[1]] in ([], EXCEPT), page


# What the whole run of the checks shows, and no test alone.
EXCEPT = ["| weak code of our own | the rules of bandit, as ruff has them, in `./check` | `pyproject.toml` |"]
