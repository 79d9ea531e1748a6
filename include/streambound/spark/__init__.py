"""Bounded queries on Spark, over history and live; of the runtime the only room that imports pyspark.

``check`` says of a streaming DataFrame whether it can run in bounded memory; ``install`` has each query asked
when it is started, and ``watch`` compares what Spark keeps of a running one with what was predicted: all
three are of ``checking``, which reads Spark's plans. ``live`` runs a bounded query over streams that go on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.spark.checking.check import check
    from streambound.spark.checking.install import install
    from streambound.spark.checking.watch import watch

__all__ = ["check", "install", "watch"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: an executor's process has no need of the compiler.
    if name in __all__:
        return getattr(import_module(f"streambound.spark.checking.{name}"), name)
    raise AttributeError(f"module 'streambound.spark' has no attribute {name!r}")
