"""A lock is held by one, or shared by several, and by nobody once its file is closed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from scripts.imports import LIBRARY, ROOT, imports
from streambound.locks import taken


def test_one_holds_it_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as one, path.open("w") as other:
        assert taken(one) and taken(one.fileno()) and not taken(other)
        one.close()
        assert taken(other)


def test_several_share_it_and_none_holds_it_alone_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as one, path.open("w") as other:
        assert taken(one, shared=True) and taken(other, shared=True)
        assert not taken(one)


def test_who_waits_holds_it_next(tmp_path: Path) -> None:
    path, order = tmp_path / "lock", list[str]()

    def second() -> None:
        with path.open("w") as file:
            assert taken(file, wait=True)
            order.append("second")

    waiting = threading.Thread(target=second)
    with path.open("w") as file:
        assert taken(file)
        waiting.start()
        order.append("first")
    waiting.join(60)
    assert order == ["first", "second"]


@pytest.mark.parametrize("folder", ["include", "plugins", "scripts", "spark_apps", "dags"])
def test_nothing_else_locks(folder: str) -> None:
    files = (path for path in (ROOT / folder).rglob("*.py") if "fcntl" in path.read_text(encoding="utf-8"))
    using = {path for path in files if "fcntl" in imports(path)}
    assert using == ({LIBRARY / "locks.py"} if folder == "include" else set())
