"""Equijoins in k tuples over history: part of the exact answer, the same however it is cut, and resumed.

Groups: random queries; nights and what is taken up; the benchmark on a real session; what is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.approximate.test_evaluation import CATALOG, events, plan_for, statements
from tests.spark import histories
from tests.spark.conftest import simulate_here
from tests.spark.histories import Registered
from tests.spark.moments import Rows, cut, expected, last_boundary, write
from tests.spark.nights import left, night
from tests.strategies import Case

from streambound.approximate.evaluation import MemoryPass
from streambound.approximate.nightly.night import read
from streambound.approximate.selected_policy import SelectedPolicy
from streambound.boundedness.statements import decide
from streambound.errors import DataError, PlanError, QueryError
from streambound.evaluation.events import batches
from streambound.history.evaluate import evaluate_history
from streambound.history.evaluations.k_memory import Memory
from streambound.history.local import LocalExecutor
from streambound.query.catalog import Catalog
from streambound.query.parse import statement
from streambound.query.registry import RegisteredQuery
from streambound.query.statement import Statement
from streambound.spark.applications.cache_benchmark import Failed, Wanted, benchmark_caches
from streambound.spark.applications.simulations import worked
from streambound.spark.executor import SparkExecutor

JOIN = "SELECT S.A, T.C FROM S, T WHERE S.A = T.A AND S.ts < T.ts"


def case_of(query: Statement) -> Case:
    return Case({}, query.sql, CATALOG, query)


def written(query: Statement, parts: list[Rows], folder: Path) -> Catalog:
    for number, part in enumerate(parts):
        write(case_of(query), number, part, folder)
    return histories.placed(CATALOG, folder)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(query=statements(distinct=False), rows=events(), size=st.integers(1, 4), data=st.data())
def test_answers_are_part_of_the_definitions_and_those_of_one_pass(
    query: Statement, rows: Rows, size: int, data: st.DataObject
) -> None:
    parts = cut(data, rows)
    plan = plan_for(query, size)
    memory = {
        "q": Memory(
            size, selected_policy=SelectedPolicy(data.draw(st.sampled_from(["fifo", "lru", "lfu", "rand"])))
        )
    }
    with TemporaryDirectory() as name:
        folder = Path(name)
        catalog = written(query, parts, folder)
        out = folder / "out"
        (answer,) = evaluate_history(
            LocalExecutor(1), [Registered("q", query.sql)], catalog, output=out, memory=memory
        )
        assert answer.error is None, answer.error
        simple = query.simple
        assert simple is not None
        found = histories.read_answers(out / "q", simple)
    exact = expected(case_of(query), parts, {})
    assert all(rows <= exact[part] for part, rows in found.items()), query.sql
    assert answer.verdict == decide(query).verdict.outcome.value and answer.memory is not None
    engine = MemoryPass(replace(plan, selected_policy=memory["q"].selected_policy or SelectedPolicy()))
    for batch in batches(query, [row for part in parts for row in part]):
        engine.process(batch)
    assert answer.memory["results"] == engine.results == sum(found.values(), Counter()).total()
    assert answer.memory["estimated_results"] == sum(exact.values(), Counter()).total()


@settings(max_examples=settings.default.max_examples // 5)
@given(query=statements(), rows=events(), data=st.data())
def test_night_by_night_or_at_once(query: Statement, rows: Rows, data: st.DataObject) -> None:
    plan_for(query, 2)
    registered, memory = Registered("q", query.sql), {"q": Memory(2)}
    boundaries = []
    for parts in (cut(data, rows), cut(data, rows)):
        with TemporaryDirectory() as name:
            folder = Path(name)
            for number, part in enumerate(parts):
                write(case_of(query), number, part, folder)
                catalog = histories.placed(CATALOG, folder)
                found = night([registered], catalog, folder / "nightly", memory=memory)["q"]
                assert found.error is None
                assert found.read_partitions in ((str(number),), ())
            night([registered], catalog, folder / "once", memory=memory)
            assert left(folder / "nightly", "q") == left(folder / "once", "q")
            boundaries.append(last_boundary(folder / "once"))
    assert boundaries[0]["state"] == boundaries[1]["state"]


def some_rows(steps: int, seed: int = 0) -> Rows:
    keys = np.minimum(np.random.default_rng(seed).zipf(1.5, steps), 60).tolist()
    return [{"stream": "ST"[at % 2], "ts": at, "A": key, "C": "x"} for at, key in enumerate(keys)]


def halves(rows: Rows, parts: int = 10) -> list[Rows]:
    size = len(rows) // parts
    return [rows[at * size : (at + 1) * size] for at in range(parts)]


def test_another_policy_or_size_is_another_state(tmp_path: Path) -> None:
    query = statement(JOIN, CATALOG, "q")
    catalog = written(query, halves(some_rows(100)), tmp_path)
    registered = [Registered("q", JOIN)]
    first = night(registered, catalog, tmp_path, memory={"q": Memory(3)})["q"]
    again = night(registered, catalog, tmp_path, memory={"q": Memory(3)})["q"]
    assert again.read_partitions == () and again.digest == first.digest and again.memory == first.memory
    for other in (Memory(4), Memory(3, selected_policy=SelectedPolicy("lfu"))):
        assert len(night(registered, catalog, tmp_path, memory={"q": other})["q"].read_partitions) == 10


@pytest.mark.spark
def test_the_benchmark_decides_and_the_evaluation_uses_it(spark: Any, tmp_path: Path) -> None:
    query = statement(JOIN, CATALOG, "q")
    catalog = written(query, halves(some_rows(3_000)), tmp_path)
    policies = ("lru", "rand", "prob", "heeb")
    wanted = Wanted(sizes=(5, 20), policies=policies, days=10, held_out=4, runs=2)
    texts = {"q": JOIN, "bounded": "SELECT S.A FROM S", "bad": "SELECT", "three": JOIN + " OR S.A > 1"}
    queries = [RegisteredQuery(name, sql, Path(f"{name}.sql")) for name, sql in texts.items()]
    told: list[str] = []
    caches = tmp_path / "caches"
    found = benchmark_caches(
        SparkExecutor(spark), partial(worked, spark), queries, catalog, caches, wanted, progress=told.append
    )
    one, *failed = found
    assert not isinstance(one, Failed) and one == read(caches, "q")
    assert [isinstance(each, Failed) for each in failed] == [True] * 3
    for size in one.sizes:
        assert len(size.judged) == 7
        assert all(0 <= each.kept <= size.optimum <= one.possible for each in size.judged)
    # Keys come as they always did: what is known of them beats what was seen last.
    assert (
        one.sizes[0].selected_policy.policy == "prob" and "keeps the most" in one.sizes[0].selected_policy.why
    )
    memory = {"q": Memory(5, one)}
    answer = evaluate_history(
        SparkExecutor(spark), [Registered("q", JOIN)], catalog, output=tmp_path / "out", memory=memory
    )[0]
    (lru,) = evaluate_history(
        SparkExecutor(spark),
        [Registered("q", JOIN)],
        catalog,
        output=tmp_path / "lru",
        memory={"q": Memory(5)},
    )
    assert answer.memory is not None and lru.memory is not None
    assert answer.memory["policy"] == "prob" and lru.memory["policy"] == "lru"
    assert answer.memory["results"] > lru.memory["results"]
    (second,) = benchmark_caches(
        SparkExecutor(spark),
        partial(worked, spark),
        queries[:1],
        catalog,
        caches,
        wanted,
        progress=told.append,
    )
    assert not isinstance(second, Failed) and not second.drifted
    # The same streams: the choice stands as it was, and so do the checkpoints that rest on it.
    assert [s.selected_policy.digest for s in second.sizes] == [s.selected_policy.digest for s in one.sizes]
    assert "it stands" in second.sizes[0].selected_policy.why
    # One day of history is too little to hold one out: the benchmark fails, and what was chosen stays.
    (third,) = benchmark_caches(
        SparkExecutor(spark),
        partial(worked, spark),
        queries[:1],
        catalog,
        caches,
        wanted,
        last="0",
        progress=told.append,
    )
    assert isinstance(third, Failed) and "are to be held out" in third.error.message
    assert read(caches, "q") == second


def test_a_benchmark_of_another_query_by_that_name_is_not_used(tmp_path: Path) -> None:
    catalog = written(statement(JOIN, CATALOG, "q"), halves(some_rows(400)), tmp_path)
    wanted = Wanted(sizes=(5,), policies=("prob",), days=10, held_out=4, runs=1)
    (one,) = benchmark_caches(
        LocalExecutor(1),
        simulate_here,
        [RegisteredQuery("q", JOIN, Path("q.sql"))],
        catalog,
        tmp_path,
        wanted,
        progress=lambda _: None,
    )
    assert not isinstance(one, Failed)
    other = Registered("q", JOIN.replace("<", "<="))
    (answer,) = evaluate_history(
        LocalExecutor(1), [other], catalog, output=tmp_path / "out", memory={"q": Memory(5, one)}
    )
    assert answer.memory is not None and answer.memory["policy"] == "lru"


def test_what_is_no_equijoin_says_so_in_its_answer(tmp_path: Path) -> None:
    query = statement(JOIN, CATALOG, "q")
    catalog = written(query, halves(some_rows(20)), tmp_path)
    bad = Registered("q", "SELECT S.A FROM S, T WHERE S.B < T.B")
    (answer,) = evaluate_history(
        LocalExecutor(1), [bad], catalog, output=tmp_path / "out", memory={"q": Memory(5)}
    )
    assert isinstance(answer.error, PlanError) and "no equality links columns" in answer.error.message
    assert answer.verdict == answer.to_json()["verdict"] == "unbounded"


def test_a_memory_without_its_history_is_no_bounded_query(tmp_path: Path) -> None:
    catalog = histories.placed(CATALOG, tmp_path)
    given = [Registered("q", JOIN), Registered("bounded", "SELECT S.A FROM S"), Registered("bad", "SELECT")]
    found = evaluate_history(
        LocalExecutor(1), given, catalog, output=tmp_path / "out", memory={"q": Memory(5)}
    )
    assert [type(answer.error) for answer in found] == [DataError, DataError, QueryError]
    assert [answer.verdict for answer in found] == ["unbounded", "bounded", "invalid"]


def test_partitions_out_of_order_are_refused(tmp_path: Path) -> None:
    query = statement(JOIN, CATALOG, "q")
    parts = halves(some_rows(20), 2)
    catalog = written(query, parts[::-1], tmp_path)
    (answer,) = evaluate_history(
        LocalExecutor(1),
        [Registered("q", JOIN)],
        catalog,
        output=tmp_path / "out",
        memory={"q": Memory(5)},
    )
    assert isinstance(answer.error, DataError) and "the partitions before it" in answer.error.message


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"sizes": ()}, "sizes"),
        ({"sizes": (0,)}, "sizes"),
        ({"days": 0}, "days"),
        ({"policies": ()}, "policy"),
        ({"policies": ("best",)}, "'best'"),
    ],
)
def test_what_cannot_be_benchmarked(given_: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=why):
        Wanted(**given_)
