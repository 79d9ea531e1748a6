"""Statements of the test grammar as operations on DataFrames, as a person would write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from sqlglot import expressions as exp
from sqlglot import parse_one
from tests.grammar import statement_line

from streambound.query.column_types import Family
from streambound.query.model import Relation, RelationKind
from streambound.query.parse.corpus import CorpusLine

_COMPARED = {exp.EQ: "__eq__", exp.NEQ: "__ne__", exp.LT: "__lt__", exp.LTE: "__le__"}
_COMPARED |= {exp.GT: "__gt__", exp.GTE: "__ge__"}


def expressible(line: CorpusLine) -> bool:
    """Whether Spark has the streams of a line: none ends, and event times are moments."""
    return all(
        one.kind is not RelationKind.FINITE
        and (one.timestamp is None or one.column(one.timestamp).type.family is Family.TIMESTAMP)
        for one in line.catalog.relations
    )


def lines(start: int = 0) -> Iterator[CorpusLine]:
    """The statements of the grammar that Spark can express."""
    seed = start
    while True:
        line = statement_line(seed)
        if expressible(line):
            yield line
        seed += 1


def promises(line: CorpusLine) -> dict[str, Any]:
    """What Spark cannot say of the streams that a line reads."""
    read = {table.name for table in parse_one(line.sql, dialect="spark").find_all(exp.Table)}
    return {name: _promised(one) for one in line.catalog.relations if (name := one.name) in read}


def _promised(relation: Relation) -> dict[str, Any]:
    domains: dict[str, Any] = {}
    for column in relation.columns:
        if (domain := column.domain) is not None:
            ends = {"min": domain.minimum, "max": domain.maximum}
            listed = None if domain.values is None else {"values": list(domain.values)}
            domains[column.name] = listed or {key: end for key, end in ends.items() if end is not None}
    return {"not_null": [one.name for one in relation.columns if not one.nullable], "domains": domains}


class Frames:
    """DataFrames over streams that are folders of files."""

    def __init__(self, spark: Any, F: Any, folder: Path) -> None:
        self._spark, self._F, self._folder = spark, F, folder

    def of(self, line: CorpusLine) -> Any:
        """A statement as a DataFrame; how is drawn from its seed."""
        made = _Made(self._F, Random(f"frames {line.id}"), self._relations(line))
        return made.query(parse_one(line.sql, dialect="spark"))

    def _relations(self, line: CorpusLine) -> dict[str, Any]:
        return {one.name: self._relation(line.id, one) for one in line.catalog.relations}

    def _relation(self, line: str, relation: Relation) -> Any:
        columns = ", ".join(f"{one.name} {one.type.name}" for one in relation.columns)
        if relation.kind is RelationKind.STATIC:
            return self._spark.createDataFrame([], columns).alias(relation.name)
        folder = self._folder / line / relation.name
        folder.mkdir(parents=True, exist_ok=True)
        stream = self._spark.readStream.schema(columns).json(str(folder))
        if relation.timestamp is not None:
            stream = stream.withWatermark(relation.timestamp, "0 seconds")
        return stream.alias(relation.name)


class _Made:
    def __init__(self, F: Any, r: Random, relations: dict[str, Any]) -> None:
        self.F, self.r, self.relations = F, r, relations

    def query(self, node: exp.Expr) -> Any:
        if isinstance(node, exp.Union):
            both = self.query(node.this).union(self.query(node.expression))
            return both.distinct() if node.args["distinct"] else both
        assert isinstance(node, exp.Select)
        tables = [node.args["from_"].this, *(join.this for join in node.args.get("joins") or [])]
        where = node.args.get("where")
        left = list(_conjuncts(where.this)) if where is not None else []
        self.r.shuffle(left)
        frame, joined = None, set[str]()
        for table in tables:
            alias = table.alias
            one = self.relations[table.name].alias(alias)
            for condition in self._taken(left, {alias}):
                one = one.where(self.column(condition))
            joined.add(alias)
            if frame is None:
                frame = one
                continue
            on = None
            for condition in self._taken(left, joined):
                column = self.column(condition)
                on = column if on is None else on & column
            frame = frame.crossJoin(one) if on is None else frame.join(one, on)
        assert frame is not None
        for condition in left:
            frame = frame.where(self.column(condition))
        frame = frame.select(*(self.column(item).alias(f"o{n}") for n, item in enumerate(node.expressions)))
        if node.args.get("distinct"):
            return self.r.choice([frame.distinct, frame.dropDuplicates])()
        return frame

    def _taken(self, left: list[exp.Expr], known: set[str]) -> list[exp.Expr]:
        """Some of the conditions over the occurrences that there are, which are written here."""
        ready = [one for one in left if {c.table for c in one.find_all(exp.Column)} <= known]
        taken = [one for one in ready if self.r.random() < 0.6]
        left[:] = [one for one in left if not any(one is other for other in taken)]
        return taken

    def column(self, node: exp.Expr) -> Any:
        """An expression as a Column, or, now and then, as text."""
        text = self.r.random() < 0.2 or (isinstance(node, exp.Binary) and node.this == node.expression)
        # Spark takes a column compared with itself for one of the other side of a self-join.
        made = None if text else self._column(node)
        return self.F.expr(node.sql(dialect="spark")) if made is None else made

    def _column(self, node: exp.Expr) -> Any:
        if isinstance(node, exp.Paren):
            return self.column(node.this)
        if isinstance(node, exp.Column):
            return self.F.col(f"{node.table}.{node.name}")
        if isinstance(node, exp.And):
            return self.column(node.this) & self.column(node.expression)
        if isinstance(node, exp.Or):
            return self.column(node.this) | self.column(node.expression)
        if isinstance(node, exp.Not):
            return ~self.column(node.this)
        if (compared := _COMPARED.get(type(node))) is not None:
            return getattr(self.column(node.this), compared)(self.column(node.expression))
        if isinstance(node, exp.Is):
            return self.column(node.this).isNull()
        if isinstance(node, exp.Between):
            low, high = (self.column(node.args[end]) for end in ("low", "high"))
            return self.column(node.this).between(low, high)
        if isinstance(node, exp.In):
            return self.column(node.this).isin(*map(self.column, node.expressions))
        return None


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node
