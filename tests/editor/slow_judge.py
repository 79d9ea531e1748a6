"""A language server whose judge notes what it is asked, and answers when a file is there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streambound.editor.server import serve
from streambound.errors import PlatformError

FOLDER = Path(sys.argv[2])


class SlowJudge:
    """What the folder has decides: ``asked`` is what it was asked, ``go`` says that it may answer."""

    def __init__(self) -> None:
        self._given_up = threading.Event()

    def marked(self, path: Path, name: str, sql: str) -> Sequence[dict[str, Any]]:
        with (FOLDER / "asked").open("a") as asked:
            print(sql, file=asked)
        while not (FOLDER / "go").exists():
            if self._given_up.wait(0.01):
                self._given_up.clear()
                raise PlatformError("taken back")
        return []

    def give_up(self) -> None:
        self._given_up.set()


if __name__ == "__main__":
    serve(SlowJudge(), "1")
