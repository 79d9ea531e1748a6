"""The kinds of ``benchmarks/history.py`` in Polars, each as one lazy frame over the streams o and p."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import polars as pl
from polars import LazyFrame, col

HOUR = dt.timedelta(hours=1)
COUNT = pl.len().cast(pl.Int64).alias("count")
PRESENT = pl.lit(1, pl.Int64).alias("count")


def _pairs(left: LazyFrame, right: LazyFrame) -> LazyFrame:
    """The pairs by country in which the left amount is the smaller one, counted from groups of both."""
    counted = [frame.group_by("country", "amount").agg(n=pl.len().cast(pl.Int64)) for frame in (left, right)]
    pairs = counted[0].join(counted[1], on="country").filter(col("amount") < col("amount_right"))
    return pairs.group_by("country").agg(count=(col("n") * col("n_right")).sum())


def _ordered(o: LazyFrame, p: LazyFrame, later: dt.timedelta) -> LazyFrame:
    """The pairs by country in which o is not later than p and some time more."""
    late = p.select("country", ts=col("ts") + later).group_by("country", "ts").agg(n=pl.len().cast(pl.Int64))
    early = o.group_by("country", "ts").agg(m=pl.len().cast(pl.Int64)).sort("ts")
    early = early.with_columns(m=col("m").cum_sum().over("country"))
    joined = late.sort("ts").join_asof(early, on="ts", by="country", check_sortedness=False)
    return joined.drop_nulls("m").group_by("country").agg(count=(col("n") * col("m")).sum())


def _earliest(o: LazyFrame, p: LazyFrame, column: str) -> LazyFrame:
    """The countries in which the least value of o is below the greatest of p."""
    least = o.group_by("country").agg(least=col(column).min())
    joined = least.join(p.group_by("country").agg(most=col(column).max()), on="country")
    return joined.filter(col("least") < col("most")).select("country", PRESENT)


def _window(o: LazyFrame, p: LazyFrame) -> LazyFrame:
    """Orders with their payments within an hour."""
    after = col("ts_right") - col("ts")
    return o.join(p, on="id").filter(after >= dt.timedelta(0), after <= HOUR)


def _sums(o: LazyFrame) -> LazyFrame:
    amount, ids = col("amount"), col("id")
    return o.group_by("country").agg(
        number=pl.len().cast(pl.Int64),
        whole=amount.cast(pl.Int64).sum(),
        mean=amount.mean(),
        first=ids.min(),
        last=ids.max(),
    )


def _hours(o: LazyFrame) -> LazyFrame:
    grouped = o.group_by("country", col("ts").dt.truncate("1h"))
    return grouped.agg(number=pl.len().cast(pl.Int64), whole=col("amount").cast(pl.Int64).sum())


def _greatest(o: LazyFrame) -> LazyFrame:
    ordered = o.select("country", "id", "amount").sort("amount", "id", descending=[True, False])
    return ordered.group_by("country", maintain_order=True).head(3)


QUERIES: dict[str, Callable[[LazyFrame, LazyFrame], LazyFrame]] = {
    "filter": lambda o, p: o.filter(col("amount") > 990).group_by("id", "amount").agg(COUNT),
    "bag": _pairs,
    "distinct": lambda o, p: _earliest(o, p, "id"),
    "order": lambda o, p: _ordered(o, p, dt.timedelta(0)),
    "order distinct": lambda o, p: _earliest(o, p, "ts"),
    "offset": lambda o, p: _ordered(o, p, dt.timedelta(minutes=5)),
    "window": lambda o, p: _window(o, p).group_by("id", "amount", "amount_right").agg(COUNT),
    "window distinct": lambda o, p: (
        _window(o, p).select("country", amount="amount_right").unique().with_columns(PRESENT)
    ),
    "union": lambda o, p: (
        pl.concat([o.select("id", "ts"), p.select("id", "ts")]).unique().with_columns(PRESENT)
    ),
    "end": lambda o, p: (
        o.filter(col("ts") < dt.datetime(2025, 1, 1, 1))
        .join(p, on="id")
        .group_by("country_right", "amount")
        .agg(COUNT)
    ),
    "self-join": lambda o, p: _pairs(o, o),
    "grouped": lambda o, p: _sums(o).with_columns(PRESENT),
    "windowed group": lambda o, p: _hours(o).with_columns(PRESENT),
    "top-n": lambda o, p: _greatest(o).with_columns(PRESENT),
    "k tuples": lambda o, p: o.join(p, on="id").group_by("id", "amount_right").agg(COUNT),
}


def answer(name: str, folder: Path, target: Path) -> None:
    """Write the whole answer of a kind as Parquet."""
    o, p = (pl.scan_parquet(folder / stream / "*" / "*.parquet", hive_partitioning=False) for stream in "op")
    QUERIES[name](o, p).sink_parquet(target)
