"""streambound: decide before deployment whether a streaming query can run in bounded memory.

>>> import streambound
>>> catalog = streambound.catalog({"S": {"A": "int"}, "T": {"D": "int"}})
>>> streambound.check("SELECT A FROM S, T WHERE A = D AND A BETWEEN 11 AND 19", catalog).units
18
>>> events = [{"stream": "S", "A": 12}, {"stream": "T", "D": 12}]
>>> found = streambound.evaluate("SELECT A FROM S, T WHERE A = D AND A BETWEEN 11 AND 19", catalog, events)
>>> found["answers"], found["peak_units"]
([{'ts': 1, 'row': [12], 'count': 1}], 2)
>>> proof = streambound.witness("SELECT A FROM S, T WHERE A = D", catalog, 3)
>>> streambound.verify("SELECT A FROM S, T WHERE A = D", catalog, proof).told_apart
8
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.api import catalog, check, compile, evaluate, run, simulate, verify, witness

    __version__: str

__all__ = ["catalog", "check", "compile", "evaluate", "run", "simulate", "verify", "witness"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: a DAG file that only asks for a path must not pay for the SQL parser.
    if name in __all__:
        from streambound import api

        return getattr(api, name)
    if name == "__version__":
        from streambound import settings

        return settings.version()
    raise AttributeError(f"module 'streambound' has no attribute {name!r}")


def __dir__() -> list[str]:
    # What there is, and not what this file needs for it.
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})
