"""The SQL in a document: a whole ``.sql`` file, or the string literals that Python gives to ``sql(...)``.

A literal means other characters than are written: escapes, continued lines, literals side by side. So each
character of the SQL knows where it is written, and an edit of the SQL is written as its literal wants it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

# Calls that take the text of a query: spark.sql("..."), sql("...").
CALLS = ("sql",)
COMPOSED = "this text is put together when the program runs, so its query cannot be read here"
_QUERY = re.compile(r"\bselect\b", re.IGNORECASE)
_LITERAL = re.compile(r"""(?P<prefix>[A-Za-z]*)(?P<quote>'''|\"""|'|")""")
_ESCAPE = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[\s\S])"
)
_LINE_END = re.compile(r"\r\n?|\n")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


class Span(NamedTuple):
    """Characters ``start`` to ``end`` of a text."""

    start: int
    end: int


class Replacement(NamedTuple):
    """Characters of a document and what stands there instead."""

    span: Span
    new: str


@dataclass(frozen=True)
class Literal:
    """How a part of a text is written: from ``first``, a character of the text, in quotes, perhaps raw.

    In a file of SQL there are no quotes; ``line_end`` is the document's.
    """

    first: int
    quote: str
    raw: bool
    line_end: str

    def written(self, new: str) -> str | None:
        """A text as it is written here; None where a raw literal cannot hold it."""
        if not self.quote:
            return new.replace("\n", self.line_end)
        several = len(self.quote) == 3
        if self.raw:
            fits = not {self.quote[0], "\\"} & {*new} and (several or "\n" not in new)
            return new.replace("\n", self.line_end) if fits else None
        escaped = new.replace("\\", "\\\\").replace(self.quote[0], "\\" + self.quote[0])
        return escaped.replace("\r", "\\r").replace("\n", self.line_end if several else "\\n")


@dataclass(frozen=True)
class Text:
    """A SQL text, where each of its characters is written, and how.

    Args:
        spans: of each character, in the document.
        whole: all of the document that belongs to it.
    """

    sql: str
    spans: tuple[Span, ...]
    literals: tuple[Literal, ...]
    whole: Span

    def location(self, start: int, end: int) -> Span:
        """Where some characters of the SQL are written; if there are none, the place between two."""
        if start < end:
            return Span(self.spans[start].start, self.spans[end - 1].end)
        if start > 0:
            after = self.spans[start - 1].end
            return Span(after, after)
        before = self.spans[0].start if self.spans else self.whole.start
        return Span(before, before)

    def replacements(self, sql: str) -> list[Replacement] | None:
        """The edits of the document after which the text is ``sql``; None where literals cannot hold it."""
        pieces = []
        for start, end, new in _changes(self.sql, sql):
            first, last = (start, end - 1) if start < end else (max(start - 1, 0),) * 2
            written = self._literal(first).written(new)
            if written is None or self._literal(first) is not self._literal(last):
                return None
            pieces.append(Replacement(self.location(start, end), written))
        return pieces

    def _literal(self, character: int) -> Literal:
        return self.literals[bisect_right([literal.first for literal in self.literals], character) - 1]


@dataclass(frozen=True)
class DocumentTexts:
    """What a document has: the texts that can be read, and the places of those that cannot."""

    texts: tuple[Text, ...]
    composed: tuple[Span, ...] = ()


def edited(document: str, replacements: Sequence[Replacement]) -> str:
    """The document with disjoint replacements made."""
    for (start, end), new in sorted(replacements, reverse=True):
        document = document[:start] + new + document[end:]
    return document


def sql_file(document: str) -> DocumentTexts:
    """The text of a file of SQL, with lines that end in a line feed."""
    ends = _LINE_END.search(document)
    literal = Literal(0, "", False, ends[0] if ends else "\n")
    whole = Span(0, len(document))
    sql, spans = _literal_characters(document, whole)
    return DocumentTexts((Text(sql, spans, (literal,), whole),))


def python_file(document: str) -> DocumentTexts | None:
    """The texts in a Python file, in order; None while it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(document)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = _Lines(document)
    literals, composed = dict[Span, Text](), set[Span]()
    for given in _given(tree):
        span = lines.span(given)
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            text = _joined_literals(document, span)
            if _QUERY.search(text.sql):
                literals[span] = text
        elif any(_is_query(node) for node in ast.walk(given)):
            composed.add(span)
    return DocumentTexts(tuple(literals[span] for span in sorted(literals)), tuple(sorted(composed)))


def _given(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions that calls take as the text of a query; of a name that is assigned once, what it is."""
    bound: dict[str, list[ast.expr | None]] = {}
    plain: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(node.value)
                    plain.add(id(target))
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, []).append(None)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
            # A loop, an augmented assignment and the like.
            bound.setdefault(node.id, []).append(None)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not _takes_sql(node.func):
            continue
        given = _query_argument(node)
        if isinstance(given, ast.Name):
            values = bound.get(given.id, [])
            given = values[0] if len(values) == 1 else None
        # With arguments a literal is a template, whose marks are no SQL.
        template = isinstance(given, ast.Constant) and len(node.args) + len(node.keywords) > 1
        if given is not None and not template:
            yield given


def _takes_sql(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name in CALLS


def _query_argument(call: ast.Call) -> ast.expr | None:
    named = (keyword.value for keyword in call.keywords if keyword.arg == "sqlQuery")
    return call.args[0] if call.args else next(named, None)


def _is_query(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_QUERY.search(node.value))


class _Lines:
    """Where the lines of a Python file begin, as its parser counts them."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(document))]

    def offset(self, line: int, column: int) -> int:
        """The character at a line from 1 and a byte of its UTF-8 from 0."""
        start = self._starts[line - 1]
        # No character has fewer bytes than one.
        return start + len(self._document[start : start + column].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.expr) -> Span:
        """Where a node is written."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return Span(
            self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)
        )


def _joined_literals(document: str, whole: Span) -> Text:
    """The text of string literals side by side."""
    # In parentheses their lines go together.
    source = f"({document[whole.start : whole.end]})"
    lines = _Lines(source)
    ends = _LINE_END.search(document)
    sql, spans, literals = "", list[Span](), list[Literal]()
    for token in tokenize.generate_tokens(io.StringIO(source, newline="").readline):
        if token.type != tokenize.STRING:
            continue
        before = lines.offset(token.start[0], 0) + token.start[1]
        start = whole.start - 1 + before
        head = _LITERAL.match(document, start)
        assert head is not None
        raw, quote = "r" in head["prefix"].lower(), head["quote"]
        end = start + len(token.string) - len(quote)
        literals.append(Literal(len(sql), quote, raw, ends[0] if ends else "\n"))
        inner = Span(head.end(), end)
        characters, where = _literal_characters(document, inner) if raw else _unescaped(document, inner)
        sql += characters
        spans += where
    return Text(sql, tuple(spans), tuple(literals), whole)


def _literal_characters(document: str, inner: Span) -> tuple[str, tuple[Span, ...]]:
    """Characters that mean themselves, but for the ends of lines."""
    parts, spans, at = list[str](), list[Span](), inner.start
    for match in _LINE_END.finditer(document, inner.start, inner.end):
        parts += (document[at : match.start()], "\n")
        spans += (Span(i, i + 1) for i in range(at, match.start()))
        spans.append(Span(*match.span()))
        at = match.end()
    parts.append(document[at : inner.end])
    spans += (Span(i, i + 1) for i in range(at, inner.end))
    return "".join(parts), tuple(spans)


def _unescaped(document: str, inner: Span) -> tuple[str, list[Span]]:
    """Characters of which a backslash makes others."""
    sql, spans, at = "", list[Span](), inner.start
    for match in _ESCAPE.finditer(document, inner.start, inner.end):
        plain, where = _literal_characters(document, Span(at, match.start()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            meant: str = ast.literal_eval(f'"""{match[0]}"""')
        sql += plain + meant
        spans += where
        # Of no escape that Python knows both characters stay.
        spans += (
            [Span(*match.span())] * len(meant)
            if len(meant) < 2
            else [Span(i, i + 1) for i in range(*match.span())]
        )
        at = match.end()
    plain, where = _literal_characters(document, Span(at, inner.end))
    return sql + plain, [*spans, *where]


def _changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """What makes one text of another: characters of the old and what stands there instead, word by word."""
    first, second = _WORDS.findall(old), _WORDS.findall(new)
    starts = [0]
    for word in first:
        starts.append(starts[-1] + len(word))
    for kind, i, j, k, m in SequenceMatcher(None, first, second).get_opcodes():
        if kind != "equal":
            yield starts[i], starts[j], "".join(second[k:m])
