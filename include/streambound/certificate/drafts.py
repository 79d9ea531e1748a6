"""A query under edit: the user's own SQL as a tree, changed in one place at a time.

Each edit changes the tree and, once the text is asked for, is written into it as well (``splices``). If the
text then reads as the edited tree, it is the draft's SQL: layout, comments and metadata are the user's. If
it does not, the tree is printed by sqlglot (Spark dialect) below the comments that stood above the statement.
A draft in another dialect is text alone: whoever made it decides it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from streambound.certificate.splices import Member, Splice, members, partition, spliced, within
from streambound.certificate.wording import Spot, Wording, is_word, typed_as_written
from streambound.errors import QueryError
from streambound.query.dialects.languages import SPARK
from streambound.query.dialects.tokens import tokens, trees


@dataclass(frozen=True)
class Draft:
    """A SELECT statement, or a union of them; every edit returns a new draft.

    ``write`` gives the text, which most drafts are never asked for. Without a ``tree`` the text is in the
    dialect of ``wording``.
    """

    tree: exp.Query | None
    write: Callable[[], str]
    wording: Wording = field(default_factory=lambda: Wording(SPARK))

    @classmethod
    def of(cls, sql: str) -> Draft | None:
        """The draft of a text that the front end has read; None of one that is no statement of Spark SQL."""
        tree = _tree(sql)
        return None if tree is None else cls(tree, lambda: sql)

    @cached_property
    def sql(self) -> str:
        """The text as the user would have written it."""
        return self.write()

    @cached_property
    def plain(self) -> str:
        """A text that means the same; for a union, whose SELECTs are told by their places, the user's."""
        return self.tree.sql(dialect="spark") if isinstance(self.tree, exp.Select) else self.sql

    @property
    def distinct(self) -> bool | None:
        """Whether a single SELECT eliminates duplicates; None for a union."""
        return bool(self.tree.args.get("distinct")) if isinstance(self.tree, exp.Select) else None

    @property
    def grouped(self) -> bool:
        """Whether a single SELECT has groups."""
        if not isinstance(self.tree, exp.Select):
            return False
        return self.tree.args.get("group") is not None or any(
            isinstance(node, exp.AggFunc) and not node.find_ancestor(exp.Window) for node in self._shown()
        )

    def _shown(self) -> Iterator[exp.Expr]:
        for item in self.tree.selects if isinstance(self.tree, exp.Select) else ():
            yield from item.walk()

    def with_key(self, key: str) -> Draft:
        """The draft with a further key of GROUP BY, the last one."""
        (added,) = trees(key)

        addition = self.wording.addition(key)

        def write(member: Member) -> list[Splice]:
            if addition.spot is Spot.AFTER_FROM:
                return member.clause(addition.text, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)
            return member.key(addition.text)

        def change(select: exp.Select) -> None:
            group = select.args.get("group") or exp.Group()
            group.append("expressions", added.copy())
            select.set("group", group)

        return self._edited(change, write)

    @property
    def ranked(self) -> bool:
        """Whether one PARTITION BY is all there is of such clauses."""
        return self.tree is not None and len(list(_partitioned(self.tree))) == 1

    def with_partition(self, key: str) -> Draft:
        """The draft with a further key of the only PARTITION BY."""
        (added,) = trees(key)
        wording = self.wording

        def text() -> str:
            return spliced(self.sql, partition(self.sql, wording.addition(key).text, wording.language))

        if self.tree is None:
            return replace(self, write=text)
        tree = self.tree.copy()
        for window in _partitioned(tree):
            window.append("partition_by", added.copy())
        return self._written(tree, text)

    def with_condition(self, member: int, condition: str) -> Draft:
        """With a further condition in the SELECT of a number, counted from 0 in the order of the text.

        Columns without a relation are those of ``inner``, and the condition is added there.
        """
        (added,) = trees(condition)
        nested = any(not column.table for column in added.find_all(exp.Column))
        addition = self.wording.addition(condition)

        def write(member: Member) -> list[Splice]:
            while nested and member.source is not None:
                member = member.source
            if addition.spot is Spot.BEFORE_ON:
                return member.clause(addition.text, TokenType.ON)
            joined = addition.spot is Spot.JOINED
            return member.condition(addition.text, TokenType.ON if joined else TokenType.WHERE)

        def change(select: exp.Select) -> None:
            select = _innermost(select) if nested else select
            where = select.args.get("where")
            if where is None:
                select.set("where", exp.Where(this=added.copy()))
                return
            where.set("this", _both(where.this, added))

        return self._edited(change, write, member)

    def with_window(self, member: int, names: tuple[str, str], condition: str) -> Draft:
        """With a condition on the times of two streams where rows look for partners.

        That is ON of a join that keeps rows without a partner, or WHERE of the sub-query that reads the
        second stream, since a condition on the joined rows would leave out those without one; else it is one
        more condition of the SELECT.
        """
        (added,) = trees(condition)
        lower = (names[0].lower(), names[1].lower())
        addition = self.wording.addition(condition)
        if self.tree is not None:
            chosen = list(_selects(self.tree))[member : member + 1]
            if not any(_partners(select, lower) for select in chosen):
                return self.with_condition(member, condition)

        def write(select: Member) -> list[Splice]:
            joined = select.joined(lower)
            if addition.spot is Spot.BEFORE_ON:
                return select.clause(addition.text, TokenType.ON)
            if joined is not None:
                return joined.condition(addition.text, TokenType.ON)
            inner = within(self.sql, lower[1], self.wording.language)
            if inner is not None:
                return inner.condition(addition.text)
            return select.condition(
                addition.text, TokenType.ON if addition.spot is Spot.JOINED else TokenType.WHERE
            )

        def change(select: exp.Select) -> None:
            target = _partners(select, lower)
            assert target is not None
            owner = target if isinstance(target, exp.Join) else target.args.get("where")
            if owner is None:
                target.set("where", exp.Where(this=added.copy()))
                return
            key = "on" if isinstance(target, exp.Join) else "this"
            owner.set(key, _both(owner.args[key], added))

        return self._edited(change, write, member)

    def with_distinct(self, distinct: bool) -> Draft:
        """The draft with or without DISTINCT."""
        return self._edited(
            lambda select: select.set("distinct", exp.Distinct() if distinct else None),
            lambda member: member.distinct(distinct),
        )

    def without_output(self, position: int) -> Draft:
        """Without the output at a position of the SELECT list; with the constant 1 if it was the only one."""

        def change(select: exp.Select) -> None:
            kept = [item for i, item in enumerate(select.expressions) if i != position]
            select.set("expressions", kept or [exp.Literal.number(1)])

        return self._edited(change, lambda member: member.drop(position))

    def with_output(self, output: str) -> Draft:
        """The draft with a further output, the last of the SELECT list."""
        (added,) = trees(f"SELECT {output}")[0].expressions

        def change(select: exp.Select) -> None:
            select.append("expressions", added.copy())

        addition = self.wording.addition(output)
        return self._edited(change, lambda member: member.extend(addition.text))

    @property
    def inner(self) -> str | None:
        """The only relation of a sub-query that is all there is in FROM."""
        if not isinstance(self.tree, exp.Select) or (select := _innermost(self.tree)) is self.tree:
            return None
        table = _only_source(select)
        return table.name if isinstance(table, exp.Table) else None

    def name(self, relation: str, alias: str, column: str) -> str:
        """``alias.column`` as SQL text, in backticks where need be; without alias if it is of ``inner``."""
        names = (column,) if relation == self.inner else (alias, column)
        parts = (exp.to_identifier(part, quoted=not is_word(part)) for part in names)
        return ".".join(part.sql(dialect="spark") for part in parts)

    def _edited(
        self,
        change: Callable[[exp.Select], None],
        write: Callable[[Member], list[Splice]],
        member: int | None = None,
    ) -> Draft:
        """The draft with one SELECT changed, or with all of them."""
        chosen = slice(None) if member is None else slice(member, member + 1)

        def text() -> str:
            parts = members(self.sql, self.wording.language)[chosen]
            return spliced(self.sql, (splice for part in parts for splice in write(part)))

        if self.tree is None:
            return replace(self, write=text)
        tree = self.tree.copy()
        for select in list(_selects(tree))[chosen]:
            change(select)

        return self._written(tree, text)

    def _written(self, tree: exp.Query, text: Callable[[], str]) -> Draft:
        """The draft of a tree, and of a text if that reads as the tree."""

        def written() -> str:
            made = text()
            return made if _tree(made) == tree else _printed(self.sql, tree)

        return Draft(tree, written)


def edited_within(
    sql: str, span: tuple[int, int], dialect: str, edits: Iterable[Callable[[Draft], Draft]]
) -> str | None:
    """A text with edits of the query of one of its statements, which may be an INSERT or a view.

    Args:
        span: the characters of the statement.

    Returns:
        None if the statement has no SELECT of its own.
    """
    start, end = span
    depth = 0
    wording = Wording.of(sql, dialect)
    for token in tokens(sql, wording.language):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.SELECT and depth == 0 and start <= token.start < end:
            select = sql[token.start : end]
            draft = Draft.of(select) if wording.language is SPARK else None
            draft = draft or Draft(None, partial(str, select), wording)
            for edit in edits:
                draft = edit(draft)
            return sql[: token.start] + draft.sql + sql[end:]
    return None


def _tree(sql: str) -> exp.Query | None:
    try:
        nodes = trees(sql)
    except (SqlglotError, QueryError):
        return None
    return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], exp.Query) else None


def _selects(tree: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of a union in the order of the text."""
    if isinstance(tree, exp.Select):
        yield tree
    elif isinstance(tree, exp.SetOperation):
        yield from _selects(tree.this)
        yield from _selects(tree.expression)
    elif isinstance(tree, (exp.Subquery, exp.Paren)):
        yield from _selects(tree.this)


def _both(stated: exp.Expr, added: exp.Expr) -> exp.And:
    left = exp.Paren(this=stated) if isinstance(stated, exp.Or) else stated
    return exp.And(this=left, expression=added.copy())


def _partners(select: exp.Select, names: tuple[str, str]) -> exp.Join | exp.Select | None:
    """The join that keeps rows without a partner of one of two streams, or the sub-query of the second."""
    for join in reversed(select.args.get("joins") or []):
        keeps = join.side or join.kind in ("SEMI", "ANTI")
        if keeps and join.args.get("on") is not None and join.this.alias_or_name.lower() in names:
            return cast("exp.Join", join)
    where = select.args.get("where")
    for inner in () if where is None else reversed(list(where.find_all(exp.Select))):
        sources = [inner.args.get("from_"), *(inner.args.get("joins") or [])]
        if any(source is not None and source.this.alias_or_name.lower() == names[1] for source in sources):
            return cast("exp.Select", inner)
    return None


def _innermost(select: exp.Select) -> exp.Select:
    """The SELECT in FROM, and in FROM of that, as long as that is all there is in FROM."""
    source = _only_source(select)
    nested = isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select)
    return _innermost(source.this) if source is not None and nested else select


def _only_source(select: exp.Select) -> exp.Expr | None:
    made = select.args.get("from_")
    return None if made is None or select.args.get("joins") else made.this


def _partitioned(tree: exp.Expr) -> Iterator[exp.Window]:
    return (window for window in tree.find_all(exp.Window) if window.args.get("partition_by"))


def _printed(sql: str, tree: exp.Query) -> str:
    lines = sql.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.strip() and not _comment(line)), len(lines))
    several = "\n" in "".join(lines[start:]).strip()
    bare = tree.transform(typed_as_written)
    if start:
        # They stand above already.
        bare.pop_comments()
    return "".join(lines[:start]) + bare.sql(dialect="spark", pretty=several)


def _comment(line: str) -> bool:
    return line.lstrip().startswith("--")
