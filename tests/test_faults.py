"""Pages that say what holds, and by which test: each names tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("faults.md", "threats.md")


def named(page: str) -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_a_test_and_each_that_is_named_is_there(page: str) -> None:
    for name in named(page):
        file, _, function = name.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in functions if function else any(one.startswith("test_") for one in functions), name
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    headings = [number for number, line in enumerate(lines) if line.endswith("| test |")]
    assert headings
    for start in headings:
        rows = lines[start + 2 :]
        rows = rows[: rows.index("")]
        assert rows and [row for row in rows if "`tests/" not in row.rsplit("|", 2)[1]] in ([], EXCEPT), page


# What the whole run of the checks shows, and no test alone.
EXCEPT = ["| weak code of our own | the rules of bandit, as ruff has them, in `./check` | `pyproject.toml` |"]
