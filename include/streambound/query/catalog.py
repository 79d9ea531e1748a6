"""The stream catalog: what relations there are, validated when loaded.

One form serves the file ``streams.yml`` and the ``streams`` of a corpus line::

    streams:
      departures:
        kind: stream                       # stream (default), finite, static, versioned (with primary_key)
        timestamp: departed_at             # the application timestamp
        granularity: minute                # every timestamp is a whole minute (of UTC)
        columns: {departed_at: timestamp, origin: string, dep_delay: int, tail: string, expires: timestamp}
        not_null: [origin]
        domains: {origin: {values: [EWR, JFK, LGA]}, dep_delay: {min: -120, max: 2000}}
        cardinality: {tail: 20000}         # so many different values at most, nobody knows which
        observed: {dep_delay: {min: -43, max: 1301}}      # no promise: numbers for suggestions
        max_rows_per_timestamp: 60         # in any partition or file
        times: {expires: {after: departed_at, within: 1 day}}     # never before it, at most so long after
        rate: {rows: 900, per: hour}       # in each hour of UTC; also 10 minutes, 60 (ticks)
        allowed_lateness: 2 days
        history: {path: departures, partition_by: date}      # see ``histories``
        live: {format: kafka, options: {...}, value: {format: json}}      # see ``live_sources``

In the short form a relation is its columns alone, ``{A: int, ts: timestamp}``; the timestamp is
then the only column of type ``timestamp``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from streambound.errors import CatalogError, DataError, Location, meant
from streambound.query.column_types import Family, NotANumber, Type, Value, parse_type, shown
from streambound.query.histories import history_of
from streambound.query.live_sources import live_of
from streambound.query.model import TABLE, TICKS, Column, Domain, History, Rate, Relation, RelationKind
from streambound.query.type_names import nested

RELATION_KEYS = (
    "allowed_lateness",
    "cardinality",
    "columns",
    "description",
    "domains",
    "granularity",
    "history",
    "kind",
    "live",
    "max_rows_per_timestamp",
    "not_null",
    "observed",
    "primary_key",
    "rate",
    "times",
    "timestamp",
)
# What is counted of an observed column.
COUNTED = ("different", "nulls")
# Values that aliases may stand for, each as often as it is said: a few lines can say billions.
ALIASED = 100_000
# Collections within each other; to compose each takes PyYAML a millisecond and more.
NESTED = 100
# Bits of an integer that a file may hold; Python takes long to print one of many more.
_BITS = 2_000
# The halves of a type with two numbers, and no value.
_OPENED, _CLOSED, _NOTHING = re.compile(r"\w+ ?\( ?\d+ ?"), re.compile(r"\d+ ?\)"), re.compile("")
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)? (second|minute|hour|day)s?")


# A catalog of a thousand streams is a tenth of it; reading so much takes some ten seconds.
MAX_YAML_CHARACTERS = 1_000_000


class _Loader(yaml.SafeLoader):
    """Safe YAML that names the place of every value it cannot make, and refuses a key given twice.

    What aliases stand for is refused as well if it is much, or within itself, and what is nested deeply.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self._depth > NESTED:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "nested too deeply", mark)
        self._depth += 1
        try:
            node: yaml.Node | None = super().compose_node(parent, index)
        finally:
            self._depth -= 1
        return node

    def compose_document(self) -> yaml.Node | None:
        root: yaml.Node | None = super().compose_document()
        if root is not None:
            _expanded(root, {})
        return root

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and value.bit_length() > _BITS:
                raise ValueError("an integer of hundreds of digits")
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError:
            raise _unmade(node, "a lone surrogate, which is no character") from None
        except (ValueError, OverflowError, TypeError) as error:
            raise _unmade(node, str(error)) from None
        except (AttributeError, LookupError):
            # What PyYAML makes of a tag, such as !!bool, on text that is no such value.
            raise _unmade(node, f"not a value of {node.tag.removeprefix('tag:yaml.org,2002:')}") from None
        return value

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        # Of the text as written: later on merged mappings (<<) stand among the keys that override them.
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        node.value = list(_whole_types(node.value))
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in lines:
                problem = f"the key {key.value} is given twice, first in line {lines[key.value]}"
                raise _unmade(key, problem)
            lines[key.value] = key.start_mark.line + 1
        return node


def _whole_types(pairs: Sequence[tuple[yaml.Node, yaml.Node]]) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The pairs of a mapping, with ``{A: decimal(10,2)}`` as it was meant: YAML splits it at the comma."""
    waiting = list(pairs)
    while waiting:
        key, value = waiting.pop(0)
        if waiting and _is_unquoted(value, _OPENED):
            rest, empty = waiting[0]
            if _is_unquoted(rest, _CLOSED) and _is_unquoted(empty, _NOTHING):
                waiting.pop(0)
                text = f"{value.value},{rest.value}"
                value = yaml.ScalarNode(value.tag, text, value.start_mark, rest.end_mark)
        yield key, value


def _is_unquoted(node: yaml.Node, form: re.Pattern[str]) -> bool:
    """Whether a node is text without quotes, of a form."""
    return isinstance(node, yaml.ScalarNode) and not node.style and bool(form.fullmatch(node.value))


def _expanded(node: yaml.Node, sizes: dict[int, int]) -> int:
    """The values below a node, with those of aliases wherever they are said."""
    if (size := sizes.get(id(node))) is not None:
        if not size:
            raise _unmade(node, "an alias for what it is itself a part of")
        return size
    sizes[id(node)], nodes = 0, 1
    if isinstance(node, yaml.CollectionNode):
        parts = (
            node.value if isinstance(node, yaml.SequenceNode) else [n for pair in node.value for n in pair]
        )
        for part in parts:
            said = id(part) in sizes
            nodes += _expanded(part, sizes)
            if said and nodes > ALIASED:
                raise _unmade(node, f"aliases that stand for more than {ALIASED:,} values")
    sizes[id(node)] = nodes
    return nodes


def _unmade(node: yaml.Node, problem: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


@dataclass(frozen=True)
class NamedQuery:
    """A query that others may name as a relation: its text, and the dialect if it is said beside the text."""

    name: str
    sql: str
    dialect: str | None = None


@dataclass(frozen=True)
class Catalog:
    """The relations that queries may name, and the file that they came from."""

    relations: tuple[Relation, ...]
    source: str = "catalog"
    # Whether nobody named it: then it says nothing of tables that a script declares itself.
    default: bool = False
    # What may be named as well, where no relation is called so.
    queries: tuple[NamedQuery, ...] = ()

    def find(self, name: str) -> Relation | None:
        """The relation of that name, exactly or but for case; None if there is none."""
        exact = [r for r in self.relations if r.name == name]
        loose = exact or [r for r in self.relations if r.name.lower() == name.lower()]
        return loose[0] if loose else None

    def query(self, name: str) -> NamedQuery | None:
        """The query of that name, exactly or but for case; None if there is none."""
        exact = [named_query for named_query in self.queries if named_query.name == name]
        loose = exact or [
            named_query for named_query in self.queries if named_query.name.lower() == name.lower()
        ]
        return loose[0] if loose else None

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(r.name for r in self.relations)


def load_catalog(path: Path) -> Catalog:
    """The catalog in a YAML file.

    Raises:
        CatalogError: the file is missing, not YAML, or not a catalog.
    """
    return catalog_of_text(read_text(path), str(path))


def yaml_document(text: str) -> Any:
    """What a text in YAML has: plain values, and no more of them than the text is worth.

    Raises:
        yaml.YAMLError: it is none, repeats a key, or its aliases stand for too much.
        RecursionError: it is nested too deeply.
    """
    # _Loader is a SafeLoader.
    return yaml.load(text, _Loader)  # noqa: S506


# A page, a folder of queries and a night read one catalog again and again, which was most of their time.
_document = lru_cache(maxsize=4)(yaml_document)


def catalog_of_text(text: str, source: str) -> Catalog:
    """The catalog that a text in YAML is.

    Args:
        source: the file that it is from, as messages name it.

    Raises:
        CatalogError: it is not YAML, or not a catalog.
    """
    if len(text) > MAX_YAML_CHARACTERS:
        raise CatalogError(
            f"the text has {len(text):,} characters",
            subject=source,
            accepted=f"at most {MAX_YAML_CHARACTERS:,}",
            fix="split it: a folder of queries may have a catalog of its own",
        )
    try:
        document = _document(text)
    except yaml.YAMLError as error:
        raise _yaml_error(source, text, error) from None
    except RecursionError:
        raise CatalogError(
            "not valid YAML: nested too deeply", subject=source, accepted="streams, relations, columns"
        ) from None
    if not isinstance(document, Mapping) or set(document) != {"streams"}:
        keys = list(document) if isinstance(document, Mapping) else None
        raise CatalogError(
            f"the top level is {shown(document)}" if keys is None else f"the top level has {_listing(keys)}",
            subject=source,
            accepted="one key, streams, with a mapping of names to relations",
            fix=None if not keys or "streams" in keys else meant(str(keys[0]), ["streams"]),
        )
    try:
        return catalog_from_mapping(document["streams"], source=source)
    except CatalogError as error:
        raise error.about(source) from None


def _listing(keys: list[Any]) -> str:
    """The keys of a mapping as a message names them."""
    names = sorted(key if isinstance(key, str) else shown(key) for key in keys)
    return f"the keys {', '.join(names)}" if names else "no keys"


def read_text(path: Path) -> str:
    """The text of a catalog file, with its own ends of lines.

    Raises:
        CatalogError: it is missing, or no text.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem, fix = f"not UTF-8 text: byte {error.start}", "save the file as UTF-8"
    except IsADirectoryError:
        problem, fix = "this is a folder", f"name a file in it, such as {path / 'streams.yml'}"
    except OSError as error:
        problem, fix = str(error.strerror), "name an existing file with --catalog FILE"
    raise CatalogError(f"the stream catalog cannot be read: {problem}", subject=str(path), fix=fix)


def catalog_from_mapping(streams: Any, source: str = "catalog") -> Catalog:
    """The catalog in a mapping of relation names to their descriptions.

    Raises:
        CatalogError: naming the relation, the key, what was found and what is accepted.
    """
    if not isinstance(streams, Mapping) or not streams:
        raise CatalogError(
            "no streams are declared",
            subject=source,
            accepted="a mapping of stream names to their columns",
        )
    _named(streams, "stream")
    relations = tuple(_relation(name, body) for name, body in streams.items())
    _refuse_twins([r.name for r in relations], "relation")
    return Catalog(relations, source)


def _yaml_error(source: str, text: str, error: yaml.YAMLError) -> CatalogError:
    mark = getattr(error, "problem_mark", None)
    location = Location(mark.line + 1, mark.column + 1) if mark else None
    problem = getattr(error, "problem", None) or str(error)
    # What can be read as YAML but not be made a value is wrong for another reason than its indentation.
    unmade = isinstance(error, yaml.constructor.ConstructorError)
    return CatalogError(
        problem if unmade else f"not valid YAML: {problem}",
        subject=source,
        location=location,
        text=text,
        fix="correct or remove it" if unmade else "check the indentation and quotes at this place",
    )


def _named(names: Mapping[Any, Any], what: str) -> None:
    for name in names:
        # YAML reads a plain on, yes, null or 1 as something other than text.
        if not isinstance(name, str) or not name.strip():
            raise CatalogError(f"{what} name {shown(name)} is not text", fix="put the name in quotes")


def _refuse_twins(names: list[str], what: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (twin := seen.setdefault(name.lower(), name)) is not name:
            raise CatalogError(f"{what}s {twin} and {name} differ only in case", fix="rename one of them")


def _relation(name: str, body: Any) -> Relation:
    if not isinstance(body, Mapping):
        raise CatalogError(f"stream {name}: found {shown(body)}", accepted="a mapping with columns")
    # A short form is recognised by its values: types are text, and no relation is described by text alone.
    # A column whose type was forgotten (null) is still one.
    texts = all(v is None or isinstance(v, str) for v in body.values())
    short = bool(body) and texts and "columns" not in body
    described: Mapping[str, Any] = {"columns": body} if short else body
    unknown = sorted(set(map(str, described)) - set(RELATION_KEYS))
    if unknown:
        raise CatalogError(
            f"stream {name}: unknown key {', '.join(unknown)}",
            accepted=", ".join(RELATION_KEYS),
            fix=meant(unknown[0], RELATION_KEYS),
        )
    types, opaque = _types(name, described.get("columns"))
    kind = _accepted_value(name, "kind", described.get("kind", "stream"), [k.value for k in RelationKind])
    timestamp = _timestamp(name, types, described.get("timestamp"), short)
    nullable = set(types) - _not_null(name, types, described.get("not_null")) - {timestamp}
    domains = _domains(name, types, described.get("domains"))
    allowed = _duration(name, described.get("allowed_lateness"))
    within = _times(name, types, timestamp, described.get("times"))
    numbers = _cardinality(name, types, timestamp, described.get("cardinality"))
    observed = _observed(name, types, [c for c, _ in opaque], described.get("observed"))
    return Relation(
        name=name,
        kind=RelationKind(kind),
        columns=tuple(
            Column(
                c,
                t,
                domains.get(c),
                c in nullable,
                observed=observed.get(c),
                cardinality=numbers.get(c),
                within=within.get(c),
            )
            for c, t in types.items()
        ),
        timestamp=timestamp,
        granularity=_granularity(name, described.get("granularity")),
        description=str(described.get("description") or ""),
        max_rows_per_timestamp=_positive(name, described.get("max_rows_per_timestamp")),
        allowed_lateness=allowed,
        history=_history(name, described),
        live=live_of(name, described.get("live"), types, timestamp, allowed),
        primary_key=_primary_key(name, types, kind, described.get("primary_key")),
        opaque=opaque,
        rate=_rate(name, described.get("rate"), None if timestamp is None else types[timestamp]),
    )


def _primary_key(name: str, types: dict[str, Type], kind: str, columns: Any) -> tuple[str, ...]:
    if columns is None:
        if kind == RelationKind.VERSIONED.value:
            raise CatalogError(
                f"stream {name}: it is versioned, and has no primary_key",
                accepted="primary_key: [columns], of which the latest row is kept",
            )
        return ()
    if not isinstance(columns, list) or not columns:
        raise CatalogError(f"stream {name}: primary_key is {shown(columns)}", accepted="a list of columns")
    _refuse_unknown(
        name, "primary_key", [c for c in columns if not isinstance(c, str) or c not in types], types
    )
    return tuple(columns)


def _types(name: str, columns: Any) -> tuple[dict[str, Type], tuple[tuple[str, str], ...]]:
    """The types of columns, and apart from them the columns of types that are known and not supported."""
    if not isinstance(columns, Mapping) or not columns:
        raise CatalogError(
            f"stream {name}: columns is {shown(columns)}", accepted="a mapping of names to types"
        )
    _named(columns, f"stream {name}: column")
    _refuse_twins(list(columns), f"stream {name}: column")
    types, opaque = {}, []
    for column, text in columns.items():
        if isinstance(text, str) and nested(text):
            opaque.append((column, text))
            continue
        try:
            types[column] = parse_type(text)
        except CatalogError as error:
            raise CatalogError(
                f"stream {name}, column {column}: {error.message}", accepted=error.accepted, fix=error.fix
            ) from None
    return types, tuple(opaque)


def _accepted_value(name: str, key: str, value: Any, accepted: list[str]) -> str:
    if value not in accepted:
        raise CatalogError(
            f"stream {name}: {key} is {shown(value)}",
            accepted=", ".join(accepted),
            fix=meant(str(value), accepted),
        )
    return str(value)


def _granularity(name: str, value: Any) -> str | None:
    return None if value is None else _accepted_value(name, "granularity", value, list(TICKS))


def _timestamp(name: str, types: dict[str, Type], declared: Any, short: bool) -> str | None:
    if declared is None:
        stamps = [c for c, t in types.items() if t.family is Family.TIMESTAMP]
        if short and len(stamps) > 1:
            raise CatalogError(
                f"stream {name}: several timestamp columns: {', '.join(stamps)}",
                fix="use the long form and name one with timestamp:",
            )
        return stamps[0] if short and stamps else None
    if not isinstance(declared, str) or declared not in types:
        raise CatalogError(
            f"stream {name}: timestamp names {shown(declared)}, which is not a column",
            accepted=", ".join(types),
            fix=meant(str(declared), types),
        )
    kind = types[declared]
    if kind.family is not Family.TIMESTAMP and not (kind.family is Family.NUMBER and kind.resolution == 1):
        raise CatalogError(
            f"stream {name}: timestamp column {declared} has type {kind.name}",
            accepted="timestamp, or an integer tick count",
            fix=f"store it as a timestamp (DuckDB: CAST({declared} AS TIMESTAMP)), and declare it so",
        )
    return str(declared)


def _refuse_unknown(name: str, key: str, unknown: list[Any], types: dict[str, Type]) -> None:
    """Refuse names of no column."""
    if unknown:
        listed = ", ".join(c if isinstance(c, str) else shown(c) for c in unknown)
        raise CatalogError(
            f"stream {name}: {key} names {listed}",
            accepted=", ".join(types),
            fix=meant(str(unknown[0]), types),
        )


def _not_null(name: str, types: dict[str, Type], columns: Any) -> set[str]:
    if columns is None:
        return set()
    if not isinstance(columns, list):
        raise CatalogError(f"stream {name}: not_null is {shown(columns)}", accepted="a list of columns")
    _refuse_unknown(name, "not_null", [c for c in columns if not isinstance(c, str) or c not in types], types)
    return set(columns)


def _domains(name: str, types: dict[str, Type], domains: Any) -> dict[str, Domain]:
    if domains is None:
        return {}
    if not isinstance(domains, Mapping):
        raise CatalogError(f"stream {name}: domains is {shown(domains)}", accepted="a mapping of columns")
    _refuse_unknown(name, "domains", [c for c in domains if c not in types], types)
    return {c: _domain(f"stream {name}, domain of {c}", types[c], d) for c, d in domains.items()}


def _times(name: str, types: dict[str, Type], timestamp: str | None, times: Any) -> dict[str, int]:
    if times is None:
        return {}
    if not isinstance(times, Mapping):
        raise CatalogError(f"stream {name}: times is {shown(times)}", accepted="a mapping of columns")
    _refuse_unknown(name, "times", [c for c in times if c not in types or c == timestamp], types)
    parsed = {}
    for column, body in times.items():
        where = f"stream {name}, times of {column}"
        if not isinstance(body, Mapping) or set(body) != {"after", "within"}:
            raise CatalogError(
                f"{where}: found {shown(body)}", accepted="{after: the stream's timestamp, within: 1 day}"
            )
        if timestamp is None or body["after"] != timestamp:
            raise CatalogError(
                f"{where}: after is {shown(body['after'])}", accepted=timestamp or "a declared timestamp"
            )
        stamp, within = types[timestamp], body["within"]
        if types[column].family is not stamp.family:
            raise CatalogError(f"{where}: its type is {types[column].name}", accepted=stamp.name)
        length = _microseconds(within) if stamp.family is Family.TIMESTAMP else _ticks(within)
        if length is None:
            raise CatalogError(
                f"{where}: within is {shown(within)}", accepted="'1 day' or the like; for integers a number"
            )
        parsed[column] = length
    return parsed


def _cardinality(name: str, types: dict[str, Type], timestamp: str | None, numbers: Any) -> dict[str, int]:
    if numbers is None:
        return {}
    if not isinstance(numbers, Mapping):
        raise CatalogError(
            f"stream {name}: cardinality is {shown(numbers)}", accepted="a mapping of columns to numbers"
        )
    _refuse_unknown(name, "cardinality", [c for c in numbers if c not in types], types)
    for column, number in numbers.items():
        if column == timestamp:
            raise CatalogError(
                f"stream {name}: cardinality is given of {column}, the timestamp: time goes on",
                fix="leave it out; kind: finite declares a stream that ends",
            )
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise CatalogError(
                f"stream {name}: the cardinality of {column} is {shown(number)}",
                accepted="a positive integer",
            )
    return dict(numbers)


def _observed(name: str, types: dict[str, Type], opaque: list[str], observed: Any) -> dict[str, Domain]:
    """What the rows of a relation had once; what was counted of them is for people."""
    if observed is None:
        return {}
    if not isinstance(observed, Mapping):
        raise CatalogError(f"stream {name}: observed is {shown(observed)}", accepted="a mapping of columns")
    _refuse_unknown(name, "observed", [c for c in observed if c not in types and c not in opaque], types)
    parsed = {}
    for column, body in observed.items():
        where = f"stream {name}, what was observed of {column}"
        if not isinstance(body, Mapping) or set(body) - {"min", "max", "values", *COUNTED}:
            raise CatalogError(
                f"{where}: found {shown(body)}", accepted=f"min and max, or values, and {', '.join(COUNTED)}"
            )
        # A nested column has no order, and may have been counted.
        if column in types and (ends := {key: value for key, value in body.items() if key not in COUNTED}):
            parsed[column] = _domain(where, types[column], ends)
    return parsed


def _domain(where: str, kind: Type, body: Any) -> Domain:
    keys = set(body) if isinstance(body, Mapping) else {None}
    if not keys or not (keys <= {"min", "max"} or keys == {"values"}):
        raise CatalogError(f"{where}: found {shown(body)}", accepted="min and max, or values: [...]")
    if "values" in keys:
        return Domain(values=_listed(where, kind, body["values"]))
    low, high = (_bound(where, kind, body.get(end)) for end in ("min", "max"))
    if low is None and high is None:
        raise CatalogError(f"{where}: neither min nor max has a value", fix="give one, or remove the domain")
    if low is not None and high is not None and high < low:
        raise CatalogError(f"{where}: min {shown(body['min'])} is above max {shown(body['max'])}")
    return Domain(minimum=low, maximum=high)


def _listed(where: str, kind: Type, values: Any) -> tuple[Value, ...]:
    if not isinstance(values, list) or not values:
        raise CatalogError(f"{where}: values is {shown(values)}", accepted="a list of values")
    if None in values:
        raise CatalogError(
            f"{where}: values lists null", fix="remove it; without not_null a column may be NULL anyway"
        )
    return tuple(sorted({_bound(where, kind, value) for value in values}))


def _bound(where: str, kind: Type, value: Any) -> Value | None:
    try:
        encoded = kind.encode(value)
    except DataError as error:
        raise CatalogError(f"{where}: {error.message}") from None
    # An infinite bound says nothing, and no bound is above NaN.
    if isinstance(encoded, NotANumber) or (isinstance(encoded, float) and math.isinf(encoded)):
        raise CatalogError(
            f"{where}: {shown(value)} is not finite", accepted="finite numbers", fix="leave an open end out"
        )
    return encoded


def _positive(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CatalogError(
            f"stream {name}: max_rows_per_timestamp is {shown(value)}", accepted="a positive integer"
        )
    return value


def _rate(name: str, body: Any, stamp: Type | None) -> Rate | None:
    if body is None:
        return None
    if not isinstance(body, Mapping) or set(body) != {"rows", "per"}:
        raise CatalogError(
            f"stream {name}: rate is {shown(body)}",
            accepted="{rows: 50000, per: hour}: a number and an interval",
        )
    if stamp is None:
        raise CatalogError(
            f"stream {name}: rate is given, and no timestamp", fix="name the column with timestamp:"
        )
    rows, per = body["rows"], body["per"]
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise CatalogError(f"stream {name}: rows of the rate is {shown(rows)}", accepted="a positive integer")
    length = _microseconds(per) if stamp.family is Family.TIMESTAMP else _ticks(per)
    if length is None:
        raise CatalogError(
            f"stream {name}: per of the rate is {shown(per)}",
            accepted="hour, day, '10 minutes' or the like"
            if stamp.family is Family.TIMESTAMP
            else "a positive number of ticks, as the timestamps are integers",
        )
    return Rate(rows, length, " ".join(str(per).split()))


def _ticks(per: Any) -> int | None:
    return per if isinstance(per, int) and not isinstance(per, bool) and per > 0 else None


def _microseconds(text: Any) -> int | None:
    """The length of an interval; None if it is none, or no whole number of microseconds."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    if words in TICKS and words != "tick":
        return TICKS[words]
    if not _DURATION.fullmatch(words):
        return None
    number, unit = words.split(" ")
    exact = Fraction(number) * TICKS[unit.removesuffix("s")]
    return int(exact) if exact.denominator == 1 and exact > 0 else None


def _duration(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _DURATION.fullmatch(" ".join(value.split())):
        raise CatalogError(
            f"stream {name}: allowed_lateness is {shown(value)}",
            accepted="a number of seconds, minutes, hours or days, such as '2 days'",
        )
    return value


def _history(name: str, described: Mapping[str, Any]) -> History | None:
    history = history_of(name, described.get("history"))
    if history is not None and history.format == TABLE and described.get("allowed_lateness") is not None:
        raise CatalogError(
            f"stream {name}: allowed_lateness is given for a table, whose late rows have no files to be kept",
            fix="leave it out (late rows are put in their place, however late), or name files with path",
        )
    return history
