"""GROUP BY, HAVING and window functions: what a SELECT asks of its rows, and what it does to them.

The SELECT is told apart into outputs of its rows, over streams as any SELECT has them, and what is done to
the rows (``parts.Done``): names of outputs and of aggregates stand in the expressions that are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from sqlglot import expressions as exp

from streambound.errors import Place, QueryError
from streambound.query import blockers
from streambound.query.aggregates import READING, Called, aggregate, is_aggregate, name_of, owners, polynomial
from streambound.query.clock import conjuncts
from streambound.query.model import Op
from streambound.query.names import Names
from streambound.query.operators import (
    Aggregate,
    Frame,
    Framing,
    Grouping,
    Having,
    Kind,
    Over,
    Polynomial,
    Ranking,
    Test,
    Tests,
)
from streambound.query.parts import Done, Item, output, stands_for, value
from streambound.query.scope import is_word, place_of
from streambound.query.windows import SESSIONS, Window, called, length

# More keys of CUBE than a person writes.
MAX_CUBE = 6
RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.GTE: Op.GE,
    exp.GT: Op.GT,
}


@dataclass
class Asked:
    """The outputs that a SELECT asks of its rows, each once, and what it makes of them."""

    names: Names
    outputs: list[exp.Expr] = field(default_factory=list)
    # What an aggregate reads that is over several tuples, over outputs.
    over: dict[Aggregate, exp.Expr] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)

    def output(self, node: exp.Expr) -> int:
        """The position of an expression among the outputs."""
        key = self.names.canonical(node)
        if key not in self._known:
            self._known[key] = len(self.outputs)
            self.outputs.append(node)
        return self._known[key]

    def in_outputs(self, node: exp.Expr) -> exp.Expr:
        """An expression with outputs for its columns."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if not is_word(column):
                column.replace(self._in_outputs(column))
        found: exp.Expr = root.this
        return found

    def _in_outputs(self, column: exp.Column) -> exp.Expr:
        """A column as an output; one that a sub-query computed of several tuples as what it is of theirs."""
        if len(self.names.owner(column)) < 2:
            return output(self.output(column))
        bases = list(self.names.bases(column))
        root = exp.Paren(this=self.names.computed(column).copy())
        own = [part for part in root.find_all(exp.Column) if not is_word(part)]
        for part, base in zip(own, bases, strict=True):
            part.replace(output(self.output(base)))
        return root

    def spread(self, node: exp.Expr) -> tuple[int, ...]:
        """The positions of an expression; of one over several tuples those of its columns."""
        if len(owners(node, self.names.owner)) <= 1:
            return (self.output(node),)
        found = []
        for column in node.find_all(exp.Column):
            for made in () if is_word(column) else self.names.bases(column):
                made.meta["within"] = True
                found.append(self.output(made))
        return tuple(dict.fromkeys(found))

    def aggregate(self, one: Called) -> Aggregate:
        """An aggregate over positions."""
        sql = self.names.inliner.text
        arguments: tuple[int, ...] = ()
        summed: Polynomial | None = None
        if (
            one.kind in (Kind.COUNT, Kind.SUM, Kind.MEAN, Kind.LEAST, Kind.GREATEST)
            and len(one.arguments) == 1
        ):
            found = polynomial(one.arguments[0], self.names.owner)
            if found is not None and not one.distinct:
                summed = tuple((by, tuple(map(self.output, factors))) for by, factors in found)
                arguments = tuple(dict.fromkeys(n for _, positions in summed for n in positions))
        if summed is None:
            arguments = tuple(dict.fromkeys(n for node in one.arguments for n in self.spread(node)))
        if one.kind in (Kind.LEAST, Kind.GREATEST) and not arguments and one.by is None:
            # Of a constant: the same in every group.
            said = blockers.words(one.node, sql)
            return Aggregate(Kind.ANY, said, place=place_of(one.node, sql), function="a constant")
        by = None if one.by is None else self.output(one.by)
        chosen = arguments[0] if by is not None and len(arguments) == 1 else None
        if by is not None and one.kind in (Kind.LEAST, Kind.GREATEST):
            # The row with the least or greatest value: the other columns of it are free.
            arguments, summed = (by,), None
        made = Aggregate(
            one.kind,
            blockers.words(one.node, sql),
            arguments,
            summed,
            one.distinct,
            by,
            place_of(one.node, sql),
            one.function,
            chosen,
        )
        if summed is None and by is None and len(one.arguments) == 1:
            (given,) = one.arguments
            if len(owners(given, self.names.owner)) > 1:
                self.over[made] = self.in_outputs(given)
        return made


def grouping(
    select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]]
) -> Iterator[tuple[list[exp.Expr], Done]]:
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


def on_keys(
    select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]]
) -> tuple[exp.Select, list[exp.Expr]]:
    """A SELECT without what its HAVING asks of keys alone; and that, as filters of the rows."""
    clause = select.args.get("having")
    keys, sets = _grouping_sets(select.args.get("group"), names, items)
    if clause is None or sets != [None]:
        return select, []
    known = {names.canonical(key) for key in keys if isinstance(key, exp.Column)}
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
        mine = columns and all(names.knows(c) and names.canonical(c) in known for c in columns)
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
    group: exp.Group | None, names: Names, items: list[tuple[str, str, exp.Expr]]
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
        found = []
        for node in nodes:
            keys.append(_meant(node, names, items))
            found.append(len(keys) - 1)
        return frozenset(found)

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
            chosen = [frozenset().union(*one) for one in picked]
        sets = [one | more for one in sets for more in chosen]
    return keys, list(dict.fromkeys(sets)) if given else [None]


def _members(node: exp.Expr) -> list[exp.Expr]:
    """The keys of one set of GROUPING SETS, or that ROLLUP and CUBE take together."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def _meant(node: exp.Expr, names: Names, items: list[tuple[str, str, exp.Expr]]) -> exp.Expr:
    """What a key of GROUP BY names: an item by its number or its alias, or an expression."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        number = int(node.name)
        if not 1 <= number <= len(items):
            raise QueryError(
                f"GROUP BY {number}, and SELECT has {len(items)} columns",
                place=place_of(node, names.inliner.text),
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
        items: list[tuple[str, str, exp.Expr]],
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
        self._asked = Asked(names)
        self._aggregates: dict[Aggregate, int] = {}
        self._left_out: set[str] = set()
        self._condition: exp.Expr | None = None
        shown = [key for number, key in enumerate(keys) if chosen is None or number in chosen]
        self._left_out = {names.canonical(key) for key in keys} - {names.canonical(key) for key in shown}
        self._keys: dict[str, tuple[int, ...]] = {}
        for window in windows:
            start = names.edge(window, False, window.node)
            self._keys[names.canonical(start)] = self._asked.spread(start)
        for key in shown:
            if (session := names.session_of(key)) is not None:
                self._sessions = [*self._sessions, session]
            elif not isinstance(key, exp.Literal):
                self._keys[names.canonical(key)] = self._asked.spread(key)
        if shown and not self._keys and not self._sessions:
            # Groups of a constant: of no rows there is none.
            self._asked.output(exp.Literal.number(1))

    def done(self) -> tuple[list[exp.Expr], Done]:
        """The outputs, keys first, and what is done."""
        count = len(self._asked.outputs)
        shown = tuple(Item(name, key, self._of(node)) for name, key, node in self._items)
        having = self._having()
        gap = max((window.size for window in self._sessions), default=None)
        longest = max((one.longest for one in self._sessions if one.longest is not None), default=None)
        operator = Grouping(count, tuple(self._aggregates), (), having, gap, longest)
        over = {n: self._asked.over[one] for one, n in self._aggregates.items() if one in self._asked.over}
        return self._asked.outputs, Done(operator, shown, self._condition, over)

    def _having(self) -> Having | None:
        clause = self._select.args.get("having")
        if clause is None:
            return None
        self._condition = self._of(self._with_aliases(clause.this))
        return having_of(self._condition, place_of(clause, self._names.inliner.text))

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
            return _one([output(number) for number in self._keys[key]])
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
        if isinstance(node, exp.Column) and not is_word(node):
            return self._ungrouped(node)
        made = node.copy()
        for name, given in node.args.items():
            if isinstance(given, exp.Expr):
                made.set(name, self._of(given))
            elif isinstance(given, list):
                made.set(name, [self._of(one) if isinstance(one, exp.Expr) else one for one in given])
        return made

    def _of_window(self, node: exp.Expr) -> exp.Expr | None:
        """A start or end of the windows of GROUP BY, in whatever words."""
        found = self._names.window_part(node, [*self._windows, *self._sessions])
        if self._sessions and self._names.session_of(node) is not None:
            found = self._sessions[0], False
        if found is None:
            return None
        window, end = found
        if window.session:
            text = blockers.words(node, self._names.inliner.text)
            return value(
                self._known(
                    Aggregate(
                        Kind.ANY,
                        text,
                        place=place_of(node, self._names.inliner.text),
                        function=SESSIONS[1] if end else SESSIONS[0],
                    )
                )
            )
        edge = self._names.edge(window, end, node)
        key = self._names.canonical(self._names.edge(window, False, window.node))
        if end and key in self._keys:
            # The end of a window says no more than its start.
            key = self._names.canonical(edge)
            self._keys.setdefault(key, self._asked.spread(edge))
        return output(self._asked.output(edge))

    def _ungrouped(self, node: exp.Column) -> exp.Expr:
        names = self._names
        if not names.knows(node) and not (node.table and names.is_within(node)):
            raise names.unknown(node)
        said = blockers.words(node, names.inliner.text)
        if (call := node.find_ancestor(exp.Anonymous)) is not None:
            # It may be an aggregate of the engine, or of the user's own.
            raise blockers.blocker(f"the aggregate {name_of(call)}", call, names.inliner.text)
        if not self._keys and not self._select.args.get("group"):
            fix = f"add GROUP BY {said}, or an aggregate around it"
        else:
            fix = f"add {said} to GROUP BY, or write ANY_VALUE({said})"
        raise QueryError(
            f"{said} is neither in GROUP BY nor within an aggregate",
            place=place_of(node, names.inliner.text),
            accepted="keys of GROUP BY, and aggregates",
            fix=fix,
        )

    def _numbered(self, node: exp.Expr) -> int:
        found = aggregate(node)
        if found is not None and not found.arguments and found.kind in READING:
            raise QueryError(
                f"{blockers.words(node, self._names.inliner.text)} has no argument",
                place=place_of(node, self._names.inliner.text),
                accepted=f"a column or an expression within {name_of(node)}(...)",
            )
        if found is None:
            raise blockers.blocker(f"the aggregate {name_of(node)}", node, self._names.inliner.text)
        for part in found.arguments:
            for error in blockers.of_expression(part, self._names.inliner.text):
                raise error
        return self._known(self._asked.aggregate(found))

    def _known(self, one: Aggregate) -> int:
        return self._aggregates.setdefault(one, len(self._aggregates))


def _one(nodes: list[exp.Expr]) -> exp.Expr:
    return nodes[0] if len(nodes) == 1 else exp.Tuple(expressions=nodes)


def values_in(node: exp.Expr) -> tuple[int, ...]:
    """The numbers of the aggregates in an expression."""
    found = (stands_for(column, "value") for column in node.find_all(exp.Column))
    return tuple(dict.fromkeys(number for number in found if number is not None))


def outputs_in(node: exp.Expr) -> tuple[int, ...]:
    """The numbers of the outputs in an expression."""
    found = (stands_for(column, "output") for column in node.find_all(exp.Column))
    return tuple(dict.fromkeys(number for number in found if number is not None))


def having_of(node: exp.Expr, place: Place) -> Having:
    """A condition over aggregates by their numbers; its formula is read with their types."""
    tests = None if outputs_in(node) else _tests(node, True)
    return Having(values_in(node), tests, place)


def _tests(node: exp.Expr, positive: bool) -> Test | Tests | None:
    while isinstance(node, (exp.Paren, exp.Not)):
        positive = positive is not isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, (exp.And, exp.Or)):
        parts = [_tests(side, positive) for side in (node.this, node.expression)]
        if any(part is None for part in parts):
            return None
        return Tests(isinstance(node, exp.And) is positive, tuple(part for part in parts if part is not None))
    if isinstance(node, exp.Between):
        ends = ((exp.GTE, "low"), (exp.LTE, "high"))
        made = [_tests(op(this=node.this.copy(), expression=node.args[e].copy()), positive) for op, e in ends]
        if any(part is None for part in made):
            return None
        return Tests(positive, tuple(part for part in made if part is not None))
    if type(node) not in _OPS:
        return None
    op = _OPS[type(node)]
    left, right = node.this, node.expression
    if stands_for(right, "value") is not None:
        left, right, op = right, left, op.mirrored
    number, constant = stands_for(left, "value"), _number(right)
    if number is None or constant is None:
        return None
    return Test(number, op if positive else op.negated, constant)


def _number(node: exp.Expr) -> Fraction | None:
    if isinstance(node, exp.Neg):
        found = _number(node.this)
        return None if found is None else -found
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return Fraction(node.name)
    except (ValueError, ZeroDivisionError):
        return None


def framing(
    select: exp.Select, names: Names, items: list[tuple[str, str, exp.Expr]]
) -> tuple[list[exp.Expr], Done]:
    """The outputs of a SELECT with window functions, and what they do to them."""
    asked = Asked(names)
    functions: list[Over] = []
    clauses = {
        window.name.lower(): window
        for window in select.args.get("windows") or []
        if isinstance(window, exp.Window)
    }

    def of(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            over = _over(node, asked, clauses)
            if over not in functions:
                functions.append(over)
            return value(functions.index(over))
        if isinstance(node, exp.Column) and not is_word(node):
            return output(asked.output(node))
        made = node.copy()
        for name, given in node.args.items():
            if isinstance(given, exp.Expr):
                made.set(name, of(given))
            elif isinstance(given, list):
                made.set(name, [of(one) if isinstance(one, exp.Expr) else one for one in given])
        return made

    shown = tuple(Item(name, key, of(node)) for name, key, node in items)
    numbers = {n: one.aggregate for n, one in enumerate(functions) if one.aggregate is not None}
    over = {n: asked.over[one] for n, one in numbers.items() if one in asked.over}
    return asked.outputs, Done(Framing(tuple(functions), ()), shown, over=over)


def _over(node: exp.Window, asked: Asked, clauses: dict[str, exp.Window]) -> Over:
    sql = asked.names.inliner.text
    spec = node
    name = node.alias or (node.args["alias"].name if node.args.get("alias") else "")
    if name.lower() in clauses:
        spec = clauses[name.lower()]
    elif name:
        raise QueryError(
            f"there is no window {name}",
            place=place_of(node, sql),
            accepted=", ".join(clauses) or None,
            fix=f"define it: WINDOW {name} AS (PARTITION BY ... ORDER BY ...)",
        )
    partition = [*(node.args.get("partition_by") or []), *(spec.args.get("partition_by") or [])]
    if spec is node:
        partition = list(node.args.get("partition_by") or [])
    clause = node.args.get("order") or spec.args.get("order")
    order = ordering([(one, one.this) for one in (clause.expressions if clause else [])], asked)
    keys = tuple(n for key in partition for n in asked.spread(_windowed(key, asked.names)))
    inner = node.this
    passes_over = False
    while isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)):
        passes_over = passes_over or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    called_ = aggregate(inner) if is_aggregate(inner) or isinstance(inner, exp.Filter) else None
    named = name_of(inner.this if isinstance(inner, exp.Filter) else inner)
    if called_ is not None and named in ("FIRST_VALUE", "LAST_VALUE", "FIRST", "LAST"):
        named = {"FIRST": "FIRST_VALUE", "LAST": "LAST_VALUE"}.get(named, named)
    arguments: tuple[int, ...] = ()
    made = None if called_ is None else asked.aggregate(called_)
    if made is None:
        given = [inner.this] if isinstance(inner.this, exp.Expr) else list(inner.expressions)[:1]
        arguments = tuple(n for one in given if not isinstance(one, exp.Literal) for n in asked.spread(one))
        if arguments:
            made = Aggregate(
                Kind.ANY,
                blockers.words(inner, sql),
                arguments,
                None,
                False,
                None,
                place_of(inner, sql),
                _function_of(inner, named, passes_over),
            )
    elif named in ("FIRST_VALUE", "LAST_VALUE"):
        arguments = made.arguments
    return Over(
        named,
        made,
        keys,
        tuple(order),
        _frame(node, spec, named, inner, bool(order), asked.names),
        place_of(node, sql),
        arguments,
        _rows_away(inner, named),
    )


def ordering(given: Sequence[tuple[exp.Expr, exp.Expr]], asked: Asked) -> tuple[tuple[int, bool], ...]:
    """The positions that rows are ordered by, of ORDER BY and what its parts mean.

    NULL is first where the order ascends; where it is to be at the other end, that it is NULL comes before.
    """
    made = []
    for one, node in given:
        descends, first = bool(one.args.get("desc")), one.args.get("nulls_first")
        if first is not None and bool(first) is descends and asked.names.nullable(node):
            made.append((asked.output(exp.Is(this=node.copy(), expression=exp.Null())), bool(first)))
        made.append((asked.output(node), descends))
    return tuple(made)


def _offset(inner: exp.Expr) -> exp.Expr | None:
    found: exp.Expr | None = inner.args.get("offset")
    return found or (inner.expressions[1] if len(inner.expressions) > 1 else None)


def _rows_away(inner: exp.Expr, name: str) -> int:
    """How many rows away LAG and LEAD look; of which row NTH_VALUE is; how many parts NTILE makes."""
    found = _offset(inner)
    if name == "NTILE":
        given = [inner.this] if isinstance(inner.this, exp.Expr) else list(inner.expressions)
        return (length(given[0]) if given else None) or 1
    rows = None if found is None or name not in ("LAG", "LEAD", "NTH_VALUE") else length(found)
    return 1 if rows is None else rows


def _function_of(inner: exp.Expr, name: str, passes_over: bool) -> str:
    """The name of a window function, with what else changes its meaning."""
    if passes_over:
        return f"{name} IGNORE NULLS"
    default = inner.args.get("default") or (inner.expressions[2] if len(inner.expressions) > 2 else None)
    if default is not None and not isinstance(default, exp.Null):
        return f"{name} with a default"
    counted = _offset(inner)
    if name in ("LAG", "LEAD", "NTH_VALUE") and counted is not None and length(counted) is None:
        return f"{name} with an expression"
    return name


def _windowed(node: exp.Expr, names: Names) -> exp.Expr:
    found = called(node)
    return node if found is None else names.edge(found, False, node)


def _refuse_edges(spec: exp.WindowSpec, names: Names) -> None:
    """Refuse an edge of a frame that is no number and no length of time.

    Raises:
        QueryError: with its place.
    """
    for which in ("start", "end"):
        given = spec.args.get(which)
        if isinstance(given, exp.Expr) and length(given) is None:
            raise QueryError(
                f"a frame begins or ends {blockers.words(given, names.inliner.text)} from its row",
                place=place_of(given, names.inliner.text),
                accepted="a number of rows, a length of time (INTERVAL '1' HOUR), UNBOUNDED, CURRENT ROW",
            )


def _frame(
    node: exp.Window, spec: exp.Window, name: str, inner: exp.Expr, ordered: bool, names: Names
) -> Frame:
    found = node.args.get("spec") or spec.args.get("spec")
    if name in ("LAG", "LEAD") and found is None:
        offset = _offset(inner)
        rows = length(offset) if offset is not None else 1
        rows = 1 if rows is None else rows
        return Frame(True, rows, 0) if name == "LAG" else Frame(True, 0, rows)
    if found is not None:
        if str(found.args.get("kind")) == "SESSION":
            raise blockers.blocker("SESSION WITH GAP", node, names.inliner.text)
        _refuse_edges(found, names)
        start, end = (_reach(found, which) for which in ("start", "end"))
        if start > end or start == inf or end == -inf:
            raise QueryError(
                "a frame ends before it begins, so it has no rows",
                place=place_of(node, names.inliner.text),
                accepted="a frame such as ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                fix="exchange its ends",
            )
    if name in (*RANKS, "NTILE", "PERCENT_RANK", "CUME_DIST"):
        return Frame(True, None, 0 if name in RANKS and ordered else None)
    if found is None:
        return Frame(False, None, 0 if ordered else None)
    rows = str(found.args.get("kind") or "RANGE").upper() == "ROWS"
    before, after = _edge(found, "start"), _edge(found, "end")
    if found.args.get("end") is None and found.args.get("start") is not None:
        after = 0
    return Frame(rows, before, after)


def _reach(spec: exp.WindowSpec, which: str) -> float:
    """Where a frame begins or ends, counted from its row; without an end it is infinite."""
    given, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    sign = -1 if side == "PRECEDING" else 1
    if isinstance(given, str):
        return sign * inf if given.upper() == "UNBOUNDED" else 0
    return sign * ((None if given is None else length(given)) or 0)


def _edge(spec: exp.WindowSpec, which: str) -> int | None:
    """How far a frame reaches: before a row (start) or after it (end); None is without an end."""
    given = spec.args.get(which)
    if given in (None, "CURRENT ROW"):
        return 0
    if isinstance(given, str):
        return None if given.upper() == "UNBOUNDED" else 0
    found = length(given)
    side = str(spec.args.get(f"{which}_side") or "").upper()
    if found is None:
        return None
    return found if (side == "PRECEDING") is (which == "start") else -found


def ranked(done: Done, conditions: list[exp.Expr]) -> tuple[Done, list[exp.Expr]] | None:
    """Rows with a rank of which conditions keep the first ones (or others), as a ranking; else None.

    Args:
        conditions: over outputs and values of ``done``.
    """
    operator = done.operator
    if not isinstance(operator, Framing) or len(operator.functions) != 1:
        return None
    (function,) = operator.functions
    if function.name not in RANKS:
        return None
    left, found = [], None
    for condition in conditions:
        test = _tests(condition, True)
        if isinstance(test, Tests) and test.every and len(test.parts) == 2 and found is None:
            # BETWEEN 1 AND n is what <= n is.
            bounds = [p for p in test.parts if isinstance(p, Test) and not (p.op is Op.GE and p.value <= 1)]
            test = bounds[0] if len(bounds) == 1 else test
        if isinstance(test, Test) and found is None and test.value.denominator == 1:
            found = test
        else:
            left.append(condition)
    if found is None or any(values_in(condition) for condition in left):
        return None
    shown_rank = any(values_in(item.value) for item in done.shown)
    made = Ranking(
        function.name, function.partition, function.order, found.op, int(found.value), (), shown_rank
    )
    return Done(made, done.shown), left
