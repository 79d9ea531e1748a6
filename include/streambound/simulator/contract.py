"""What a policy is: at most two functions, one a problem, from the input and the memory to decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streambound.approximate.kernels.arrays import Floats, Integers
from streambound.approximate.models.model import Model
from streambound.errors import DataError
from streambound.query.column_types import shown
from streambound.simulator.decisions import CachingDecisions, JoiningDecisions
from streambound.simulator.problems import References, Streams


@dataclass(frozen=True)
class Memory:
    """How much may be kept, and what a policy may know.

    Args:
        size: the number of tuples.
        bypass: caching: whether the fetched item may itself be the one discarded.
        warmup: steps that are not counted (a policy that fits a model may look at them).
        seed: of random choices.
        history: LRU-k's k.
        probabilities: A0's reference probability of each key.
        expires: joining, shape (streams, steps): the last step at which each tuple can join, as a model says.
        models: of each stream (joining) or of the reference stream, for the policies that need one.
        look_ahead: the steps that FlowExpect looks ahead.
        alpha: HEEB's alpha; None: as section 5 chooses it.
    """

    size: int
    bypass: bool = False
    warmup: int = 0
    seed: int = 0
    history: int = 2
    probabilities: Floats | None = None
    expires: Integers | None = None
    models: tuple[Model, ...] | None = None
    look_ahead: int = 5
    alpha: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("size", 0), ("warmup", 0), ("seed", 0), ("history", 1), ("look_ahead", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise DataError(f"{name} is {shown(value)}", accepted=f"a whole number, {least} or more")
        if self.alpha is not None and not self.alpha > 0:
            raise DataError(f"alpha is {shown(self.alpha)}", accepted="a number above 0")


@dataclass(frozen=True)
class Policy:
    """A replacement policy.

    Args:
        name: as users spell it.
        title: one line for lists.
        caching: its decisions on a reference stream; None if it has no meaning there.
        joining: its decisions on joined streams; None if it has no meaning there.
        needs_model: whether it cannot decide without a model of the streams.
    """

    name: str
    title: str
    caching: Callable[[References, Memory], CachingDecisions] | None = field(default=None)
    joining: Callable[[Streams, Memory], JoiningDecisions] | None = field(default=None)
    needs_model: bool = False
