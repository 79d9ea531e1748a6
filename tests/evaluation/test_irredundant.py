"""DISTINCT joins from irredundant tuples: the definition's rows, whether few tuples suffice or not."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from streambound.compiler import compile
from streambound.evaluation.events import batches
from streambound.evaluation.flow import FlowPass
from streambound.evaluation.reference import reference
from streambound.operators.factory import operator_of
from streambound.operators.rows.operator import Row
from streambound.plan.flow import Applied
from streambound.plan.trees.flow_planner import flow
from streambound.plan.trees.irredundant import tuples_kept
from streambound.plan.trees.row_planner import Planning
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import statement
from streambound.query.statement import Statement

OPS = ["<", "<=", ">", ">=", "=", "<>"]
OF_ONE = {"A": "int", "B": "int", "K": "int", "ts": "int"}
STREAMS: dict[str, Any] = {"S": {"columns": OF_ONE, "timestamp": "ts", "domains": {"K": {"values": [0, 1]}}}}
STREAMS |= {
    name: {"columns": {column: "int", "ts": "int"}, "timestamp": "ts"} for name, column in ("TX", "UY")
}
CATALOG = catalog_from_mapping(STREAMS)


def with_itself(draw: random.Random) -> str:
    """A join of a stream with itself."""
    atoms = []
    for _ in range(draw.choice([1, 2, 2, 3])):
        one, other = (
            f"{draw.choice('xxy')}.{draw.choice('AB')}",
            f"{draw.choice('xyy')}.{draw.choice('AB')}",
        )
        atoms.append(f"{one} {draw.choice(OPS)} {draw.choice([other, other, str(draw.randint(-1, 2))])}")
    if draw.random() < 0.5:
        atoms.append(draw.choice(["x.ts < y.ts", "x.ts <= y.ts", "x.ts <= y.ts + 2", "x.ts < y.ts - 1"]))
    shown = draw.choice(["1", "1", "x.K"])
    atoms += ["x.K = y.K"] if shown != "1" else []
    return f"SELECT DISTINCT {shown} FROM S x, S y WHERE {' AND '.join(atoms)}"


def with_offsets(draw: random.Random) -> str:
    """A join of three streams by whole numbers with offsets."""
    atoms = [
        f"S.{column} {draw.choice(['<=', '<', '>=', '<='])} {other} + {draw.randint(-3, 3)}"
        for column in "AB"
        for other in ("T.X", "U.Y")
    ]
    return f"SELECT DISTINCT 1 FROM S, T, U WHERE {' AND '.join(atoms)}"


def arrivals(draw: random.Random, one: Statement) -> list[dict[str, Any]]:
    found, names = [], sorted({o.relation.name for o in one.occurrences})
    wide = draw.choice([2, 12])
    for ts in range(draw.randint(1, 14)):
        for _ in range(draw.choice([1, 1, 2])):
            name = draw.choice(names)
            values = {
                c: draw.choice([None, *range(-wide, wide + 1)])
                for c in STREAMS[name]["columns"]
                if c in "ABXY"
            }
            values |= {"K": draw.randint(0, 1)} if name == "S" else {}
            found.append({"stream": name, "ts": ts, **values})
    return found


def planned(one: Statement) -> Applied:
    query = one.simple
    assert query is not None
    return tuples_kept(one, query, Planning(lambda inner, _: flow(inner)))


@pytest.mark.parametrize("first", range(0, 90, 30))
def test_random_joins(first: int) -> None:
    for seed in range(first, first + 30):
        draw = random.Random(seed)
        sql = with_offsets(draw) if seed % 3 == 0 else with_itself(draw)
        one = statement(sql, CATALOG, "q")
        node, events = planned(one), arrivals(draw, one)
        given = list(batches(one, events))
        assert list(FlowPass(one, node, {}).run(given)) == list(reference(one, given, {})), (seed, sql)
        _same_state(node, events, draw)


def _same_state(node: Applied, events: list[dict[str, Any]], draw: random.Random) -> None:
    """What is kept does not depend on how what comes is cut."""
    inputs = [list(dict(one.outputs)) for one in node.inputs]
    names = [one.statement.occurrences[0].relation.name for one in node.inputs]  # type: ignore[union-attr]
    cuts = [list(range(len(events))), [0], sorted(draw.sample(range(len(events)), len(events) // 2))]
    found = []
    for cut in cuts:
        operator, answers = operator_of(node), Counter[Row]()
        for begin, end in zip([0, *cut], [*cut, len(events)], strict=True):
            share = [Counter[Row]() for _ in inputs]
            for event in events[begin:end]:
                number = names.index(event["stream"])
                share[number][tuple(event[column] for column in inputs[number])] += 1
            answers.update(operator.take(share))
            kept = json.loads(json.dumps(operator.dump()))
            operator = operator_of(node)
            operator.load(kept)
            assert operator.dump() == kept
        found.append((kept, answers))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT DISTINCT 1 FROM S x, S y WHERE x.A > y.B AND x.B <= y.A AND x.ts <= y.ts", 6),
        (
            "SELECT DISTINCT 1 FROM S, T, U WHERE S.A <= T.X + 1 AND S.A <= U.Y + 5"
            " AND S.B <= T.X + 7 AND S.B <= U.Y",
            20,
        ),
    ],
)
def test_few_tuples_are_kept_of_what_is_bounded(sql: str, most: int) -> None:
    job = compile(sql, CATALOG)
    assert job.verdict.bounded
    assert job.unplanned is None
    assert "that no others serve" in str(job.units_formula)
    draw, events = random.Random(1), []
    for ts in range(60):
        # Of S neither tuple is better, and no match comes.
        side = draw.randint(0, 5)
        events.append({"stream": "S", "ts": ts, "A": ts - side, "B": 60 - ts + side, "K": 0})
        further = (("T", "X"), ("U", "Y")) if "FROM S, T" in sql else ()
        events += [{"stream": name, "ts": ts, column: -99 - ts} for name, column in further]
    assert job.node is not None
    run = FlowPass(job.statement, job.node, {})
    assert len([answer for found in run.run(batches(job.statement, events)) for answer in found]) < 2
    assert 0 < run.peak_units <= most
