"""What a benchmark of caches offers, and what it takes if nothing else is said; light, for forms to read."""

from __future__ import annotations

# Tuples cached.
SIZES = (100, 500, 2_000)
# Partitions of history, of which the last are held out; runs of policies that draw lots.
DAYS, HELD_OUT, RUNS = 28, 7, 3
