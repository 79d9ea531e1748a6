"""What a statement answers: by the definition, and what a rewrite's rows are together."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import duckdb

from streambound.evaluation.corpus import evaluated
from streambound.query.parse.corpus import CorpusLine
from streambound.rewrites.rewrite import Rewrite

Bag = Counter[tuple[Any, ...]]


def defined(line: CorpusLine) -> Bag:
    """The answer in the end, by the definition."""
    found: Bag = Counter()
    document = evaluated(line, "reference")
    for answer in (*document["answers"], *document.get("initial", [])):
        found[tuple(map(alike, answer["row"]))] += answer["count"]
    return +found


def counted(made: Rewrite, rows: Iterable[Sequence[Any]]) -> Bag:
    """The rows of a rewrite as those of its query."""
    found: Bag = Counter()
    for row in rows:
        number = 1 if made.number is None else int(row[-1])
        found[tuple(map(alike, row[: len(made.columns)]))] += number
    return found


def alike(value: Any) -> Any:
    """A value as others write it too."""
    if isinstance(value, str):
        text = value.replace("T", " ").removesuffix("+00:00")
        try:
            return float(text)
        except ValueError:
            pass
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            return value
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, (int, float, Decimal)):
        return "nan" if math.isnan(value) else float(value)
    return value


def on_duckdb(line: CorpusLine, *statements: str) -> list[list[tuple[Any, ...]]]:
    """What statements give over all events."""
    assert line.catalog is not None
    with duckdb.connect() as connection:
        for relation in line.catalog.relations:
            columns = [(c.name, "VARCHAR" if c.type.name == "string" else c.type.name) for c in relation.own]
            declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
            connection.execute(f'CREATE TABLE "{relation.name}" ({declared})')
            rows = [
                [event.get(n) for n, _ in columns]
                for event in line.events
                if event["stream"] == relation.name
            ]
            rows += [[row.get(n) for n, _ in columns] for row in line.static.get(relation.name, [])]
            if rows:
                places = ", ".join("?" * len(columns))
                connection.executemany(f'INSERT INTO "{relation.name}" VALUES ({places})', rows)
        return [connection.execute(statement).fetchall() for statement in statements]
