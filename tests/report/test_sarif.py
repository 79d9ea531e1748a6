"""SARIF: valid against the schema of the standard, every finding at its place, fixes that are bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from streambound.cli import main
from streambound.compiler.report import check
from streambound.query.catalog import catalog_from_mapping

SCHEMA = json.loads(
    (Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")
)
STREAMS = {"S": {"A": "int", "B": "int"}, "T": {"D": "int", "E": "int"}}
QUERIES = {
    "bounded": "SELECT A FROM S WHERE A > 10",
    "unbounded": "-- größer: ja\nSELECT S.A\nFROM S, T\nWHERE S.A = T.D\n",
    "unknown": "SELECT DISTINCT 1 FROM S x, S y, S z WHERE x.A < y.B AND y.A < z.B",
    "invalid": "SELECT A\nFROM S\nWHERE Z = 1",
    "unsupported": "SELECT A FROM S SORT BY A",
    "syntax": "SELECT",
}


def validated(text: str) -> Any:
    found = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA).validate(found)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "streams.yml").write_text(json.dumps({"streams": STREAMS}))
    (tmp_path / "my queries").mkdir()
    for name, sql in QUERIES.items():
        (tmp_path / "my queries" / f"{name}.sql").write_text(sql, encoding="utf-8")
    (tmp_path / "my queries" / "bytes.sql").write_bytes(b"SELECT \xff")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *paths: str) -> tuple[int, Any]:
    code = main(["check", "--catalog", "streams.yml", "--format", "sarif", *paths])
    return code, validated(capsys.readouterr().out)


def test_every_finding_is_a_result_of_its_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys, "my queries")
    (one,) = found["runs"]
    assert code == 2 and found["version"] == "2.1.0"
    levels = {(r["properties"]["query"], r["ruleId"], r["level"]) for r in one["results"]}
    assert levels == {
        ("unbounded", "unbounded-projection", "error"),
        ("unbounded", "unbounded-equality", "error"),
        ("unknown", "self-join", "warning"),
        ("invalid", "invalid-query", "error"),
        ("unsupported", "unsupported-sql", "error"),
        ("syntax", "invalid-query", "error"),
        ("bytes", "invalid-query", "error"),
    }
    rules = one["tool"]["driver"]["rules"]
    for result in one["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in one["results"]}
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)


def test_a_result_points_to_the_place_in_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = run(capsys, "my queries")
    said = {}
    for result in found["runs"][0]["results"]:
        physical = result["locations"][0]["physicalLocation"]
        if "region" not in physical:
            continue
        region, path = physical["region"], folder / unquote(physical["artifactLocation"]["uri"])
        line = path.read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]
        said[result["properties"]["query"], result["ruleId"]] = line[
            region["startColumn"] - 1 : region["endColumn"] - 1
        ]
    assert said["unbounded", "unbounded-projection"] == "S.A"
    assert said["unbounded", "unbounded-equality"] == "S.A = T.D"
    assert said["invalid", "invalid-query"] == "Z"


def test_a_fix_makes_the_file_bounded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = run(capsys, "my queries/unbounded.sql")
    fixed = [result for result in found["runs"][0]["results"] if "fixes" in result]
    assert len(fixed) == 1
    original = QUERIES["unbounded"]
    for fix in fixed[0]["fixes"]:
        ((replacement,),) = ([*change["replacements"]] for change in fix["artifactChanges"])
        region = replacement["deletedRegion"]
        lines = original.split("\n")
        assert (region["startLine"], region["startColumn"]) == (1, 1)
        assert (region["endLine"], region["endColumn"]) == (len(lines), len(lines[-1]) + 1)
        text = replacement["insertedContent"]["text"]
        assert check(text, catalog_from_mapping(STREAMS)).verdict == "bounded"
        assert text.startswith("-- größer: ja\n")


def test_findings_keep_their_identity_when_lines_move(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def identities() -> list[str]:
        _, found = run(capsys, "my queries/unbounded.sql")
        return [r["partialFingerprints"]["streambound/v1"] for r in found["runs"][0]["results"]]

    before = identities()
    (folder / "my queries" / "unbounded.sql").write_text("\n\n" + QUERIES["unbounded"], encoding="utf-8")
    assert identities() == before and len(set(before)) == 2


def test_nothing_to_say_is_a_run_without_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys, "my queries/bounded.sql")
    assert code == 0 and found["runs"][0]["results"] == []


def test_files_elsewhere_have_their_full_address(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    path = folder / "my queries" / "unbounded.sql"
    main(["check", "--catalog", str(folder / "streams.yml"), "--format", "sarif", str(path)])
    found = validated(capsys.readouterr().out)
    location = found["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == path.as_uri() and "uriBaseId" not in location


def test_help_addresses_where_the_documentation_is_published(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = run(capsys, "my queries/unbounded.sql")
    assert all("helpUri" not in rule for rule in found["runs"][0]["tool"]["driver"]["rules"])
    monkeypatch.setenv("STREAMBOUND_DOCS_URL", "https://docs.example.org/streambound/")
    _, found = run(capsys, "my queries/unbounded.sql")
    uris = {rule["helpUri"] for rule in found["runs"][0]["tool"]["driver"]["rules"]}
    assert "https://docs.example.org/streambound/codes/unbounded-equality.html" in uris


def test_a_corpus_has_no_files_to_point_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--corpus", "x.jsonl", "--format", "sarif"]) == 2
    assert "--format sarif cannot be given with --corpus" in capsys.readouterr().err
