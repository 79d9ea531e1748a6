"""A text of one or several statements: the queries in it by name, and the catalog that it declares itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import expressions as exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token

from streambound.errors import QueryError, StreamboundError, UnsupportedError
from streambound.query.catalog import Catalog, NamedQuery
from streambound.query.clock import CLOCK
from streambound.query.dialects.grammar import LIMITED
from streambound.query.dialects.guess import language_of
from streambound.query.dialects.languages import Language, parts, statements
from streambound.query.dialects.statements import Written
from streambound.query.dialects.tokens import token_location, tokens
from streambound.query.expressions import blockers
from streambound.query.parse.inlining.inline import Inliner
from streambound.query.parse.text.ddl import Wrong, completed, declared, with_stamps
from streambound.query.parse.text.definitions import Definitions, State, tokens_of
from streambound.query.parse.text.nested_columns import read_by_spark, with_paths
from streambound.query.parse.text.parts import ReferencedQuery, Rows, View
from streambound.query.registry import metadata
from streambound.query.scope import location_of
from streambound.query.syntax import refuse_gaps, refuse_nesting, syntax_error

_SEVERAL = "choose one with --query NAME, or put each into a file of its own"
_DECIDED = "is decided, and cannot be evaluated yet"
_RELAXED = f"a difference in months, or in boundaries of a unit, {_DECIDED}"
_NESTED = (
    "a nested column is decided by its path, and cannot be evaluated yet where Spark reads the rows;"
    " give its value a column of its own"
)
# Its rows are those before WHERE and JOIN; whether one of just so long ago is among them is not said.
_LIMITED = "OVER with LIMIT DURATION is decided, and cannot be evaluated yet"
_ORDERED = "the time that the catalog says of a view is decided, and cannot be evaluated yet"
# Tables of files and topics that a statement names where others name a table.
_READERS = ("READ_FILES", "READ_KAFKA", "CLOUD_FILES", "READ_KINESIS", "READ_PUBSUB", "READ_PULSAR")


@dataclass(frozen=True)
class ScriptQuery:
    """A query of a text: its name, its tree, and whether others may name it."""

    name: str
    tree: exp.Expr | None
    error: StreamboundError | None = None
    # The views that stand where it is written.
    views: Mapping[str, View] = field(default_factory=dict)
    # The names that its columns are given, if any.
    columns: tuple[exp.Identifier, ...] = ()
    # The characters of the text in which its statement stands.
    span: tuple[int, int] = (0, 0)
    # Whether the statement does more than ask it: INSERT, a view.
    wrapped: bool = False


@dataclass(frozen=True)
class Script:
    """A text as it was read; ``guessed`` is the sign by which its dialect was told."""

    sql: str
    language: Language
    guessed: str | None
    queries: tuple[ScriptQuery, ...]
    catalog: Catalog
    # Tables that the text declares without their columns.
    unlisted: frozenset[str] = frozenset()
    # The catalog that the text was read with.
    given: Catalog = field(default_factory=lambda: Catalog(()))

    def chosen(self, name: str | None) -> ScriptQuery:
        """The query of that name; the only one if there is no name.

        Raises:
            QueryError: there is none, or there are several.
        """
        named = [script_query for script_query in self.queries if name is None or script_query.name == name]
        if len(named) == 1:
            return named[0]
        names = ", ".join(script_query.name for script_query in self.queries)
        if name is not None:
            raise QueryError(f"there is no query {name} in the text", accepted=names)
        location = token_location(self.sql, self._second()) if len(named) > 1 else None
        raise QueryError(
            f"found {len(self.queries)} statements" if self.queries else "found 0 statements",
            location=location,
            accepted="one query" if not names else f"one query; the text has {names}",
            fix=_SEVERAL if self.queries else "write a SELECT statement",
        )

    def _second(self) -> Token:
        second = parts(tokens(self.sql, self.language))[1:]
        return second[0][0] if second else tokens(self.sql, self.language)[0]

    def written_out(
        self, script_query: ScriptQuery
    ) -> tuple[exp.Expr | tuple[Rows, ...], Catalog, str | None]:
        """A query over streams alone (see ``inline``), their catalog, and why it cannot be evaluated, if so.

        Raises:
            QueryError: a name that is not known; a statement that is not understood.
            UnsupportedError: with everything in it that is not decided.
        """
        if script_query.error is not None:
            # It is given the name of who asks.
            raise copy(script_query.error)
        assert script_query.tree is not None
        read, views, full_catalog = with_paths(script_query.tree, self.catalog, script_query.views, self.sql)
        inliner = Inliner(self.sql, full_catalog, self.language, views, self.unlisted, self._inlined)
        tree = inliner.written_out(read)
        catalog = inliner.catalog
        if inliner.clock:
            catalog = replace(catalog, relations=(*catalog.relations, CLOCK))
        if full_catalog is not self.catalog and read_by_spark(full_catalog):
            return tree, catalog, _NESTED
        windows = (
            window
            for part in (read, *(v.tree for v in views.values()))
            for window in part.find_all(exp.Window)
        )
        if any(LIMITED in window.meta for window in windows):
            return tree, catalog, _LIMITED
        if inliner.ordered:
            return tree, catalog, _ORDERED
        return tree, catalog, _unevaluated(inliner)

    def _inlined(self, query: NamedQuery) -> ReferencedQuery:
        """A query that this text names, which stands in another one."""
        inner = script(query.sql, self.given, query.dialect)
        script_query = inner.chosen(None)
        if script_query.error is not None or script_query.tree is None:
            raise (
                copy(script_query.error) if script_query.error is not None else QueryError("it asks nothing")
            )
        return ReferencedQuery(
            View(script_query.tree, script_query.columns), script_query.views, inner.catalog, inner.language
        )


def _unevaluated(inliner: Inliner) -> str | None:
    """Why what was written out has no answers, although it is decided; None if it has."""
    if inliner.relaxed:
        return _RELAXED
    if inliner.fresh:
        return f"{blockers.words(inliner.fresh[0], inliner.text)}, another value for each row, {_DECIDED}"
    if inliner.stored:
        words = blockers.words(inliner.stored[0], inliner.text)
        return f"{words}, the rows that there are when the query begins, {_DECIDED}"
    if inliner.spread:
        words = blockers.words(inliner.spread[0], inliner.text)
        return f"rows by the value of {words}, over several streams, {_DECIDED}"
    if inliner.made_at:
        words = blockers.words(inliner.made_at[0], inliner.text)
        fix = "show the latest timestamp of the rows: GREATEST(s.ts, t.ts), or MAX(ts) of a group"
        return f"{words}, shown in rows that are made at no time of one stream, {_DECIDED}; {fix}"
    return None


# Each query of a text is asked for by itself, with the text.
@lru_cache(maxsize=32)
def script(sql: str, catalog: Catalog, dialect: str | None) -> Script:
    """A text in a dialect: given, named in its first comments, or guessed.

    Raises:
        QueryError: it has no tokens of that dialect, or is nested too deeply.
    """
    language, guessed = language_of(sql, dialect, metadata(sql))
    token_list = tokens(sql, language)
    refuse_nesting(sql, token_list)
    split = parts(token_list)
    if len(split) == 1:
        # Where nothing else is there, what the parser would pass over in silence is told first.
        refuse_gaps(sql, token_list, language)
    read = statements(token_list, sql, language)
    if language.name == "spark":
        read = _from_elsewhere(read, catalog)
    written = [statement for statement in read if isinstance(statement, Written)]
    trees = [statement.tree for statement in written if isinstance(statement.tree, exp.Query)]
    definitions, states, ignored = _defined(read, split, token_list, language)
    tables = _tables(written)
    columns_of = [statement for statement in tables if id(statement) not in ignored]
    own = {s.name.name.lower() for s in written if s.name is not None and s.table is not None}
    script_tables, wrong = declared(columns_of, trees, language)
    full_catalog = completed(catalog, script_tables, own, wrong)
    _placed(wrong, columns_of, sql)
    full_catalog = with_stamps(full_catalog, trees)
    queries = _Queries(sql, language, split, full_catalog, definitions, states, wrong).of(read)
    names = {statement.name.name.lower() for statement in tables if statement.name is not None}
    unlisted = frozenset(name for name in names if full_catalog.find(name) is None)
    return Script(sql, language, guessed, queries, full_catalog, unlisted, catalog)


def _defined(
    read: Sequence[Written | ParseError],
    split: list[list[Token]],
    token_list: list[Token],
    language: Language,
) -> tuple[Definitions, dict[int, State], set[int]]:
    """What statements define, the state in which each stands, and those that declare nothing (by ``id``)."""
    definitions, states, ignored = Definitions(language), dict[int, State](), set[int]()
    for statement in read:
        if isinstance(statement, ParseError):
            definitions.not_understood(_part_of(split, statement))
        else:
            _note_statement(definitions, states, ignored, statement, tokens_of(statement, token_list))
    return definitions, states, ignored


@dataclass(frozen=True)
class _Queries:
    """Makes the queries of statements: ``split`` are the tokens of each, ``states`` those in which each
    stands (by ``id``), and ``wrong`` what is wrong with the tables that they declare.
    """

    sql: str
    language: Language
    split: list[list[Token]]
    catalog: Catalog
    definitions: Definitions
    states: Mapping[int, State]
    wrong: Wrong

    def of(self, read: Sequence[Written | ParseError]) -> tuple[ScriptQuery, ...]:
        """The queries, each with a name of its own."""
        queries: list[ScriptQuery] = []
        for number, statement in enumerate(read, start=1):
            if isinstance(statement, ParseError):
                made: ScriptQuery | None = self._not_understood(number, statement)
            else:
                made = self._query(number, statement, len(read) == 1)
            if made is not None:
                queries.append(replace(made, name=_unused(made.name, queries)))
        if self.language.name == "spark" and len(read) == 1 and not queries:
            (statement,) = read
            assert isinstance(statement, Written)
            refused = None if statement.tree is not None else _refused(self.sql, statement)
            queries.append(ScriptQuery("query", statement.tree, refused))
        return tuple(queries)

    def _not_understood(self, number: int, error: ParseError) -> ScriptQuery:
        mine = _part_of(self.split, error)
        said = _not_understood(self.sql, self.split, error, self.catalog, self.language)
        return ScriptQuery(f"statement {number}", None, said, span=(mine[0].start, mine[-1].end + 1))

    def _query(self, number: int, statement: Written, alone: bool) -> ScriptQuery | None:
        """The query that a statement asks; None if it asks none, and may stand beside others."""
        tree, span = statement.tree, (statement.first.start, statement.last.end + 1)
        if tree is None and statement.table is not None:
            return None
        if not alone and (
            statement.kind == "other" or isinstance(tree, (exp.DML, exp.DDL, exp.Command, exp.Cache))
        ):
            return None
        if tree is None:
            return ScriptQuery(statement.kind, None, _refused(self.sql, statement), span=span)
        if (
            statement.table is not None
            and statement.name is not None
            and _reads_source(tree)
            and statement.table.columns
        ):
            # A table of what lies in files: it has the columns that are declared.
            tree = exp.Select(expressions=[exp.Star()], from_=exp.From(this=statement.name.copy()))
        state = self.states[id(statement)]
        views = self.definitions.views(state)
        refusal = self.definitions.refusal(tree, state, views, self.sql, self.wrong)
        named = f"query {number}"
        if statement.name is not None:
            named = ".".join(part.name for part in statement.name.parts)
        wrapped = statement.kind != "select"
        return ScriptQuery(named, tree, refusal, views, _columns(statement), span, wrapped)


def _from_elsewhere(read: list[Written | ParseError], catalog: Catalog) -> list[Written | ParseError]:
    """The statements, of which those that declare a table of all that a table elsewhere has read a source."""
    named = {
        written.name.name.lower()
        for written in read
        if isinstance(written, Written) and written.name is not None
    }

    def of(written: Written | ParseError) -> Written | ParseError:
        if (
            isinstance(written, ParseError)
            or written.table is None
            or not isinstance(written.tree, exp.Select)
        ):
            return written
        from_, typed = written.tree.args.get("from_"), [column.type for column in written.table.columns]
        table = None if from_ is None else from_.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or not all(typed):
            return written
        # Of another schema it may have the name that it has here.
        own = {written.name.name.lower()} if written.name is not None and table.args.get("db") else set()
        if not typed or table.name.lower() in named - own or catalog.find(table.name) is not None:
            return written
        source = exp.Anonymous(this=_READERS[0], expressions=[exp.Literal.string(table.name)])
        made = exp.Select(expressions=written.tree.expressions, from_=exp.From(this=exp.Table(this=source)))
        further = [key for key, value in written.tree.args.items() if value and key not in made.args]
        return replace(written, tree=made) if not further and _reads_source(made) else written

    return [of(statement) for statement in read]


def _note_statement(
    definitions: Definitions,
    states: dict[int, State],
    ignored: set[int],
    written: Written,
    stream: list[Token],
) -> None:
    """Note what a statement defines, drops or changes, and what stood before it."""
    states[id(written)] = definitions.state()
    if written.table is None or written.name is None:
        if stream and written.kind == "other":
            definitions.passed(stream)
        return
    if written.table.kind == "sink":
        return
    if not definitions.kept(written, stream):
        ignored.add(id(written))
        return
    view = None
    if written.tree is not None and not (_reads_source(written.tree) and written.table.columns):
        view = View(written.tree, _columns(written))
    definitions.defined(written, stream, view)
    if (like := written.table.options.get("like", "").lower()) in definitions.unclear:
        definitions.unclear.setdefault(
            written.name.name.lower(), f"is like {like}, which {definitions.unclear[like]}"
        )


def _columns(written: Written) -> tuple[exp.Identifier, ...]:
    """The names that a definition gives the columns of its query."""
    if written.table is None or written.table.kind == "sink" or written.table.options.get("kafka_topic"):
        return ()
    return tuple(column.name for column in written.table.columns)


def _placed(wrong: Wrong, tables: list[Written], sql: str) -> None:
    """Put what is wrong of tables at the places of their names."""
    for written in tables:
        if written.name is not None and (error := wrong.get(written.name.name.lower())) is not None:
            error.location, error.text = location_of(written.name, sql), sql


def _tables(written: list[Written]) -> list[Written]:
    """What declares a table of rows from elsewhere."""
    return [
        statement
        for statement in written
        if statement.table is not None
        and statement.table.kind != "sink"
        and (statement.tree is None or _reads_source(statement.tree))
    ]


def _reads_source(tree: exp.Expr) -> bool:
    """Whether a query is all that files or a topic have."""
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None or len(tree.expressions) != 1:
        return False
    table = tree.args["from_"].this
    call = table.this if isinstance(table, exp.Table) else None
    name = str(call.this).upper() if isinstance(call, exp.Anonymous) else ""
    further = [key for key, value in tree.args.items() if value and key not in ("expressions", "from_")]
    return name in _READERS and isinstance(tree.expressions[0], exp.Star) and not further


def _unused(name: str, queries: list[ScriptQuery]) -> str:
    taken = {script_query.name for script_query in queries}
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name} {number}", number + 1
    return candidate


def _refused(sql: str, written: Written) -> UnsupportedError:
    what = written.first.text.upper()
    return UnsupportedError(
        f"{what} is not supported yet",
        location=token_location(sql, written.first),
        accepted="SELECT, INSERT INTO ... SELECT, CREATE ... AS SELECT, and declarations of tables",
    )


def _part_of(split: list[list[Token]], error: ParseError) -> list[Token]:
    """The statement that an error is in."""
    report = (error.errors or [{}])[0]
    where = report.get("line"), report.get("col")
    return next((part for part in split if any((t.line, t.col) == where for t in part)), split[-1])


def _not_understood(
    sql: str, split: list[list[Token]], error: ParseError, catalog: Catalog, language: Language
) -> QueryError:
    mine = _part_of(split, error)
    try:
        refuse_gaps(sql, mine, language)
    except QueryError as gap:
        return gap
    return syntax_error(sql, mine, error, catalog, language)
