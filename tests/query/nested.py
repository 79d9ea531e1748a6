"""Random queries of views, WITH, sub-queries in FROM, stars, USING, NATURAL and unions, from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

TABLES = {"S": ["A", "B"], "T": ["A", "C"], "U": ["B", "C", "D"]}
VALUES = (0, 1, 2)


@dataclass(frozen=True)
class Drawn:
    """A text with its views before it, and the names of its columns."""

    views: tuple[str, ...]
    sql: str
    columns: tuple[str, ...]


def drawn(seed: int) -> Drawn:
    """A query of that seed."""
    return _Drawing(Random(seed)).whole()


class _Drawing:
    def __init__(self, r: Random) -> None:
        self.r = r
        self.known = {name: list(columns) for name, columns in TABLES.items()}
        self.names = (f"n{number}" for number in range(1_000))
        self.left = 6

    def whole(self) -> Drawn:
        views = []
        for _ in range(self.r.choice([0, 0, 1, 2])):
            sql, columns = self.query(1)
            name = next(self.names)
            listed = ""
            if self.r.random() < 0.3:
                columns = [next(self.names) for _ in columns]
                listed = f" ({', '.join(columns)})"
            views.append(f"CREATE VIEW {name}{listed} AS {sql}")
            self.known[name] = columns
        sql, columns = self.query(2)
        return Drawn(tuple(views), sql, tuple(columns))

    def query(self, depth: int) -> tuple[str, list[str]]:
        r = self.r
        if depth and r.random() < 0.2:
            one, columns = self.query(depth - 1)
            other, others = self.query(depth - 1)
            width = min(len(columns), len(others))
            sides = (self.narrowed(one, columns, width), self.narrowed(other, others, width))
            return f" {r.choice(['UNION', 'UNION ALL', 'UNION ALL'])} ".join(sides), columns[:width]
        if depth and r.random() < 0.2:
            sql, columns = self.query(depth - 1)
            name = next(self.names)
            before = dict(self.known)
            self.known[name] = columns
            found, shown = self.select(depth)
            self.known = before
            return f"WITH {name} AS ({sql}) {found}", shown
        return self.select(depth)

    def narrowed(self, sql: str, columns: list[str], width: int) -> str:
        if len(columns) == width and not any(word in sql for word in ("WITH", "UNION", "ORDER")):
            return sql
        return f"SELECT {', '.join(columns[:width])} FROM ({sql}) {next(self.names)}"

    def source(self, depth: int) -> tuple[str, str, list[str]]:
        """The text of a source, its alias and its columns."""
        r = self.r
        if depth and self.left and r.random() < 0.45:
            self.left -= 1
            sql, columns = self.query(depth - 1)
            alias = next(self.names)
            if r.random() < 0.2:
                columns = [next(self.names) for _ in columns]
                return f"({sql}) AS {alias}({', '.join(columns)})", alias, columns
            return f"({sql}) {r.choice(['', 'AS '])}{alias}", alias, columns
        name = r.choice(list(self.known))
        if r.random() < 0.6:
            alias = next(self.names)
            return f"{name} {alias}", alias, self.known[name]
        return name, name, self.known[name]

    def select(self, depth: int) -> tuple[str, list[str]]:
        r = self.r
        text, alias, columns = self.source(depth)
        sources = [(alias, columns)]
        merged: list[str] = []
        conditions: list[str] = []
        if r.random() < 0.55:
            other, name, others = self.source(depth)
            if name == alias:
                other, name = f"{name} {name}x", f"{name}x"
            both = [c for c in columns if c in others]
            how = r.choice([",", "ON", "ON", "CROSS", *(["USING", "NATURAL"] if both else [])])
            if how == "USING":
                merged = r.sample(both, r.randint(1, len(both)))
                text = f"{text} JOIN {other} USING ({', '.join(merged)})"
            elif how == "NATURAL":
                merged = both
                text = f"{text} NATURAL JOIN {other}"
            elif how == "ON":
                on = (
                    f"{alias}.{r.choice(columns)} {r.choice(['=', '=', '<', '<>'])} {name}.{r.choice(others)}"
                )
                text = f"{text} {r.choice(['JOIN', 'INNER JOIN'])} {other} ON {on}"
            else:
                text = f"{text}, {other}" if how == "," else f"{text} CROSS JOIN {other}"
            sources.append((name, others))
        terms = [*merged, *(f"{n}.{c}" for n, cs in sources for c in cs if c not in merged)]
        unique = [c for n, cs in sources for c in cs if sum(c in other for _, other in sources) == 1]
        terms += unique
        for _ in range(r.choice([0, 0, 1, 1, 2])):
            right = r.choice([*terms, *map(str, VALUES)])
            conditions.append(f"{r.choice(terms)} {r.choice(['=', '<', '<=', '<>', '>'])} {right}")
        where = f" WHERE {r.choice([' AND ', ' AND ', ' OR ']).join(conditions)}" if conditions else ""
        items, shown = self.outputs(sources, merged, terms)
        distinct = "DISTINCT " if r.random() < 0.2 else ""
        order = f" ORDER BY {r.randint(1, len(shown))}" if r.random() < 0.1 and not depth else ""
        return f"SELECT {distinct}{items} FROM {text}{where}{order}", shown

    def outputs(
        self, sources: list[tuple[str, list[str]]], merged: list[str], terms: list[str]
    ) -> tuple[str, list[str]]:
        r = self.r
        everything = list(_starred(sources, merged))
        if r.random() < 0.3 and len(set(everything)) == len(everything):
            return "*", everything
        if r.random() < 0.15:
            name, columns = r.choice(sources)
            if not set(columns) & set(merged):
                further = next(self.names)
                return f"{name}.*, {r.choice(VALUES)} AS {further}", [*columns, further]
        items, shown = [], []
        for _ in range(r.choice([1, 2, 2, 3])):
            term = r.choice(terms) if r.random() < 0.9 else str(r.choice(VALUES))
            name = next(self.names)
            items.append(f"{term} AS {name}")
            shown.append(name)
        return ", ".join(items), shown


def _starred(sources: list[tuple[str, list[str]]], merged: list[str]) -> Iterator[str]:
    first = sources[0][1]
    yield from (c for c in first if c in merged)
    for _, columns in sources:
        yield from (c for c in columns if c not in merged)
