"""What a benchmark of caches offers, and what it takes if nothing else is said; light, for forms to read."""

from __future__ import annotations

# From the simplest on: of policies that are as good the first is chosen.
POLICIES = ("fifo", "lru", "lfu", "rand", "prob", "life", "heeb")
# From matplotlib's colour-blind safe "tab10" order, the same for a policy in every picture.
COLOURS = {
    "opt-offline": "black",
    "heeb": "tab:blue",
    "life": "tab:orange",
    "prob": "tab:green",
    "rand": "tab:red",
    "lru": "tab:purple",
    "lfu": "tab:brown",
    "fifo": "tab:pink",
}
# Tuples cached.
SIZES = (100, 500, 2_000)
# Partitions of history, of which the last are held out; runs of policies that draw lots.
DAYS, HELD_OUT, RUNS = 28, 7, 3
