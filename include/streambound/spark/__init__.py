"""Bounded queries over history on Spark; the only room that imports pyspark.

``check`` says of a streaming DataFrame whether it can run in bounded memory; ``install`` has each query asked
when it is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.spark.checking.check import check
    from streambound.spark.checking.install import install

__all__ = ["check", "install"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: an executor's process has no need of the compiler.
    if name == "check":
        from streambound.spark.checking.check import check

        return check
    if name == "install":
        from streambound.spark.checking.install import install

        return install
    raise AttributeError(f"module 'streambound.spark' has no attribute {name!r}")
