"""The language server: marks, quick fixes and hovers for the SQL of open documents.

One document is decided at a time, in a thread beside the one that talks to the editor. Of a document only
its newest text waits: what was typed before is not decided, and given up where that takes long.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from streambound.editor.positions import Positions
from streambound.editor.texts import COMPOSED, DocumentTexts, Span, Text, edited, python_file, sql_file
from streambound.errors import StreamboundError

SOURCE = "streambound"
# Seconds that a decision goes on after its text was changed: to start anew takes about as long.
GRACE = 1.0
CATALOGS = ("**/*.yml", "**/*.yaml", "**/streambound.toml")
READERS: dict[str, Callable[[str], DocumentTexts | None]] = {"sql": sql_file, "python": python_file}
SUFFIXES = {".sql": "sql", ".py": "python"}

# What ``report.editor.marked`` returns.
Marked = dict[str, Any]


class Judge(Protocol):
    """What decides the queries of a text."""

    def marked(self, path: Path, name: str, sql: str) -> Sequence[Marked]:
        """What is shown of each query of a text that is in a file, or would be.

        Raises:
            StreamboundError: its catalog cannot be read.
        """

    def give_up(self) -> None:
        """End the decision that is being made, from another thread."""


@dataclass(frozen=True)
class Shown:
    """A query with the text that it is in, and what is shown of it."""

    text: Text
    marked: Marked

    def location(self, span: Sequence[int]) -> Span:
        """Where some characters of the SQL are written."""
        return self.text.location(*span)


@dataclass(frozen=True)
class Decided:
    """A version of a document with all that was found."""

    version: int | None
    source: str
    outcome: DocumentTexts
    queries: tuple[Shown, ...]


class Editor(LanguageServer):
    """A language server whose documents a judge decides."""

    def __init__(self, judge: Judge, version: str) -> None:
        super().__init__(SOURCE, version, types.TextDocumentSyncKind.Full)
        self._judge = judge
        self._thread = ThreadPoolExecutor(1)
        self._waiting: dict[str, None] = {}
        self._current: tuple[str, asyncio.Event] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._decided: dict[str, Decided] = {}

    def changed(self, uris: Sequence[str]) -> None:
        """Decide documents, after those that wait already."""
        self._waiting.update(dict.fromkeys(uris))
        if self._current is not None and self._current[0] in uris:
            self._current[1].set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())

    def closed(self, uri: str) -> None:
        """Forget a document, and take its marks away."""
        self._decided.pop(uri, None)
        self.changed([uri])
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def decided(self, uri: str) -> Decided | None:
        """What was found in a document as it stands; None if it is not decided yet."""
        decision, document = self._decided.get(uri), self.workspace.text_documents.get(uri)
        return (
            decision
            if decision is not None and document is not None and decision.version == document.version
            else None
        )

    def end(self) -> None:
        """Stop deciding."""
        self._judge.give_up()
        self._thread.shutdown(cancel_futures=True)

    async def _work(self) -> None:
        while self._waiting:
            uri = next(iter(self._waiting))
            del self._waiting[uri]
            # One that was closed is not there.
            if (document := self.workspace.text_documents.get(uri)) is not None:
                try:
                    await self._decide(document)
                except Exception as error:
                    # A defect of ours: the editor goes on, and tells.
                    self.window_show_message(
                        types.ShowMessageParams(types.MessageType.Error, f"streambound: {error!r}")
                    )

    async def _decide(self, document: TextDocument) -> None:
        version, source = document.version, document.source
        reader = READERS.get(_language(document))
        texts = None if reader is None else reader(source)
        if texts is None:
            # It is no Python while it is typed: what was shown of it stays.
            return
        path, overtaken = _path(document.uri), asyncio.Event()
        queries: list[Shown] = []
        marks: list[types.Diagnostic] = []
        self._current = (document.uri, overtaken)
        try:
            for number, text in enumerate(texts.texts, start=1):
                name = path.stem if len(texts.texts) == 1 else f"{path.stem} {number}"
                marked = await self._diagnose(path, name, text.sql, overtaken)
                if overtaken.is_set():
                    return
                queries += (Shown(text, item) for item in marked)
        except StreamboundError as error:
            if overtaken.is_set():
                return
            nowhere = types.Range(types.Position(0, 0), types.Position(0, 0))
            marks = [_diagnostic(nowhere, str(error), types.DiagnosticSeverity.Error, error.code)]
        finally:
            self._current = None
        self._decided[document.uri] = decided = Decided(version, source, texts, tuple(queries))
        positions = self.positions(source)
        marks += _marks(decided, positions, embedded=reader is python_file)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, marks, version))

    async def _diagnose(self, path: Path, name: str, sql: str, overtaken: asyncio.Event) -> Sequence[Marked]:
        asking = asyncio.get_running_loop().run_in_executor(self._thread, self._judge.marked, path, name, sql)
        newer = asyncio.ensure_future(overtaken.wait())
        either: set[asyncio.Future[Any]] = {asking, newer}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        newer.cancel()
        if not asking.done():
            await asyncio.wait({asking}, timeout=GRACE)
            if not asking.done():
                self._judge.give_up()
        return await asking

    def positions(self, source: str) -> Positions:
        """Positions in a text as this editor counts them."""
        return Positions(source, self.workspace.position_codec)


def _language(document: TextDocument) -> str:
    return SUFFIXES.get(PurePosixPath(urlsplit(document.uri).path).suffix, document.language_id or "")


def _path(uri: str) -> Path:
    """The file of a document; of one that is in none yet its name in the folder that is open."""
    local = to_fs_path(uri)
    return Path(local or Path.cwd() / (PurePosixPath(unquote(urlsplit(uri).path)).name or "untitled"))


def _marks(decided: Decided, positions: Positions, embedded: bool) -> Iterator[types.Diagnostic]:
    levels = {
        "unbounded": types.DiagnosticSeverity.Error,
        "unknown": types.DiagnosticSeverity.Warning,
        # A program has other SQL than queries over streams.
        "invalid": types.DiagnosticSeverity.Warning if embedded else types.DiagnosticSeverity.Error,
    }
    for shown in decided.queries:
        for mark in shown.marked["marks"]:
            location = positions.range(shown.location(mark["span"]))
            level = levels[shown.marked["verdict"]]
            yield _diagnostic(location, mark["message"], level, mark["code"], mark["page"])
    for span in decided.outcome.composed:
        yield _diagnostic(positions.range(span), COMPOSED, types.DiagnosticSeverity.Information)


def _diagnostic(
    location: types.Range,
    message: str,
    level: types.DiagnosticSeverity,
    code: str | None = None,
    page: str | None = None,
) -> types.Diagnostic:
    described = None if page is None else types.CodeDescription(page)
    return types.Diagnostic(
        location, message, severity=level, code=code, code_description=described, source=SOURCE
    )


def _meet(first: Span, second: Span) -> bool:
    """Whether two ranges have a character or an end in common."""
    return first.start <= second.end and second.start <= first.end


def actions(editor: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The quick fixes of the queries whose marks are in a range."""
    uri, wanted = params.text_document.uri, params.context.only
    decided = editor.decided(uri)
    if decided is None or (wanted is not None and types.CodeActionKind.QuickFix not in wanted):
        return []
    positions = editor.positions(decided.source)
    asked = positions.span(params.range)
    fixes = []
    for shown in decided.queries:
        if not any(_meet(shown.location(mark["span"]), asked) for mark in shown.marked["marks"]):
            continue
        reason_codes = {mark["code"] for mark in shown.marked["marks"]}
        mended = [d for d in params.context.diagnostics if d.source == SOURCE and d.code in reason_codes]
        for fix in shown.marked["fixes"]:
            if (edits := _edits(decided, shown.text, fix["sql"], positions)) is not None:
                edit = _edit(editor, uri, decided.version, edits)
                kind = types.CodeActionKind.QuickFix
                fixes.append(types.CodeAction(fix["title"], kind, diagnostics=mended, edit=edit))
    return fixes


def _edits(decided: Decided, text: Text, sql: str, positions: Positions) -> list[types.TextEdit] | None:
    """The edits after which a text of the document is ``sql`` and all others are as they were."""
    replacements = text.replacements(sql)
    if replacements is None:
        return None
    number = decided.outcome.texts.index(text)
    reader = sql_file if len(text.literals) == 1 and not text.literals[0].quote else python_file
    again = reader(edited(decided.source, replacements))
    wanted = [sql if i == number else item.sql for i, item in enumerate(decided.outcome.texts)]
    if again is None or [item.sql for item in again.texts] != wanted:
        return None
    return [
        types.TextEdit(positions.range(replacement.span), replacement.new) for replacement in replacements
    ]


def _edit(
    editor: Editor, uri: str, version: int | None, edits: Sequence[types.TextEdit]
) -> types.WorkspaceEdit:
    workspace = editor.client_capabilities.workspace
    able = None if workspace is None else workspace.workspace_edit
    if able is None or not able.document_changes:
        return types.WorkspaceEdit(changes={uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])


def hover(editor: Editor, params: types.HoverParams) -> types.Hover | None:
    """The verdict on the query at a position, its units and what is kept."""
    decided = editor.decided(params.text_document.uri)
    if decided is None:
        return None
    positions = editor.positions(decided.source)
    at = positions.offset(params.position)
    for shown in decided.queries:
        span = shown.location(shown.marked["span"])
        if span.start <= at <= span.end:
            said = types.MarkupContent(types.MarkupKind.Markdown, shown.marked["hover"])
            return types.Hover(said, positions.range(span))
    return None


def serve(judge: Judge, version: str) -> None:
    """Speak with an editor over standard input and output until it says that it is gone."""
    editor = Editor(judge, version)

    @editor.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        root = to_fs_path(editor.workspace.root_uri or "") or editor.workspace.root_path
        if root and os.path.isdir(root):
            # The same defaults as of a command in that folder.
            os.chdir(root)

    @editor.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        workspace = editor.client_capabilities.workspace
        able = None if workspace is None else workspace.did_change_watched_files
        if able is not None and able.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in CATALOGS]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("catalogs", name, options)
            editor.client_register_capability(types.RegistrationParams([registration]))

    @editor.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        editor.changed([params.text_document.uri])

    @editor.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        editor.changed([params.text_document.uri])

    @editor.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        editor.closed(params.text_document.uri)

    @editor.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        # It may be a catalog.
        editor.changed([*editor.workspace.text_documents])

    @editor.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        editor.changed([*editor.workspace.text_documents])

    @editor.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return actions(editor, params)

    @editor.feature(types.TEXT_DOCUMENT_HOVER)
    def text_document_hover(params: types.HoverParams) -> types.Hover | None:
        return hover(editor, params)

    # What a library prints must not come between the messages.
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        editor.start_io(stdout=messages)
    finally:
        editor.end()
