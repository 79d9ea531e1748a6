"""A process that decides for the commands of a file's tests: to start one for each takes a second."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from streambound.examination.examiner import Examiner


@pytest.fixture(scope="module", autouse=True)
def kept_process() -> Iterator[None]:
    """What a command leaves in good order decides for the next one, as behind the pages."""
    kept: list[tuple[subprocess.Popen[bytes], bool]] = []
    start, leave = Examiner.start, Examiner.__exit__

    def started(examiner: Examiner) -> None:
        if examiner._process is None and kept:
            examiner._process, examiner._ready = kept.pop()
        start(examiner)

    def left(examiner: Examiner, *error: object) -> None:
        if examiner._process is not None and not any(error):
            kept.append((examiner._process, examiner._ready))
            examiner._process = None
        leave(examiner, *error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Examiner, "start", started)
        patch.setattr(Examiner, "__exit__", left)
        yield
    for process, ready in kept:
        last = Examiner()
        last._process, last._ready = process, ready
        last.end()
