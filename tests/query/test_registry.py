"""The registry's folder: one file that cannot be read does not hide the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.query.registry import load_registry, read_queries, read_query

CATALOG = "streams:\n  S: {A: int}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "ok.sql").write_text("SELECT A FROM S")
    return tmp_path


def test_a_query_that_cannot_be_read_is_an_entry_with_an_error(folder: Path) -> None:
    (folder / "queries" / "latin.sql").write_bytes(b"SELECT A FROM S -- \xe9")
    (folder / "queries" / "z.sql").mkdir()
    latin, ok, z = load_registry(folder).chosen([])
    assert (latin.name, latin.sql) == ("latin", "")
    assert "latin.sql: not UTF-8 text: byte 19" in str(latin.error)
    assert (ok.sql, ok.error) == ("SELECT A FROM S", None)
    assert "z.sql: this is a folder" in str(z.error)


def test_a_missing_file_is_an_entry_with_an_error(folder: Path) -> None:
    missing, ok = read_queries([folder / "missing.sql", folder / "queries" / "ok.sql"])
    assert "missing.sql: cannot be read: No such file" in str(missing.error) and ok.error is None


def test_a_name_that_is_too_long_is_an_entry_with_an_error(folder: Path) -> None:
    (long,) = read_queries([folder / f"{'x' * 300}.sql"])
    assert "File name too long" in str(long.error)


def test_a_byte_order_mark_is_no_sql(folder: Path) -> None:
    (folder / "bom.sql").write_bytes(b"\xef\xbb\xbfSELECT A FROM S")
    assert read_query(folder / "bom.sql").sql == "SELECT A FROM S"
