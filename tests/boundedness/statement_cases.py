"""Verdicts of statements over one catalog: what the tests of each construct ask."""

from __future__ import annotations

from streambound.boundedness.statements import decide
from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import read

_BODY = {
    "columns": {**dict.fromkeys("ABCDEPQ", "int"), "K": "int", "X": "string", "ts": "int"},
    "timestamp": "ts",
    "domains": {"K": {"min": 1, "max": 9}},
    "not_null": list("ABCDEPQK"),
}
CATALOG = catalog_from_mapping(
    {
        **dict.fromkeys(("S", "T", "U"), _BODY),
        "V": {"columns": {"K": "int", "A": "int"}, "kind": "versioned", "primary_key": ["K"]},
        "W": {
            "columns": {"K": "int", "A": "int"},
            "kind": "versioned",
            "primary_key": ["K"],
            "domains": {"K": {"min": 1, "max": 9}},
        },
    }
)


def said(sql: str) -> tuple[str, str | None]:
    """The verdict in changes mode, and in final mode."""
    verdict = decide(read(sql, CATALOG, "q").statement).verdict
    return verdict.outcome.value, verdict.final
