"""Random statements of every construct within every other: what one construct makes, another reads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse.corpus import CorpusLine

DIALECTS = ("spark", "flink", "postgres", "risingwave", "duckdb", "materialize", "feldera")
_FEW = {"min": 0, "max": 2}
_STATIC = {"columns": {"K": "int", "C": "int"}, "kind": "static"}
_ROWS = [{"K": 0, "C": 1}, {"K": 1, "C": None}]


def composition(r: Random) -> CorpusLine:
    """A statement with some events, with times or without, and the rows of its static relation."""
    time = ("ts",) if r.random() < 0.6 else ()
    streams: dict[str, Any] = {"R": _STATIC}
    for name, column, ends in (("S", "A", {"K": _FEW}), ("T", "B", {"K": _FEW, "B": _FEW})):
        streams[name] = {"columns": dict.fromkeys(("K", column, *time), "int"), "domains": ends}
        streams[name] |= {"timestamp": "ts"} if time else {}
    sql, _ = _Drawing(r, {name: list(body["columns"]) for name, body in streams.items()}).query(
        r.choice((1, 2, 2, 3))
    )
    events, moment = [], 0
    for _ in range(r.randint(2, 7)):
        moment += r.choice((0, 1, 1, 4))
        name, column = r.choice((("S", "A"), ("T", "B")))
        row = {"stream": name, "K": r.randint(0, 2), column: r.choice((0, 1, 2, None))}
        events.append({**row, **dict.fromkeys(time, moment)})
    catalog = catalog_from_mapping(streams)
    return CorpusLine("q", sql, catalog, tuple(events), {"R": _ROWS}, dialect=r.choice(DIALECTS))


@dataclass
class _Drawing:
    r: Random
    tables: dict[str, list[str]]

    def __post_init__(self) -> None:
        self.names = (f"c{number}" for number in count())

    def query(self, depth: int, width: int | None = None) -> tuple[str, list[str]]:
        """A text and the names of its columns; of so many columns, where a set operation asks that."""
        r = self.r
        roll = r.random()
        if depth and roll < 0.3:
            first, columns = self.query(depth - 1, width)
            sides = [first, *(self.query(depth - 1, len(columns))[0] for _ in range(r.choice((1, 1, 2))))]
            by = r.choice(("UNION ALL", "UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            return f" {by} ".join(map(self.side, sides)), columns
        if depth and roll < 0.4:
            inner, columns = self.query(depth - 1)
            name, before = next(self.names), dict(self.tables)
            self.tables[name] = columns
            sql, shown = self.select(depth - 1, width)
            self.tables = before
            return f"WITH {name} AS ({inner}) {sql}", shown
        return self.select(depth, width)

    def side(self, sql: str) -> str:
        return f"({sql})" if self.r.random() < 0.5 else f"SELECT * FROM ({sql}) AS {next(self.names)}"

    def source(self, depth: int) -> tuple[str, list[str]]:
        """What stands in FROM, and its columns with their owner."""
        alias = next(self.names)
        if depth and self.r.random() < 0.7:
            sql, columns = self.query(depth - 1)
            sql = f"({sql})"
        else:
            sql, columns = (name := self.r.choice([*self.tables, "S", "T"])), self.tables[name]
        return f"{sql} AS {alias}", [f"{alias}.{column}" for column in columns]

    def condition(self, terms: list[str], others: list[str]) -> str:
        right = self.r.choice([*others, "0", "1", "2"])
        return f"{self.r.choice(terms)} {self.r.choice(('=', '=', '<', '>=', '<>'))} {right}"

    def value(self, terms: list[str]) -> str:
        r, term = self.r, self.r.choice(terms)
        return r.choice(
            (
                term,
                term,
                term,
                term,
                f"{term} + {r.choice(terms)}",
                f"{term} * {r.choice(terms)}",
                f"COALESCE({term}, 0)",
                f"CASE WHEN {self.condition(terms, terms)} THEN {term} ELSE 1 END",
                "CAST(NULL AS INT)",
                "1",
            )
        )

    def aggregate(self, terms: list[str]) -> str:
        name = self.r.choice(("COUNT", "SUM", "SUM", "AVG", "MIN", "MAX"))
        if self.r.random() < 0.2:
            return "COUNT(*)"
        distinct = "DISTINCT " if name == "COUNT" and self.r.random() < 0.4 else ""
        further = self.r.choice(("", "", "", f" FILTER (WHERE {self.condition(terms, terms)})"))
        found = f"{name}({distinct}{self.value(terms)}){further}"
        return found if self.r.random() < 0.8 else f"{found} + {self.r.choice(('1', 'COUNT(*)'))}"

    def window(self, terms: list[str]) -> str:
        called = ("ROW_NUMBER()", "RANK()", f"SUM({self.value(terms)})", f"LAG({self.r.choice(terms)})")
        name = self.r.choice(called)
        partition = self.r.choice(("", f"PARTITION BY {self.r.choice(terms)} "))
        return f"{name} OVER ({partition}ORDER BY {self.r.choice(terms)}{self.r.choice(('', ' DESC'))})"

    def select(self, depth: int, width: int | None) -> tuple[str, list[str]]:
        r = self.r
        source, terms = self.source(depth)
        if r.random() < 0.5:
            other, others = self.source(depth - 1 if depth else 0)
            how = r.choice(("CROSS JOIN", "CROSS JOIN", "JOIN", "LEFT JOIN", "FULL JOIN", ","))
            on = f" ON {self.condition(terms, others)}" if "JOIN" in how and how != "CROSS JOIN" else ""
            source, terms = f"{source}{', ' if how == ',' else f' {how} '}{other}{on}", [*terms, *others]
        conditions = [self.condition(terms, terms) for _ in range(r.choice((0, 0, 1)))]
        if depth and r.random() < 0.15:
            inner, columns = self.query(depth - 1)
            alias = next(self.names)
            found = self.condition(terms, [f"{alias}.{c}" for c in columns])
            conditions.append(
                f"{r.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM ({inner}) AS {alias} WHERE {found})"
            )
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        width = width or r.choice((1, 2, 2, 3))
        shown = [next(self.names) for _ in range(width)]
        further = ""
        if r.random() < 0.4:
            number = min(r.choice((0, 1, 1, 2)), width - 1 or 1)
            keys = [self.value(terms) if r.random() < 0.2 else r.choice(terms) for _ in range(number)]
            values = [*keys, *(self.aggregate(terms) for _ in range(width - len(keys)))]
            further = f" GROUP BY {', '.join(keys)}" if keys else ""
            if r.random() < 0.2:
                further += f" HAVING {self.aggregate(terms)} {r.choice(('>', '='))} {r.choice(('0', '1'))}"
        else:
            values = [self.window(terms) if r.random() < 0.1 else self.value(terms) for _ in range(width)]
        distinct = "DISTINCT " if r.random() < 0.15 else ""
        if r.random() < 0.08:
            further += f" ORDER BY {r.choice(shown)} LIMIT {r.choice((1, 2))}"
        items = ", ".join(f"{value} AS {name}" for value, name in zip(values, shown, strict=True))
        return f"SELECT {distinct}{items} FROM {source}{where}{further}", shown
