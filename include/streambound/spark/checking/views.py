"""What a server of Spark Connect tells of a view over streams: its analysed plan, as text alone.

Read is what text leaves no doubt of: a stream, its watermark, columns that are renamed or computed, filters.
A view of more, or one whose text cannot be read, is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import expressions as exp
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from streambound.spark.checking.blocks import (
    STREAM,
    Block,
    Condition,
    Field,
    Output,
    Query,
    Source,
    conjuncts,
    key_column,
    substituted,
)
from streambound.spark.checking.naming import source_name
from streambound.spark.checking.plan_sources import PlanSources
from streambound.spark.checking.types import holds

_COLUMN = re.compile(r"([^\s,\[\]()#]+)#(\d+)(L?)(?:-T\d+ms)?")
_ONLY = re.compile(rf"{_COLUMN.pattern}$")
_OUTPUT = re.compile(rf"(.*) AS {_COLUMN.pattern}$")
_WATERMARK = re.compile(rf"EventTimeWatermark \S+ {_COLUMN.pattern}: \w+, (.*)$")
_PASSED = ("SubqueryAlias ", "View ", "ResolvedHint", "Repartition", "RebalancePartitions")
_LEAVES = ("StreamingRelationV2 ", "StreamingRelation ", "FileSource[", "StreamingExecutionRelation ")


def read(text: str, name: str, schema: Sequence[tuple[str, str, bool]], world: PlanSources) -> Query | None:
    """The query that a view is; None, and the world told, where its text does not say it.

    Args:
        text: what ``explain`` prints.
        schema: the names and types of the view's columns, and whether they may be NULL.
    """
    try:
        return _read(text, name, schema, world)
    except _Unseen as error:
        world.refuse(
            f"the view {name}",
            f"the view {name} is not seen: {error}, and Spark Connect tells its plan as text alone;"
            " use its DataFrame in place of the view",
        )
        return None


class _Unseen(Exception):
    """What the text of a view does not say, or says of more than is read."""


def _read(text: str, name: str, schema: Sequence[tuple[str, str, bool]], world: PlanSources) -> Query:
    _, _, after = text.partition("== Analyzed Logical Plan ==\n")
    lines = after.partition("\n\n")[0].splitlines()[1:]
    nodes = [re.sub(r"^[\s:|]*(?:[+:]- )?~?", "", line) for line in lines]
    if any(re.match(r"^[\s:|]*:- ", line) for line in lines):
        raise _Unseen("it joins or unites several")
    if not nodes or not nodes[-1].startswith(_LEAVES):
        raise _Unseen(nodes[-1].split(" ")[0] if nodes else "it has no plan")
    return _View(world, nodes[:-1], nodes[-1]).query(schema)


class _View:
    def __init__(self, world: PlanSources, nodes: Sequence[str], leaf: str) -> None:
        self._world, self._nodes, self._leaf = world, nodes, leaf
        self._types: dict[str, tuple[str, bool]] = {}
        # Whether the columns are still those of the stream, of which the text lists not all.
        self._open = True

    def query(self, schema: Sequence[tuple[str, str, bool]]) -> Query:
        shown = self._shown(schema)
        if shown is None:
            raise _Unseen("the names of its columns are not those of its plan")
        for node in self._nodes:
            # What is only renamed has the type of what it is called later.
            for item in _items(node) if node.startswith("Project ") else ():
                if (
                    (match := _OUTPUT.match(item))
                    and (of := _ONLY.match(match[1]))
                    and match[3] in self._types
                ):
                    self._types.setdefault(of[2], self._types[match[3]])
        sourced = self._leaf.partition(", ")[2].partition(",")[0] or self._leaf
        path = re.search(r"FileSource\[(.*)\]", self._leaf)
        source = Source(
            ("view", re.sub(r"#\d+L?", "", self._leaf)),
            STREAM,
            [source_name(sourced, {"path": path[1]} if path else {})],
        )
        block: Query = self._world.source(source, [])
        for node in reversed(self._nodes):
            block = self._node(node, block, source)
        outputs = {str(output.key): output for output in block.outputs}
        if any(number not in outputs for number in shown):
            for number in shown:
                self._column(source, outputs, number, "")
        return self._world.projected(
            block,
            lambda _: [
                Output(self._world.fresh(), name, outputs[number].value, kind, None)
                for number, (name, kind, _) in zip(shown, schema, strict=True)
            ],
        )

    def _shown(self, schema: Sequence[tuple[str, str, bool]]) -> list[str] | None:
        """The numbers of the view's columns, whose types are known."""
        for node in self._nodes:
            if node.startswith(("View ", "Project ")):
                inside = node[node.index("[") + 1 : node.rindex("]")]
                numbers = [_last_number(item) for item in _split(inside)]
                break
        else:
            return None
        if len(numbers) != len(schema) or None in numbers:
            return None
        for number, (_, kind, nullable) in zip(numbers, schema, strict=True):
            self._types[str(number)] = (kind, nullable)
        return [str(number) for number in numbers]

    def _column(self, source: Source, outputs: dict[str, Output], number: str, name: str) -> Output | None:
        """A column by its number; one of the stream itself is made when it is first named."""
        if number in outputs:
            return outputs[number]
        if number not in self._types:
            return None
        kind, nullable = self._types[number]
        source.fields[number] = Field(name or number, kind, nullable)
        outputs[number] = Output(number, name, self._world.column(source, number), kind)
        return outputs[number]

    def _node(self, node: str, block: Query, source: Source) -> Query:
        assert isinstance(block, Block)
        if node.startswith(_PASSED):
            return block
        by_key = {str(output.key): output for output in block.outputs}
        for name, number, long in _COLUMN.findall(node):
            made_here = re.search(rf" AS \S+#{number}\b", node)
            if self._open and number not in by_key and not made_here:
                if long:
                    self._types.setdefault(number, ("bigint", True))
                if self._column(source, by_key, number, name) is None and not node.startswith("Project "):
                    raise _Unseen(f"the type of {name} is not told")
        if self._open:
            block = Block(block.sources, tuple(by_key.values()), block.conditions)
        if node.startswith("EventTimeWatermark "):
            match = _WATERMARK.match(node)
            if match is None or match[2] not in by_key:
                raise _Unseen("its watermark is not understood")
            return self._world.watermarked(block, by_key[match[2]].key, match[4])
        if node.startswith("Filter "):
            condition = self._parsed(node.removeprefix("Filter "), by_key)
            if condition is None:
                raise _Unseen("its filter is not understood")
            return self._world.filtered(
                block, lambda of: [Condition(c) for c in conjuncts(substituted(condition, of.outputs))]
            )
        if node.startswith("Project "):
            self._open = False
            outputs = [self._output(item, by_key, source) for item in _items(node)]
            if any(output is None for output in outputs):
                raise _Unseen("its columns are not understood")
            return self._world.projected(
                block, lambda _: [output for output in outputs if output is not None]
            )
        raise _Unseen(node.split(" ")[0])

    def _output(self, item: str, outputs: Mapping[str, Output], source: Source) -> Output | None:
        if (bare := _ONLY.match(item)) is not None:
            return outputs.get(bare[2])
        match = _OUTPUT.match(item)
        if match is None:
            return None
        number, (kind, _) = match[3], self._types.get(match[3], ("object(unknown)", True))
        if (of := _ONLY.match(match[1])) is not None:
            made = outputs.get(of[2])
            return None if made is None else Output(number, match[2], made.value, made.type)
        node = self._parsed(match[1], outputs)
        if node is None or node.find(exp.Dot) or "." in _COLUMN.sub("", match[1]).replace("..", ""):
            # A value within nested data, or what is not understood: a column by itself.
            source.fields[match[1]] = Field(match[2], kind, True, match[2])
            return Output(number, match[2], self._world.column(source, match[1]), kind)
        return Output(number, match[2], substituted(node, list(outputs.values())), kind)

    def _parsed(self, text: str, outputs: Mapping[str, Output]) -> exp.Expr | None:
        """An expression as Spark prints it; None if it does not parse, or has names of no column."""
        try:
            made = exp.Paren(this=parse_one(_COLUMN.sub(r"`#\2`", text), dialect="spark"))
        except SqlglotError:
            return None
        for column in list(made.find_all(exp.Column)):
            number = column.name.removeprefix("#")
            if column.args.get("table"):
                return None
            if number == column.name:
                # Spark prints strings without quotes.
                column.replace(exp.Literal.string(column.name))
            elif number in outputs:
                column.replace(key_column(outputs[number].key))
            else:
                return None
        types = {str(output.key): output.type for output in outputs.values()}
        for cast in list(made.find_all(exp.Cast)):
            constant = isinstance(cast.this, exp.Literal) and not cast.this.is_string
            kind = types.get(cast.this.name) if isinstance(cast.this, exp.Column) else None
            if constant or (kind is not None and holds(cast.to.sql(dialect="spark").lower(), kind)):
                cast.replace(cast.this)
        node: exp.Expr = made.this
        node.pop()
        return node


def _items(node: str) -> list[str]:
    return _split(node[node.index("[") + 1 : node.rindex("]")])


def _split(text: str) -> list[str]:
    """A list at its commas outside of parentheses."""
    items, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            items.append(text[start:at].strip())
            start = at + 1
    return [*items, text[start:].strip()] if text.strip() else []


def _last_number(item: str) -> str | None:
    numbers = list(_COLUMN.finditer(item))
    return numbers[-1][2] if numbers else None
