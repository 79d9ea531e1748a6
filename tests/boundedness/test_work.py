"""How much work a decision takes, counted: closures made, never time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.constraints import search
from streambound.constraints.closure import Closure, Difference
from streambound.papers import arasu, schiff_ozcep
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import parse


def wide(columns: int) -> Query:
    """Six streams in pairs; each column of one lies below each of the other: bounded, with many crossings."""
    names = [f"C{i}" for i in range(columns)]
    atoms = [f"S{i}.{a} < S{i + 1}.{b}" for i in (0, 2, 4) for a in names for b in names]
    atoms += [f"S{i}.{c} > {10 * j}" for i in range(6) for j, c in enumerate(names)]
    catalog = catalog_from_mapping({f"S{i}": dict.fromkeys(names, "int") for i in range(6)})
    sql = f"SELECT DISTINCT 1 FROM {', '.join(f'S{i}' for i in range(6))} WHERE {' AND '.join(atoms)}"
    return parse(sql, catalog)


@pytest.fixture
def closures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of attributes in each closure made."""
    made: list[int] = []
    assume = Closure.assume

    def counted(closure: Closure, constraints: Iterable[Difference]) -> Closure | None:
        made.append(len(closure.spacings))
        return assume(closure, constraints)

    monkeypatch.setattr(Closure, "assume", counted)
    return made


@pytest.mark.parametrize("criterion", [exact, arasu.arasu, schiff_ozcep.schiff_ozcep])
def test_closures_grow_with_pairs_of_columns_not_with_branches(
    criterion: Callable[[Query], Verdict], closures: list[int]
) -> None:
    counts = []
    for columns in (2, 4, 8):
        closures.clear()
        assert criterion(wide(columns)).outcome is Outcome.BOUNDED
        counts.append(len(closures))
    # Twice the columns make four times the pairs, with three orders in each of many branches.
    assert counts[2] <= 5 * counts[1] <= 25 * counts[0]
    # Closures of all 48 columns are few: a question is about four of them.
    assert sum(size > 10 for size in closures) < 50


def test_conditions_that_encode_colouring_stop_at_the_search_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streambound.constraints.system.SEARCH_LIMIT", 200)
    taken = []
    take = search.Budget.take
    monkeypatch.setattr(search.Budget, "take", lambda steps: (taken.append(1), take(steps))[1])
    names = [f"C{i}" for i in range(8)]
    atoms = [f"S.{c} BETWEEN 1 AND 7" for c in names]
    atoms += [f"S.{a} <> S.{b}" for a in names for b in names if a < b]
    catalog = catalog_from_mapping({"S": dict.fromkeys(names, "int"), "T": {"D": "int"}})
    verdict = exact(parse(f"SELECT 1 FROM S, T WHERE S.C1 < T.D AND {' AND '.join(atoms)}", catalog))
    assert (verdict.outcome, verdict.reasons[0].code) == (Outcome.UNKNOWN, "search-limit")
    assert len(taken) <= 201
