"""Random statements over all that the grammar has, with their streams, from a seed.

OR, NOT, UNION and UNION ALL, self-joins, NULL, static relations, finite streams and streams that a
condition ends, every operator, all types and comparisons of different ones, time conditions with offsets.
Some shapes are drawn on purpose, since single draws seldom meet in one statement: several columns that wait
for one partner with ``<>`` beside, and a timestamp compared with itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine
from tests.strategies import LITERALS, VALUES, allowed, comparable

OPS = ["<", "<", "<=", "<=", "=", ">=", ">", "<>", "<>"]
PALETTES = [
    ["int"],
    ["int"],
    ["double"],
    ["string"],
    ["int", "double"],
    ["int", "decimal(3,1)"],
    ["date", "timestamp"],
    ["string", "boolean"],
    list(VALUES),
]
# Events for so many occurrences in the longest FROM: the definition tries every combination.
LENGTHS = {1: 16, 2: 16, 3: 14, 4: 10}
TIME = "ts"


def statement_line(seed: int, computed: float = 0.0) -> CorpusLine:
    """A statement with its catalog, events in time order, and rows of static relations.

    Args:
        computed: how often an expression of it stands in the place of a column.
    """
    r = Random(seed)
    world = _World(r, computed)
    answer: list[str] = []
    widest, selects = 1, []
    for _ in range(r.choice([1, 1, 1, 1, 2, 2, 3])):
        select = _Select(world, r.choice([1, 2, 2, 2, 3, 3, 4]))
        selects.append(select.text(answer))
        widest = max(widest, len(select.relations))
    sql = selects[0]
    for select in selects[1:]:
        sql += f" {r.choice(['UNION', 'UNION ALL'])} {select}"
    catalog = catalog_from_mapping(world.streams)
    return CorpusLine(str(seed), sql, catalog, tuple(world.events(LENGTHS[widest])), world.static())


class _World:
    """Some streams and static relations, with or without time."""

    def __init__(self, r: Random, computed: float = 0.0) -> None:
        self.r, self.computed = r, computed
        self.palette = r.choice(PALETTES)
        self.time = r.choice(["", "", "int", "int", "int", "timestamp"])
        self.streams: dict[str, Any] = {name: self._relation() for name in "STU"[: r.choice([1, 2, 2, 3])]}
        self.arriving = list(self.streams)
        for body in self.streams.values():
            self._dated(body)
        if self.time and r.random() < 0.15:
            self.streams["F"] = {**self._relation(), "kind": "finite"}
            self._dated(self.streams["F"])
            self.arriving.append("F")
        if r.random() < 0.2:
            self.streams["R"] = {**self._relation(), "kind": "static"}

    def _relation(self) -> dict[str, Any]:
        columns = {name: self.r.choice(self.palette) for name in "ABC"[: self.r.choice([1, 2, 2, 3])]}
        body: dict[str, Any] = {"columns": columns}
        if self.r.random() < 0.3:
            body["not_null"] = self.r.sample(list(columns), self.r.randint(1, len(columns)))
        if columns["A"] == "int" and self.r.random() < 0.2:
            body["domains"] = {
                "A": self.r.choice([{"min": 0, "max": 2}, {"values": [0, 1, 3]}, {"min": 1}, {"max": 3}])
            }
        return body

    def _dated(self, body: dict[str, Any]) -> None:
        if self.time:
            body["columns"][TIME] = self.time
            body["timestamp"] = TIME

    def ordinary(self, name: str) -> dict[str, str]:
        """The columns of a relation without its timestamp."""
        return {c: kind for c, kind in self.streams[name]["columns"].items() if c != TIME}

    def moment(self, number: int) -> str:
        """A moment as a literal."""
        return str(number) if self.time == "int" else f"TIMESTAMP '{_clock(number)}'"

    def offset(self, number: int) -> str:
        """An offset of so many steps, to write behind a timestamp."""
        if not number:
            return ""
        length = str(abs(number)) if self.time == "int" else f"INTERVAL {abs(number)} SECOND"
        return f" {'+' if number > 0 else '-'} {length}"

    def events(self, length: int) -> list[dict[str, Any]]:
        """Arrivals: several tuples at a timestamp, gaps, duplicates and NULLs."""
        r, found, moment = self.r, list[dict[str, Any]](), self.r.randint(0, 3)
        gap = r.choice([0.3, 0.5, 0.8])
        for _ in range(r.randint(length // 2, length)):
            moment += r.choice([1, 1, 1, 2, 4]) if r.random() < gap else 0
            name = r.choice(self.arriving)
            row = {"stream": name, **self._row(name, VALUES)}
            if self.time:
                row[TIME] = moment if self.time == "int" else _clock(moment)
            found.append(row)
        return found

    def static(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of the static relation, if there is one; NaN bounds nothing there (docs/theory.md)."""
        plain = {kind: [v for v in values if v == v] for kind, values in VALUES.items()}
        return (
            {"R": [self._row("R", plain) for _ in range(self.r.randint(0, 4))]} if "R" in self.streams else {}
        )

    def _row(self, name: str, values: dict[str, list[Any]]) -> dict[str, Any]:
        body, row = self.streams[name], {}
        for column, kind in self.ordinary(name).items():
            nullable = column not in body.get("not_null", ())
            possible = allowed(body.get("domains", {}).get(column), values[kind])
            row[column] = None if nullable and self.r.random() < 0.06 else self.r.choice(possible)
        return row


def _clock(number: int) -> str:
    return f"2026-01-01 00:{number // 60:02}:{number % 60:02}"


@dataclass(frozen=True)
class _Column:
    """A column of an occurrence, or an expression of it, and its type."""

    alias: str
    name: str
    kind: str
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.alias}.{self.name}"


# Expressions of a column {0} and another {1} of the same type and tuple, and of what type they are.
EXPRESSIONS: dict[str, list[tuple[str, str]]] = {
    "int": [
        *(("({0} % 3)", "int"), ("({0} + 1)", "int"), ("(2 * {0})", "int"), ("({0} - {1})", "int")),
        *(("CASE WHEN {0} > 1 THEN {1} ELSE 0 END", "int"), ("COALESCE({0}, {1}, 1)", "int")),
        *(("({0} DIV 2)", "int"), ("PMOD({0}, 3)", "int"), ("ABS({0})", "int"), ("({0} / 2)", "double")),
    ],
    "double": [("({0} / 2)", "double"), ("({0} + {1})", "double"), ("ROUND({0}, 1)", "double")],
    "decimal(3,1)": [("({0} * 2)", "double"), ("ROUND({0})", "double"), ("({0} + {1})", "double")],
    "string": [
        *(("UPPER({0})", "string"), ("({0} || {1})", "string"), ("SUBSTRING({0}, 1, 1)", "string")),
        *(("LENGTH({0})", "int"), ("CASE WHEN {0} LIKE 'a%' THEN 'a' ELSE {1} END", "string")),
    ],
    "boolean": [("(NOT {0})", "boolean"), ("({0} OR {1})", "boolean"), ("({0} <=> {1})", "boolean")],
    "date": [("({0} + INTERVAL 1 DAY)", "date"), ("DAY({0})", "int")],
    "timestamp": [
        *(("DATE_TRUNC('HOUR', {0})", "timestamp"), ("CAST({0} AS DATE)", "date")),
        *(("({0} + INTERVAL 1 SECOND)", "timestamp"), ("EXTRACT(HOUR FROM {0})", "int")),
    ],
}


class _Select:
    """One SELECT: occurrences of relations, at least one of a stream, and conditions on them."""

    def __init__(self, world: _World, count: int) -> None:
        self.world, self.r = world, world.r
        names = [self.r.choice(world.arriving), *self.r.choices(list(world.streams), k=count - 1)]
        self.relations = {f"x{number}": name for number, name in enumerate(names)}
        self.columns = [
            _Column(alias, column, kind)
            for alias, name in self.relations.items()
            for column, kind in world.ordinary(name).items()
        ]
        self.dated = [a for a, name in self.relations.items() if world.time and name != "R"]
        if world.computed:
            self.columns = [
                self._computed(c) if self.r.random() < world.computed else c for c in self.columns
            ]

    def _computed(self, column: _Column) -> _Column:
        """An expression in the place of a column; sometimes of the timestamp."""
        text, kind = self.r.choice(EXPRESSIONS.get(column.kind, [("{0}", column.kind)]))
        if column.alias in self.dated and self.r.random() < 0.2:
            stamp = f"{column.alias}.{TIME}"
            text, kind = (
                (f"({stamp} % 3)", "int")
                if self.world.time == "int"
                else self.r.choice(
                    [(f"SECOND({stamp})", "int"), (f"DATE_TRUNC('MINUTE', {stamp})", "timestamp")]
                )
            )
        mates = [c for c in self.columns if (c.alias, c.kind) == (column.alias, column.kind)]
        made = text.format(column, self.r.choice(mates))
        return _Column(column.alias, column.name, kind, made)

    def text(self, answer: list[str]) -> str:
        """The SQL; ``answer`` are the types of the answer columns, set by the first SELECT."""
        outputs = self._outputs(answer)
        shape = self.r.random()
        if shape < 0.2:
            parts = [*self._pending(), *self._ends()]
        elif shape < 0.3 and self.dated:
            parts = [*self._times(), self._same(self.r.choice(self.dated)), *self._ends()]
        else:
            loose = [*self._comparisons(), *self._tests(), *self._times()]
            self.r.shuffle(loose)
            pending = self._pending() if self.r.random() < 0.3 else []
            parts = [*self._formula(loose), *pending, *self._bounds(), *self._ends()]
        where = f" WHERE {' AND '.join(parts)}" if parts else ""
        source = ", ".join(f"{name} {alias}" for alias, name in self.relations.items())
        distinct = "DISTINCT " if self.r.random() < 0.6 else ""
        return f"SELECT {distinct}{', '.join(outputs)} FROM {source}{where}"

    def _outputs(self, answer: list[str]) -> list[str]:
        if not answer:
            kinds = [*(c.kind for c in self.columns), *(["int"] * 4), *([TIME] if self.dated else [])]
            answer += self.r.choices(kinds, k=self.r.choice([1, 1, 2]))
        return [self._output(kind) for kind in answer]

    def _output(self, kind: str) -> str:
        if kind == TIME:
            return f"{self.r.choice(self.dated)}.{TIME}"
        mine = [str(c) for c in self.columns if c.kind == kind]
        return self.r.choice([*mine, *([self.r.choice(LITERALS[kind][:2])] * (1 + len(mine) // 2))])

    def _partners(self, column: _Column) -> list[_Column]:
        return [c for c in self.columns if c != column and comparable(c.kind, column.kind)]

    def _comparisons(self) -> list[str]:
        found = []
        for _ in range(self.r.choice([0, 0, 1, 1, 2, 3])):
            one = self.r.choice(self.columns)
            if partners := self._partners(one):
                found.append(f"{one} {self.r.choice(OPS)} {self.r.choice(partners)}")
        return found

    def _tests(self) -> list[str]:
        found = []
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2])):
            column = self.r.choice(self.columns)
            known, denied = LITERALS[column.kind], self.r.choice(["", "NOT "])
            listed = self.r.choices([*known, "NULL"], k=self.r.randint(1, 3))
            ends = self.r.choices(known, k=2)
            found.append(
                self.r.choice(
                    [
                        f"{column} IS {denied}NULL",
                        f"{column} {denied}IN ({', '.join(listed)})",
                        f"{column} {denied}BETWEEN {ends[0]} AND {ends[1]}",
                        f"{column} {self.r.choice(OPS)} {self.r.choice(known)}",
                    ]
                )
            )
        return found

    def _pending(self) -> list[str]:
        """Columns of one occurrence that wait for one of another, and some of them ``<>`` others."""
        if len(self.relations) < 2:
            return []
        partner = self.r.choice(self.columns)
        alias = self.r.choice([a for a in self.relations if a != partner.alias])
        mine = [c for c in self._partners(partner) if c.alias == alias]
        side = self.r.choice([["<", "<="], [">", ">="]])
        found = [f"{c} {self.r.choice(side)} {partner}" for c in mine]
        for column in mine:
            others = [c for c in self._partners(column) if c.alias != alias]
            if self.r.random() < 0.6:
                found.append(f"{column} <> {self.r.choice(others)}")
        return found

    def _bounds(self) -> list[str]:
        fraction, found = self.r.choice([0.0, 0.3, 0.6, 1.0]), []
        for column in self.columns:
            known = LITERALS[column.kind]
            low, high = (known[0], known[-1]) if self.r.random() < 0.7 else sorted(self.r.choices(known, k=2))
            found += [f"{column} >= {low}"] * (self.r.random() < fraction)
            found += [f"{column} <= {high}"] * (self.r.random() < fraction)
        return found

    def _times(self) -> list[str]:
        found = []
        for one in self.dated:
            if self.r.random() < 0.1:
                found.append(self._same(one))
        for one, other in zip(self.dated, self.dated[1:], strict=False):
            for left, right in ((one, other), (other, one)):
                if self.r.random() < 0.4:
                    found.append(self._ordered(left, right))
        return found

    def _same(self, alias: str) -> str:
        """A timestamp compared with itself, or with that of an occurrence that may fold onto it."""
        mates = [a for a in self.dated if self.relations[a] == self.relations[alias]]
        return self._ordered(alias, self.r.choice([alias, alias, *mates]))

    def _ordered(self, left: str, right: str) -> str:
        op, offset = self.r.choice(["<", "<=", "<=", "=", "<>"]), self.r.choice([0, 0, 1, 2, 3, -1, -2])
        if self.r.random() < 0.1:
            low, high = (f"{right}.{TIME}{self.world.offset(by)}" for by in (-1, abs(offset)))
            return f"{left}.{TIME} BETWEEN {low} AND {high}"
        return f"{left}.{TIME} {op} {right}.{TIME}{self.world.offset(offset)}"

    def _ends(self) -> list[str]:
        found = []
        for alias in self.dated:
            moment = self.world.moment(self.r.randint(1, 8))
            if self.r.random() < (0.9 if self.relations[alias] == "F" else 0.2):
                found.append(f"{alias}.{TIME} {self.r.choice(['<', '<=', '='])} {moment}")
            elif self.r.random() < 0.05:
                found.append(f"{alias}.{TIME} {self.r.choice(['>', '>=', '<>'])} {moment}")
        return found

    def _formula(self, atoms: list[str]) -> list[str]:
        """The atoms as conjuncts, some joined by OR or below NOT."""
        found, left = [], list(atoms)
        nested = self.r.choice([0.0, 0.0, 0.4, 0.7])
        while left:
            part = left.pop()
            if self.r.random() < nested:
                other = left.pop() if left else part
                part = f"({part} {self.r.choice(['OR', 'OR', 'AND'])} {other})"
                if left and self.r.random() < 0.3:
                    part = f"({part} {self.r.choice(['OR', 'AND'])} {left.pop()})"
                if self.r.random() < 0.3:
                    part = f"NOT {part}"
            found.append(part)
        return found
