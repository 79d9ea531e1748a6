"""What names stand for in one SELECT, in terms of the streams of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from streambound.errors import QueryError, meant
from streambound.query import blockers
from streambound.query.clock import with_clock
from streambound.query.declared import STAMPS
from streambound.query.dialects.grammar import WITHIN, span_of
from streambound.query.differences import band, microseconds, plain
from streambound.query.parts import (
    Item,
    Part,
    Source,
    at_place,
    column_of,
    goes_by,
    is_star,
    name_in,
    with_names,
)
from streambound.query.scope import is_word, place_of

if TYPE_CHECKING:
    from streambound.query.inline import Inliner


@dataclass
class Names:
    """What names stand for in one SELECT."""

    inliner: Inliner
    sources: list[Source]
    # Names that USING makes one: of what each source calls so, the first source's is meant.
    merged: dict[str, int] = field(default_factory=dict)
    equal: list[tuple[int, int, str, exp.Expr]] = field(default_factory=list)
    within: list[tuple[exp.Expr, int]] = field(default_factory=list)

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

    def passes(self, select: exp.Select) -> bool:
        """Whether a SELECT shows every column of its one source."""
        (source,) = self.sources
        shown: set[int] = set()
        for item in select.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if is_star(inner):
                return not any(inner.find(exp.Star).args.values())
            if isinstance(inner, exp.Column):
                found = self._column(source, self.inliner.key(inner.this))
                shown |= set() if found is None else {found}
        return len(shown) == len(source.names or ())

    def part(self, select: exp.Select, conditions: list[exp.Expr], of: tuple[Part, ...]) -> Part:
        """The SELECT with one part in place of each source."""
        tables = self._apart(of)
        found = Substitution(self, tables)
        made = [condition for part in tables for condition in part.conditions]
        for first, second, key, name in self.equal:
            sides = []
            for number in (first, second):
                at = self._column(self.sources[number], key)
                assert at is not None
                sides.append(at_place(tables[number].columns[at].value, name))
            same = exp.EQ(this=sides[0], expression=sides[1])
            same.meta["span"] = span_of(name)
            made.append(same)
        made += [self._plain(with_clock(found.of(condition))) for condition in conditions]
        for table, number in self.within:
            made += self._within(table, tables[: number - 1], tables[number - 1])
        columns: list[Item] = []
        for item in select.expressions:
            columns += self._outputs(item, tables, found)
        return Part(tuple(t for part in tables for t in part.tables), tuple(made), tuple(columns))

    def _plain(self, condition: exp.Expr) -> exp.Expr:
        return plain(condition, self.inliner.language.name, self.inliner.relaxed)

    def _within(self, table: exp.Expr, left: list[Part], right: Part) -> Iterable[exp.Expr]:
        """What WITHIN says of the timestamps of a join's sides: that of several rows is their latest."""
        sides: list[list[exp.Expr]] = []
        for parts in (left, [right]):
            tables = [one for part in parts for one in part.tables]
            stamps = [(one, self.inliner.relation_of(one).timestamp) for one in tables]
            sides.append([column_of(one.args["alias"].name, stamp) for one, stamp in stamps if stamp])
            if not sides[-1]:
                raise QueryError(
                    f"WITHIN needs the timestamp of {tables[-1].name}",
                    place=place_of(table, self.inliner.text),
                    fix=f"declare timestamp of {tables[-1].name} in the catalog",
                )
        before, after = (microseconds(span) for span in table.meta[WITHIN])
        if before is None or after is None:
            raise QueryError(
                "WITHIN has no length of time",
                place=place_of(table, self.inliner.text),
                accepted="WITHIN 10 MINUTES; DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS",
            )
        yield from band(sides[0], sides[1], before, after)

    def _apart(self, of: tuple[Part, ...]) -> list[Part]:
        """The parts, with their streams under names of their own."""
        # What stands in FROM itself keeps its name.
        kept = [goes_by(part, source.key) for source, part in zip(self.sources, of, strict=True)]
        taken = {source.key.lower() for source, keeps in zip(self.sources, kept, strict=True) if keeps}
        made = []
        for source, part, direct in zip(self.sources, of, kept, strict=True):
            renamed: dict[str, str] = {}
            for table in part.tables:
                name = table.args["alias"].name
                if direct or name.lower() not in taken:
                    taken.add(name.lower())
                    continue
                around = source.key if not source.key.startswith("#") else "t"
                number, free = 2, f"{around}_{name}"
                while free.lower() in taken:
                    number, free = number + 1, f"{around}_{name}{number}"
                taken.add(free.lower())
                renamed[name] = free
            made.append(with_names(part, renamed))
        return made

    def _outputs(self, item: exp.Expr, parts: list[Part], found: Substitution) -> Iterator[Item]:
        inner = item.this if isinstance(item, exp.Alias) else item
        if is_star(inner):
            yield from self._star(inner, parts, found)
            return
        value = found.of(inner)
        if isinstance(item, exp.Alias):
            alias = item.args["alias"]
            column = Item(alias.name, self.inliner.key(alias), value)
        else:
            name = inner.this if isinstance(inner, exp.Column) else None
            key = self.inliner.key(name) if isinstance(name, exp.Identifier) else inner.name
            column = Item(inner.name, key, value)
        found.earlier[column.key] = value
        yield column

    def _star(self, star: exp.Expr, parts: list[Part], found: Substitution) -> Iterator[Item]:
        owner = star.args.get("table") if isinstance(star, exp.Column) else None
        words = star if isinstance(star, exp.Star) else star.this
        left_out = {self.inliner.key(name_in(e)) for e in words.args.get("except_") or ()}
        replaced = [e for e in words.args.get("replace") or () if isinstance(e, exp.Alias)]
        instead = {self.inliner.key(e.args["alias"]): e.this for e in replaced}
        if words.args.get("rename"):
            self.inliner.refuse(blockers.blocker("* RENAME", star, self.inliner.text))
        chosen = list(range(len(self.sources)))
        if owner is not None:
            chosen = [i for i in chosen if self.sources[i].key == self.inliner.key(owner)]
            if not chosen:
                raise self._unknown_owner(owner)
        elif not self._in_place():
            for key, first in self.merged.items():
                at = self._column(self.sources[first], key)
                assert at is not None
                yield self._shown(parts[first].columns[at], star)
        for number in chosen:
            source = self.sources[number]
            if isinstance(source.node, exp.Table) and source.blocks[0].parts[0].tables:
                self._refuse_opaque(source, star)
            for column in parts[number].columns:
                of = [first for key, first in self.merged.items() if self._same(column, key)]
                if owner is None and of and not (self._in_place() and number in of):
                    continue
                if column.key in left_out:
                    continue
                if column.key in instead:
                    column = replace(column, value=found.of(instead[column.key]))
                yield self._shown(column, star)

    def _in_place(self) -> bool:
        """Whether a column that USING merges stays where the first table has it; elsewhere it comes first."""
        return self.inliner.language.name in ("duckdb", "timeplus")

    def _same(self, column: Item, key: str) -> bool:
        return column.key.lower() == key.lower()

    def _refuse_opaque(self, source: Source, star: exp.Expr) -> None:
        for table in source.blocks[0].parts[0].tables:
            for name, kind in self.inliner.relation_of(table).opaque:
                message = f"* has the column {name}, whose type {kind} is not supported yet"
                if kind.startswith("computed("):
                    message = f"* has the column {name}, which is computed: this is not supported yet"
                self.inliner.refuse(
                    blockers.blocker(f"a column of type {kind}", star, self.inliner.text, message)
                )

    def _shown(self, column: Item, star: exp.Expr) -> Item:
        return replace(column, value=at_place(column.value, star))

    def _unknown(self, node: exp.Expr, name: str) -> QueryError:
        known = sorted({c.name for source in self.sources for c in source.names or ()})
        return QueryError(
            f"no stream in FROM has a column {name}",
            place=place_of(node, self.inliner.text),
            accepted=", ".join(known),
            fix=meant(name, known),
        )

    def _unknown_owner(self, owner: exp.Expr) -> QueryError:
        known = [source.key for source in self.sources if not source.key.startswith("#")]
        return QueryError(
            f"unknown stream or alias {owner.name}",
            place=place_of(owner, self.inliner.text),
            accepted=", ".join(known),
            fix=meant(owner.name, known),
        )

    def resolve(self, column: exp.Column) -> tuple[int, int] | None:
        """Which column of which source a name is; None if it is none of theirs.

        Raises:
            QueryError: a name that several have, or an alias that is not in FROM.
        """
        key = self.inliner.key(column.this)
        if owner := column.args.get("table"):
            wanted = self.inliner.key(owner)
            of = [i for i, s in enumerate(self.sources) if s.key == wanted or s.key.lower() == wanted.lower()]
            if not of:
                if self._nested(owner):
                    return None
                raise self._unknown_owner(owner)
            at = self._column(self.sources[of[0]], key)
            if at is None:
                at = self._pseudo(self.sources[of[0]], key)
            if at is None and not self._opaque(self.sources[of[0]], column):
                names = [c.name for c in self.sources[of[0]].names or ()]
                raise QueryError(
                    f"{owner.name} has no column {column.name}",
                    place=place_of(column, self.inliner.text),
                    accepted=", ".join(names),
                    fix=meant(column.name, names),
                )
            return None if at is None else (of[0], at)
        found = [(i, at) for i, s in enumerate(self.sources) if (at := self._column(s, key)) is not None]
        if not found:
            found = [(i, at) for i, s in enumerate(self.sources) if (at := self._pseudo(s, key)) is not None]
        if key in self.merged:
            found = [pair for pair in found if pair[0] == self.merged[key]]
        if len(found) > 1:
            owners = [self.sources[i].key for i, _ in found]
            raise QueryError(
                f"the column {column.name} is ambiguous",
                place=place_of(column, self.inliner.text),
                accepted=" or ".join(f"{owner}.{column.name}" for owner in owners),
                fix=f"write {owners[0]}.{column.name}",
            )
        return found[0] if found else None

    def _pseudo(self, source: Source, key: str) -> int | None:
        """ksqlDB's ROWTIME and Timeplus' _tp_time: the application timestamp under another name."""
        name = STAMPS.get(self.inliner.language.name)
        if key != name or not isinstance(source.node, exp.Table) or len(source.parts) != 1:
            return None
        stamp = self.inliner.relation_of(source.parts[0].tables[0]).timestamp
        return None if stamp is None else self._column(source, self.inliner.key(stamp))

    def _nested(self, owner: exp.Expr) -> bool:
        """Whether what looks like an alias is a column: then what follows the dot lies within it."""
        key = self.inliner.key(owner)
        if any(self._column(source, key) is not None for source in self.sources):
            return True
        return any(self._opaque(source, exp.column(owner.copy())) for source in self.sources)

    def _opaque(self, source: Source, column: exp.Column) -> bool:
        """Whether a column has a type that is not supported; if so it is refused."""
        for part in source.parts[:1] if isinstance(source.node, exp.Table) else ():
            for table in part.tables:
                for name, _ in self.inliner.relation_of(table).opaque:
                    if name.lower() == column.name.lower():
                        return True
        return False

    def computed(self, column: exp.Column) -> bool:
        """Whether a name is that of a column that its declaration computes."""
        tables = [table for source in self.sources for part in source.parts[:1] for table in part.tables]
        kinds = [pair for table in tables for pair in self.inliner.relation_of(table).opaque]
        return any(n.lower() == column.name.lower() and kind.startswith("computed(") for n, kind in kinds)

    def stamp_of(self, key: str, parts: list[Part]) -> exp.Expr | None:
        """Azure: in DATEDIFF the name of a source stands for its timestamp."""
        for source, part in zip(self.sources, parts, strict=True):
            if source.key.lower() == key.lower() and self.inliner.language.name == "azure" and part.tables:
                stamp = self.inliner.relation_of(part.tables[0]).timestamp
                found = [column for column in part.columns if column.name == stamp]
                return found[0].value if found else None
        return None

    def opaque(self, column: exp.Column) -> bool:
        """Whether a name is that of a column whose type is not supported, or of what lies within one."""
        owner = column.args.get("table")
        return any(self._opaque(source, column) for source in self.sources) or (
            owner is not None and self._nested(owner)
        )

    def unknown(self, column: exp.Column) -> QueryError:
        """The error of a name that nothing in FROM has."""
        return self._unknown(column, column.name)


@dataclass
class Substitution:
    """Expressions of a SELECT in terms of the streams of its parts."""

    scope: Names
    parts: list[Part]
    # Outputs of the same SELECT that have been named before.
    earlier: dict[str, exp.Expr] = field(default_factory=dict)

    def of(self, node: exp.Expr) -> exp.Expr:
        """A copy of an expression without names of views."""
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            if column.find_ancestor(exp.Query) is not None or isinstance(column.this, exp.Star):
                continue
            column.replace(self._value(column))
        made: exp.Expr = root.this
        made.pop()
        return made

    def _value(self, column: exp.Column) -> exp.Expr:
        at = self.scope.resolve(column)
        if at is not None:
            return at_place(self.parts[at[0]].columns[at[1]].value, column)
        key = self.scope.inliner.key(column.this)
        if not column.args.get("table") and key in self.earlier:
            return at_place(self.earlier[key], column)
        if self.scope.opaque(column):
            text = self.scope.inliner.text
            what = "nested data" if column.args.get("table") else "a column of nested data"
            what = "a computed column" if self.scope.computed(column) else what
            self.scope.inliner.refuse(
                blockers.blocker(what, column, text, f"{column.sql()}: {what} is not supported yet")
            )
            return exp.Null()
        if is_word(column):
            return column
        if column.find_ancestor(exp.DateDiff) and (stamp := self.scope.stamp_of(key, self.parts)) is not None:
            return at_place(stamp, column)
        raise self.scope.unknown(column)
