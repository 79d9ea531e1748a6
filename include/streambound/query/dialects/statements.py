"""Statements around queries: what is asked, under which name, and which tables a script declares.

Statements are read one at a time, so that one that is not understood leaves the others. Of DDL what a catalog
needs is read; options of connectors and the like, which differ with every one, are passed over as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token, TokenType

from streambound.query.dialects.grammar import Streaming

_QUERY = ("SELECT", "WITH", "FROM", "VALUES")
# Words between CREATE and the kind of what is made.
_ADJECTIVES = frozenset(
    [
        "OR",
        "REPLACE",
        "REFRESH",
        "TEMPORARY",
        "TEMP",
        "LOCAL",
        "GLOBAL",
        "MATERIALIZED",
        "STREAMING",
        "LIVE",
        "DYNAMIC",
        "EXTERNAL",
        "UNLOGGED",
        "TRANSIENT",
        "RECURSIVE",
        "PRIVATE",
        "RANDOM",
        "CONTINUOUS",
        "INCREMENTAL",
    ]
)
_ASKING = frozenset(("VIEW", "TABLE", "STREAM", "SINK", "SOURCE"))
# What ends the type of a column.
_AFTER_TYPE = frozenset(
    [
        "NOT",
        "NULL",
        "PRIMARY",
        "KEY",
        "DEFAULT",
        "AS",
        "METADATA",
        "HEADER",
        "HEADERS",
        "COMMENT",
        "LATENESS",
        "GENERATED",
        "WATERMARK",
        "CONSTRAINT",
        "UNIQUE",
        "REFERENCES",
        "CHECK",
        "COLLATE",
        "VIRTUAL",
        "STORED",
        "FOREIGN",
        "INTERNED",
        "CODEC",
        "ALIAS",
        "TTL",
        "EPHEMERAL",
        "MATERIALIZED",
        "INVISIBLE",
    ]
) | {"PRIMARY KEY", "FOREIGN KEY"}
_CONSTRAINTS = frozenset(
    [
        "CONSTRAINT",
        "PRIMARY",
        "UNIQUE",
        "FOREIGN",
        "CHECK",
        "PERIOD",
        "INDEX",
        "LIKE",
        "EXCLUDE",
        "PROJECTION",
        "KEY",
    ]
)


# First words of statements that ask and declare nothing.
_PASSED = frozenset(
    {
        *(
            "ADD",
            "ALTER",
            "ANALYZE",
            "ASSERT",
            "BEGIN",
            "CALL",
            "COMMENT",
            "COMMIT",
            "COPY",
            "DEALLOCATE",
            "DEFINE",
        ),
        *(
            "DELETE",
            "DESCRIBE",
            "DROP",
            "EXECUTE",
            "EXPLAIN",
            "EXPORT",
            "FLUSH",
            "GRANT",
            "IMPORT",
            "LIST",
            "LOAD",
        ),
        *(
            "MERGE",
            "PAUSE",
            "PRINT",
            "REFRESH",
            "REMOVE",
            "RESET",
            "RESUME",
            "REVOKE",
            "RUN",
            "SET",
            "SHOW",
            "STOP",
        ),
        *("TERMINATE", "TRUNCATE", "UNDEFINE", "UNSET", "UPDATE", "USE"),
    }
)


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of a declaration; ``type`` is as written, None where it is computed from others."""

    name: exp.Identifier
    type: str | None
    computed: exp.Expr | None = None
    primary: bool = False
    not_null: bool = False
    lateness: exp.Expr | None = None


@dataclass(frozen=True)
class DeclaredTable:
    """What CREATE TABLE, SOURCE or STREAM says of a table: ``options`` have keys in lower case."""

    kind: str
    columns: tuple[DeclaredColumn, ...] = ()
    primary_key: tuple[exp.Identifier, ...] = ()
    watermark: tuple[exp.Identifier, exp.Expr | None] | None = None
    options: dict[str, str] = field(default_factory=dict)
    append_only: bool = False


@dataclass(frozen=True)
class Written:
    """One statement: ``kind`` in lower case (``select``, ``insert``, ``materialized view``, ...).

    ``tree`` is the query in it, ``table`` what it declares; ``first`` and ``last`` are its tokens.
    """

    kind: str
    first: Token
    last: Token
    name: exp.Table | None = None
    tree: exp.Expr | None = None
    table: DeclaredTable | None = None


class Statements(Streaming):
    """A parser of whole statements."""

    # Whether statements that are no queries are told by their first word alone.
    PASSES_OVER = True
    # The table whose columns the one that is declared has as well.
    _like: str | None = None

    def statement(self) -> list[Written]:
        """The statements that the tokens up to a semicolon are: several of a processor that needs none."""
        self._pass_over_brackets_of_sets()
        written: list[Written] = []
        while self._curr:
            written.append(self._statement())
            self._pass_over_brackets_of_sets()
            if self._curr and not self._several_follow():
                break
        return written

    def _several_follow(self) -> bool:
        return False

    def _pass_over_brackets_of_sets(self) -> None:
        """The words around a statement set, which say nothing of its members."""
        while self._match_text_seq("EXECUTE", "STATEMENT", "SET") or self._match_text_seq("STATEMENT", "SET"):
            pass
        if self._match_text_seq("BEGIN", "STATEMENT", "SET") or self._curr.text.upper() in ("BEGIN", "END"):
            self._match_texts(("BEGIN", "END"))

    def _statement(self) -> Written:
        first = self._curr
        if self._match_text_seq("INSERT") or self._match_text_seq("UPSERT"):
            return self._insert(first)
        if self._curr.text.upper() == "CREATE":
            return self._create(first)
        if named := self._named_query(first):
            return named
        if self._match_text_seq("APPLY", "CHANGES") or self._match_text_seq("AUTO", "CDC"):
            self._pass_over_all()
            return Written("changes", first, self._prev)
        if self._match_text_seq("TABLE"):
            # PostgreSQL: TABLE t is all of it.
            return Written("select", first, self._prev, None, self._whole_table())
        if self._match_text_seq("COPY", "(", "SUBSCRIBE") or self._match_text_seq("SUBSCRIBE"):
            return self._subscription(first)
        if self._curr.text.upper() in _PASSED and self.PASSES_OVER:
            self._pass_over_all()
            return Written("other", first, self._prev)
        kind = first.text.lower()
        tree = self._parse_statement()
        if isinstance(tree, exp.Insert) and isinstance(tree.expression, exp.Query):
            # WITH before INSERT belongs to its query.
            target, query = tree.this, tree.expression
            if with_ := tree.args.get("with_"):
                query.set("with_", with_)
            return Written("insert", first, self._prev, target.find(exp.Table), query)
        if not isinstance(tree, exp.Query):
            return Written("other" if self._passed_over(tree, kind) else kind, first, self._prev, None, tree)
        target = self._into(tree)
        self._after_query(tree)
        return Written("insert" if target is not None else "select", first, self._prev, target, tree)

    def _subscription(self, first: Token) -> Written:
        """Materialize: what follows a query or the name of a relation says from when on, and how."""
        self._match_text_seq("TO")
        if self._curr.text.upper() in _QUERY:
            tree: exp.Expr | None = self._query()
        elif self._match(TokenType.L_PAREN):
            tree = self._query()
            self._match_r_paren()
        else:
            tree = self._whole_table()
        last = self._prev
        self._pass_over_all()
        return Written("select", first, last, None, tree)

    def _whole_table(self) -> exp.Select:
        whole = exp.Select(expressions=[exp.Star()], from_=exp.From(this=self._parse_table_parts()))
        self._after_query(whole)
        return whole

    def _passed_over(self, tree: exp.Expr | None, kind: str) -> bool:
        """Whether a statement is no query of any kind: settings, grants and the like."""
        return isinstance(
            tree, (exp.Set, exp.Use, exp.Drop, exp.Alter, exp.Comment, exp.Grant, exp.Command)
        ) and (kind not in ("explain", "describe", "call", "execute"))

    def _named_query(self, first: Token) -> Written | None:
        """A query that has its name before it."""
        return None

    def _into(self, tree: exp.Query) -> exp.Table | None:
        """The target that a SELECT names with INTO, taken out of it."""
        for select in tree.find_all(exp.Select):
            if (into := select.args.get("into")) is not None:
                select.set("into", None)
                return into.this if isinstance(into.this, exp.Table) else None
        return None

    def _insert(self, first: Token) -> Written:
        self._match_texts(("INTO", "OVERWRITE"))
        self._match_text_seq("LOCAL")
        if self._match_text_seq("DIRECTORY"):
            # Files in a folder: where they lie says nothing of the question.
            while self._curr and self._curr.text.upper() not in (*_QUERY, "("):
                self._advance()
                if self._prev.text.upper() == "OPTIONS":
                    self._skip_parenthesis()
            return self._inserted(first, None, None)
        self._match_text_seq("TABLE")
        target = self._parse_table_parts(schema=True)
        if self._match_text_seq("PARTITION"):
            self._skip_parenthesis()
        if self._curr.text == "(" and self._next.text.upper() not in (*_QUERY, "("):
            self._skip_parenthesis()
        self._match_text_seq("BY", "NAME")
        return self._inserted(first, None, target if isinstance(target, exp.Table) else None)

    def _inserted(self, first: Token, kind: str | None, target: exp.Table | None) -> Written:
        tree = self._query()
        self._after_query(tree)
        if isinstance(tree, exp.Values):
            # Rows that a person writes down are no query.
            return Written("other", first, self._prev)
        return Written(kind or "insert", first, self._prev, target, tree)

    def _query(self) -> exp.Expr | None:
        query = self._parse_statement()
        if query is None:
            self.raise_error("a query is missing")
        return query

    def _after_query(self, tree: exp.Expr | None) -> None:
        """Clauses after a whole query that say nothing of its answer: when it is put out, and options.

        A limit may come after them.
        """
        while self._curr:
            if isinstance(tree, exp.Query) and self._curr.token_type is TokenType.LIMIT:
                tree.set("limit", self._parse_limit())
                continue
            if self._curr.text.upper() == "EMIT" or self._curr.text.upper() in (
                "WITH",
                "FORMAT",
                "SETTINGS",
                "ENCODE",
                "KEY",
                "OPTIONS",
                "ENVELOPE",
                "TTL",
            ):
                self._pass_over_clause()
            else:
                return

    def _pass_over_clause(self) -> None:
        self._advance()
        while self._curr and self._curr.text.upper() not in ("SELECT", ")", "LIMIT"):
            if not self._skip_parenthesis():
                self._advance()

    def _create(self, first: Token) -> Written:
        self._advance()
        adjectives = []
        while self._curr.text.upper() in _ADJECTIVES:
            adjectives.append(self._curr.text.lower())
            self._advance()
        what = self._curr.text.upper()
        if what == "FLOW":
            # Spark's pipelines: CREATE FLOW f AS INSERT INTO t SELECT ...
            while self._curr and self._curr.token_type is not TokenType.ALIAS:
                self._advance()
            self._advance()
            return replace(self._statement(), first=first)
        if what not in _ASKING:
            self._pass_over_all()
            return Written("other", first, self._prev)
        self._advance()
        self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._parse_table_parts(schema=True)
        adjectives = [
            word for word in adjectives if word not in ("or", "replace", "refresh", "temporary", "temp")
        ]
        kind = " ".join((*adjectives, what.lower()))
        columns, keys, watermark = self._columns(what) if self._curr.text == "(" else ([], [], None)
        options, append_only, tree = self._after_name(what)
        options.update(self._options_after())
        if self._like is not None:
            options["like"] = self._like
        table = DeclaredTable(
            what.lower(),
            tuple(columns),
            tuple(keys),
            watermark,
            options,
            append_only,
        )
        named = name if isinstance(name, exp.Table) else None
        return Written(kind, first, self._prev, named, tree, table)

    def _columns(self, what: str) -> tuple[list[DeclaredColumn], list[exp.Identifier], Any]:
        columns: list[DeclaredColumn] = []
        keys: list[exp.Identifier] = []
        watermark = None
        self._advance()
        while self._curr and self._curr.text != ")":
            word, after = self._curr.text.upper(), self._next.text.upper()
            plain = self._curr.token_type is not TokenType.IDENTIFIER
            if (
                plain
                and word == "WATERMARK"
                # A column may have that name.
                and (after == "FOR" or self._ahead(2) in ("AS", "DELAY"))
            ):
                self._advance()
                self._match_text_seq("FOR")
                stamp = self._parse_id_var(any_token=True)
                if stamp is None:
                    self.raise_error("a name of a column is missing")
                watermark = (stamp, self._parse_disjunction() if self._match(TokenType.ALIAS) else None)
            elif plain and " ".join((word, after)).startswith("PRIMARY KEY"):
                self._match_texts(("PRIMARY",))
                self._advance()
                keys += [key for key in self._identifiers() if key]
            elif (
                plain and word in _CONSTRAINTS and after not in (",", ")") and self._constraint_follows(word)
            ):
                if word == "CONSTRAINT" and self._ahead(2).startswith("PRIMARY"):
                    self._advance(2 if self._ahead(2) == "PRIMARY KEY" else 3)
                    self._advance()
                    keys += [key for key in self._identifiers() if key]
                if word == "LIKE":
                    self._advance()
                    like = self._parse_table_parts(schema=True)
                    if isinstance(like, exp.Table):
                        self._like = like.name
            elif word == "*":
                self._advance()
            else:
                columns.append(self._column())
            self._to_comma()
            if self._curr.text == ",":
                self._advance()
        if not self._match(TokenType.R_PAREN):
            self.raise_error("Expecting )")
        return columns, keys, watermark

    def _constraint_follows(self, word: str) -> bool:
        """Whether what begins with such a word is a constraint, not a column of that name."""
        return word in ("CONSTRAINT", "LIKE") or self._ahead(1) in ("(", "KEY", "FOR")

    def _identifiers(self) -> Iterator[exp.Identifier]:
        if self._match(TokenType.L_PAREN):
            while self._curr and self._curr.text != ")":
                identifier = self._parse_id_var(any_token=True)
                if isinstance(identifier, exp.Identifier):
                    yield identifier
                self._match(TokenType.COMMA)
            self._advance()

    def _column(self) -> DeclaredColumn:
        name = self._parse_id_var(any_token=True)
        if not isinstance(name, exp.Identifier):
            self.raise_error("a name of a column is missing")
            name = exp.to_identifier("")
        start, end = self._index, self._index
        while self._curr and not (self._curr.text in (",", ")") or self._curr.text.upper() in _AFTER_TYPE):
            self._skip_type()
            end = self._index
        kind = self._source_between(start, end) or None
        computed = lateness = None
        primary = not_null = False
        while self._curr and self._curr.text not in (",", ")"):
            word = self._curr.text.upper()
            if word == "AS" or (word == "GENERATED" and not self._ahead(3).startswith("IDENTITY")):
                while self._curr and self._curr.text.upper() in (
                    "GENERATED",
                    "ALWAYS",
                    "BY",
                    "DEFAULT",
                    "AS",
                ):
                    self._advance()
                computed = self._parse_disjunction()
            elif word == "LATENESS":
                self._advance()
                lateness = self._parse_disjunction()
            elif word.startswith("PRIMARY"):
                primary = True
                self._advance()
            elif word == "NOT":
                not_null = self._next.text.upper() == "NULL"
                self._advance()
            elif not self._skip_parenthesis():
                self._advance()
        return DeclaredColumn(name, kind, computed, primary, not_null, lateness)

    def _skip_type(self) -> None:
        """One word of a type, with what is in brackets of any kind after it."""
        depth = 0
        while self._curr:
            text = self._curr.text
            opens, closes = text.count("<") + (text in "([") * 1, text.count(">") + (text in ")]") * 1
            if not depth and text in (",", ")"):
                return
            depth += opens - closes
            self._advance()
            if depth <= 0 and self._curr.text not in ("<", "(", "["):
                return

    def _source_between(self, start: int, end: int) -> str:
        if start == end:
            return ""
        return self.sql[self._tokens[start].start : self._tokens[end - 1].end + 1]

    def _to_comma(self) -> None:
        while self._curr and self._curr.text not in (",", ")"):
            if not self._skip_parenthesis():
                self._advance()

    def _after_name(self, what: str) -> tuple[dict[str, str], bool, exp.Expr | None]:
        """Options and the query of what is created."""
        options: dict[str, str] = {}
        append_only = False
        while self._curr:
            word, after = self._curr.text.upper(), self._next.text.upper()
            if word == "AS" and (after in _QUERY or after == "("):
                self._advance()
                tree = self._query()
                if self._curr.text.upper() == "EMIT":
                    self._after_query(tree)
                return options, append_only, tree
            if word == "AS" and after == "TABLE":
                self._advance(2)
                return options, append_only, self._whole_table()
            if word == "FROM" and what == "SINK":
                start = self._curr
                self._advance()
                table = self._parse_table_parts()
                star = exp.Star()
                star.meta["span"] = (start.start, start.end + 1)
                return options, append_only, exp.Select(expressions=[star], from_=exp.From(this=table))
            if word == "APPEND" and after == "ONLY":
                append_only = True
            options.update(self._option())
        return options, append_only, None

    def _options_after(self) -> dict[str, str]:
        options: dict[str, str] = {}
        while self._curr:
            options.update(self._option())
        return options

    def _option(self) -> dict[str, str]:
        """One word after a name or a query; the settings in the parentheses after WITH and the like."""
        word = self._curr.text.lower()
        if self._curr.text == "(":
            return _settings(self._skip_parenthesis())
        self._advance()
        if self._curr.text == "=" and self._next:
            value = self._next.text
            self._advance(2)
            return {word: value}
        if word == "like" and self._curr and self._curr.text != "(":
            table = self._parse_table_parts(schema=True)
            return {word: table.name} if isinstance(table, exp.Table) else {}
        if word in ("envelope", "encode", "format") and self._curr:
            return {word: self._curr.text.lower()}
        return {}

    def _pass_over_all(self) -> None:
        while self._curr:
            self._advance()


def _settings(tokens: list[Token]) -> dict[str, str]:
    """``'a.b' = 'c', d.e = f`` as a mapping of its keys in lower case."""
    settings: dict[str, str] = {}
    key: list[str] = []
    value: list[str] | None = None
    for token in (*tokens[1:-1], None):
        if token is None or token.text == ",":
            if key and value:
                settings["".join(key).lower()] = "".join(value)
            key, value = [], None
        elif value is None and token.text in ("=", ":"):
            value = []
        else:
            (key if value is None else value).append(token.text)
    return settings
