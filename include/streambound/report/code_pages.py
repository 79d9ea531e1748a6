"""The codes of findings and errors with their words and the pages about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streambound import settings
from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.errors import QueryError, StorageError, StreamboundError, meant

# Pages of the project's documentation; as a site it is at the address in STREAMBOUND_DOCS_URL.
PAGES = "docs/codes"
# The same pages: a link in a checkout, files in a wheel.
_INSTALLED = Path(__file__).with_name("code_pages")


def page(code: str) -> str:
    """The page about a code, in the project's folder."""
    return f"{PAGES}/{code}.md"


def address(code: str) -> str | None:
    """The address of the page about a code, if it is known where the documentation's site is published."""
    base = settings.documentation_url()
    return None if base is None else f"{base.rstrip('/')}/codes/{code}.html"


def errors() -> dict[str, type[StreamboundError]]:
    """Every error that is raised on purpose, by its code."""
    return {error.code: error for error in _below(StreamboundError)}


def declared() -> frozenset[str]:
    """Every code that there is a page about."""
    return frozenset((*REASON_CODES, *errors()))


def meaning(code: str) -> str:
    """One sentence on what a code says."""
    error = errors().get(code, StreamboundError)
    return REASON_CODES[code].meaning if code in REASON_CODES else (error.__doc__ or "").splitlines()[0]


def every() -> list[str]:
    """All codes, sorted."""
    return sorted({*REASON_CODES, *errors()})


def described(code: str) -> str:
    """The page about a code, as Markdown.

    Raises:
        QueryError: there is no such code.
        StorageError: the pages were not installed.
    """
    reason_codes = every()
    if code not in reason_codes:
        raise QueryError(
            f"{code} is no code", accepted=", ".join(reason_codes), fix=meant(code, reason_codes)
        )
    try:
        return (_INSTALLED / f"{code}.md").read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"the page of {code} is missing: {error}", fix="install streambound again"
        ) from None


def _below(error: type[StreamboundError]) -> Iterator[type[StreamboundError]]:
    for subclass in error.__subclasses__():
        yield subclass
        yield from _below(subclass)
