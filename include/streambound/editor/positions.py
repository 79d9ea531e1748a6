"""Characters of a text as an editor counts them: lines from 0, and code units within a line."""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol import types
from pygls.workspace import PositionCodec

from streambound.editor.texts import Span

_LINE_END = re.compile(r"\r\n|\r|\n")


class Positions:
    """Between the characters of one text and positions in it."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._text = text
        self._codec = codec
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> types.Position:
        """The position of a character, or of the end of the text."""
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        return types.Position(line, self._codec.client_num_units(before))

    def range(self, span: Span) -> types.Range:
        """The range of some characters."""
        return types.Range(self.position(span.start), self.position(span.end))

    def offset(self, position: types.Position) -> int:
        """The character at a position; the last one of what is there where the position is past it."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        end = self._starts[position.line + 1] if position.line + 1 < len(self._starts) else len(self._text)
        units = 0
        for offset in range(start, end):
            if units >= position.character or self._text[offset] in "\r\n":
                return offset
            units += self._codec.client_num_units(self._text[offset])
        return end

    def span(self, marked: types.Range) -> Span:
        """The characters of a range."""
        return Span(self.offset(marked.start), self.offset(marked.end))
