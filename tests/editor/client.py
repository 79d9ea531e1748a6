"""A client of the language server, as editors are: the real process, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import PositionCodec

from streambound.editor.positions import Positions
from streambound.editor.texts import Replacement, edited

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "import sys; from streambound.cli import main; sys.exit(main())", "lsp")


class Client(LanguageClient):
    """Holds the documents as an editor does, and waits for what the server says of them."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.all_published: list[types.PublishDiagnosticsParams] = []

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.all_published.append(params)
            self._published.put_nowait(params)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            pass

    def open(self, file: Path, language: str, text: str | None = None) -> str:
        """Open a file, or a text that is not in it; its address."""
        uri = file.as_uri()
        self.texts[uri] = file.read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, self.texts[uri])
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        """Replace the text of a document."""
        self.texts[uri] = text
        self.versions[uri] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def marks(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of a document as it is now."""
        while True:
            found = await asyncio.wait_for(self._published.get(), 120)
            if found.uri == uri and found.version == self.versions[uri]:
                return [*found.diagnostics]

    def positions(self, uri: str) -> Positions:
        """Positions in a document."""
        # Counted in the protocol's own way, UTF-16.
        return Positions(self.texts[uri], PositionCodec())

    def marked(self, uri: str, mark: types.Diagnostic) -> str:
        """The characters that a diagnostic underlines."""
        span = self.positions(uri).span(mark.range)
        return self.texts[uri][span.start : span.end]

    async def fixes(self, uri: str, mark: types.Diagnostic) -> list[types.CodeAction]:
        """The quick fixes at a diagnostic."""
        found = await self.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri), mark.range, types.CodeActionContext([mark])
            )
        )
        return [one for one in found or [] if isinstance(one, types.CodeAction)]

    def apply(self, action: types.CodeAction) -> str:
        """Make the edits of a quick fix, and tell the server; the new text."""
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        uri = change.text_document.uri
        assert change.text_document.version == self.versions[uri]
        positions = self.positions(uri)
        made = []
        for edit in change.edits:
            assert isinstance(edit, types.TextEdit)
            made.append(Replacement(positions.span(edit.range), edit.new_text))
        self.change(uri, edited(self.texts[uri], made))
        return self.texts[uri]

    async def hover(self, uri: str, offset: int) -> str | None:
        """What is said where the pointer rests."""
        found = await self.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), self.positions(uri).position(offset))
        )
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value


@asynccontextmanager
async def editing(folder: Path, *options: str, command: Sequence[str] = COMMAND) -> AsyncIterator[Client]:
    """A client with a folder open; the server has ended well when it is left."""
    client = Client()
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": library}
    await client.start_io(*command, *options, env=env, cwd=folder)
    able = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
        )
    )
    await client.initialize_async(types.InitializeParams(able, root_uri=folder.as_uri()))
    client.initialized(types.InitializedParams())
    yield client
    await client.shutdown_async(None)
    client.exit(None)
    assert client._server is not None
    assert await asyncio.wait_for(client._server.wait(), 60) == 0
    await client.stop()
