"""The tutorial and the how-tos, typed word for word; and the theorems by example."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, pattern, steps, typed

PAGES = [
    page
    for folder in ("tutorial", "how-to")
    for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    if steps(page)
]


def test_the_tutorial_is_among_them() -> None:
    assert ROOT / "docs" / "tutorial" / "flights.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_shown_is_what_is_printed(page: Path, tmp_path: Path) -> None:
    done = steps(page)
    printed = typed(done, tmp_path)
    assert len(printed) == len(done)
    for step, said in zip(done, printed, strict=True):
        assert re.fullmatch(pattern(step.shown), said), f"$ {step.text}\n{said}"


def test_what_the_theorems_are_shown_by_holds() -> None:
    page = ROOT / "docs" / "concepts" / "theorems.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 20 and not found.failed
