"""Files of queries: one that cannot be read does not hide the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.query.registry import read_queries, read_query


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "ok.sql").write_text("SELECT A FROM S")
    return tmp_path


def test_a_missing_file_is_an_entry_with_an_error(folder: Path) -> None:
    missing, ok = read_queries([folder / "missing.sql", folder / "queries" / "ok.sql"])
    assert "missing.sql: cannot be read: No such file" in str(missing.error) and ok.error is None


def test_a_file_that_is_misspelt_is_told_with_the_one_beside_it(folder: Path) -> None:
    (missing,) = read_queries([folder / "queries" / "okk.sql"])
    assert missing.error is not None and missing.error.fix == "did you mean ok.sql?"


def test_a_name_that_is_too_long_is_an_entry_with_an_error(folder: Path) -> None:
    (long,) = read_queries([folder / f"{'x' * 300}.sql"])
    assert "File name too long" in str(long.error)


def test_a_byte_order_mark_is_no_sql(folder: Path) -> None:
    (folder / "bom.sql").write_bytes(b"\xef\xbb\xbfSELECT A FROM S")
    assert read_query(folder / "bom.sql").sql == "SELECT A FROM S"
