"""The registry's folder, and what a ``streambound.toml`` says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.errors import ProjectError
from streambound.projects.registry import load_registry, registry_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text("streams:\n  S: {A: int}\n")
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


def test_a_project_says_the_catalog_the_dialects_and_what_is_an_error(folder: Path) -> None:
    inner = folder / "registry"
    inner.mkdir()
    (folder / "queries").rename(inner / "queries")
    said = 'dialect = "flink"\ndialects = {"registry/queries/k.sql" = "ksql"}\n'
    (folder / "streambound.toml").write_text(said + 'catalog = "mine.yml"\nerrors = ["unknown"]')
    (folder / "mine.yml").write_text("streams:\n  T: {B: int}\n")
    (inner / "queries" / "k.sql").write_text("SELECT B FROM T")
    (inner / "queries" / "own.sql").write_text("-- dialect: feldera\nSELECT B FROM T")
    registry = load_registry(inner)
    assert [one.dialect for one in registry.queries] == ["ksql", "flink", None]
    assert registry.query("k") == registry.queries[0]
    assert [one.dialect for one in registry.catalog.queries] == ["ksql", "flink", None]
    assert registry.catalog.names == ["T"] and registry.errors == {"unknown"}
    # A text in place of a registered one is read as that is.
    assert registry.of_text("k", "SELECT 1").dialect == "ksql"
    (folder / "streambound.toml").write_text("catalogue = 1")
    with pytest.raises(ProjectError, match="unknown key catalogue"):
        registry_of(inner)


def test_without_a_project_nothing_is_said(folder: Path) -> None:
    registry = load_registry(folder)
    assert (registry.queries[0].dialect, registry.errors, registry.catalog.names) == (None, None, ["S"])
