"""The examples in docstrings hold as they are written."""

from __future__ import annotations

import doctest
import importlib

import pytest

from scripts.imports import MODULES, dotted

WITH_EXAMPLES = [dotted(path) for path in MODULES if ">>> " in path.read_text(encoding="utf-8")]


def test_there_are_some() -> None:
    assert {"streambound", "streambound.constraints.closure"} < set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
