"""GROUP BY and HAVING: the outputs that a SELECT asks of its rows, and the groups that it makes of them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import expressions as exp

from streambound.errors import QueryError
from streambound.query.clock import conjuncts, is_clock
from streambound.query.expressions import blockers
from streambound.query.expressions.aggregates import (
    SUMMING,
    aggregate,
    is_aggregate,
    name_of,
    unknown,
)
from streambound.query.operators import (
    KEYS,
    Aggregate,
    AggregateKind,
    Grouping,
    Having,
)
from streambound.query.parse.inlining.names import Items, Names
from streambound.query.parse.inlining.select_list import SelectOutputs
from streambound.query.parse.text.having import having_of
from streambound.query.parse.text.parts import Done, Item, output, rebuilt, value
from streambound.query.scope import is_word, location_of
from streambound.query.windows import SESSIONS, Window, called

# More keys of CUBE than a person writes.
MAX_CUBE = 6


def grouping(select: exp.Select, names: Names, items: Items) -> Iterator[tuple[list[exp.Expr], Done]]:
    """The outputs of a SELECT with aggregates and what is done to them, once for each of its grouping sets.

    Args:
        items: what is shown: names, keys and expressions, with the names that SELECT gives resolved.
    """
    group = select.args.get("group")
    keys, sets = _grouping_sets(group, names, items)
    sessions = [w for w in map(called, keys) if w is not None and w.session]
    windows = [w for w in map(called, keys) if w is not None and not w.session]
    windows += [w for w in map(called, select.args.get("windows") or []) if w is not None]
    sessions += [w for w in windows if w.session]
    windows = [w for w in windows if not w.session]
    plain = [key for key in keys if called(key) is None]
    for chosen in sets:
        yield _Group(select, names, items, plain, chosen, windows, sessions).done()


def on_keys(select: exp.Select, names: Names, items: Items) -> tuple[exp.Select, list[exp.Expr]]:
    """A SELECT without what its HAVING asks of keys alone; and that, as filters of the rows."""
    clause = select.args.get("having")
    keys, sets = _grouping_sets(select.args.get("group"), names, items)
    if clause is None or sets != [None]:
        return select, []
    key_columns = {names.canonical(key) for key in keys if isinstance(key, exp.Column)}
    by_name = {key: item for _, key, item in items}

    def meant(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.args.get("table") or names.knows(part):
            return part
        return by_name.get(names.inliner.key(part.this), part).copy()

    early, late = [], []
    for condition in conjuncts(clause.this):
        made = exp.Paren(this=condition.copy()).transform(meant).this
        columns = [column for column in made.find_all(exp.Column) if not is_word(column)]
        more = any(isinstance(part, (exp.Query, exp.Window)) or is_aggregate(part) for part in made.walk())
        mine = columns and all(names.knows(c) and names.canonical(c) in key_columns for c in columns)
        if mine and not more:
            early.append(made)
        else:
            late.append(condition)
    if not early:
        return select, []
    rest = select.copy()
    rest.set("having", exp.Having(this=exp.and_(*late, copy=True)) if late else None)
    return rest, early


def _grouping_sets(
    group: exp.Group | None, names: Names, items: Items
) -> tuple[list[exp.Expr], list[frozenset[int] | None]]:
    """The keys of GROUP BY, and which of them each of its sets has (None: all)."""
    if group is None:
        return [], [None]
    clauses = (exp.Rollup, exp.Cube, exp.GroupingSets)
    keys = [
        _meant(key, names, items)
        for node in group.expressions
        if not isinstance(node, clauses)
        for key in (node.expressions if isinstance(node, exp.Tuple) else [node])
    ]
    if group.args.get("all"):
        keys = [node for _, _, node in items if not any(map(is_aggregate, node.walk()))]
    sets = [frozenset(range(len(keys)))]

    def positions(nodes: list[exp.Expr]) -> frozenset[int]:
        combined = []
        for node in nodes:
            keys.append(_meant(node, names, items))
            combined.append(len(keys) - 1)
        return frozenset(combined)

    given = [node for node in group.expressions if isinstance(node, clauses)]
    given += [node for part in ("rollup", "cube", "grouping_sets") for node in group.args.get(part) or []]
    for clause in given:
        members = [_members(node) for node in clause.expressions]
        if isinstance(clause, exp.GroupingSets):
            chosen = [positions(nodes) for nodes in members]
        else:
            units = [positions(nodes) for nodes in members]
            masks = range(1 << min(len(units), MAX_CUBE)) if isinstance(clause, exp.Cube) else None
            picked = (
                [[unit for bit, unit in enumerate(units) if mask >> bit & 1] for mask in masks]
                if masks is not None
                else [units[:n] for n in range(len(units) + 1)]
            )
            chosen = [frozenset().union(*numbers) for numbers in picked]
        sets = [numbers | more for numbers in sets for more in chosen]
    return keys, list(dict.fromkeys(sets)) if given else [None]


def _members(node: exp.Expr) -> list[exp.Expr]:
    """The keys of one set of GROUPING SETS, or that ROLLUP and CUBE take together."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def _meant(node: exp.Expr, names: Names, items: Items) -> exp.Expr:
    """What a key of GROUP BY names: an item by its number or its alias, or an expression."""
    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        number = int(node.name)
        if not 1 <= number <= len(items):
            raise QueryError(
                f"GROUP BY {number}, and SELECT has {len(items)} columns",
                location=location_of(node, names.inliner.text),
                accepted=f"a number from 1 to {len(items)}",
            )
        return items[number - 1][2]
    if isinstance(node, exp.Column) and not node.args.get("table") and not names.knows(node):
        key = names.inliner.key(node.this)
        return next((item for _, name, item in items if name == key), node)
    return node


class _Group:
    """One grouping set of a SELECT."""

    def __init__(
        self,
        select: exp.Select,
        names: Names,
        items: Items,
        keys: list[exp.Expr],
        chosen: frozenset[int] | None,
        windows: list[Window],
        sessions: list[Window],
    ) -> None:
        self._select, self._names, self._items = select, names, items
        self._windows, self._sessions = windows, sessions
        for window in sessions:
            if window.stamp is not None and not names.is_stamp(window.stamp):
                what = "a session of a column that is no application timestamp"
                raise blockers.blocker(what, window.node, names.inliner.text)
        self._select_outputs = SelectOutputs(names)
        self._aggregates: dict[Aggregate, int] = {}
        self._left_out: set[str] = set()
        self._condition: exp.Expr | None = None
        shown = [key for number, key in enumerate(keys) if chosen is None or number in chosen]
        self._left_out = {names.canonical(key) for key in keys} - {names.canonical(key) for key in shown}
        self._keys: dict[str, tuple[int, ...]] = {}
        # The keys over outputs.
        self._by: list[exp.Expr] = []
        for window in windows:
            self._group_by(names.edge(window, False, window.node))
        for key in shown:
            if (session := names.session_of(key)) is not None:
                self._sessions = [*self._sessions, session]
            elif not isinstance(key, exp.Literal):
                self._group_by(key)
        columns = {key.name.lower() for key in shown if isinstance(key, exp.Column)}
        for window in self._sessions:
            edges = {key.name.lower() for key in shown if names.session_of(key) is not None}
            if window.keys is not None and window.keys != columns - edges:
                error = blockers.blocker(
                    "a session of other keys than GROUP BY", window.node, names.inliner.text
                )
                error.fix = "write the keys of GROUP BY after the table: TABLE s PARTITION BY (k, ...)"
                raise error
        if shown and not self._keys and not self._sessions:
            # Groups of a constant: of no rows there is none.
            self._select_outputs.output(exp.Literal.number(1))

    def _group_by(self, key: exp.Expr) -> None:
        """Have a key; what it is of several tuples is computed of the outputs for each."""
        spread = self._names.inliner.spread
        before = len(spread)
        positions = self._select_outputs.spread(key)
        if len(positions) > 1:
            positions = (KEYS + len(self._by),)
            self._by.append(self._select_outputs.in_outputs(key))
        else:
            self._by.append(output(positions[0]))
        del spread[before:]
        self._keys[self._names.canonical(key)] = positions

    def done(self) -> tuple[list[exp.Expr], Done]:
        """The outputs, keys first, and what is done."""
        count = len(self._select_outputs.outputs)
        shown = tuple(Item(name, key, self._of(node)) for name, key, node in self._items)
        having = self._having()
        gap = max((window.size for window in self._sessions), default=None)
        longest = max((w.longest for w in self._sessions if w.longest is not None), default=None)
        stamps = {self._select_outputs.output(w.stamp or self._names.stamp(w.node)) for w in self._sessions}
        if len(stamps) > 1:
            self._names.inliner.refuse("sessions of several timestamps", self._sessions[1].node)
        moment = next(iter(stamps), None)
        operator = Grouping(count, tuple(self._aggregates), (), having, gap, longest, moment=moment)
        over = {
            n: self._select_outputs.over[a]
            for a, n in self._aggregates.items()
            if a in self._select_outputs.over
        }
        computed = any(number >= KEYS for numbers in self._keys.values() for number in numbers)
        by = tuple(self._by) if computed else ()
        return self._select_outputs.outputs, Done(operator, shown, self._condition, over, by)

    def _having(self) -> Having | None:
        clause = self._select.args.get("having")
        if clause is None:
            return None
        self._condition = self._of(self._with_aliases(clause.this))
        return having_of(self._condition, location_of(clause, self._names.inliner.text))

    def _with_aliases(self, node: exp.Expr) -> exp.Expr:
        """HAVING with the names that SELECT gives resolved."""
        by_name = {key: item for _, key, item in self._items}

        def of(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table") or is_word(part):
                return part
            key = self._names.canonical(part)
            if not self._names.knows(part) or (
                key not in self._keys and part.find_ancestor(exp.AggFunc) is None
            ):
                return by_name.get(self._names.inliner.key(part.this), part).copy()
            return part

        return exp.Paren(this=node.copy()).transform(of)

    def _of(self, node: exp.Expr) -> exp.Expr:
        """An expression over outputs and aggregates, by their numbers."""
        key = self._names.canonical(node)
        if key in self._keys:
            return _single_or_tuple([output(number) for number in self._keys[key]])
        if key in self._left_out:
            return exp.Null()
        if (part := self._of_window(node)) is not None:
            return part
        if name_of(node) in ("GROUPING", "GROUPING_ID"):
            # The same for all rows of a grouping set.
            return exp.Literal.number(
                int(any(self._names.canonical(n) in self._left_out for n in node.walk()))
            )
        if is_aggregate(node):
            return value(self._numbered(node))
        if isinstance(node, exp.Anonymous) and self._reads_rows(node):
            return value(self._aggregate_number(self._select_outputs.aggregate(unknown(node))))
        if isinstance(node, exp.Column) and not is_word(node):
            return self._ungrouped(node)
        if is_clock(node):
            self._names.inliner.made_at.append(node)
        return rebuilt(node, self._of)

    def _reads_rows(self, call: exp.Anonymous) -> bool:
        """Whether a function that is not known is of columns that are no keys: then it is an aggregate."""
        names = self._names
        if called(call) is not None or blockers.aggregates(call):
            return False
        columns = [column for column in call.find_all(exp.Column) if not is_word(column)]
        return all(map(names.knows, columns)) and any(
            names.canonical(column) not in self._keys and names.canonical(column) not in self._left_out
            for column in columns
        )

    def _of_window(self, node: exp.Expr) -> exp.Expr | None:
        """A start or end of the windows of GROUP BY, in whatever words."""
        part = self._names.window_part(self._named_before(node), [*self._windows, *self._sessions])
        if self._sessions and self._names.session_of(node) is not None:
            part = self._sessions[0], False
        if part is None:
            return None
        window, end = part
        if window.session:
            text = blockers.words(node, self._names.inliner.text)
            return value(
                self._aggregate_number(
                    Aggregate(
                        AggregateKind.ANY,
                        text,
                        location=location_of(node, self._names.inliner.text),
                        function=SESSIONS[1] if end else SESSIONS[0],
                    )
                )
            )
        edge = self._names.edge(window, end, node)
        key = self._names.canonical(self._names.edge(window, False, window.node))
        if end and key in self._keys:
            # The end of a window says no more than its start.
            key = self._names.canonical(edge)
            self._keys.setdefault(key, self._select_outputs.spread(edge))
        return output(self._select_outputs.output(edge))

    def _named_before(self, node: exp.Expr) -> exp.Expr:
        """``w.start`` of what SELECT calls w as a part of that."""
        if not isinstance(node, exp.Column) or not node.table or self._names.knows(node):
            return node
        key = self._names.inliner.key
        for item in self._select.expressions:
            if isinstance(item, exp.Alias) and key(item.args["alias"]) == key(node.args["table"]):
                return exp.Dot(this=item.this.copy(), expression=node.this.copy())
        return node

    def _ungrouped(self, node: exp.Column) -> exp.Expr:
        names = self._names
        if not names.knows(node) and not (node.table and names.is_within(node)):
            raise names.unknown(node)
        said = blockers.words(node, names.inliner.text)
        if (call := node.find_ancestor(exp.Anonymous)) is not None:
            # It may be an aggregate of the engine, or of the user's own.
            raise blockers.blocker(f"the aggregate {name_of(call)}", call, names.inliner.text)
        whole = exp.column(exp.to_identifier(node.table, quoted=True))
        if node.table and names.canonical(whole) in self._keys:
            of = names.computed(whole)
            is_edge = node.name.upper() in ("START", "END") and isinstance(of, exp.Anonymous)
            if is_edge and names.is_window(of):
                # Its edges are functions of each other.
                self._keys[names.canonical(node)] = self._select_outputs.spread(node)
                return output(self._select_outputs.output(node))
            raise blockers.blocker(f"a field of the key {node.table}", node, names.inliner.text)
        if not self._keys and not self._select.args.get("group"):
            fix = f"add GROUP BY {said}, or an aggregate around it"
        else:
            fix = f"add {said} to GROUP BY, or write ANY_VALUE({said})"
        raise QueryError(
            f"{said} is neither in GROUP BY nor within an aggregate",
            location=location_of(node, names.inliner.text),
            accepted="keys of GROUP BY, and aggregates",
            fix=fix,
        )

    def _numbered(self, node: exp.Expr) -> int:
        call = aggregate(node)
        if call is not None and not call.arguments and call.kind in SUMMING:
            raise QueryError(
                f"{blockers.words(node, self._names.inliner.text)} has no argument",
                location=location_of(node, self._names.inliner.text),
                accepted=f"a column or an expression within {name_of(node)}(...)",
            )
        if call is None:
            raise blockers.blocker(f"the aggregate {name_of(node)}", node, self._names.inliner.text)
        for part in call.arguments:
            for error in blockers.of_expression(part, self._names.inliner.text):
                raise error
        return self._aggregate_number(self._select_outputs.aggregate(call))

    def _aggregate_number(self, aggregate: Aggregate) -> int:
        return self._aggregates.setdefault(aggregate, len(self._aggregates))


def _single_or_tuple(nodes: list[exp.Expr]) -> exp.Expr:
    return nodes[0] if len(nodes) == 1 else exp.Tuple(expressions=nodes)
