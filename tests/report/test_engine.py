"""What an engine keeps, as text, JSON, SARIF, in an editor's hover, and as the table of answers."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split
from typing import Any

import pytest
from tests.report.test_sarif import validated

from streambound.cli import main
from streambound.compiler import compile
from streambound.compiler.report import check, reported
from streambound.query.catalog import catalog_from_mapping
from streambound.report.editor import marked
from streambound.report.engine import answers, engine_lines, summary
from streambound.report.verdicts import verdict_text

STREAMS = {"S": {"A": "int", "B": "int"}, "T": {"D": "int", "E": "int"}}
CATALOG = catalog_from_mapping(STREAMS)
LOCAL = "S.A > 10 AND S.A < 20"
JOINED = f"SELECT DISTINCT S.A\nFROM S JOIN T ON S.A = T.D AND S.B < T.E\nWHERE {LOCAL}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "streams.yml").write_text(json.dumps({"streams": STREAMS}))
    (tmp_path / "q.sql").write_text(JOINED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    code = main(["check", *options])
    assert code == 0
    return capsys.readouterr().out


def test_each_operator_is_told_below_the_verdict_with_its_place() -> None:
    report = check(JOINED, CATALOG, "q", engine="flink", suggest=False)
    lines = verdict_text(report, JOINED).splitlines()
    assert lines[0].startswith("bounded    q")
    at = lines.index("  engine-state: as it is written, what Flink 2.3 keeps grows with the number of rows")
    assert lines[at + 1].startswith(
        "    join S.A = T.D AND S.B < T.E: each distinct row of S.A, S.B and of T.D, T.E;"
    )
    assert lines[at + 2 : at + 4] == [f"    {JOINED.splitlines()[1]}", "                     ^^^^^^^^^"]
    assert any(line.startswith("    note: table.exec.state.ttl") for line in lines)


def test_what_has_no_place_in_the_text_is_not_underlined() -> None:
    found = check(JOINED, CATALOG, "q", engine="flink", suggest=False).engine
    assert found is not None
    assert not any("^" in line for line in engine_lines(found.moved({}), JOINED))


@pytest.mark.parametrize(
    ("sql", "engine", "told"),
    [
        ("SELECT A FROM S", "flink", "Flink 2.3 keeps nothing of the query as it is written"),
        (
            f"SELECT S.A FROM S JOIN T ON S.A = T.D WHERE {LOCAL}",
            "flink",
            "as it is written, what Flink 2.3 keeps is constant, at most 18 entries",
        ),
        (
            "SELECT S.A FROM S, T WHERE S.B < T.E",
            "spark",
            "Spark 4.3 (output mode append) refuses the query as it is written",
        ),
        ("SELECT DISTINCT A FROM S", "ksqldb", "as it is written, what ksqlDB keeps is not modelled"),
    ],
)
def test_in_a_sentence(sql: str, engine: str, told: str) -> None:
    report = check(sql, CATALOG, engine=engine, suggest=False)
    assert report.engine is not None and summary(report.engine) == told


def test_a_refusal_has_the_engines_own_error_and_what_comes_late_is_told() -> None:
    text = verdict_text(
        check("SELECT S.A FROM S, T WHERE S.B < T.E", CATALOG, engine="spark", suggest=False), ""
    )
    assert "engine-refused: Spark 4.3" in text
    assert "StreamingQueryException STREAM_FAILED: Stream-stream join without equality predicate" in text
    assert "note: the refusal comes with the first batch only" in text


def test_what_is_said_on_the_command_line_in_a_file_and_by_the_project(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def engine(*options: str) -> Any:
        (line,) = printed(capsys, "--format", "json", "q.sql", *options).splitlines()
        found = json.loads(line).get("engine")
        return found and found["name"]

    assert engine() is None
    (folder / "streambound.toml").write_text('for = "materialize"\n')
    assert engine() == "materialize"
    (folder / "q.sql").write_text(f"-- for: flink\n{JOINED}")
    assert engine() == "flink"
    assert engine("--for", "spark") == "spark"


def test_the_command_that_is_told_prints_the_rewrite(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = "CREATE TABLE S (A INT, B INT);\nCREATE TABLE T (D INT, E INT);\n"
    (folder / "a script.sql").write_text(f"{view}INSERT INTO x\n{JOINED};\nINSERT INTO y\n{JOINED};\n")
    text = printed(capsys, "--for", "Flink", "--dialect", "flink", "q.sql", "a script.sql")
    told = [
        line.strip().removesuffix(" prints the SQL") for line in text.splitlines() if "prints the" in line
    ]
    assert len(told) == 3
    for line in told:
        assert main([*split(line)[1:], "--dialect", "flink"]) == 0
        assert "MIN(S.B)" in capsys.readouterr().out


def test_an_engine_that_is_not_known_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--for", "flonk", "q.sql"])
    assert ended.value.code == 2 and "did you mean flink?" in capsys.readouterr().err
    (folder / "streambound.toml").write_text('dialect = "spark"\nfor = "flonk"\n')
    assert main(["check", "q.sql"]) == 2
    said = capsys.readouterr().err
    assert "line 2, column 1: for is flonk" in said and "accepted: spark, flink" in said


def test_a_note_each_operator_for_code_review(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = validated(
        printed(capsys, "--catalog", "streams.yml", "--for", "flink", "--format", "sarif", "q.sql")
    )
    results = found["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [("engine-state", "note")] * 2
    region = results[0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (2, 18)
    assert "have no finite domain" in results[0]["message"]["text"]


def test_the_hover_of_an_editor_has_the_table() -> None:
    sql = f"SELECT S.A FROM S JOIN T ON S.A = T.D AND S.B < T.E WHERE {LOCAL}"
    job = compile(sql, CATALOG)
    report = check(sql, CATALOG, engine="flink", suggest=False)
    hover = marked(report, sql, (0, len(sql)), job)["hover"]
    verdict, _, table = hover.rpartition("```\n")
    assert "engine-state" not in verdict
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert rows[0] == "| | state |" and rows[2] == "| needed | unbounded |"
    # What Markdown would take for its own is text.
    assert "S.B \\< T.E" in rows[3]
    assert marked(reported(job), sql, (0, len(sql)), job)["hover"].endswith("```")


def test_the_answers_are_what_is_needed_and_what_is_kept() -> None:
    needed, kept = answers(check(JOINED, CATALOG, engine="spark", suggest=False))
    assert needed == ("needed", "at most 18 units of state", "")
    assert kept.question == "Spark 4.3 (output mode update), as written"
    assert kept.answer == "grows with the number of rows (join S.A = T.D AND S.B < T.E: each row)"
    assert answers(check(JOINED, CATALOG, suggest=False)) == ()
