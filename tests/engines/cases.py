"""The streams of the measurements, and what an engine is said to keep of a query over them."""

from __future__ import annotations

from streambound.compiler import parsed
from streambound.engines.model import Fact
from streambound.engines.sorting import sorting
from streambound.engines.state import OnEngine, engine, in_modes, state_of
from streambound.query.catalog import Catalog, catalog_from_mapping

_S = {"id": "int", "A": "int", "B": "int", "B5": "int", "K": "int", "ts": "timestamp"}
_T = {"id": "int", "D": "int", "E": "int", "D5": "int", "K": "int", "ts": "timestamp"}
_CATALOG = catalog_from_mapping(
    {
        "S": {"columns": _S, "timestamp": "ts", "not_null": list(_S)},
        "T": {"columns": _T, "timestamp": "ts", "not_null": list(_T)},
        # The same without an event time.
        "U": {"columns": _S},
        "V": {"columns": _T},
        # One whose time comes first.
        "W": {"columns": {"ts": "timestamp", "r": "int"}, "timestamp": "ts"},
        "R": {"columns": {"k": "int", "v": "int"}, "kind": "static"},
        "P": {
            "columns": {"k": "int", "v": "int", "ts": "timestamp"},
            "kind": "versioned",
            "primary_key": ["k"],
        },
    }
)
RANGE = "S.ts BETWEEN T.ts AND T.ts + INTERVAL '1' HOUR"


def on(name: str, sql: str, dialect: str = "spark", *known: Fact) -> OnEngine:
    """What an engine is said to keep of a query."""
    return state_of(parsed(sql, _CATALOG, dialect=dialect).statement, engine(name), frozenset(known))


def in_every_mode(name: str, sql: str, *known: Fact, catalog: Catalog = _CATALOG) -> dict[str, OnEngine]:
    """The same in each output mode, by its name."""
    job = parsed(sql, catalog, dialect="spark")
    order = sorting(job.statement, sql, job.span, "spark")
    further = () if order is None else (order,)
    found = in_modes(job.statement, engine(name), frozenset(known), further)
    return {(one.mode or "").split()[-1]: one for one in found}


def told(found: OnEngine) -> list[tuple[str, str, str]]:
    """Each operator, what is kept of it, and how that grows."""
    return [
        (one.operator.kind.value, "" if one.rule is None else one.rule.keeps.name, one.growth.value)
        for one in found.operators
    ]
