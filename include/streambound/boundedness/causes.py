"""What several findings have in common: time that is not said.

A cause is not guessed from the text. The query is decided again as if timestamps were declared, kept within
a window of each other, or shown beside DISTINCT, each of them alone and then together; what lacks is the
least of that after which fewest is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise

from streambound.boundedness.criterion.exact import exact
from streambound.boundedness.criterion.verdict import Outcome, Verdict
from streambound.constraints.system import system
from streambound.constraints.time import TimeOrder
from streambound.errors import Location
from streambound.query.column_types import Family
from streambound.query.model import Attribute, Join, Occurrence, Op, Output, Query, RelationKind

# Widths of a window, in microseconds with their names; the first that holds the query's offsets is taken.
WINDOWS = ((3_600_000_000, "1 HOUR"), (86_400_000_000, "1 DAY"), (30 * 86_400_000_000, "30 DAYS"))
TICKS = 60


@dataclass(frozen=True)
class Cause:
    """What lacks, one thing to do, the place of what it is about, and Spark SQL that stands in the words."""

    message: str
    fix: str
    location: Location | None = None
    added: tuple[str, ...] = ()


# The query as if something were said, and what lacks then; None where there is nothing to say.
_Remedy = Callable[[Query], tuple[Query, Cause] | None]
# The query as its text reads where relations of some names have timestamps; None where it cannot be read so.
Reread = Callable[[Mapping[str, str]], Query | None]


def causes(query: Query, verdict: Verdict, reread: Reread) -> tuple[Cause, ...]:
    """What lacks of time in an unbounded conjunction; nothing where that changes no finding."""
    if verdict.outcome is not Outcome.UNBOUNDED:
        return ()
    least, shared = len(verdict.reasons), tuple[Cause, ...]()
    remedies: tuple[_Remedy, ...] = (partial(_declared, reread=reread), _within, _shown)
    for number in range(1, len(remedies) + 1):
        for chosen in combinations(remedies, number):
            left, lacking = _tried(query, chosen, verdict)
            if left < least:
                least, shared = left, lacking
        if not least:
            break
    return shared


def _tried(query: Query, chosen: tuple[_Remedy, ...], verdict: Verdict) -> tuple[int, tuple[Cause, ...]]:
    """How many findings are left after some remedies, and what they are; all where one has nothing to say."""
    lacking = []
    for remedy in chosen:
        made = remedy(query)
        if made is None:
            return len(verdict.reasons), ()
        query = made[0]
        lacking.append(made[1])
    now = exact(query)
    if now.bounded:
        empty = any(reason.code == "unsatisfiable" for reason in now.reasons)
        return len(verdict.reasons) if empty else 0, tuple(lacking)
    reported = {(reason.code, reason.attributes) for reason in now.reasons}
    left = [item for item in verdict.reasons if (item.code, item.attributes) in reported]
    if now.outcome is not Outcome.UNBOUNDED:
        return len(verdict.reasons), ()
    # What is found instead is no better.
    return max(len(left), len(now.reasons)), tuple(lacking)


def _declared(query: Query, reread: Reread) -> tuple[Query, Cause] | None:
    """As if the streams that have a column of moments, and no timestamp, had it for one."""
    timeless = [
        o for o in query.streams if o.relation.kind is RelationKind.STREAM and o.relation.timestamp is None
    ]
    dated = [(occurrence, column) for occurrence in timeless if (column := _moment(occurrence)) is not None]
    stamps = {occurrence.relation.name: column for occurrence, column in dated}
    made = reread(stamps) if stamps else None
    if made is None:
        return None
    names = list(stamps)
    columns = ", ".join(f"{name}.{column}" for name, column in stamps.items())
    plural = "have no timestamps" if len(names) > 1 else "has no timestamp"
    entries = " and ".join(f"{name}: {{timestamp: {column}}}" for name, column in stamps.items())
    cause = Cause(
        f"{' and '.join(names)} {plural} in the catalog, and could have {columns}: nothing is ever too old",
        f"declare {entries}",
        dated[0][0].location,
    )
    return _at_locations_of(query, made), cause


def _at_locations_of(query: Query, reread: Query) -> Query:
    """A query that was read from another text, with the places of the user's."""
    locations = {occurrence.alias: occurrence.location for occurrence in query.occurrences}
    select = (
        replace(new, location=old.location) for new, old in zip(reread.select, query.select, strict=True)
    )
    occurrences = (
        replace(occurrence, location=locations[occurrence.alias]) for occurrence in reread.occurrences
    )
    return replace(reread, select=tuple(select), occurrences=tuple(occurrences))


def _moment(occurrence: Occurrence) -> str | None:
    columns = [
        column.name for column in occurrence.relation.columns if column.type.family is Family.TIMESTAMP
    ]
    return columns[0] if columns else None


def _within(query: Query) -> tuple[Query, Cause] | None:
    """As if the streams with timestamps were kept within a window of each other."""
    time = TimeOrder(system(query))
    stamps = {
        occurrence.alias: stamp
        for occurrence in query.occurrences
        if (stamp := _stamp(occurrence)) is not None
    }
    apart = [stamps[alias] for alias in _first_of_each(time) if alias in stamps]
    if len(apart) < 2 or len({query.type_of(stamp).family for stamp in apart}) > 1:
        return None
    # Any would do that no condition contradicts.
    width = 2 * _most(query) + TICKS
    added = [
        atom
        for attribute, later in pairwise(apart)
        for atom in (
            Join(later, Op.LE, attribute, offset=width),
            Join(attribute, Op.LE, later, offset=width),
        )
    ]
    names = f"{', '.join(map(str, apart[:-1]))} and {apart[-1]}"
    earlier = [(a, b) for a, b in combinations(apart, 2) if time.precedes(a.occurrence, b.occurrence)]
    earlier += [(b, a) for a, b in combinations(apart, 2) if time.precedes(b.occurrence, a.occurrence)]
    if not earlier:
        said = f"no condition relates {names}: a row may match one of any age"
    else:
        said = " and ".join(f"{late} may be any time after {early}" for early, late in earlier)
        said += ": no condition says how long a row waits"
    family = query.type_of(apart[0]).family
    text = " AND ".join(
        window(query, str(attribute), str(later), family) for attribute, later in pairwise(apart)
    )
    fix = f"keep them within a window, such as {text}"
    cause = Cause(said, fix, query.occurrence(apart[1].occurrence).location, (text,))
    return replace(query, where=(*query.where, *added)), cause


def window(query: Query, early: str, late: str, family: Family) -> str:
    """A condition that keeps two timestamps together, and does not contradict the offsets of a query."""
    if family is Family.NUMBER:
        width = str(max(TICKS, 2 * _most(query)))
    else:
        most = _most(query)
        fitting = (name for length, name in WINDOWS if length > most)
        width = f"INTERVAL {next(fitting, f'{2 * most // 86_400_000_000 + 1} DAYS')}"
    return f"{late} BETWEEN {early} - {width} AND {early} + {width}"


def _most(query: Query) -> int:
    return max((abs(atom.offset) for atom in query.joins), default=0)


def _first_of_each(time: TimeOrder) -> list[str]:
    """A stream of each composite, in the order of FROM, one with a timestamp if possible."""
    order = list(time.infinite)
    stamped = {o.alias for o in time.facts.query.streams if o.relation.timestamp is not None}
    firsts = [
        min(composite, key=lambda alias: (alias not in stamped, order.index(alias)))
        for composite in time.composites
    ]
    return sorted(firsts, key=order.index)


def _stamp(occurrence: Occurrence) -> Attribute | None:
    return (
        None
        if occurrence.relation.timestamp is None
        else Attribute(occurrence.alias, occurrence.relation.timestamp)
    )


def _shown(query: Query) -> tuple[Query, Cause] | None:
    """As if DISTINCT had the timestamps of the streams that complete matches among its columns."""
    if not query.ring.idempotent:
        return None
    time = TimeOrder(system(query))
    stamps = {
        occurrence.alias: stamp for occurrence in query.streams if (stamp := _stamp(occurrence)) is not None
    }
    last = [stamps[alias] for alias in time.infinite if alias in stamps and time.completes(alias)][:1]
    if not last or last[0] in query.projected:
        return None
    cause = Cause(
        "DISTINCT has no timestamp among its columns: a row, once told, must be known for ever",
        f"show {last[0]} as well: each row is then told once for each of its moments",
        query.select[0].location,
    )
    return replace(query, select=(*query.select, Output(last[0].column, last[0]))), cause
