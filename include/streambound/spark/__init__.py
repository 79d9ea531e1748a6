"""Bounded queries on Spark, over history and live; of the runtime the only room that imports pyspark.

``check`` says of a streaming DataFrame whether it can run in bounded memory; ``install`` has each query asked
when it is started, and ``watch`` compares what Spark keeps of a running one with what was predicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.spark.checking.check import check
    from streambound.spark.checking.install import install
    from streambound.spark.checking.watch import watch

__all__ = ["check", "install", "watch"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: an executor's process has no need of the compiler.
    if name == "check":
        from streambound.spark.checking.check import check

        return check
    if name == "install":
        from streambound.spark.checking.install import install

        return install
    if name == "watch":
        from streambound.spark.checking.watch import watch

        return watch
    raise AttributeError(f"module 'streambound.spark' has no attribute {name!r}")
