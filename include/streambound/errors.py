"""Every error that streambound raises on purpose: one root, flat subclasses by phase.

A message names the query or file, the place, what was found, what is accepted and one fix.
The command line prints it and exits with the class's code; no traceback reaches a user.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Location:
    """A position in a text: line and column from 1, and the number of characters meant."""

    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class StreamboundError(Exception):
    """Root of all typed errors.

    Args:
        message: what was found.
        subject: the query or file that it is about.
        location: where in that text.
        accepted: what would have been accepted.
        fix: one thing to do.
        text: the text that ``location`` points into; the line is quoted and underlined.
    """

    exit_code = 2
    # Declared by every class below; each has a page, docs/codes/CODE.md.
    code = "error"

    def __init__(
        self,
        message: str,
        *,
        subject: str | None = None,
        location: Location | None = None,
        accepted: str | None = None,
        fix: str | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.subject = subject
        self.location = location
        self.accepted = accepted
        self.fix = fix
        self.text = text

    def about(self, subject: str) -> StreamboundError:
        """The same error, naming ``subject`` if it named nothing yet."""
        if self.subject is None:
            self.subject = subject
        return self

    def one_line(self) -> str:
        """The error as one line, for JSON and tables."""
        where = ": ".join(str(part) for part in (self.subject, self.location) if part)
        parts = [f"{where}: {self.message}" if where else self.message]
        if self.accepted:
            parts.append(f"accepted: {self.accepted}")
        if self.fix:
            parts.append(f"fix: {self.fix}")
        return "; ".join(parts)

    def __str__(self) -> str:
        where = ": ".join(str(part) for part in (self.subject, self.location) if part)
        lines = [f"{where}: {self.message}" if where else self.message]
        if self.text and self.location:
            lines.extend(underlined(self.text, self.location))
        if self.accepted:
            lines.append(f"  accepted: {self.accepted}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


def alike(word: str, candidates: Iterable[str], likeness: float = 0.6, most: int = 1) -> list[str]:
    """The known words that a misspelt one is like, whatever their case, the most like first; may be none.

    Args:
        likeness: from 0 to 1, as difflib counts it.
        most: how many are wanted.

    >>> alike("Departurs", ["departures", "arrivals"])
    ['departures']
    """
    by_case: dict[str, str] = {}
    for item in candidates:
        by_case.setdefault(item.casefold(), item)
    return [by_case[match] for match in get_close_matches(word.casefold(), by_case, most, likeness)]


def meant(word: str, candidates: Iterable[str], otherwise: str | None = None) -> str | None:
    """The fix for a word that is none of the known ones: what was probably meant, or else ``otherwise``."""
    similar = alike(word, candidates)
    return f"did you mean {similar[0]}?" if similar else otherwise


# Characters of a line that are quoted.
QUOTED = 1_000


def underlined(text: str, location: Location) -> list[str]:
    """The line of ``text`` at ``location``, and a line of carets below the part that is meant."""
    lines = text.splitlines()
    if not 1 <= location.line <= len(lines):
        return []
    line = lines[location.line - 1].replace("\t", " ")
    start = min(location.column - 1, max(len(line) - 1, 0))
    if len(line) > QUOTED:
        # Of a long line what is around the place: all of it would hide the message.
        left = max(0, min(start - QUOTED // 4, len(line) - QUOTED))
        line, start = line[left : left + QUOTED], start - left
    carets = "^" * max(1, min(location.length, max(1, len(line) - start)))
    return [f"    {line}", f"    {' ' * start}{carets}"]


class CatalogError(StreamboundError):
    """The stream catalog is malformed or contradicts itself."""

    code = "invalid-catalog"


class ProjectError(StreamboundError):
    """A ``streambound.toml`` or a dbt manifest cannot be read, or says what is not understood."""

    code = "invalid-project"


class QueryError(StreamboundError):
    """The SQL cannot be read, names something unknown, or mixes types.

    ``unknown`` is the name of a column that is not known, as it is written; ``further`` are what else is
    wrong with the same query, where that was looked for.
    """

    code = "invalid-query"
    unknown: str | None = None
    further: tuple[QueryError, ...] = ()


class UnsupportedError(QueryError):
    """Valid SQL that this version does not decide; named with its place.

    ``construct`` is its name alone; ``further`` are what else the same query has that is not decided.
    """

    code = "unsupported-sql"
    construct: str | None = None
    further: tuple[UnsupportedError, ...] = ()

    @property
    def blockers(self) -> tuple[UnsupportedError, ...]:
        """All that is missing, in the order of the text."""
        return (self, *self.further)

    def one_line(self) -> str:
        """The error as one line; of several constructs each."""
        further = (
            f"{blocker.location}: {blocker.message}" if blocker.location else blocker.message
            for blocker in self.further
        )
        return "; ".join((super().one_line(), *further))

    def __str__(self) -> str:
        lines = [super().__str__()]
        for blocker in self.further:
            lines.append(
                f"  and {blocker.location}: {blocker.message}"
                if blocker.location
                else f"  and {blocker.message}"
            )
            if blocker.location and (text := blocker.text or self.text):
                lines.extend(underlined(text, blocker.location))
        return "\n".join(lines)


def unknown_column(
    message: str, name: str, location: Location | None, columns: Iterable[str], fix: str | None
) -> QueryError:
    """The error of a column that is not known."""
    error = QueryError(message, location=location, accepted=", ".join(columns), fix=fix)
    error.unknown = name
    return error


def named(construct: str, message: str, location: Location | None) -> UnsupportedError:
    """The error of a construct that is not decided."""
    error = UnsupportedError(message, location=location)
    error.construct = construct
    return error


def together(errors: Iterable[UnsupportedError]) -> UnsupportedError:
    """Several as one: each construct once at a place, in the order of the text."""
    flat = {(str(e.location), e.message): e for error in errors for e in error.blockers}
    first, *rest = sorted(
        flat.values(), key=lambda e: (e.location.line, e.location.column) if e.location else (0, 0)
    )
    first.further = tuple(rest)
    for error in rest:
        error.further = ()
    return first


class DataError(StreamboundError):
    """A history or an event list is missing, corrupt or does not fit the catalog."""

    code = "invalid-data"


class PlanError(StreamboundError):
    """A query was to be evaluated that has no bounded plan."""

    code = "no-plan"


class WitnessError(StreamboundError):
    """A query has no witness: it is not unbounded, its types have too few values, or none can be made yet."""

    code = "no-witness"


class CountOverflow(StreamboundError):
    """A multiplicity is larger than the output can hold; it is never wrapped."""

    code = "count-overflow"


class UnitsExceeded(StreamboundError):
    """More was stored than the plan's units, so no answer is given."""

    code = "units-exceeded"
    exit_code = 3


class PlatformError(StreamboundError):
    """Java, Spark or another outside part is missing or of the wrong version."""

    code = "platform-error"
    exit_code = 3


class StorageError(StreamboundError):
    """A disk, database or cluster failed."""

    code = "storage-error"
    exit_code = 3
