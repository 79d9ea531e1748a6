"""The parts of a table's layout in words: conditions, keys and extrema."""

from __future__ import annotations

from collections.abc import Sequence

from streambound.plan.model import Condition, Extremum, Keep, Key, StreamSynopsis
from streambound.query.column_types import Value
from streambound.query.model import Attribute, Query

# Values of a list that an explanation shows before it says how many more there are.
MEMBERS_SHOWN = 8


def filters_text(query: Query, synopsis: StreamSynopsis) -> str:
    """The conditions on the tuples of a stream that count at all; empty if all do."""
    listed = {attribute for attribute, _ in synopsis.members}
    derived = (condition for condition in synopsis.derived if condition.attribute not in listed)
    conditions = [
        *map(str, synopsis.filters),
        *(condition_text(query, condition) for condition in derived),
        *(_members_text(query, attribute, values) for attribute, values in synopsis.members),
    ]
    return " and ".join(conditions)


def condition_text(query: Query, condition: Condition) -> str:
    """A condition of the plan as SQL writes it."""
    value = query.type_of(condition.attribute).text(condition.value)
    return f"{condition.attribute} {condition.op.value} {value}"


def _members_text(query: Query, attribute: Attribute, values: Sequence[Value]) -> str:
    kind, shown = query.type_of(attribute), values[:MEMBERS_SHOWN]
    more = f", and {len(values) - len(shown):,} more" if len(values) > len(shown) else ""
    return f"{attribute} among {', '.join(map(kind.text, shown))}{more}"


def all_text(query: Query, conditions: tuple[Condition, ...]) -> str:
    """Conditions of the plan that hold together."""
    return " and ".join(condition_text(query, condition) for condition in conditions)


def key_text(query: Query, key: Key) -> str:
    """A key and the classes of its values."""
    if key.points is not None:
        return f"position of {key.attribute} among {len(key.points)} values ({key.size:,} classes)"
    kind = query.type_of(key.attribute)
    ends = ((word, bound) for word, bound in (("from", key.low), ("to", key.high)) if bound is not None)
    clip = ", ".join(f"{word} {kind.text(bound)}" for word, bound in ends)
    values = "1 value" if key.size == 1 else f"{key.size:,} values"
    return f"{key.attribute} ({values}{', clipped ' + clip if clip else ''})"


def extremum_text(extremum: Extremum) -> str:
    """Which end of which columns is kept."""
    names = ", ".join(map(str, extremum.attributes))
    if len(extremum.attributes) == 1:
        return f"the {end_text(extremum.keep)} {names}"
    inner = "max" if extremum.keep is Keep.LEAST else "min"
    return f"the {end_text(extremum.keep)} {inner}({names})"


def end_text(keep: Keep) -> str:
    """Which end is kept."""
    return "least" if keep is Keep.LEAST else "greatest"
