"""Which policy keeps a query's tuples, with what it knows of the streams: the nightly benchmark decides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streambound.approximate.keys import KeyModel
from streambound.approximate.policies import POLICIES
from streambound.errors import DataError, meant


@dataclass(frozen=True)
class SelectedPolicy:
    """A policy for a query in a memory.

    Args:
        policy: one of ``POLICIES``.
        alpha: HEEB's; None for the others.
        models: of the left and the right stream, for the policies that know them.
        pace: moments of application time a step.
        seed: of RAND.
        why: in words.
    """

    policy: str = "lru"
    alpha: float | None = None
    models: tuple[KeyModel, KeyModel] | None = None
    pace: float = 1.0
    seed: int = 0
    why: str = field(default="no benchmark has chosen a policy yet", compare=False)

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise DataError(
                f"the policy is {self.policy!r}",
                accepted=", ".join(POLICIES),
                fix=meant(self.policy, POLICIES),
            )
        if POLICIES[self.policy].learned and self.models is None:
            raise DataError(
                f"{self.policy} needs to know the streams, and no benchmark has looked at them",
                accepted=", ".join(name for name, policy in POLICIES.items() if not policy.learned),
                fix="run the DAG benchmark_caches, or choose another policy",
            )

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        models = None if self.models is None else [model.to_json() for model in self.models]
        return dict(vars(self), models=models)

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> SelectedPolicy:
        """The choice in an object that ``to_json`` made."""
        models = body["models"]
        made = None if models is None else tuple(KeyModel.of_json(model) for model in models)
        return cls(**{**body, "models": made})

    @property
    def digest(self) -> str:
        """What identifies all that decides which tuples are kept."""
        body = {key: value for key, value in self.to_json().items() if key != "why"}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
