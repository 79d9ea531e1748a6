"""The command line on what people have: a project with its settings, a dbt project, a folder of scripts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streambound.cli import main

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
SHOP = ROOT / "tests" / "projects" / "shop"
GUIDE = (ROOT / "docs" / "projects.md").read_text(encoding="utf-8")
BOUNDED, UNBOUNDED = "SELECT A FROM S WHERE A > 10\n", "SELECT DISTINCT A\nFROM S\n"
FLINK = (
    "CREATE TABLE a (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka');\n"
    "INSERT INTO good SELECT k FROM a WHERE k = 'x';\n"
    "INSERT INTO bad SELECT DISTINCT k FROM a;\n"
)
KSQL = (
    "CREATE STREAM o (id VARCHAR KEY, v INT) WITH (KAFKA_TOPIC = 'o', VALUE_FORMAT = 'JSON');\n"
    "CREATE STREAM small AS SELECT id, v FROM o WHERE v < 10 EMIT CHANGES;\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def told(capsys: Captured) -> dict[str, str]:
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return {line["query"]: line["verdict"] for line in lines}


def results(capsys: Captured) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    return found


PROJECT = {
    "streambound.toml": """
catalog = "all.yml"
paths = ["q"]
exclude = ["q/old"]
dialects = {"q/f" = "flink"}
""",
    "all.yml": "streams:\n  S: {A: int, B: int}\n",
    "q/good.sql": BOUNDED,
    "q/bad.sql": UNBOUNDED,
    "q/f/job.sql": FLINK.replace(", WATERMARK FOR ts AS ts", ""),
    "q/old/older.sql": UNBOUNDED,
    "elsewhere.sql": UNBOUNDED,
}
DECIDED = {"good": "bounded", "bad": "unbounded", "f/job/good": "bounded", "f/job/bad": "unbounded"}


def test_a_project_is_checked_without_options(folder: Path, capsys: Captured) -> None:
    write(folder, PROJECT)
    assert main(["check", "--format", "json"]) == 1
    assert told(capsys) == DECIDED


def test_the_settings_are_found_upwards_from_a_file(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {f"deep/{name}": text for name, text in PROJECT.items()})
    assert main(["check", "deep/q/good.sql"]) == 0
    assert main(["explain", "deep/q/good.sql"]) == 0
    assert "no state" in capsys.readouterr().out
    monkeypatch.chdir(folder / "deep" / "q")
    assert main(["check", "--format", "json", "."]) == 1
    assert told(capsys) == DECIDED
    # A project within another one, and a catalog that is named.
    write(folder / "deep", {"q/f/streambound.toml": 'dialect = "risingwave"'})
    assert main(["check", "--format", "json", "f"]) == 1
    assert {json.loads(line)["dialect"] for line in capsys.readouterr().out.splitlines()} == {"risingwave"}
    write(folder, {"other.yml": "streams:\n  S: {columns: {A: int}, domains: {A: {min: 1, max: 3}}}\n"})
    assert main(["check", "--catalog", "../../other.yml", "bad.sql"]) == 0


def test_what_is_no_error_is_told_and_does_not_fail(folder: Path, capsys: Captured) -> None:
    write(folder, {**PROJECT, "q/sorted.sql": "SELECT A FROM S SORT BY A"})
    assert main(["check"]) == 2
    capsys.readouterr()
    settings = PROJECT["streambound.toml"]
    for errors, code in (('"unbounded", "invalid"', 1), ('"invalid"', 0), ('"unsupported"', 2), ("", 0)):
        write(folder, {"streambound.toml": f"{settings}errors = [{errors}]\n"})
        assert main(["check", "--format", "sarif"]) == code, errors
        if errors != '"unbounded", "invalid"':
            capsys.readouterr()
            continue
        levels = {one["properties"]["verdict"]: one["level"] for one in results(capsys)}
        assert levels == {"unbounded": "error", "invalid": "note"}


def test_settings_that_are_not_understood_are_refused(folder: Path, capsys: Captured) -> None:
    write(folder, {**PROJECT, "streambound.toml": 'paths = ["q"]\ncatalogue = "all.yml"\n'})
    for command in (["check"], ["check", "q/good.sql"], ["explain", "q/good.sql"]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert error.startswith(
            "streambound: invalid-project: streambound.toml: line 2, column 1: unknown key"
        )
        assert "did you mean catalog?" in error


def test_queries_of_a_project_and_files_of_a_folder_name_each_other(folder: Path, capsys: Captured) -> None:
    write(
        folder, {"q/few.sql": "SELECT A FROM S WHERE A IN (1, 2)", "q/seen.sql": "SELECT DISTINCT A FROM few"}
    )
    write(folder, {"s.yml": PROJECT["all.yml"]})
    assert main(["check", "--catalog", "s.yml", "q/seen.sql"]) == 0
    write(folder, {"streambound.toml": 'catalog = "s.yml"', "deep/er.sql": "SELECT DISTINCT A FROM few"})
    capsys.readouterr()
    assert main(["check", "--format", "json", "deep/er.sql", "q"]) == 0
    assert told(capsys) == {"er": "bounded", "few": "bounded", "seen": "bounded"}
    assert main(["explain", "deep/er.sql"]) == 0
    assert "at most 2 units" in capsys.readouterr().out


def test_a_query_that_reads_another_one_is_evaluated(folder: Path, capsys: Captured) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    write(folder, {"q/few.sql": "SELECT A FROM S WHERE A IN (1, 2)", "streams.yml": PROJECT["all.yml"]})
    write(folder, {"q/seen.sql": "SELECT DISTINCT A FROM few", "streambound.toml": "", "rows/none": ""})
    rows = pa.table({"A": pa.array([1, 3, 1], pa.int32()), "B": pa.array([4, 5, 6], pa.int32())})
    pq.write_table(rows, folder / "rows" / "S.parquet")
    assert main(["run", "q/seen.sql", "--relations", "rows"]) == 0
    assert [one["row"] for one in json.loads(capsys.readouterr().out)["answers"]] == [[1]]


def test_a_folder_of_scripts_is_checked(folder: Path, capsys: Captured) -> None:
    write(folder, {"jobs/flink/job.sql": FLINK, "jobs/k.ksql": KSQL, "jobs/readme.md": "SELECT"})
    assert main(["check", "--format", "json", "jobs"]) == 1
    assert told(capsys) == {"k": "bounded", "flink/job/good": "bounded", "flink/job/bad": "unbounded"}


@pytest.mark.parametrize("command", ["check", "explain", "run", "witness"])
def test_one_query_of_a_script_is_chosen(folder: Path, capsys: Captured, command: str) -> None:
    write(folder, {"job.sql": FLINK.replace("'connector' = 'kafka'", "'connector' = 'filesystem'")})
    more = {"witness": ["--size", "2"], "run": ["--engine", "onepass"]}.get(command, [])
    chosen = "bad" if command == "witness" else "good"
    arguments = [command, "job.sql", "--dialect", "flink", "--query", chosen, *more]
    if command == "run":
        (folder / "s.yml").write_text(
            "streams:\n  a: {columns: {k: string, ts: timestamp}, timestamp: ts,"
            " history: {path: a, partition_by: date}}\n"
        )
        import pyarrow as pa
        import pyarrow.parquet as pq

        (folder / "in" / "a" / "date=2024-01-01").mkdir(parents=True)
        stamp = pa.array([1704067200000000, 1704067200000001], pa.timestamp("us"))
        rows = pa.table({"k": ["x", "y"], "ts": stamp})
        pq.write_table(rows, folder / "in" / "a" / "date=2024-01-01" / "p.parquet")
        arguments += ["--catalog", "s.yml", "--input", "in"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    if command == "run":
        found = json.loads(out)
        assert found["query"] == "job/good" and [one["row"] for one in found["answers"]] == [["x"]]
    elif command == "witness":
        assert len(out.splitlines()) == 2
    else:
        assert "job/good" in out and "job/bad" not in out
    assert main([*arguments[: arguments.index("--query")], "--query", "goood", *more]) == 2
    captured = capsys.readouterr()
    assert "there is no query goood in the text" in captured.out + captured.err


def test_several_queries_are_no_one_query(folder: Path, capsys: Captured) -> None:
    write(folder, {"job.sql": FLINK})
    assert main(["run", "job.sql", "--engine", "reference"]) == 2
    assert "choose one with --query NAME" in capsys.readouterr().err
    assert main(["run", "job.sql", "--query", "../x"]) == 2
    assert "--query is ../x" in capsys.readouterr().err


def test_findings_of_dbt_stand_in_the_models_own_files(folder: Path, capsys: Captured) -> None:
    shutil.copytree(SHOP, folder / "shop")
    manifest = ["--dbt", "shop/target/manifest.json"]
    assert main(["check", *manifest, "--format", "sarif", "--select", "revenue", "shipped"]) == 1
    found = results(capsys)
    places = {
        (one["properties"]["query"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for one in found
    }
    assert places == {
        ("revenue", "shop/models/marts/revenue.sql"),
        # Lines of a loop are nowhere in the model.
        ("shipped", "shop/target/compiled/shop/models/marts/shipped.sql"),
    }
    assert not any("fixes" in one for one in found)
    for one in found:
        position = one["locations"][0]["physicalLocation"]
        lines = (folder / position["artifactLocation"]["uri"]).read_text().splitlines()
        text = lines[position["region"]["startLine"] - 1][position["region"]["startColumn"] - 1 :]
        assert text.startswith(("region", "group by", "o.", "s.")), text
    assert main(["check", *manifest, "--select", "revenue"]) == 1
    out = capsys.readouterr().out
    assert "  in shop/models/marts/revenue.sql\n" in out and "group by region" in out
    assert main(["check", *manifest, "--format", "json", "--select", "shipped"]) == 1
    assert json.loads(capsys.readouterr().out)["file"] == "shop/target/compiled/shop/models/marts/shipped.sql"


def test_a_line_of_a_model_is_found_where_it_stands(folder: Path, capsys: Captured) -> None:
    shutil.copytree(SHOP, folder / "shop")
    model = folder / "shop" / "models" / "marts" / "revenue.sql"
    model.write_text("{{ config(tags=['a']) }}\n\n{# why #}\n" + model.read_text())
    assert (
        main(["check", "--dbt", "shop/target/manifest.json", "--format", "sarif", "--select", "revenue"]) == 1
    )
    lines = {one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results(capsys)}
    assert lines == {6}


def test_dbt_is_a_setting_of_a_project(folder: Path, capsys: Captured) -> None:
    shutil.copytree(SHOP, folder, dirs_exist_ok=True)
    dbt = 'dbt = {manifest = "target/manifest.json", select = ["s*"]}\n'
    write(folder, {"streambound.toml": f'errors = ["invalid"]\n{dbt}'})
    assert main(["check", "--format", "json"]) == 0
    assert sorted(told(capsys)) == ["shipped", "shipped_in_time", "statuses", "stg_orders", "stg_shipments"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dbt", "m.json", "x.sql"], "PATH cannot be given with --dbt"),
        (["--dbt", "m.json", "--catalog", "x.yml"], "--catalog cannot be given with --dbt"),
        (["--select", "x"], "give --dbt target/manifest.json as well"),
        (["--dbt", "m.json"], "m.json: cannot be read: No such file or directory"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, capsys: Captured, arguments: list[str], said: str
) -> None:
    assert main(["check", *arguments]) == 2
    assert said in capsys.readouterr().err


FIRST = re.findall(r"```console\n\$ cd (\S+)\n\$ (streambound check.*)\n", GUIDE)


@pytest.mark.parametrize(("place", "command"), FIRST, ids=[position for position, _ in FIRST])
def test_the_first_verdict_is_one_command_away(folder: Path, place: str, command: str) -> None:
    """What the page shows, in a fresh process and a folder in which nothing is configured."""
    if place == "shop":
        shutil.copytree(SHOP, folder / place)
    else:
        write(folder / place, {"jobs/job.sql": FLINK})
    script = "import sys; from streambound.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()[1:]],
        cwd=folder / place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1, 2) and not done.stderr, done.stderr
    assert re.search(r"^bounded ", done.stdout, re.MULTILINE)
    assert re.search(r"^unbounded ", done.stdout, re.MULTILINE)


def test_the_page_shows_both() -> None:
    assert [position for position, _ in FIRST] == ["shop", "jobs-repository"]
