"""What names stand for in one SELECT, in terms of the streams of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel

from streambound.errors import QueryError, meant, unknown_column
from streambound.query.clock import is_clock, is_fresh, reads_clock, with_clock
from streambound.query.dialects.grammar import PARTITIONED, WITHIN, is_system_time, span_of
from streambound.query.differences import band, microseconds, plain
from streambound.query.expressions import blockers
from streambound.query.model import RelationKind
from streambound.query.parse.inlining.joins import alternatives, sought_after, without_missing, without_nulls
from streambound.query.parse.inlining.semijoins import partners_of
from streambound.query.parse.inlining.substitution import Substitution
from streambound.query.parse.text.ddl import ROWKEY, STAMPS
from streambound.query.parse.text.parts import (
    Item,
    Part,
    Source,
    apart,
    at_location,
    column_of,
    goes_by,
    is_star,
    name_in,
)
from streambound.query.scope import FILES, is_word, location_of
from streambound.query.windows import END, SESSIONS, START, Window, part_called
from streambound.query.windows import called as called_window

# What every row of a processor has beside its columns, but for its time.
PSEUDO = {
    "spark": (FILES,),
    "azure": ("PARTITIONID", "EVENTENQUEUEDUTCTIME", "EVENTPROCESSEDUTCTIME", "BLOBNAME"),
    "ksql": ("ROWKEY", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND"),
    "risingwave": ("_ROW_ID", "_RW_TIMESTAMP", "_RW_KAFKA_TIMESTAMP", "_RW_KAFKA_KEY"),
    "timeplus": ("_TP_SN", "_TP_DELTA", "_TP_SHARD", "_TP_APPEND_TIME", "_TP_MESSAGE_KEY"),
}
# Processors whose answers are tables that stand: the present time in one changes all of its rows.
STANDING = ("risingwave", "materialize", "feldera", "postgres")

if TYPE_CHECKING:
    from streambound.query.parse.inlining.inline import Inliner


# What a SELECT shows: names as written, names that are meant, and expressions.
Items = list[tuple[str, str, exp.Expr]]


@dataclass
class Names:
    """What names stand for in one SELECT."""

    inliner: Inliner
    sources: list[Source]
    # Names that USING makes one: of what each source calls so, the first source's is meant.
    merged: dict[str, int] = field(default_factory=dict)
    equal: list[tuple[int, int, str, exp.Expr]] = field(default_factory=list)
    within: list[tuple[exp.Expr, int]] = field(default_factory=list)
    # Of each source how it is joined to those before it, and its ON.
    sides: list[str] = field(default_factory=list)
    ons: list[list[exp.Expr]] = field(default_factory=list)
    # The query around, of whose rows a sub-query in a condition speaks.
    outer: Substitution | None = None
    # Whether its rows are the answer as they are made, each of them once.
    outermost: bool = False

    @classmethod
    def of(cls, inliner: Inliner, source: Source) -> Names:
        """The names of a SELECT from one source."""
        return cls(inliner, [source], sides=[""], ons=[[]])

    def join(self, join: exp.Join) -> None:
        """Note what USING and NATURAL say of the source that came last."""
        here = len(self.sources) - 1
        mine = self.sources[here].names
        if str(join.args.get("method") or "").upper() == "NATURAL" and mine is not None:
            before = {c.key for source in self.sources[:here] for c in source.names or ()}
            using: list[exp.Expr] = [exp.to_identifier(c.name, quoted=True) for c in mine if c.key in before]
            for name in using:
                name.meta["span"] = span_of(join)
        else:
            using = join.args.get("using") or []
        for name in using:
            key = self.inliner.key(name if isinstance(name, exp.Identifier) else name.name)
            first = self.merged.get(key)
            if first is None:
                owners = [i for i, s in enumerate(self.sources[:here]) if self._column(s, key) is not None]
                if not owners:
                    if any(source.names is None for source in self.sources):
                        continue
                    raise self._unknown(name, name.name)
                first = self.merged[key] = owners[0]
            if mine is not None and self._column(self.sources[here], key) is None:
                raise self._unknown(name, name.name)
            self.equal.append((first, here, key, name))

    def _column(self, source: Source, key: str) -> int | None:
        names = source.names or ()
        exact = [i for i, c in enumerate(names) if c.key == key]
        if exact:
            return exact[0]
        # Names of a catalog file have no quotes: their case says nothing.
        loose = [i for i, c in enumerate(names) if c.key.lower() == key.lower()]
        return loose[0] if loose else None

    def _only(self, source: Source, key: str, column: exp.Column) -> int | None:
        """The column of a source that a name is; refused where several have it, but for DuckDB: the first."""
        names = [c.key for c in source.names or ()]
        often = names.count(key) or [name.lower() for name in names].count(key.lower())
        if often > 1 and self.inliner.language.name != "duckdb":
            raise QueryError(
                f"the column {column.name} is ambiguous",
                location=location_of(column, self.inliner.text),
                accepted="names of which each is one column's",
                fix="rename one of the columns where they are made",
            )
        return self._column(source, key)

    def passes(self, select: exp.Select) -> bool:
        """Whether a SELECT shows every column of its one source."""
        (source,) = self.sources
        shown: set[int] = set()
        for item in select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if is_star(inner):
                return not any(inner.find(exp.Star).args.values())
            if isinstance(inner, exp.Column):
                column = self._column(source, self.inliner.key(inner.this))
                shown |= set() if column is None else {column}
        return len(shown) == len(source.names or ())

    def parts(self, items: Sequence[exp.Expr], where: Sequence[exp.Expr], of: tuple[Part, ...]) -> list[Part]:
        """Parts with one part in place of each source: several where a side of an outer join may be missing.

        Each shows the items in its columns, which have no names; WHERE is given as conjuncts.
        """
        made = []
        for joined in alternatives(self, self._with_elements(self._apart(of))):
            substitution = Substitution(self, joined.sides)
            conditions, partners = list(joined.conditions), list(joined.partners)
            for condition in where:
                if (query := blockers.semi_join(condition)) is not None:
                    partners += partners_of(self.inliner, condition, query, substitution, partners)
                    continue
                conditions.append(self.condition(substitution.of(condition)))
            arrival = self.time_of(joined.tables)
            more = partners or joined.latest or any(map(reads_clock, conditions))
            alone = not more and self._alone(joined.tables)
            shown = (self._at_once(substitution.of(item), arrival, alone) for item in items)
            values = tuple(map(without_missing, shown))
            kept = without_nulls(conditions)
            sought = sought_after(partners)
            if kept is None or sought is None:
                continue
            columns = tuple(Item("", "", value) for value in values)
            made.append(Part(joined.tables, tuple(kept), columns, tuple(sought), joined.latest))
        return made

    def _alone(self, tables: Sequence[exp.Table]) -> bool:
        """Whether a row is made when a tuple arrives: that of the one stream that is no static relation."""
        arriving = [r for r in map(self.inliner.relation_of, tables) if r.kind is not RelationKind.STATIC]
        return len(arriving) == 1 and arriving[0].kind is RelationKind.STREAM and arriving[0].fed is None

    def _at_once(self, node: exp.Expr, arrival: exp.Expr | None, alone: bool) -> exp.Expr:
        """What is shown, where the time at which a row is made says nothing: it is shown once, with that.

        PROCTIME() is the time at which its row arrives: rows come in the order of their timestamps. So is
        NOW() where a row is made then (``alone``). In a table that stands each row changes with the time.
        """
        stands = self.inliner.language.name in STANDING
        if self.outermost and alone and not stands and any(map(is_fresh, node.walk())):
            node = self._fresh(node)
        if not any(map(is_clock, node.walk())):
            return node
        if stands:
            return with_clock(node)

        def of(part: exp.Expr) -> exp.Expr:
            if not is_clock(part):
                return part
            arrives = isinstance(part, exp.Anonymous) and str(part.this).upper() == "PROCTIME"
            if (arrives or alone) and arrival is not None:
                return at_location(arrival, part)
            self.inliner.made_at.append(part)
            return exp.Literal.string(blockers.words(part, self.inliner.text))

        made: exp.Expr = exp.Paren(this=node.copy()).transform(of).this
        while isinstance(made, (exp.Cast, exp.Paren)) and not made.find(exp.Column):
            made = made.this
        return made

    def _fresh(self, node: exp.Expr) -> exp.Expr:
        """What is shown, with a constant for what has another value for each row: it is told once."""

        def of(part: exp.Expr) -> exp.Expr:
            if not is_fresh(part):
                return part
            self.inliner.fresh.append(part)
            return exp.Literal.string(blockers.words(part, self.inliner.text))

        made: exp.Expr = exp.Paren(this=node.copy()).transform(of).this
        return made if made.find(exp.Column) else exp.Literal.string(blockers.words(node, self.inliner.text))

    def _with_elements(self, parts: list[Part]) -> list[Part]:
        """The parts with the elements of UNNEST and its like as what they are of those before them."""
        for number, source in enumerate(self.sources):
            if source.elements:
                substitution = Substitution(self, parts)
                columns = tuple(replace(c, value=substitution.of(c.value)) for c in parts[number].columns)
                parts = [*parts[:number], replace(parts[number], columns=columns), *parts[number + 1 :]]
        return parts

    def condition(self, node: exp.Expr) -> exp.Expr:
        """A condition over streams, its differences of time as comparisons, the present time as the clock."""
        return plain(with_clock(node), self.inliner.language.name, self.inliner.relaxed)

    def using(self, number: int, sides: Sequence[Part]) -> Iterator[exp.Expr]:
        """What USING and NATURAL say of a source and those before it."""
        for first, second, key, name in self.equal:
            if second != number:
                continue
            ends = []
            for at_source in (first, second):
                at = self._column(self.sources[at_source], key)
                assert at is not None
                ends.append(at_location(sides[at_source].columns[at].value, name))
            same = exp.EQ(this=ends[0], expression=ends[1])
            same.meta["span"] = span_of(name)
            yield same

    def knows(self, column: exp.Column) -> bool:
        """Whether a name is that of a column in FROM."""
        try:
            return self.resolve(column) is not None
        except QueryError as error:
            return "ambiguous" in error.message

    def canonical(self, node: exp.Expr) -> str:
        """What two mentions of one expression have in common."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if isinstance(column.this, exp.Star) or is_word(column) or not self.knows(column):
                continue
            at = self.resolve(column)
            assert at is not None
            column.replace(column_of(f"#{at[0]}", str(at[1])))
        made = root.this.unnest()
        text: str = made.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE, comments=False)
        return text if isinstance(made, exp.Literal) else _folded(text)

    def owner(self, column: exp.Column) -> frozenset[str]:
        """Of which tuples a column is: one, but where a sub-query computed it from several."""
        at = self.resolve(column) if self.knows(column) else None
        if at is None:
            return frozenset()
        node = self.sources[at[0]].parts[0].columns[at[1]].value
        return frozenset(f"{at[0]}.{c.table}" for c in node.find_all(exp.Column) if not is_word(c))

    def computed(self, column: exp.Column) -> exp.Expr:
        """What a sub-query computes a column of."""
        at = self.resolve(column)
        assert at is not None
        node: exp.Expr = self.sources[at[0]].parts[0].columns[at[1]].value
        return node

    def bases(self, column: exp.Column) -> Iterator[exp.Expr]:
        """A column itself; in place of one that a sub-query computed from several tuples what it is over."""
        at = self.resolve(column)
        assert at is not None
        source = self.sources[at[0]]
        if len(self.owner(column)) < 2 or len(source.parts) > 1:
            yield column.copy()
            return
        (part,) = source.parts
        for base in part.columns[at[1]].value.find_all(exp.Column):
            if is_word(base):
                continue
            numbers = [n for n, item in enumerate(part.columns) if item.value == base]
            if not numbers:
                part = replace(part, columns=(*part.columns, Item("", "#base", base.copy())))
                blocks = (replace(source.blocks[0], parts=(part,)),)
                source = self.sources[at[0]] = replace(source, blocks=blocks)
                numbers = [len(part.columns) - 1]
            yield _numbered(at[0], numbers[0], column)

    def stamp(self, node: exp.Expr) -> exp.Expr:
        """The application timestamp that windows are of where none is named: that of the first source.

        Raises:
            QueryError: it has none.
        """
        for number in range(len(self.sources)):
            if (column := self._stamp_of(number)) is not None:
                return column
        raise QueryError(
            f"{blockers.words(node, self.inliner.text)} is of time, and no stream in FROM has a timestamp",
            location=location_of(node, self.inliner.text),
            fix="declare timestamp of the stream in the catalog",
        )

    def stamp_named(self, source: Source, node: exp.Expr) -> exp.Expr:
        """The application timestamp of the rows of a source.

        Raises:
            QueryError: it has none.
        """
        column = self._stamp_of(self.sources.index(source))
        if column is None:
            raise QueryError(
                f"{blockers.words(node, self.inliner.text)} needs the timestamp of {source.key}",
                location=location_of(node, self.inliner.text),
                fix=f"declare timestamp of {source.key} in the catalog",
            )
        return column

    def _stamp_of(self, number: int) -> exp.Column | None:
        """The application timestamp of the rows of a source, if it shows that."""
        source = self.sources[number]
        for table in source.parts[0].tables[:1] if source.parts else ():
            name = self.inliner.relation_of(table).timestamp
            at = None if name is None else self._column(source, self.inliner.key(name))
            if at is None and name is not None:
                at = self._shows(source, table, name)
            if at is None and name is not None and self.inliner.language.name in STAMPS:
                at = self._kept(number)
            if at is not None:
                return column_of(f"#{number}", str(at))
        return None

    def session_of(self, node: exp.Expr) -> Window | None:
        """The sessions whose start or end a column is, where FROM puts rows into sessions."""
        at = self.resolve(node) if isinstance(node, exp.Column) and self.knows(node) else None
        value = None if at is None else self.sources[at[0]].parts[0].columns[at[1]].value
        if isinstance(value, exp.Anonymous) and str(value.this) in SESSIONS:
            gap, *longest = (int(given.name) for given in value.expressions[1:])
            stamp = None if at is None else self._stamp_of(at[0])
            keys = value.meta.get(PARTITIONED)
            return Window("SESSION", stamp, gap, node, longest=longest[0] if longest else None, keys=keys)
        return None

    def edge(self, window: Window, end: bool, node: exp.Expr) -> exp.Expr:
        """The start or end of a window, of the timestamp that it names or of the stream's own."""
        return window.value(end, node, window.stamp if window.stamp is not None else self.stamp(window.node))

    def is_stamp(self, node: exp.Expr) -> bool:
        """Whether a name is that of an application timestamp."""
        at = self.resolve(node) if isinstance(node, exp.Column) and self.knows(node) else None
        if at is None:
            return False
        part = self.sources[at[0]].parts[0]
        value = part.columns[at[1]].value
        return isinstance(value, exp.Column) and self._names_time(part, value, buckets=False)

    def of_time(self, column: exp.Column) -> bool:
        """Whether a column is computed of an application timestamp, or of a bucket of one."""
        at = self.resolve(column) if self.knows(column) else None
        return at is not None and any(
            self._names_time(part, c, buckets=True)
            for part in self.sources[at[0]].parts
            for c in part.columns[at[1]].value.find_all(exp.Column)
        )

    def _names_time(self, part: Part, column: exp.Column, buckets: bool) -> bool:
        owners = (table for table in part.tables if table.args["alias"].name == column.table)
        return any(
            relation.timestamp == column.name
            or (buckets and any(c.name == column.name and c.bucket is not None for c in relation.columns))
            for relation in map(self.inliner.relation_of, owners)
        )

    def nullable(self, node: exp.Expr) -> bool:
        """Whether an expression may be NULL; of a column its relation tells."""
        if self.is_stamp(node):
            return False
        at = self.resolve(node) if isinstance(node, exp.Column) and self.knows(node) else None
        if at is None or any(side.startswith(("LEFT", "RIGHT", "FULL", "ASOF")) for side in self.sides):
            return True
        for part in self.sources[at[0]].parts:
            value = part.columns[at[1]].value
            if not isinstance(value, exp.Column):
                return True
            column = self.inliner.column_of(value)
            if column is None or (column.nullable and not self.inliner.is_timestamp(value)):
                return True
        return False

    def _shows(self, source: Source, table: exp.Table, name: str) -> int | None:
        """Which column of a source is the timestamp of its stream, under another name."""
        wanted = (table.args["alias"].name, name)
        for number, item in enumerate(source.parts[0].columns):
            value = item.value
            if isinstance(value, exp.Column) and (value.table, value.name) == wanted:
                return number
        return None

    def _kept(self, number: int) -> int | None:
        """A column for the time of a sub-query's rows, which they keep where each stream has one."""
        source = self.sources[number]
        if any(rows.done is not None or rows.distinct for rows in source.blocks):
            return None
        stamps = [self.time_of(part.tables[:1]) for part in source.parts]
        widths = {len(part.columns) for part in source.parts}
        if any(stamp is None for stamp in stamps) or len(widths) != 1:
            return None
        blocks = tuple(
            replace(rows, parts=tuple(replace(p, columns=(*p.columns, self._stamped(p))) for p in rows.parts))
            for rows in source.blocks
        )
        self.sources[number] = replace(source, blocks=blocks)
        return widths.pop()

    def _stamped(self, part: Part) -> Item:
        node = self.time_of(part.tables[:1])
        assert node is not None
        return Item("", "#time", node)

    def time_of(self, tables: Sequence[exp.Table]) -> exp.Expr | None:
        """The application timestamp of the first table that has one."""
        for table in tables:
            name = self.inliner.relation_of(table).timestamp
            if name is not None:
                return column_of(table.args["alias"].name, name)
        return None

    def is_time(self, node: exp.Expr) -> bool:
        """Whether an expression over streams is an application timestamp, or one and an offset."""
        columns = list(node.find_all(exp.Column))
        return len(columns) == 1 and self.inliner.is_timestamp(columns[0])

    def window_part(self, node: exp.Expr, windows: Sequence[Window]) -> tuple[Window, bool] | None:
        """A start or an end of one of these windows, as processors write them; whether it is the end."""
        if windows and is_system_time(node):
            return windows[0], True
        if isinstance(node, exp.Dot) and isinstance(node.this, exp.Expr):
            name = node.expression.name.upper() if not isinstance(node.expression, exp.Anonymous) else ""
            if isinstance(node.expression, exp.Anonymous):
                name = str(node.expression.this).upper()
            inner = self.window_part(node.this, windows)
            return None if inner is None or name not in ("START", "END") else (inner[0], name == "END")
        if isinstance(node, exp.Column) and not self.knows(node):
            owner, name = node.table.upper(), node.name.upper()
            if (
                windows
                and not owner
                and name in ("WINDOW_START", "WINDOWSTART", "WSTART", "WINDOW", "WINDOW_END")
            ):
                return windows[0], name == "WINDOW_END"
            if windows and not owner and name in ("WINDOWEND", "WEND", "WINDOW_TIME"):
                return windows[0], True
            if windows and owner in ("WINDOW", "SESSION_WINDOW") and name in ("START", "END"):
                return windows[0], name == "END"
            return None
        if (called := part_called(node)) is not None:
            named = [window for window in windows if window.session == called[0].session]
            return None if not named else (named[0], called[1])
        if (window := called_window(node)) is not None:
            same = [w for w in windows if w.size == window.size and w.session == window.session]
            return (same[0], False) if same else None
        return None

    def near(self, number: int, sides: Sequence[Part]) -> Iterator[exp.Expr]:
        """What WITHIN says at a source of the times of the join's sides."""
        for table, after in self.within:
            if after == number + 1:
                yield from self._near(table, list(sides[:number]), sides[number])

    def _near(self, table: exp.Expr, left: list[Part], right: Part) -> Iterable[exp.Expr]:
        """What WITHIN says of the timestamps of a join's sides: that of several rows is their latest."""
        sides: list[list[exp.Expr]] = []
        for parts in (left, [right]):
            tables = [table for part in parts for table in part.tables]
            stamps = [(table, self.inliner.relation_of(table).timestamp) for table in tables]
            sides.append([column_of(table.args["alias"].name, stamp) for table, stamp in stamps if stamp])
            if not sides[-1]:
                raise QueryError(
                    f"WITHIN needs the timestamp of {tables[-1].name}",
                    location=location_of(table, self.inliner.text),
                    fix=f"declare timestamp of {tables[-1].name} in the catalog",
                )
        before, after = (microseconds(span) for span in table.meta[WITHIN])
        if before is None or after is None:
            raise QueryError(
                "WITHIN has no length of time",
                location=location_of(table, self.inliner.text),
                accepted="WITHIN 10 MINUTES; DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS",
            )
        yield from band(sides[0], sides[1], before, after)

    def _apart(self, of: tuple[Part, ...]) -> list[Part]:
        """The parts, with their streams under names of their own."""
        # What stands in FROM itself keeps its name, but where a query around has it; of two that differ in
        # case the first.
        taken = set[str]() if self.outer is None else set(self.outer.names())
        kept = []
        for source, part in zip(self.sources, of, strict=True):
            kept.append(goes_by(part, source.key) and source.key.lower() not in taken)
            taken |= {source.key.lower()} if kept[-1] else set()
        made = []
        for source, part, direct in zip(self.sources, of, kept, strict=True):
            around = source.key if not source.key.startswith("#") else "t"
            made.append(part if direct else apart(part, taken, around))
        self.inliner.note(made)
        return made

    def items(self, select: exp.Select) -> Items:
        """What a SELECT shows: the name as written, the name that is meant, and the expression."""
        made: Items = []
        for item in select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if is_star(inner):
                made += self._star(inner)
            elif isinstance(item, exp.Alias):
                alias = item.args["alias"]
                made.append((alias.name, self.inliner.key(alias), inner))
            else:
                name = inner.this if isinstance(inner, exp.Column) else None
                key = self.inliner.key(name) if isinstance(name, exp.Identifier) else inner.name
                made.append((inner.name, key, inner))
        return made

    def aliased(self, node: exp.Expr, items: Items) -> exp.Expr:
        """An expression with the names that SELECT gives resolved."""
        aliases = {key: item for _, key, item in items}

        def of(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and not part.args.get("table") and not self.knows(part):
                return aliases.get(self.inliner.key(part.this), part).copy()
            return part

        return exp.Paren(this=node.copy()).transform(of)

    def _star(self, star: exp.Expr) -> Iterator[tuple[str, str, exp.Expr]]:
        owner = star.args.get("table") if isinstance(star, exp.Column) else None
        words = star if isinstance(star, exp.Star) else star.this
        left_out = {self.inliner.key(name_in(e)) for e in words.args.get("except_") or ()}
        replaced = [e for e in words.args.get("replace") or () if isinstance(e, exp.Alias)]
        instead = {self.inliner.key(e.args["alias"]): e.this for e in replaced}
        if words.args.get("rename"):
            self.inliner.refuse("* RENAME", star)
        chosen = list(range(len(self.sources)))
        if owner is not None:
            chosen = [i for i in chosen if self.sources[i].key == self.inliner.key(owner)]
            if not chosen:
                raise self._unknown_owner(owner)
        elif not self._in_place():
            for key, first in self.merged.items():
                at = self._column(self.sources[first], key)
                assert at is not None
                item = (self.sources[first].names or ())[at]
                yield item.name, item.key, _numbered(first, at, star)
        for number in chosen:
            source = self.sources[number]
            if self.sides[number] in ("SEMI", "ANTI"):
                continue
            for at, item in enumerate(source.names or ()):
                of = [first for key, first in self.merged.items() if self._same(item, key)]
                if owner is None and of and not (self._in_place() and number in of):
                    continue
                if item.key in left_out or item.path:
                    continue
                shown = instead.get(item.key)
                yield item.name, item.key, _numbered(number, at, star) if shown is None else shown

    def _in_place(self) -> bool:
        """Whether a column that USING merges stays where the first table has it; elsewhere it comes first."""
        return self.inliner.language.name in ("duckdb", "timeplus")

    def _same(self, column: Item, key: str) -> bool:
        return column.key.lower() == key.lower()

    def is_window(self, node: exp.Expr) -> bool:
        """Whether what a column stands for is the start of a window, or a bucket of a stream's timestamp."""
        if isinstance(node, exp.Column):
            column = self.inliner.column_of(node)
            return column is not None and (column.bucket is not None or self.inliner.is_timestamp(node))
        return isinstance(node, exp.Anonymous) and str(node.this) in (START, END)

    def _unknown(self, node: exp.Expr, name: str) -> QueryError:
        if name.upper() in PSEUDO.get(self.inliner.language.name, ()):
            return blockers.blocker(f"the pseudo-column {name.upper()}", node, self.inliner.text)
        columns = sorted({c.name for source in self.sources for c in source.names or ()})
        location = location_of(node, self.inliner.text)
        return unknown_column(
            f"no stream in FROM has a column {name}", name, location, columns, meant(name, columns)
        )

    def _unknown_owner(self, owner: exp.Expr) -> QueryError:
        if owner.name.upper() in PSEUDO.get(self.inliner.language.name, ()):
            return blockers.blocker(f"the pseudo-column {owner.name.upper()}", owner, self.inliner.text)
        keys = [source.key for source in self.sources if not source.key.startswith("#")]
        return QueryError(
            f"unknown stream or alias {owner.name}",
            location=location_of(owner, self.inliner.text),
            accepted=", ".join(keys),
            fix=meant(owner.name, keys),
        )

    def resolve(self, column: exp.Column) -> tuple[int, int] | None:
        """Which column of which source a name is; None if it is none of theirs.

        Raises:
            QueryError: a name that several have, or an alias that is not in FROM.
        """
        key = self.inliner.key(column.this)
        if column.table.startswith("#") and column.table[1:].isdigit():
            return int(column.table[1:]), int(column.name)
        if owner := column.args.get("table"):
            wanted = self.inliner.key(owner)
            of = [i for i, s in enumerate(self.sources) if s.key == wanted]
            of = of or [i for i, s in enumerate(self.sources) if s.key.lower() == wanted.lower()]
            if not of:
                if self._nested(owner):
                    return None
                raise self._unknown_owner(owner)
            at = self._only(self.sources[of[0]], key, column)
            if at is None:
                at = self._pseudo(self.sources[of[0]], key)
            if at is None and not self.is_element(owner):
                names = [c.name for c in self.sources[of[0]].names or ()]
                message, location = (
                    f"{owner.name} has no column {column.name}",
                    location_of(column, self.inliner.text),
                )
                raise unknown_column(message, column.name, location, names, meant(column.name, names))
            return None if at is None else (of[0], at)
        sources = enumerate(self.sources)
        candidates = [(i, at) for i, s in sources if (at := self._only(s, key, column)) is not None]
        if not candidates:
            candidates = [
                (i, at) for i, s in enumerate(self.sources) if (at := self._pseudo(s, key)) is not None
            ]
        if key in self.merged:
            candidates = [pair for pair in candidates if pair[0] == self.merged[key]]
        if len(candidates) > 1:
            # What SEMI and ANTI look at is not shown.
            candidates = [
                pair for pair in candidates if self.sides[pair[0]] not in ("SEMI", "ANTI")
            ] or candidates
        if len(candidates) > 1:
            owners = [self.sources[i].key for i, _ in candidates]
            raise QueryError(
                f"the column {column.name} is ambiguous",
                location=location_of(column, self.inliner.text),
                accepted=" or ".join(f"{owner}.{column.name}" for owner in owners),
                fix=f"write {owners[0]}.{column.name}",
            )
        return candidates[0] if candidates else None

    def _pseudo(self, source: Source, key: str) -> int | None:
        """ksqlDB's ROWTIME and ROWKEY, Timeplus' _tp_time: the timestamp or the key under another name."""
        language = self.inliner.language.name
        of_key = language == "ksql" and key == ROWKEY
        if not of_key and key != STAMPS.get(language):
            return None
        if not isinstance(source.node, exp.Table) or len(source.parts) != 1:
            return None
        relation = self.inliner.relation_of(source.parts[0].tables[0])
        stamp = relation.timestamp
        if of_key:
            stamp = relation.primary_key[0] if len(relation.primary_key) == 1 else None
        return None if stamp is None else self._column(source, self.inliner.key(stamp))

    def _nested(self, owner: exp.Expr) -> bool:
        """Whether what looks like an alias is a column: then what follows the dot lies within it."""
        key = self.inliner.key(owner)
        return any(self._column(source, key) is not None for source in self.sources)

    def is_within(self, column: exp.Column) -> bool:
        """Whether a name with a dot means what lies within a column."""
        owner = column.args.get("table")
        return owner is not None and (self._nested(owner) or self.is_element(owner))

    def is_element(self, owner: exp.Expr) -> bool:
        """Whether an alias is that of a table of elements: UNNEST and its like."""
        key = self.inliner.key(owner)
        return any(s.key.lower() == key.lower() and s.elements for s in self.sources)

    def stamp_of(self, key: str, parts: list[Part]) -> exp.Expr | None:
        """Azure: in DATEDIFF the name of a source stands for its timestamp."""
        for source, part in zip(self.sources, parts, strict=True):
            if source.key.lower() == key.lower() and self.inliner.language.name == "azure" and part.tables:
                stamp = self.inliner.relation_of(part.tables[0]).timestamp
                items = [column for column in part.columns if column.name == stamp]
                return items[0].value if items else None
        return None

    def unknown(self, column: exp.Column) -> QueryError:
        """The error of a name that nothing in FROM has."""
        return self._unknown(column, column.name)


def _numbered(source: int, column: int, star: exp.Expr) -> exp.Expr:
    made = column_of(f"#{source}", str(column))
    if (span := span_of(star)) is not None:
        for part in made.find_all(exp.Identifier):
            part.meta.update(start=span[0], end=span[1] - 1)
        made.meta["span"] = span
    return made


def _folded(text: str) -> str:
    """An expression's text with its words, but not its strings, in lower case."""
    return "'".join(part if number % 2 else part.lower() for number, part in enumerate(text.split("'")))
