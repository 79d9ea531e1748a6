"""What a criterion says of a query, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.errors import Location
from streambound.query.model import Attribute


class Outcome(Enum):
    """The three answers; ``NO_VERDICT`` is a sufficient criterion's silence."""

    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"
    NO_VERDICT = "no-verdict"


@dataclass(frozen=True)
class Reason:
    """One finding: a code, words about the user's SQL, the columns, the place and the branch in words."""

    code: str
    message: str
    attributes: tuple[Attribute, ...] = ()
    location: Location | None = None
    branch: str = ""

    def __post_init__(self) -> None:
        assert self.code in REASON_CODES, (
            f"{self.code} is no code: declare it in boundedness/criterion/reason_codes.py, and give it a page"
        )


@dataclass(frozen=True)
class Verdict:
    """The outcome of one criterion, with at least one reason.

    ``final`` is the verdict where a row is answered once, when nothing can change it any more: ``bounded``,
    ``unbounded`` or ``never-final`` (no row ever is); None where it is not settled.
    """

    outcome: Outcome
    criterion: str
    reasons: tuple[Reason, ...]
    final: str | None = None

    @property
    def bounded(self) -> bool:
        """Whether bounded memory was proved to suffice."""
        return self.outcome is Outcome.BOUNDED
