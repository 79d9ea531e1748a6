"""Scripts of stream processors as catalogs: what they declare is what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.cli import main
from streambound.errors import CatalogError
from streambound.imports.scripts import entries
from streambound.imports.text import document
from streambound.query.catalog import Catalog, catalog_of_text
from streambound.query.parse import read_script

SCRIPTS = sorted((Path(__file__).parents[1] / "corpus" / "scripts").glob("*/*.sql"))


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_script_and_what_is_written_of_it_are_one_catalog(file: Path) -> None:
    own = read_script(file.read_text(), Catalog((), default=True), dialect=file.parent.name).catalog
    if not own.relations:
        with pytest.raises(CatalogError, match="declares no table with columns"):
            entries(file, file.parent.name)
        return
    text = document(entries(file, file.parent.name), "a test")
    assert catalog_of_text(text, "a test").relations == own.relations


def test_the_command_says_what_the_script_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.sql"
    file.write_text(
        "CREATE TABLE clicks (id BIGINT NOT NULL, tags ARRAY<STRING>, ts TIMESTAMP(3),\n"
        "  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'kafka');\n"
        "CREATE TABLE plain (id BIGINT, at TIMESTAMP(3)) WITH ('connector' = 'kafka');\n"
    )
    assert main(["import", "flink", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "    timestamp: ts\n    allowed_lateness: 5 seconds\n" in printed
    assert "# values within values: only paths to fields of a struct are read" in printed
    assert "    # timestamp: at\n" in printed and "Not known: whether this column orders the rows" in printed
    assert main(["import", "flik", str(file)]) == 2
    assert "did you mean flink?" in capsys.readouterr().err
