"""A query under edit: the user's own SQL as a tree, changed in one place at a time.

Each edit changes the tree and, once the text is asked for, is written into it as well (``splices``). If the
text then reads as the edited tree, it is the draft's SQL: layout, comments and metadata are the user's. If
it does not, the tree is printed by sqlglot (Spark dialect) below the comments that stood above the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from streambound.certificate.splices import Member, Splice, members, spliced
from streambound.errors import QueryError
from streambound.query.dialects.guess import language
from streambound.query.dialects.tokens import tokens, trees


@dataclass(frozen=True)
class Draft:
    """A SELECT statement, or a union of them; every edit returns a new draft.

    ``write`` gives the text, which most drafts are never asked for.
    """

    tree: exp.Query
    write: Callable[[], str]

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
        """With a further key of GROUP BY, the last one."""
        (added,) = trees(key)

        def change(select: exp.Select) -> None:
            group = select.args.get("group") or exp.Group()
            group.append("expressions", added.copy())
            select.set("group", group)

        return self._edited(change, lambda select, member: member.key(key))

    def with_condition(self, member: int, condition: str) -> Draft:
        """With a further condition in the SELECT of a number, counted from 0 in the order of the text."""
        (added,) = trees(condition)

        def write(select: exp.Select, member: Member) -> list[Splice]:
            where = select.args.get("where")
            return member.condition(condition, where is not None and isinstance(where.this, exp.Or))

        def change(select: exp.Select) -> None:
            where = select.args.get("where")
            if where is None:
                select.set("where", exp.Where(this=added.copy()))
                return
            stated = where.this
            left = exp.Paren(this=stated) if isinstance(stated, exp.Or) else stated
            where.set("this", exp.And(this=left, expression=added.copy()))

        return self._edited(change, write, member)

    def with_distinct(self, distinct: bool) -> Draft:
        """With or without DISTINCT."""
        return self._edited(
            lambda select: select.set("distinct", exp.Distinct() if distinct else None),
            lambda select, member: member.distinct(distinct),
        )

    def without_output(self, place: int) -> Draft:
        """Without the output at a position of the SELECT list; with the constant 1 if it was the only one."""

        def change(select: exp.Select) -> None:
            kept = [item for i, item in enumerate(select.expressions) if i != place]
            select.set("expressions", kept or [exp.Literal.number(1)])

        return self._edited(change, lambda select, member: member.drop(place))

    def with_output(self, output: str) -> Draft:
        """With a further output, the last of the SELECT list."""
        (added,) = trees(f"SELECT {output}")[0].expressions

        def change(select: exp.Select) -> None:
            select.append("expressions", added.copy())

        return self._edited(change, lambda select, member: member.extend(output))

    def name(self, alias: str, column: str) -> str:
        """``alias.column`` as SQL text, in backticks where the name needs them."""
        parts = (exp.to_identifier(part, quoted=not _needs_no_quotes(part)) for part in (alias, column))
        return ".".join(part.sql(dialect="spark") for part in parts)

    def _edited(
        self,
        change: Callable[[exp.Select], None],
        write: Callable[[exp.Select, Member], list[Splice]],
        member: int | None = None,
    ) -> Draft:
        """The draft with one SELECT changed, or with all of them."""
        chosen = slice(None) if member is None else slice(member, member + 1)
        tree = self.tree.copy()
        for select in list(_selects(tree))[chosen]:
            change(select)

        def written() -> str:
            pairs = list(zip(_selects(self.tree), members(self.sql), strict=False))[chosen]
            text = spliced(self.sql, (splice for pair in pairs for splice in write(*pair)))
            return text if _tree(text) == tree else _printed(self.sql, tree)

        return Draft(tree, written)


def edited_within(
    sql: str, span: tuple[int, int], dialect: str, edits: Iterable[Callable[[Draft], Draft]]
) -> str | None:
    """A text with edits of the query of one of its statements, which may be an INSERT or a view.

    Args:
        span: the characters of the statement.

    Returns:
        None if what follows the statement's first SELECT cannot be read by itself.
    """
    start, end = span
    depth = 0
    for token in tokens(sql, language(dialect)):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.SELECT and depth == 0 and start <= token.start < end:
            select = sql[token.start : end]
            draft = Draft.of(select)
            if draft is None:
                return None
            for edit in edits:
                draft = edit(draft)
            return sql[: token.start] + draft.sql + sql[end:]
    return None


def _tree(sql: str) -> exp.Query | None:
    try:
        found = trees(sql)
    except (SqlglotError, QueryError):
        return None
    return found[0] if len(found) == 1 and isinstance(found[0], exp.Query) else None


def _selects(tree: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs of a union in the order of the text."""
    if isinstance(tree, exp.Select):
        yield tree
    elif isinstance(tree, exp.SetOperation):
        yield from _selects(tree.this)
        yield from _selects(tree.expression)
    elif isinstance(tree, (exp.Subquery, exp.Paren)):
        yield from _selects(tree.this)


def _printed(sql: str, tree: exp.Query) -> str:
    lines = sql.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.strip() and not _comment(line)), len(lines))
    several = "\n" in "".join(lines[start:]).strip()
    bare = tree.transform(_as_written)
    if start:
        # They stand above already.
        bare.pop_comments()
    return "".join(lines[:start]) + bare.sql(dialect="spark", pretty=several)


def _needs_no_quotes(name: str) -> bool:
    """Whether a name needs no backticks: it is one word, and no keyword."""
    try:
        found = tokens(name)
    except QueryError:
        return False
    return len(found) == 1 and found[0].token_type is TokenType.VAR and found[0].text == name


def _as_written(node: exp.Expression) -> exp.Expression:
    """A typed literal as people write it, DATE '2024-01-01', instead of the cast that sqlglot reads it as."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return node
    kind = node.to.sql(dialect="spark")
    literal = node.this.is_string and kind in ("DATE", "TIMESTAMP")
    return exp.var(f"{kind} '{node.this.this}'") if literal else node


def _comment(line: str) -> bool:
    return line.lstrip().startswith("--")
