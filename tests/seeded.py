"""Random queries with time conditions and random streams from a seed.

Hypothesis tends towards small examples, which is how it shrinks; here every draw is independent, so
that long streams with gaps meet queries with several offsets as often as anything else.
"""

from __future__ import annotations

from random import Random
from typing import Any

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse
from tests.strategies import LITERALS, VALUES, Case

OFFSETS = ["", "", "", " + 1", " + 2", " - 1", " - 3"]
LENGTHS = {2: 22, 3: 18, 4: 15, 5: 12}


def timed_case(seed: int) -> Case:
    """A query over two to five streams: orders, offsets, windows, ends, sometimes mixed types."""
    r = Random(seed)
    names = list("STUVW"[: r.choice([2, 3, 3, 4, 4, 5])])
    columns = ["A", "B"] if len(names) < 4 and r.random() < 0.6 else ["A"]
    types = r.choice([["int"], ["int"], ["int", "double"], ["int", "double", "string"]])
    kinds = {f"{n}.{c}": r.choice(types) for n in names for c in columns}
    streams: dict[str, Any] = {
        n: {"columns": {**{c: kinds[f"{n}.{c}"] for c in columns}, "ts": "int"}, "timestamp": "ts"}
        for n in names
    }
    if r.random() < 0.2:
        kinds["R.K"] = r.choice(types)
        streams["R"] = {"kind": "static", "columns": {"K": kinds["R.K"]}}
    atoms = [*_comparisons(r, kinds), *_bounds(r, kinds), *_times(r, names)]
    select = r.sample(["1", "1", *kinds, *(f"{n}.ts" for n in names)], r.choice([1, 1, 2]))
    distinct = "DISTINCT " if r.random() < 0.6 else ""
    sql = f"SELECT {distinct}{', '.join(select)} FROM {', '.join(streams)} WHERE {' AND '.join(atoms)}"
    catalog = catalog_from_mapping(streams)
    return Case(streams, sql, catalog, parse(sql, catalog))


def _comparisons(r: Random, kinds: dict[str, str]) -> list[str]:
    found = []
    for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4])):
        one, other = r.sample(list(kinds), 2)
        if (kinds[one] == "string") is (kinds[other] == "string"):
            found.append(f"{one} {r.choice(['<', '<', '<=', '<', '=', '<>'])} {other}")
    return found


def _bounds(r: Random, kinds: dict[str, str]) -> list[str]:
    fraction = r.choice([0.0, 0.3, 0.6, 1.0])
    found = []
    for column, kind in kinds.items():
        low, *_, high = sorted(r.sample(LITERALS[kind], 3))
        found += [f"{column} >= {low}"] * (r.random() < fraction)
        found += [f"{column} <= {high}"] * (r.random() < fraction)
    return found


def _times(r: Random, names: list[str]) -> list[str]:
    found = []
    for _ in range(r.randint(1, len(names))):
        one, other = r.sample(names, 2)
        if r.random() < 0.2:
            found += [
                f"{one}.ts <= {other}.ts + {r.randint(1, 3)}",
                f"{other}.ts <= {one}.ts + {r.randint(0, 3)}",
            ]
        else:
            found.append(f"{one}.ts {r.choice(['<', '<', '<=', '=', '<>'])} {other}.ts{r.choice(OFFSETS)}")
    if r.random() < 0.15:
        one = r.choice(names)
        found.append(f"{one}.ts {r.choice(['<', '<=', '<>'])} {one}.ts + {r.randint(0, 2)}")
    if r.random() < 0.15:
        found.append(f"{r.choice(names)}.ts {r.choice(['<', '<=', '='])} {r.randint(2, 8)}")
    return found


def timed_streams(seed: int, case: Case) -> list[dict[str, Any]]:
    """Arrivals with several tuples at a timestamp, gaps, duplicates and NULLs."""
    r = Random(seed)
    names = [o.relation.name for o in case.query.streams]
    moment, gap = r.randint(0, 3), r.choice([0.3, 0.5, 0.7])
    found = []
    for _ in range(LENGTHS[len(names)]):
        moment += r.choice([1, 1, 1, 2, 4]) if r.random() < gap else 0
        name = r.choice(names)
        row = {c: _value(r, kind) for c, kind in case.columns(name).items()}
        found.append({**row, "stream": name, "ts": moment})
    return found


def static_rows(seed: int, case: Case) -> dict[str, list[dict[str, Any]]]:
    """Rows of the static relation, if there is one."""
    r = Random(seed)
    return {
        o.relation.name: [
            {c: _value(r, kind, static=True) for c, kind in case.columns(o.relation.name).items()}
            for _ in range(r.randint(0, 4))
        ]
        for o in case.query.statics
    }


def _value(r: Random, kind: str, static: bool = False) -> Any:
    # A static NaN bounds nothing: see docs/theory.md.
    values = [value for value in VALUES[kind] if not static or value == value]
    return None if r.random() < 0.04 else r.choice(values)
