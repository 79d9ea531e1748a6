"""How answers that change are told, and the mode that a query file asks for: ``-- mode: final``."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.errors import QueryError, meant

# Answers are taken back; or each row comes once, when nothing takes it back any more.
CHANGES, FINAL = MODES = ("changes", "final")
_KEY = "mode"


def mode_of(metadata: Sequence[tuple[str, str]]) -> str | None:
    """The mode that the first comments of a text ask for; None if they do not say.

    Raises:
        QueryError: there is no such mode.
    """
    given = dict(metadata).get(_KEY)
    if given is not None and given not in MODES:
        raise QueryError(f"{_KEY} is {given!r}", accepted=", ".join(MODES), fix=meant(given, MODES))
    return given
