"""The JSON of a plan of Spark (``TreeNode.toJSON``) as a tree, with what only its JVM says beside.

A node's JSON has its class, its arguments and the number of its children, which follow it; expressions in
its arguments are trees of their own. Where the JSON has null, and for where in a program an expression was
written, the node itself is asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass
class Node:
    """A plan or an expression: its class, arguments, children, and how it is had from its JVM."""

    kind: str
    args: dict[str, Any]
    children: list[Node]
    handle: Callable[[], Any]

    @cached_property
    def jvm(self) -> Any:
        """The node itself."""
        return self.handle()

    def expression(self, name: str) -> Node:
        """The expression that an argument is."""
        return self.several(name)[0]

    def several(self, name: str) -> list[Node]:
        """The expressions in an argument: one, those of a list, or none of an option that is empty."""
        value = self.args.get(name)
        if not isinstance(value, list) or not value:
            return []
        if isinstance(value[0], dict):
            return [_decoded(value, lambda: _only(getattr(self.jvm, name)()))]
        return [_decoded(part, self._at(name, number)) for number, part in enumerate(value)]

    def projection(self, number: int) -> list[Node]:
        """The expressions in one of its lists of projections."""
        row = self.args["projections"][number]
        jvm_row = lambda: self.jvm.projections().apply(number)  # noqa: E731
        return [_decoded(item, _within(jvm_row, position)) for position, item in enumerate(row)]

    def _at(self, name: str, number: int) -> Callable[[], Any]:
        return lambda: getattr(self.jvm, name)().apply(number)

    def parts(self) -> Iterator[tuple[str, list[Node]]]:
        """The arguments that are expressions."""
        for name, value in self.args.items():
            if isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0]:
                yield name, self.several(name)

    @property
    def key(self) -> int:
        """The number by which Spark tells a column from all others."""
        return int(self.args["exprId"]["id"])

    @property
    def origin(self) -> str | None:
        """Where in the program an expression was written, if Spark has kept it."""
        context = self.jvm.origin().context()
        if context.contextType().toString() != "DataFrame":
            return None
        return said(str(context.fragment()), str(context.callSite()))


def said(fragment: str, call_site: str) -> str | None:
    """A call site in words; None of one that is in no program, such as Spark's own.

    >>> said("eq", "/home/me/job.py:12")
    '/home/me/job.py:12'
    """
    first = call_site.splitlines()[0] if call_site else ""
    path, _, line = first.rpartition(":")
    if not line.isdigit():
        # In a notebook: the line in a cell.
        return first if first.startswith("line ") else None
    if path.endswith((".scala", ".java")) or "(" in path:
        return None
    return f"{_shown(path)}:{line}"


def _shown(path: str) -> str:
    below = os.path.join(os.getcwd(), "")
    return path.removeprefix(below)


def tree(plan: Any) -> Node:
    """The tree of a plan in a JVM."""
    return _decoded(json.loads(plan.toJSON()), lambda: plan)


def _decoded(nodes: list[dict[str, Any]], handle: Callable[[], Any]) -> Node:
    waiting = iter(nodes)

    def read(handle: Callable[[], Any]) -> Node:
        args = dict(next(waiting))
        kind = args.pop("class").rpartition(".")[2]
        made = Node(kind, args, [], handle)
        for number in range(args.pop("num-children")):
            made.children.append(read(_child(made, number)))
        return made

    return read(handle)


def _within(jvm_value: Callable[[], Any], position: int) -> Callable[[], Any]:
    return lambda: jvm_value().apply(position)


def _child(node: Node, number: int) -> Callable[[], Any]:
    return lambda: node.jvm.children().apply(number)


def _only(value: Any) -> Any:
    """What an option holds; any other value as it is."""
    return value.get() if value.getClass().getName().startswith("scala.Some") else value
