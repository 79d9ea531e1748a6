"""The examples of docs/rewrites.md are what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streambound.compiler import compile
from streambound.query.catalog import catalog_from_mapping
from streambound.rewrites.rewrite import rewrite

TEXT = (Path(__file__).parents[2] / "docs" / "rewrites.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n-- for: (\w+)\n(.*?);\n\n(.*?)\n```", TEXT, re.DOTALL)
COLUMNS = {"id": "int", "A": "int", "B": "int", "ts": "timestamp"}
STREAM = {"columns": COLUMNS, "timestamp": "ts", "not_null": ["A", "B"]}
CATALOG = catalog_from_mapping(dict.fromkeys("STU", STREAM))


@pytest.mark.parametrize(("engine", "query", "shown"), EXAMPLES)
def test_an_example_is_what_is_printed(engine: str, query: str, shown: str) -> None:
    found = " ".join(str(rewrite(compile(query, CATALOG), engine).sql).split())
    assert found.replace("( ", "(").replace(" )", ")") == " ".join(shown.split())


def test_every_rule_has_an_example() -> None:
    made = (rewrite(compile(query, CATALOG), engine).rules for engine, query, _ in EXAMPLES)
    rules = {rule for one in made for rule in one}
    assert rules == set(re.findall(r"^### (R\d)", TEXT, re.MULTILINE))
