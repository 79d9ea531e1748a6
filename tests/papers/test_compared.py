"""The papers' criteria are asked where they are shown, and by nothing that evaluates a query."""

from __future__ import annotations

import subprocess
import sys

from streambound.compiler import compile
from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping

CATALOG = catalog_from_mapping({"S": {"A": "int", "B": "int"}, "T": {"D": "int"}})
SQL = "SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19"
EVALUATED = """
import sys
from streambound.api import catalog, evaluate

evaluate("SELECT A FROM S WHERE A = 1", catalog({"S": {"A": "int"}}), [{"stream": "S", "A": 1}])
import streambound.history.evaluate
import streambound.live.start
print([name for name in sys.modules if name.startswith(("streambound.papers", "streambound.simulator"))])
"""


def test_they_are_compared_only_where_it_is_asked_for() -> None:
    assert compile(SQL, CATALOG).published == {}
    assert set(compile(SQL, CATALOG, compared=True).published) == {"arasu", "schiff_ozcep_2"}
    assert check(SQL, CATALOG, suggest=False).published == {"arasu": "bounded", "schiff_ozcep_2": "bounded"}


def test_a_paper_that_is_chosen_is_asked() -> None:
    job = compile(SQL, CATALOG, criterion="schiff_ozcep")
    assert job.verdict.criterion.startswith("schiff_ozcep")


def test_evaluating_loads_neither_papers_nor_simulator() -> None:
    done = subprocess.run([sys.executable, "-c", EVALUATED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
