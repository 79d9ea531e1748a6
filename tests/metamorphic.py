"""Random statements, each written in two ways that mean the same.

``pair`` draws a statement as a tree and writes it twice: as drawn, and with aliases, columns and relations
renamed, with FROM, conditions and members of a union in another order, conditions in ON or in WHERE,
comparisons turned round, BETWEEN and IN split or joined, NOT pushed up, a predicate twice, and a filter
added that another implies. The seed decides everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

from streambound.query.catalog import Catalog, catalog_from_mapping
from tests.strategies import LITERALS

MIRRORED = {"<": ">", "<=": ">=", "=": "=", ">=": "<=", ">": "<", "<>": "<>"}
NEGATED = {"<": ">=", "<=": ">", "=": "<>", ">=": "<", ">": "<=", "<>": "="}
# Implied by a comparison with a constant: these operators with a constant farther off.
LOOSER = {"<": ("<", "<=", "<>"), "<=": ("<", "<=", "<>"), ">": (">", ">=", "<>"), ">=": (">", ">=", "<>")}
BEYOND: dict[str, dict[str, list[str]]] = {
    "int": {"<": ["7", "9"], ">": ["-4", "-2"]},
    "double": {"<": ["7", "8.5"], ">": ["-4", "-2.5"]},
    "string": {"<": ["'y'", "'z'"], ">": ["''"]},
}


@dataclass(frozen=True)
class Column:
    """A column of an occurrence: by number of the occurrence and name."""

    occurrence: int
    name: str


@dataclass(frozen=True)
class Compared:
    """A comparison with a column, or with a literal of a type."""

    left: Column
    op: str
    right: Column | str
    kind: str
    offset: int = 0


@dataclass(frozen=True)
class Between:
    """A column between two literals."""

    column: Column
    low: str
    high: str
    kind: str


@dataclass(frozen=True)
class Listed:
    """A column among literals."""

    column: Column
    values: tuple[str, ...]


@dataclass(frozen=True)
class Null:
    """Whether a column is NULL."""

    column: Column
    null: bool


@dataclass(frozen=True)
class Joined:
    """Conditions joined by AND or OR."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """A condition negated."""

    part: Condition


Condition: TypeAlias = Compared | Between | Listed | Null | Joined | Not


@dataclass(frozen=True)
class Select:
    """A SELECT: its columns (or literals), the relations of its occurrences, and conditions that all hold."""

    distinct: bool
    outputs: tuple[Column | str, ...]
    relations: tuple[str, ...]
    where: tuple[Condition, ...]


@dataclass(frozen=True)
class Drawn:
    """SELECTs with the words between them, and the relations with the types of their columns."""

    selects: tuple[Select, ...]
    words: tuple[str, ...]
    streams: dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A statement written in two ways, each with its catalog."""

    one: tuple[str, Catalog]
    other: tuple[str, Catalog]
    texts: tuple[Any, Any] = field(repr=False, default=())


def pair(seed: int) -> Pair:
    """A statement of a seed, and another text that means the same."""
    r = Random(seed)
    drawn = _drawn(r)
    plain = _written(drawn, None)
    again = _written(_rewritten(r, drawn), r)
    return Pair(
        (plain[0], catalog_from_mapping(plain[1])), (again[0], catalog_from_mapping(again[1])), (plain, again)
    )


def _drawn(r: Random) -> Drawn:
    types = r.choice([["int"], ["int"], ["int"], ["double"], ["int", "double"], ["int", "string"]])
    streams: dict[str, Any] = {}
    timed = r.random() < 0.3
    for name in "STU"[: r.choice([1, 2, 2, 3])]:
        columns = {c: r.choice(types) for c in "ABC"[: r.choice([1, 2, 2, 3])]}
        body: dict[str, Any] = {"columns": columns}
        if r.random() < 0.4:
            body["not_null"] = sorted(r.sample(sorted(columns), r.randint(1, len(columns))))
        if columns["A"] == "int" and r.random() < 0.2:
            body["domains"] = {"A": r.choice([{"min": 0, "max": 2}, {"values": [0, 1, 3]}, {"min": 1}])}
        if timed:
            body |= {"columns": {**columns, "ts": "int"}, "timestamp": "ts"}
        streams[name] = body
    if r.random() < 0.1:
        streams["R"] = {"columns": {"A": r.choice(types)}, "kind": "static"}
    answer = r.choice(types)
    width = r.choice([1, 1, 1, 2])
    selects = [_select(r, streams, answer, width)]
    while len(selects) < r.choice([1, 1, 1, 2, 2, 3]):
        # Often the same SELECT with other conditions: those can answer for each other.
        selects.append(
            _sibling(r, selects[0], streams) if r.random() < 0.5 else _select(r, streams, answer, width)
        )
    words = r.choice([["UNION ALL"], ["UNION"], ["UNION ALL", "UNION"]])
    return Drawn(tuple(selects), tuple(r.choice(words) for _ in selects[1:]), streams)


def _select(r: Random, streams: dict[str, Any], answer: str, width: int) -> Select:
    names = [name for name in streams if name != "R"]
    relations = [r.choice(names) for _ in range(r.choice([1, 2, 2, 2, 3, 3]))]
    if "R" in streams and r.random() < 0.5:
        relations.append("R")
    columns = _columns(relations, streams)
    fitting = [c for c, kind in columns.items() if kind == answer and c.name != "ts"]
    outputs = tuple(
        r.choice(fitting) if fitting and r.random() < 0.5 else LITERALS[answer][0] for _ in range(width)
    )
    return Select(r.random() < 0.5, outputs, tuple(relations), _conditions(r, relations, streams))


def _sibling(r: Random, select: Select, streams: dict[str, Any]) -> Select:
    where = list(_conditions(r, list(select.relations), streams))
    where += [part for part in select.where if r.random() < 0.5]
    return replace(select, where=tuple(where))


def _columns(relations: list[str], streams: dict[str, Any]) -> dict[Column, str]:
    return {
        Column(number, column): kind
        for number, name in enumerate(relations)
        for column, kind in streams[name]["columns"].items()
    }


def _conditions(r: Random, relations: list[str], streams: dict[str, Any]) -> tuple[Condition, ...]:
    columns = {c: kind for c, kind in _columns(relations, streams).items() if c.name != "ts"}
    found: list[Condition] = [
        _condition(r, columns, r.choice([0, 0, 0, 1, 2])) for _ in range(r.choice([1, 1, 2, 3, 4]))
    ]
    fraction = r.choice([0.0, 0.2, 0.5])
    for column, kind in columns.items():
        if r.random() < fraction:
            found.append(Compared(column, r.choice([">", ">="]), r.choice(LITERALS[kind]), kind))
        if r.random() < fraction:
            found.append(Compared(column, r.choice(["<", "<="]), r.choice(LITERALS[kind]), kind))
    stamped = [n for n, name in enumerate(relations) if "timestamp" in streams[name]]
    if len(stamped) > 1 and r.random() < 0.8:
        for _ in range(r.choice([1, 1, 2])):
            one, other = r.sample(stamped, 2)
            offset = r.choice([0, 0, 2, -1])
            op = r.choice(["<", "<=", "=", ">="])
            found.append(Compared(Column(one, "ts"), op, Column(other, "ts"), "int", offset))
    return tuple(found)


def _condition(r: Random, columns: dict[Column, str], depth: int) -> Condition:
    if depth:
        choice = r.random()
        if choice < 0.15:
            return Not(_condition(r, columns, depth - 1))
        parts = tuple(_condition(r, columns, depth - 1) for _ in range(r.choice([2, 2, 3])))
        return Joined("OR" if choice < 0.75 else "AND", parts)
    column = r.choice(list(columns))
    kind, choice = columns[column], r.random()
    if choice < 0.08:
        return Null(column, r.random() < 0.5)
    if choice < 0.16:
        low, high = r.sample(LITERALS[kind], 2)
        return Between(column, low, high, kind)
    if choice < 0.22:
        return Listed(column, tuple(r.sample(LITERALS[kind], r.choice([1, 2, 3]))))
    partners = [c for c, k in columns.items() if (k == "string") is (kind == "string") and c != column]
    op = r.choice(["<", "<=", "=", ">=", ">", "<>"])
    if partners and r.random() < 0.7:
        return Compared(column, op, r.choice(partners), kind)
    return Compared(column, op, r.choice(LITERALS[kind]), kind)


def _rewritten(r: Random, drawn: Drawn) -> Drawn:
    """Another tree of the same meaning: members, occurrences and conditions in another order and form."""
    selects, words = list(drawn.selects), drawn.words
    if len(set(words)) == 1:
        r.shuffle(selects)
    return replace(drawn, selects=tuple(_reordered(r, select) for select in selects))


def _reordered(r: Random, select: Select) -> Select:
    order = list(range(len(select.relations)))
    r.shuffle(order)
    position = {old: new for new, old in enumerate(order)}
    where = [_otherwise(r, _moved(part, position)) for part in select.where]
    for part in select.where:
        if r.random() < 0.15:
            where.append(_otherwise(r, _moved(part, position)))
        if (implied := _implied(r, part)) is not None and r.random() < 0.25:
            where.append(_moved(implied, position))
    r.shuffle(where)
    outputs = tuple(_moved_column(o, position) if isinstance(o, Column) else o for o in select.outputs)
    return Select(select.distinct, outputs, tuple(select.relations[old] for old in order), tuple(where))


def _moved_column(column: Column, position: dict[int, int]) -> Column:
    return Column(position[column.occurrence], column.name)


def _moved(part: Condition, position: dict[int, int]) -> Condition:
    if isinstance(part, Joined):
        return Joined(part.word, tuple(_moved(one, position) for one in part.parts))
    if isinstance(part, Not):
        return Not(_moved(part.part, position))
    if isinstance(part, Compared):
        right = _moved_column(part.right, position) if isinstance(part.right, Column) else part.right
        return replace(part, left=_moved_column(part.left, position), right=right)
    return replace(part, column=_moved_column(part.column, position))


def _implied(r: Random, part: Condition) -> Condition | None:
    """A filter that a comparison with a constant implies."""
    if not isinstance(part, Compared) or isinstance(part.right, Column) or part.op not in LOOSER:
        return None
    return replace(part, op=r.choice(LOOSER[part.op]), right=r.choice(BEYOND[part.kind][part.op[0]]))


def _otherwise(r: Random, part: Condition) -> Condition:
    """A condition that is true of the same values."""
    if isinstance(part, Joined):
        parts = [_otherwise(r, one) for one in part.parts]
        r.shuffle(parts)
        if r.random() < 0.15:
            parts.append(_otherwise(r, r.choice(part.parts)))
        found: Condition = Joined(part.word, tuple(parts))
        if r.random() < 0.2:
            word = "AND" if part.word == "OR" else "OR"
            found = Not(Joined(word, tuple(_negated(one) for one in parts)))
        return found
    if isinstance(part, Not):
        return Not(_otherwise(r, part.part))
    if r.random() < 0.1:
        return Not(_negated(part))
    if isinstance(part, Between) and r.random() < 0.6:
        ends = (
            Compared(part.column, ">=", part.low, part.kind),
            Compared(part.column, "<=", part.high, part.kind),
        )
        return Joined("AND", tuple(_otherwise(r, end) for end in r.sample(ends, 2)))
    if isinstance(part, Listed) and r.random() < 0.6:
        values = r.sample(part.values, len(part.values))
        return Joined("OR", tuple(Compared(part.column, "=", value, "") for value in values))
    if isinstance(part, Compared):
        if isinstance(part.right, Column) and part.offset == 0 and r.random() < 0.5:
            return Compared(part.right, MIRRORED[part.op], part.left, part.kind)
        if part.op == "<>" and r.random() < 0.2:
            return Joined("OR", (replace(part, op="<"), replace(part, op=">")))
        if part.op == "=" and r.random() < 0.2:
            return Joined("AND", (replace(part, op="<="), replace(part, op=">=")))
    return part


def _negated(part: Condition) -> Condition:
    if isinstance(part, Compared):
        return replace(part, op=NEGATED[part.op])
    if isinstance(part, Null):
        return replace(part, null=not part.null)
    return part.part if isinstance(part, Not) else Not(part)


def _written(drawn: Drawn, r: Random | None) -> tuple[str, dict[str, Any]]:
    """The text and the catalog; with other names and another layout if there is ``r``."""
    relations = {name: name for name in drawn.streams}
    columns = {c: c for body in drawn.streams.values() for c in body["columns"]}
    if r is not None:
        relations = dict(zip(relations, r.sample(["E", "K", "Q", "V", "Z"], len(relations)), strict=True))
        columns = dict(zip(columns, r.sample(["d", "g", "m", "p", "w"], len(columns)), strict=True))
    streams = {relations[name]: _body(body, columns) for name, body in drawn.streams.items()}
    texts = [_Writer(relations, columns, r).select(select) for select in drawn.selects]
    # A chain of set operations has no precedence in Spark: it is written from the left.
    sql = texts[0] + "".join(f" {word} {text}" for word, text in zip(drawn.words, texts[1:], strict=True))
    return sql, streams


def _body(body: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
    found = {**body, "columns": {columns[c]: kind for c, kind in body["columns"].items()}}
    if "not_null" in body:
        found["not_null"] = [columns[c] for c in body["not_null"]]
    if "domains" in body:
        found["domains"] = {columns[c]: domain for c, domain in body["domains"].items()}
    if "timestamp" in body:
        found["timestamp"] = columns["ts"]
    return found


class _Writer:
    """SELECTs as text, under the names of relations and columns; ``r`` draws the layout."""

    def __init__(self, relations: dict[str, str], columns: dict[str, str], r: Random | None) -> None:
        self._relations, self._columns, self._r = relations, columns, r
        self._aliases: list[str] = []

    def select(self, select: Select) -> str:
        number, r = len(select.relations), self._r
        self._aliases = [f"o{n}" for n in range(number)] if r is None else r.sample(list("abcxyz"), number)
        word = "DISTINCT " if select.distinct else ""
        outputs = ", ".join(self._column(o) if isinstance(o, Column) else o for o in select.outputs)
        tables = [f"{self._relations[n]} {a}" for n, a in zip(select.relations, self._aliases, strict=True)]
        where = [f"({self._condition(part)})" for part in select.where]
        source, on = tables[0], list[str]()
        for position, table in enumerate(tables[1:], start=1):
            kind = "," if r is None else r.choice([",", "CROSS JOIN", "JOIN"])
            if kind == "JOIN" and r is not None:
                # Conditions on what stands before may move to ON.
                known = range(position + 1)
                fitting = [n for n, part in enumerate(select.where) if _occurrences(part) <= set(known)]
                chosen = [where[n] for n in fitting if where[n] not in on and r.random() < 0.6]
                on += chosen
                source += f" JOIN {table} ON {' AND '.join(chosen) or '1 = 1'}"
            else:
                source += f"{kind if kind == ',' else ' CROSS JOIN'} {table}"
        left = [part for part in where if part not in on]
        condition = f" WHERE {' AND '.join(left)}" if left else ""
        return f"SELECT {word}{outputs} FROM {source}{condition}"

    def _column(self, column: Column) -> str:
        return f"{self._aliases[column.occurrence]}.{self._columns[column.name]}"

    def _condition(self, part: Condition) -> str:
        if isinstance(part, Joined):
            return f" {part.word} ".join(f"({self._condition(one)})" for one in part.parts)
        if isinstance(part, Not):
            return f"NOT ({self._condition(part.part)})"
        if isinstance(part, Between):
            return f"{self._column(part.column)} BETWEEN {part.low} AND {part.high}"
        if isinstance(part, Listed):
            return f"{self._column(part.column)} IN ({', '.join(part.values)})"
        if isinstance(part, Null):
            return f"{self._column(part.column)} IS {'' if part.null else 'NOT '}NULL"
        left = self._column(part.left)
        if isinstance(part.right, Column):
            shift = f" {'+' if part.offset > 0 else '-'} {abs(part.offset)}" if part.offset else ""
            return f"{left} {part.op} {self._column(part.right)}{shift}"
        if self._r is not None and self._r.random() < 0.5:
            return f"{part.right} {MIRRORED[part.op]} {left}"
        return f"{left} {part.op} {part.right}"


def _occurrences(part: Condition) -> set[int]:
    if isinstance(part, Joined):
        return {number for one in part.parts for number in _occurrences(one)}
    if isinstance(part, Not):
        return _occurrences(part.part)
    if isinstance(part, Compared):
        right = {part.right.occurrence} if isinstance(part.right, Column) else set()
        return {part.left.occurrence, *right}
    return {part.column.occurrence}
