"""Folders of any name: a table of checkpoints is in the folder that was named, or it is refused at once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from tests.checkpoint.rows import checkpoint

from streambound import settings
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import DataError

# What shells, patterns, addresses and formats of text give a meaning to.
PARTS = [*"[]{}()*?#%:;,&|^$~'\"\\<>=+!@` .", "%20", "%2e%2e%2f", "%zz", "..", "é", "e\u0301", "☃", "😀"]
NAMES = st.lists(st.sampled_from([*PARTS, "\n", "\t", "\x7f", "\udcff", "a", "b"]), min_size=1, max_size=4)
REFUSED = ("[", "]", "|", "^", "\\", "\n", "\t", "\x7f", "\udcff", "%20", "%2e")


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)).split("/")[0] for path in folder.rglob("*")}


@limits(max_examples=limits.default.max_examples // 3)
@given(name=NAMES.map("".join))
@example("g[ab]")
@example("a%20b")
@example("%2e%2e%2fx")
@example("a?b")
def test_a_table_is_in_the_folder_that_was_named_or_refused(name: str) -> None:
    if name in (".", ".."):
        return
    box = Path(tempfile.mkdtemp())
    try:
        (box / name).mkdir()
        try:
            address = address_of(settings.plain(str(box / name)), "q")
        except DataError as error:
            assert any(odd in name for odd in REFUSED) and "STREAMBOUND_CHECKPOINTS" in str(error.fix)
            str(error).encode()
            assert list((box / name).iterdir()) == []
            return
        table = CheckpointTable(address, "q")
        table.commit("f", [checkpoint("2026-01-01")], [])
        table.commit("f", [checkpoint("2026-01-02")], [])
        assert sorted(CheckpointTable(address, "q").rows) == ["2026-01-01", "2026-01-02"]
        assert (box / name / "q" / "_delta_log").is_dir() and everything(box) == {name}
    finally:
        shutil.rmtree(box)


def test_a_link_to_an_odd_folder_and_an_odd_query_are_refused(tmp_path: Path) -> None:
    (tmp_path / "g[ab]").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "g[ab]")
    with pytest.raises(DataError, match="'\\['"):
        settings.plain(str(tmp_path / "link"))
    with pytest.raises(DataError, match="'%20'"):
        address_of(str(tmp_path), "a%20b")
    assert address_of("s3://bucket/x", "a%20[b]") == "s3://bucket/x/a%2520%5Bb%5D"


def test_results_are_not_kept_beside_the_folder_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STREAMBOUND_DATABASE_URL", raising=False)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "a?b"))
    with pytest.raises(DataError, match="'\\?'"):
        settings.database_url()
