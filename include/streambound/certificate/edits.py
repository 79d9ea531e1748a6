"""The single edits that could make a query bounded, what people do in practice first.

What they do to a branch (docs/theory.md): a bound takes a column out of the infinite zone that it shares
with another; a list of values takes a dense column out of all of them; DISTINCT lets one extremum stand for
all that is below it, and without it no answer row is remembered; with its timestamp a row never comes again;
a time window makes one composite of two streams; a column that is not projected need not be kept. None of
them is trusted: each is decided again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from itertools import combinations, product

from sqlglot import expressions as exp

from streambound.boundedness.causes import TICKS, WINDOWS, window
from streambound.boundedness.criterion.verdict import Reason
from streambound.certificate.drafts import Draft
from streambound.certificate.ranges import Hints, Origin
from streambound.certificate.wording import is_word
from streambound.query.column_types import Family, Type, Value
from streambound.query.model import Attribute, Domain, Occurrence, Query, Relation, RelationKind

PLACEHOLDER = "placeholder: put in your own"
OBSERVED = "as observed: a promise only if you make it one"


class Change(IntEnum):
    """What an edit does: first what people do in practice, then by how much of the meaning it changes."""

    KEY = 0
    WINDOW = 1
    BOUND = 2
    INTERVAL = 3
    LIST = 4
    DISTINCT = 5
    PROJECTION = 6
    AGGREGATE = 7
    TTL = 8


@dataclass(frozen=True)
class Edit:
    """One change: its words and what it does to a draft.

    ``domain`` is the declared domain that does the same as a bound, ``replaces`` names what two edits must
    not both do, and ``added`` are the texts of Spark SQL in the words. ``unknown``: it lists values that are
    placeholders.
    """

    change: Change
    words: str
    apply: Callable[[Draft], Draft]
    replaces: tuple[object, ...]
    domain: tuple[Relation, str, Domain] | None = None
    added: tuple[str, ...] = ()
    unknown: bool = False


def edits(draft: Draft, hints: Hints, reasons: tuple[Reason, ...]) -> list[Edit]:
    """Edits that address some reasons of an unbounded or unknown query, in the order of ``Change``."""
    query = hints.query
    windows, keys = list(_windows(draft, hints, reasons)), list(_keys(draft, query))
    candidates = [
        *keys,
        *_both(keys, windows),
        *(edit for a, linked in _named(query, reasons) for edit in _bounds(draft, hints, a, linked)),
        *(_group_keys(draft, hints) if draft.grouped else _distinct(draft)),
        *_partition_keys(draft, hints),
        *windows,
        *(() if draft.grouped else _projections(query, reasons)),
        *(() if draft.grouped else _aggregated(draft, query, reasons)),
    ]
    return sorted(candidates, key=lambda edit: edit.change)


def _name(draft: Draft, query: Query, attribute: Attribute) -> str:
    relation = query.occurrence(attribute.occurrence).relation
    return draft.name(relation.name, attribute.occurrence, attribute.column)


def _named(query: Query, reasons: Iterable[Reason]) -> Iterator[tuple[Attribute, list[Attribute]]]:
    """The ordinary columns that reasons name, each with the ones named beside it."""
    seen = set[Attribute]()
    for reason in reasons:
        ordinary = [a for a in reason.attributes if not query.is_timestamp(a)]
        for attribute in ordinary:
            if attribute not in seen:
                seen.add(attribute)
                yield (
                    attribute,
                    [
                        ordinary_attribute
                        for ordinary_attribute in ordinary
                        if ordinary_attribute != attribute
                    ],
                )


def _bounds(draft: Draft, hints: Hints, attribute: Attribute, linked: list[Attribute]) -> Iterator[Edit]:
    kind, name = hints.query.type_of(attribute), _name(draft, hints.query, attribute)
    if not kind.discrete:
        yield from _list(draft, hints, attribute, linked)
        return
    span, (below, above) = hints.range(attribute, linked), hints.bounded(attribute)
    low, high = _literal(kind, span.low), _literal(kind, span.high)
    ends = Domain(minimum=span.low, maximum=span.high)
    if not above:
        yield _condition(hints, Change.BOUND, attribute, f"{name} <= {high}", span.from_high, ends)
    if not below:
        yield _condition(hints, Change.BOUND, attribute, f"{name} >= {low}", span.from_low, ends)
    if not above and not below:
        text = f"{name} BETWEEN {low} AND {high}"
        yield _condition(hints, Change.INTERVAL, attribute, text, min(span.from_low, span.from_high), ends)


def _list(draft: Draft, hints: Hints, attribute: Attribute, linked: list[Attribute]) -> Iterator[Edit]:
    values, origin = hints.listed(attribute, linked)
    kind, name = hints.query.type_of(attribute), _name(draft, hints.query, attribute)
    text = f"{name} IN ({', '.join(_literal(kind, value) for value in values)})"
    yield _condition(hints, Change.LIST, attribute, text, origin, Domain(values=tuple(sorted(values))))


def _condition(
    hints: Hints, change: Change, attribute: Attribute, text: str, origin: Origin, domain: Domain
) -> Edit:
    what = {Change.LIST: "list the values of", Change.INTERVAL: "bound"}.get(change, "bound one side of")
    own = f"{PLACEHOLDER} {'values' if change is Change.LIST else 'numbers'}"
    hint = {Origin.WRITTEN: "as the query or the catalog has it", Origin.OBSERVED: OBSERVED}.get(origin, own)
    words = f"{what} {attribute}: {text} ({hint})"
    return Edit(
        change,
        words,
        _conditioned(hints.member, text),
        ("bound", hints.member, attribute),
        (hints.query.occurrence(attribute.occurrence).relation, attribute.column, domain),
        added=(text,),
        unknown=change is Change.LIST and origin is Origin.PLACEHOLDER,
    )


def _literal(kind: Type, value: Value) -> str:
    """A value as Spark's SQL reads it."""
    if kind.family is Family.STRING:
        return exp.Literal.string(value).sql(dialect="spark")
    if kind.family is Family.NUMBER and isinstance(value, Fraction) and kind.resolution is None:
        return str(float(value))
    return kind.text(value)


def _distinct(draft: Draft) -> Iterator[Edit]:
    if draft.distinct is False:
        words = "add DISTINCT: the same rows, each once, without their number"
        yield Edit(Change.DISTINCT, words, lambda d: d.with_distinct(True), ("distinct",))
    if draft.distinct is True:
        words = "remove DISTINCT: a row is told each time it holds, and none need be remembered"
        yield Edit(Change.DISTINCT, words, lambda d: d.with_distinct(False), ("distinct",))


def _windows(draft: Draft, hints: Hints, reasons: Iterable[Reason]) -> Iterator[Edit]:
    """A window between two streams that a reason names; between any two if it names fewer.

    What rows look for by EXISTS or NOT EXISTS may be kept within a window of each of their streams.
    """
    query = hints.query
    named = {a.occurrence for reason in reasons for a in reason.attributes}
    stamped, inner = (list(filter(_stamped, each)) for each in (query.occurrences, hints.inner))
    chosen = [o for o in stamped if o.alias in named]
    pairs = [
        *combinations(chosen if len(chosen) > 1 else stamped, 2),
        *product(stamped, inner),
    ]
    for left, right in pairs:
        first, second = (Attribute(o.alias, o.relation.timestamp or "") for o in (left, right))
        kinds = {o.relation.column(o.relation.timestamp or "").type.family for o in (left, right)}
        if len(kinds) > 1:
            continue
        early, late = (
            draft.name(o.relation.name, o.alias, o.relation.timestamp or "") for o in (left, right)
        )
        text = window(query, early, late, *kinds)
        words = f"keep {left.alias} and {right.alias} within a time window: {text} ({PLACEHOLDER} width)"
        replaces = (hints.member, frozenset((first, second)))
        apply = _windowed(hints.member, (left.alias, right.alias), text)
        yield Edit(Change.WINDOW, words, apply, replaces, added=(text,))


def _stamped(occurrence: Occurrence) -> bool:
    return occurrence.relation.kind is RelationKind.STREAM and occurrence.relation.timestamp is not None


def _windowed(member: int, names: tuple[str, str], text: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_window(member, names, text)


def _keys(draft: Draft, query: Query) -> Iterator[Edit]:
    """Showing the timestamp of a stream beside DISTINCT: a row with its time never comes again."""
    for occurrence in query.streams if draft.distinct else ():
        stamp = Attribute(occurrence.alias, occurrence.relation.timestamp or "")
        if occurrence.relation.timestamp is not None and stamp not in query.projected:
            text = _name(draft, query, stamp)
            words = f"show {stamp} as well: each row is told once for each of its moments"
            yield Edit(Change.KEY, words, _extended(text), ("key",))


def _both(keys: list[Edit], windows: list[Edit]) -> Iterator[Edit]:
    """The window between two streams and a timestamp beside DISTINCT: neither does without the other."""
    for key, edit in product(keys, windows if len(windows) == 1 else ()):
        words = f"{key.words}; {edit.words}"
        replaces = (*key.replaces, *edit.replaces)
        yield Edit(Change.KEY, words, _both_edits(key, edit), replaces, added=edit.added)


def _both_edits(first: Edit, second: Edit) -> Callable[[Draft], Draft]:
    return lambda draft: second.apply(first.apply(draft))


def _extended(text: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_output(text)


def _group_keys(draft: Draft, hints: Hints) -> Iterator[Edit]:
    """A window of time among the keys of GROUP BY: a group ends, and is forgotten then."""
    for occurrence in hints.query.occurrences:
        relation = occurrence.relation
        if relation.kind is not RelationKind.STREAM or relation.timestamp is None:
            continue
        stamp = Attribute(occurrence.alias, relation.timestamp)
        ticks = hints.query.type_of(stamp).family is Family.NUMBER
        width = str(TICKS) if ticks else f"'{WINDOWS[0][1].lower()}'"
        text = f"window({_name(draft, hints.query, stamp)}, {width})"
        words = f"count in windows of time as well: {text} ({PLACEHOLDER} width)"
        yield Edit(Change.KEY, words, _keyed(text), ("key", hints.member), added=(text,))
        text = f"session_{text}"
        words = (
            f"an approximation, as a TTL of the state is one: {text} ({PLACEHOLDER} length)"
            "; a group to which no row came for so long is dropped, and begins anew with its next row"
        )
        yield Edit(Change.TTL, words, _keyed(text), ("ttl", hints.member), added=(text,))


def _partition_keys(draft: Draft, hints: Hints) -> Iterator[Edit]:
    """The day among the keys of PARTITION BY: ranks begin anew, and a key is forgotten then."""
    for occurrence in hints.query.occurrences if draft.ranked else ():
        relation = occurrence.relation
        if relation.kind is not RelationKind.STREAM or relation.timestamp is None:
            continue
        stamp = Attribute(occurrence.alias, relation.timestamp)
        if hints.query.type_of(stamp).family is Family.TIMESTAMP:
            text = f"CAST({_name(draft, hints.query, stamp)} AS DATE)"
            words = f"rank the rows of each day by themselves: PARTITION BY {text} as well"
            yield Edit(Change.KEY, words, _ranked(text), ("partition", hints.member), added=(text,))


def _ranked(text: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_partition(text)


def _keyed(text: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_key(text)


def _conditioned(member: int, text: str) -> Callable[[Draft], Draft]:
    return lambda draft: draft.with_condition(member, text)


def _projections(query: Query, reasons: Iterable[Reason]) -> Iterator[Edit]:
    """Dropping an output whose column a reason about the projection names."""
    named = {a for reason in reasons for a in reason.attributes}
    for position, output in enumerate(query.select):
        if output.term not in named:
            continue
        instead = " and answer 1 where there is a match" if len(query.select) == 1 else ""
        words = f"do not project {output.term}{instead}"
        yield Edit(Change.PROJECTION, words, _dropped(position), ("drop", output.name))


def _aggregated(draft: Draft, query: Query, reasons: Iterable[Reason]) -> Iterator[Edit]:
    """Sums instead of columns that are shown and have no end, and how many rows there are, by all else."""
    named = {a for reason in reasons for a in reason.attributes}
    dropped = {p: o for p, o in enumerate(query.select) if isinstance(o.term, Attribute) and o.term in named}
    if draft.distinct is not False or not dropped:
        return
    sums, taken = [], set[str]()
    for output in dropped.values():
        assert isinstance(output.term, Attribute)
        attribute = output.term
        called = output.name if output.name not in taken else f"{attribute.occurrence}_{attribute.column}"
        taken.add(called)
        if query.type_of(attribute).family is Family.NUMBER and is_word(called):
            sums.append(f"SUM({_name(draft, query, attribute)}) AS sum_{called}")
    terms = dict.fromkeys(o.term for p, o in enumerate(query.select) if p not in dropped)
    keys = tuple(_name(draft, query, term) for term in terms if isinstance(term, Attribute))
    shown = (*sums, "COUNT(*) AS number_of_rows")
    by = f" by {', '.join(keys)}" if keys else ""
    instead = ", ".join(str(output.term) for output in dropped.values())
    words = f"aggregate before it is kept: {', '.join(shown)}{by} instead of {instead}"
    apply = _aggregate(shown, sorted(dropped), keys)
    yield Edit(Change.AGGREGATE, words, apply, ("aggregate",), added=shown)


def _aggregate(shown: Iterable[str], dropped: list[int], keys: Iterable[str]) -> Callable[[Draft], Draft]:
    def apply(draft: Draft) -> Draft:
        for output in shown:
            draft = draft.with_output(output)
        for position in reversed(dropped):
            draft = draft.without_output(position)
        for key in keys:
            draft = draft.with_key(key)
        return draft

    return apply


def _dropped(position: int) -> Callable[[Draft], Draft]:
    return lambda draft: draft.without_output(position)
