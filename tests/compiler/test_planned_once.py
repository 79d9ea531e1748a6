"""A query is decided once and planned once, whatever is done with it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.spark import histories
from tests.statements import line_of, unplanned

from streambound import compiler
from streambound.cli import main
from streambound.compiler import verdicts
from streambound.errors import UnsupportedError
from streambound.examination.__main__ import examined
from streambound.plan.tables import statement as parts
from streambound.query.catalog import catalog_from_mapping

TIMED = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
BODIES = {**dict.fromkeys("ST", TIMED), "R": {"kind": "static", "columns": {"K": "int"}}}
ROWS = {
    "S": [{"A": 1, "ts": 0}, {"A": 2, "ts": 2}],
    "T": [{"A": 1, "ts": 1}, {"A": 9, "ts": 3}],
    "R": [{"K": 1}, {"K": 2}],
}
QUERIES = {
    "untimed": ("SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A AND S.A BETWEEN 1 AND 9", 1),
    "timed": ("SELECT S.A FROM S, T WHERE S.ts < T.ts AND S.A BETWEEN 1 AND 9", 1),
    "filter": ("SELECT A FROM S WHERE A > 1", 1),
    "static": ("SELECT S.A FROM S, T, R WHERE S.A = R.K AND T.A = S.A", 1),
    "stateless static": ("SELECT S.A FROM S, R WHERE S.A < R.K", 1),
    "union": ("SELECT A FROM S WHERE A < 5 UNION ALL SELECT A FROM T WHERE A < 5", 2),
}
SIZED_LATER = ["static"]
every = pytest.mark.parametrize("name", QUERIES)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many decisions and plans are made."""
    found: Counter[str] = Counter()

    def counted(module: Any, function: str) -> None:
        original = getattr(module, function)

        def counting(*arguments: Any) -> Any:
            found[function] += 1
            return original(*arguments)

        monkeypatch.setattr(module, function, counting)

    counted(verdicts, "decide")
    counted(parts, "decide")
    counted(parts, "plan_of")
    return found


@pytest.fixture
def files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A query over a small history, and its catalog."""
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    for relation in catalog_from_mapping(BODIES).relations:
        part = None if relation.name == "R" else 0
        histories.write(relation, ROWS[relation.name], tmp_path / "streams", part)
    parted = {"partition_by": histories.KEY}
    described = {
        n: {**body, "history": {"path": n, **({} if n == "R" else parted)}} for n, body in BODIES.items()
    }
    (tmp_path / "streams.yml").write_text(json.dumps({"streams": described}))
    (tmp_path / "q.sql").write_text(QUERIES[name][0])
    return str(tmp_path / "q.sql"), str(tmp_path / "streams.yml")


def planned_now(name: str) -> int:
    return 0 if name in SIZED_LATER else QUERIES[name][1]


@every
def test_check_and_pages(name: str, made: Counter[str]) -> None:
    question = {"sql": QUERIES[name][0], "name": name, "criterion": "exact", "catalog": BODIES}
    shown = examined(question)
    assert "<svg" in shown["shown"]["plan"]
    assert (made["decide"], made["plan_of"]) == (1, planned_now(name))


@every
def test_explain(name: str, files: tuple[str, str], made: Counter[str]) -> None:
    query, catalog = files
    assert main(["explain", query, "--catalog", catalog, "--steps"]) == 0
    assert (made["decide"], made["plan_of"]) == (1, planned_now(name))


@every
@pytest.mark.parametrize("engine", ["local", "onepass"])
def test_run(
    name: str,
    engine: str,
    files: tuple[str, str],
    made: Counter[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    query, catalog = files
    streams = str(Path(catalog).parent / "streams")
    assert main(["run", query, "--catalog", catalog, "--engine", engine, "--input", streams]) == 0
    assert json.loads(capsys.readouterr().out)
    assert (made["decide"], made["plan_of"]) == (1, QUERIES[name][1])


@pytest.mark.parametrize("seed", [215374, *range(30)])
def test_what_is_planned_from_the_statement_is_what_is_said_to_have_a_plan(seed: int) -> None:
    line = line_of(seed)
    assert line.catalog is not None
    try:
        job = compiler.compile(line.sql, line.catalog, line.id)
    except UnsupportedError:
        return
    assert (unplanned(line) is None) == (job.verdict.bounded and job.unplanned is None), line.sql
