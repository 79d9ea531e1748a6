"""The two problems of the paper (section 2), and the reduction of one to the other.

*Caching*: a reference stream against a relation; one item a step is referenced, and a cached item is a hit.
*Joining*: two or more streams that are equijoined; one tuple a stream a step, each meets what is cached.
Values are dense keys 0, 1, ...: every policy and kernel works on these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.kernels.compiled import kernel
from streambound.errors import DataError


@dataclass(frozen=True)
class References:
    """A reference stream.

    Args:
        requests: the key that is referenced at each step.
        values: the value that each key stands for; its length is the number of keys.
    """

    requests: Integers
    values: NDArray[Any]

    @property
    def keys(self) -> int:
        """The number of different keys."""
        return len(self.values)

    @property
    def steps(self) -> int:
        """The number of references."""
        return len(self.requests)


@dataclass(frozen=True)
class Streams:
    """Streams that are joined on one attribute.

    Args:
        arrivals: shape (streams, steps): the key that arrives on each stream at each step.
        values: the value that each key stands for, ascending.
        partners: shape (streams, streams), symmetric: which streams are joined; all by default.
        weights: shape (streams, steps): what a tuple stands for; a result is worth the product of its two
            tuples (as if each were there so many times). Ones by default.
        window: section 7: a tuple of step t meets arrivals until step t + window; None: for ever.
    """

    arrivals: Integers
    values: NDArray[Any]
    partners: NDArray[np.bool_] = field(default_factory=lambda: ~np.eye(2, dtype=np.bool_))
    weights: Floats | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        streams = len(self.arrivals)
        if self.partners.shape != (streams, streams) or (self.partners != self.partners.T).any():
            raise DataError(
                f"partners has shape {self.partners.shape} or is not symmetric for {streams} streams",
                accepted="a symmetric matrix with one row and one column a stream",
            )
        if self.window is not None and self.window < 0:
            raise DataError(f"the window is {self.window}", accepted="a number of steps, 0 or more")

    @property
    def count(self) -> int:
        """The number of streams."""
        return len(self.arrivals)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self.arrivals.shape[1])

    @property
    def worth(self) -> Floats:
        """The weights, ones where none were given."""
        return np.ones(self.arrivals.shape) if self.weights is None else self.weights

    @property
    def last_meeting(self) -> Integers:
        """Shape (streams, steps): the last step at which each tuple may meet an arrival."""
        end = self.steps if self.window is None else self.window
        return np.broadcast_to(np.arange(self.steps) + end, self.arrivals.shape).copy()


def references(values: ArrayLike) -> References:
    """The reference stream of a sequence of values.

    >>> references(["b", "a", "b"]).requests.tolist()
    [1, 0, 1]
    """
    distinct, requests = np.unique(np.asarray(values), return_inverse=True)
    return References(requests.astype(np.int64), distinct)


def streams(*values: ArrayLike, window: int | None = None, weights: ArrayLike | None = None) -> Streams:
    """The streams of sequences of values, each joined with each of the others.

    Raises:
        DataError: the streams differ in length.
    """
    rows = [np.asarray(row) for row in values]
    if len({len(row) for row in rows}) != 1:
        raise DataError(
            f"the streams have {', '.join(str(len(row)) for row in rows)} steps",
            accepted="streams with one tuple a step each",
        )
    distinct, inverse = np.unique(np.concatenate(rows), return_inverse=True)
    arrivals = inverse.reshape(len(rows), -1).astype(np.int64)
    worth = None if weights is None else np.asarray(weights, dtype=np.float64)
    return Streams(arrivals, distinct, ~np.eye(len(rows), dtype=np.bool_), worth, window)


def occurrences(requests: Integers) -> Integers:
    """How often each request's key was referenced before it.

    >>> occurrences(np.array([7, 7, 3, 7])).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(requests, kind="stable")
    ranked = requests[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else np.array([], np.int64)
    lengths = np.diff(np.r_[starts, len(ranked)])
    numbers = np.empty(len(requests), np.int64)
    numbers[order] = np.arange(len(requests)) - np.repeat(starts, lengths)
    return numbers


@kernel
def next_references(requests: Integers, keys: int) -> Integers:
    """The step of the next reference to each step's key; the number of steps if there is none."""
    steps = len(requests)
    following = np.empty(steps, np.int64)
    seen = np.full(keys, steps, np.int64)
    for step in range(steps - 1, -1, -1):
        following[step] = seen[requests[step]]
        seen[requests[step]] = step
    return following
