"""The command as a user meets it: exit codes, JSON, one clear error, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from streambound.cli import check, main
from streambound.examination.examiner import Examiner, Unanswered

CATALOG = "streams:\n  S: {A: int, B: int, C: int}\n  T: {D: int, E: int}\n"
BOUNDED = "SELECT A FROM S WHERE A > 10"
UNBOUNDED = "SELECT DISTINCT A FROM S"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    return tmp_path


def write(folder: Path, name: str, sql: str) -> str:
    (folder / f"{name}.sql").write_text(sql)
    return str(folder / f"{name}.sql")


def run(folder: Path, *arguments: str) -> int:
    command, *rest = arguments
    return main([command, "--catalog", str(folder / "streams.yml"), *rest])


@pytest.mark.parametrize(
    ("queries", "code"),
    [
        ({"q": BOUNDED}, 0),
        ({"q": BOUNDED, "r": UNBOUNDED}, 1),
        ({"q": BOUNDED, "r": UNBOUNDED, "s": "SELECT"}, 2),
    ],
)
def test_exit_codes(folder: Path, queries: dict[str, str], code: int) -> None:
    paths = [write(folder, name, sql) for name, sql in queries.items()]
    assert run(folder, "check", *paths) == code
    assert run(folder, "check", str(folder)) == code


def test_json_has_the_promised_fields(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "check", "--format", "json", write(folder, "q", UNBOUNDED)) == 1
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {
        "query",
        "verdict",
        "final",
        "projection",
        "units",
        "criterion",
        "reasons",
        "published",
        "suggestions",
        "error",
    }
    assert found["reasons"][0]["where"] == {"line": 1, "column": 17}
    assert found["published"] == {"arasu": "unbounded", "schiff_ozcep_2": "no-verdict"}


FINALS = {
    "SELECT A FROM S": "bounded",
    "SELECT DISTINCT A FROM S": "unbounded",
    "SELECT COUNT(*) AS n FROM S": "never-final",
    "SELECT nothing FROM S": "unknown",
    "SELECT A FROM S SORT BY A": "unknown",
}


@pytest.mark.parametrize(("sql", "final"), FINALS.items())
def test_final_mode_is_always_told(
    folder: Path, sql: str, final: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(folder, "q", sql)
    run(folder, "check", "--format", "json", path)
    found = json.loads(capsys.readouterr().out)
    assert found["final"] == final
    run(folder, "check", path)
    assert ("never-final: " in capsys.readouterr().out) is (final == "never-final")
    run(folder, "check", "--format", "json", "--criterion", "arasu", path)
    assert json.loads(capsys.readouterr().out)["final"] == "unknown"


def test_what_is_assumed_of_functions_is_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", "SELECT DISTINCT f(A) AS x, g(A, A) AS y FROM S")
    run(folder, "check", "--format", "json", path)
    found = json.loads(capsys.readouterr().out)
    said = "depends on its arguments alone, and may have any value of its type"
    assert found["assumes"] == [f"(f(A)) {said}", f"(g(A, A)) {said}"]
    run(folder, "check", "--format", "sarif", path)
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    told = {json.dumps(one["properties"].get("assumes")) for one in results}
    assert told == {json.dumps(found["assumes"])}
    assert {one["properties"]["final"] for one in results} == {found["final"]}


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"streambound {metadata.version('streambound')}\n"


def test_text_underlines_the_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, "check", write(folder, "q", UNBOUNDED))
    assert "    SELECT DISTINCT A FROM S\n                    ^" in capsys.readouterr().out


def test_text_suggests_and_explain_shows_the_sql(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", UNBOUNDED)
    run(folder, "check", path)
    text = capsys.readouterr().out
    assert "    1. bound S.A: S.A BETWEEN 0 AND 999 (placeholder: put in your own numbers): at most" in text
    assert "       or declare S: {domains: {A: {min: 0, max: 999}}}: at most 1,001 units" in text
    assert "    2. remove DISTINCT: " in text and "no state" in text
    run(folder, "explain", path)
    text = capsys.readouterr().out
    assert "         SELECT DISTINCT A FROM S WHERE S.A BETWEEN 0 AND 999\n" in text
    assert "         SELECT A FROM S\n" in text
    assert "engine-state" not in text
    run(folder, "explain", "--for", "flink", path)
    assert "engine-state: as it is written, what Flink 2.3 keeps grows with" in capsys.readouterr().out


@pytest.mark.parametrize("share", [50, 2], ids=["one process", "two"])
def test_suggestions_are_told_of_the_first_queries(
    folder: Path, share: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "SHARE", share)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for number in range(8):
        write(folder, f"q{number}", BOUNDED if number in (0, 3) else f"{UNBOUNDED} WHERE B > {number}")

    def suggested(*options: str) -> list[str]:
        run(folder, "check", *options, "--format", "json", str(folder))
        found = map(json.loads, capsys.readouterr().out.splitlines())
        return [one["query"] for one in found if one["suggestions"]]

    assert suggested() == ["q1", "q2", "q4", "q5", "q6", "q7"]
    assert suggested("--suggestions", "3") == ["q1", "q2", "q4"]
    assert suggested("--suggestions", "0") == []
    monkeypatch.setattr(check, "SUGGESTED", 2)
    assert run(folder, "check", str(folder)) == 1
    text = capsys.readouterr().out
    assert text.count("bounded after any one of these changes") == 2
    assert "2 bounded, 6 unbounded\nwithout suggestions: 4 that came later; --suggestions N" in text
    run(folder, "check", "--suggestions", "6", str(folder))
    assert "without suggestions" not in capsys.readouterr().out


def test_explain_shows_the_steps_when_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", UNBOUNDED)
    assert run(folder, "explain", path) == 1
    assert "Steps of" not in capsys.readouterr().out
    assert run(folder, "explain", "--steps", path) == 1
    assert "Steps of Schiff & Özçep, Theorem 2" in capsys.readouterr().out
    assert run(folder, "explain", "--steps", write(folder, "o", "SELECT A FROM S WHERE A > 5 OR B > 5")) == 0
    assert "one SELECT without OR" in capsys.readouterr().out


def test_other_criteria(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", UNBOUNDED)
    for criterion, verdict in (("arasu", "unbounded"), ("schiff_ozcep", "unknown")):
        assert run(folder, "check", "--format", "json", "--criterion", criterion, path) == 1
        found = json.loads(capsys.readouterr().out)
        assert (found["verdict"], found["criterion"]) == (verdict, criterion)


def test_a_bad_query_does_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write(folder, "a", "SELECT Z FROM S"), write(folder, "b", BOUNDED)]
    assert run(folder, "check", "--format", "json", *paths) == 2
    bad, good = map(json.loads, capsys.readouterr().out.splitlines())
    assert (bad["verdict"], good["verdict"]) == ("invalid", "bounded")
    assert "line 1, column 8" in bad["error"] and "A, B, C" in bad["error"]


def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "latin.sql").write_bytes(b"SELECT A FROM S -- \xe9")
    paths = [str(folder / "latin.sql"), str(folder / "missing.sql"), write(folder, "ok", BOUNDED)]
    assert run(folder, "check", "--format", "json", *paths) == 2
    latin, missing, ok = map(json.loads, capsys.readouterr().out.splitlines())
    assert [found["verdict"] for found in (latin, missing, ok)] == ["invalid", "invalid", "bounded"]
    assert "not UTF-8" in latin["error"] and "missing.sql: cannot be read" in missing["error"]
    assert run(folder, "check", *paths) == 2
    assert "1 bounded, 2 invalid" in capsys.readouterr().out


def _given_up(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One query gets no time, whatever the clock of this machine; the others get all they need."""
    ask = Examiner.ask

    def asked(examiner: Examiner, question: Any, seconds: float) -> dict[str, Any]:
        return ask(examiner, question, 0.0 if question["name"] == name else 600.0)

    monkeypatch.setattr(Examiner, "ask", asked)


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_a_query_that_is_not_decided_in_time_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    _given_up(monkeypatch, "b")
    write(folder, "a", UNBOUNDED), write(folder, "b", BOUNDED), write(folder, "c", BOUNDED)
    assert run(folder, "check", "--format", form, str(folder)) == 1
    out = capsys.readouterr().out
    if form == "text":
        assert "unbounded  a\n" in out and "bounded    c" in out
        assert "unknown    b\n  search-limit: the query was not decided within" in out
        assert "--timeout SECONDS gives it more time" in out and "1 bounded, 1 unbounded, 1 unknown" in out
    elif form == "json":
        found = [json.loads(line) for line in out.splitlines()]
        assert [one["verdict"] for one in found] == ["unbounded", "unknown", "bounded"]
        assert [reason["code"] for reason in found[1]["reasons"]] == ["search-limit"]
    else:
        results = json.loads(out)["runs"][0]["results"]
        told = {(r["properties"]["query"], r["ruleId"], r["level"]) for r in results}
        assert told == {("a", "unbounded-projection", "error"), ("b", "search-limit", "warning")}


def test_of_a_corpus_and_the_registry_too_only_one_query_is_given_up(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _given_up(monkeypatch, "b")
    lines = [{"id": name, "streams": {"S": {"A": "int"}}, "sql": "SELECT A FROM S"} for name in "abc"]
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "queries").mkdir()
    for name in "abc":
        write(folder / "queries", name, BOUNDED)
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(folder))
    for arguments in (["--corpus", str(folder / "x.jsonl")], ["--format", "json"]):
        assert main(["check", *arguments]) == 1
        found = [json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()]
        assert found == ["bounded", "unknown", "bounded"]


def test_many_files_are_shared_and_come_in_order(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    texts = (BOUNDED, "SELECT DISTINCT A FROM S", "SELECT nothing FROM S", f"{BOUNDED}; SELECT A FROM S")
    for number in range(24):
        (folder / f"q{number:02}.sql").write_text(texts[number % len(texts)])
    started = []
    start = Examiner._running
    monkeypatch.setattr(Examiner, "_running", lambda self: (started.append(self), start(self))[1])
    printed = []
    for fraction, processes in ((5, 3), (1_000, 1)):
        monkeypatch.setattr("streambound.cli.check.SHARE", fraction)
        started.clear()
        assert main(["check", "--catalog", str(folder / "streams.yml"), str(folder)]) == 2
        assert len(set(started)) == processes
        assert all(examiner._process is None for examiner in started)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and printed[0].endswith("18 bounded, 6 invalid, 6 unbounded\n")


def test_an_outside_failure_among_many_files_ends_all_processes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    monkeypatch.setattr("streambound.cli.check.SHARE", 2)
    for number in range(20):
        (folder / f"q{number:02}.sql").write_text(BOUNDED)
    asked = []

    def ask(self: Examiner, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        asked.append(self)
        if question["name"] == "q03":
            raise Unanswered("the process that decides queries ended")
        return plain(self, question, seconds)

    plain = Examiner.ask
    monkeypatch.setattr(Examiner, "ask", ask)
    assert main(["check", "--catalog", str(folder / "streams.yml"), str(folder)]) == 3
    captured = capsys.readouterr()
    assert captured.out.count("bounded    q") == 3 and "q03" in captured.err
    assert len(set(asked)) == 3 and all(examiner._process is None for examiner in asked)


def test_the_time_of_a_query_is_an_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", BOUNDED)
    assert run(folder, "check", "--timeout", "3600", path) == 0
    # Less than a process takes to answer.
    assert run(folder, "check", "--timeout", "1e-9", path) == 1
    assert "not decided within 1e-09 seconds" in capsys.readouterr().out
    for text in ("0", "-1", "nan", "inf", "x", "1e9"):
        with pytest.raises(SystemExit) as ended:
            run(folder, "check", f"--timeout={text}", path)
        assert ended.value.code == 2
        assert f"'{text}' is no number of seconds above 0" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["explain", "run"])
def test_a_folder_is_not_one_query(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (folder / "z.sql").mkdir()
    assert run(folder, command, str(folder / "z.sql")) == 2
    assert "z.sql: this is a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "nothing.sql"], "nothing.sql"),
        (["run"], "no query is named"),
    ],
)
def test_mistakes_are_one_clear_error(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(folder, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("streambound: ") and words in error and "Traceback" not in error


def test_a_missing_corpus_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--corpus", "none.jsonl"]) == 2
    assert "none.jsonl" in capsys.readouterr().err


CORPUS = str(Path(__file__).parents[1] / "corpus" / "untimed.jsonl")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "q.sql"], "PATH cannot be given with --corpus"),
        (["check", "--catalog", "x.yml"], "--catalog cannot be given with --corpus"),
        (["check", "--format", "text"], "--format text cannot be given with --corpus"),
        (["run", "q"], "QUERY cannot be given with --corpus"),
        (["run", "--catalog", "x.yml"], "--catalog cannot be given with --corpus"),
        (["run", "--input", "d", "--output", "d"], "--input, --output cannot be given with --corpus"),
        (["run", "--from", "2013-01-01", "--to", "2013-01-02"], "--from, --to cannot be given with --corpus"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main([*arguments, "--corpus", CORPUS]) == 2
    out, error = capsys.readouterr()
    assert words in error and not out


@pytest.mark.parametrize("engine", ["spark", "local", "onepass"])
@pytest.mark.parametrize("output", ["streams.yml", "streams.yml/answers"])
def test_an_output_that_is_a_file_is_refused_first(
    folder: Path, capsys: pytest.CaptureFixture[str], engine: str, output: str
) -> None:
    path = write(folder, "q", BOUNDED)
    assert run(folder, "run", path, "--engine", engine, "--output", str(folder / output)) == 2
    assert "streams.yml is a file" in capsys.readouterr().err


def test_a_file_name_that_is_no_text_is_printed_as_an_escape(folder: Path) -> None:
    name = str(folder / "\udcff.sql")
    Path(name).write_text(BOUNDED)
    code = "import sys; from streambound.cli import main; sys.exit(main(sys.argv[1:]))"
    catalog = str(folder / "streams.yml")
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "--catalog", catalog, name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "bounded    \\udcff" in done.stdout


def test_a_missing_catalog_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--catalog", str(tmp_path / "x.yml"), str(tmp_path)]) == 2
    assert "x.yml" in capsys.readouterr().err


def test_a_query_is_missed_and_no_registry_that_nobody_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    Path("job.sql").write_text("SELECT A FROM S", encoding="utf-8")
    assert main(["run", "job.sq"]) == 2
    assert "job.sq: not a .sql file, and no registry" in (said := capsys.readouterr().err)
    assert "fix: did you mean job.sql?" in said
    assert main(["check"]) == 2
    assert f"{tmp_path}: no streambound.toml in this folder or above" in capsys.readouterr().err
    assert main(["check", "job.sql"]) == 2
    assert "fix: declare S in a catalog, named by --catalog FILE" in capsys.readouterr().out


def test_a_folder_without_queries_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "check", str(folder)) == 2
    assert "there are no .sql files" in capsys.readouterr().err


def test_corpus_lines_that_are_no_good_are_invalid_and_the_rest_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        "not json",
        json.dumps({"id": "x", "sql": "SELECT A FROM S", "streams": {"S": {"A": "number"}}}),
        json.dumps({"id": "y", "sql": BOUNDED, "streams": {"S": {"A": "int"}}}),
        "[1]",
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines))
    assert main(["check", "--corpus", str(path)]) == 2
    found = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [f["verdict"] for f in found] == ["invalid", "invalid", "bounded", "invalid"]
    assert found[0]["query"] == "corpus.jsonl:1"


def test_explain_says_what_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, "q", "SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19")
    assert run(folder, "explain", path) == 0
    text = capsys.readouterr().out
    assert "per S.A (9 values) keep the least S.B: 9 units" in text
    assert "keep the greatest T.D: 1 unit" in text


@pytest.mark.parametrize("engine", ["onepass", "local"])
def test_run_corpus_prints_new_answers(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {
        "id": "x",
        "streams": {"S": {"A": "int"}, "T": {"D": "int"}},
        "sql": "SELECT A FROM S, T WHERE A = D AND A BETWEEN 1 AND 3",
        "events": [{"stream": "S", "A": 2}, {"stream": "T", "D": 2}, {"stream": "T", "D": 2}],
    }
    bad = {**line, "id": "bad", "events": [{"stream": "S", "A": "two"}]}
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(line) + "\n" + json.dumps(bad) + "\n")
    assert main(["run", "--corpus", str(path), "--engine", engine]) == 2
    good, failed = map(json.loads, capsys.readouterr().out.splitlines())
    assert good == {
        "query": "x",
        "answers": [{"ts": 1, "row": [2], "count": 1}, {"ts": 2, "row": [2], "count": 1}],
        "peak_units": 2,
    }
    assert "event 0: column A: 'two' is not a value of type int" in failed["error"]


@pytest.mark.parametrize("engine", ["onepass", "reference", "local"])
def test_run_corpus_answers_each_query_of_a_text(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statement = (
        "CREATE TABLE o (id INT, x INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);"
        " INSERT INTO small SELECT id FROM o WHERE x < 3; INSERT INTO large SELECT x FROM o WHERE x > 3;"
    )
    events = [{"stream": "o", "id": n, "x": n, "ts": f"2024-01-01T00:00:0{n}"} for n in (1, 5)]
    path = tmp_path / "c.jsonl"
    line = {"id": "job", "dialect": "flink", "statement": statement, "sql": "no sql", "events": events}
    path.write_text(json.dumps(line) + "\n")
    assert main(["run", "--corpus", str(path), "--engine", engine]) == 0
    found = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    answers = {one["query"]: [answer["row"] for answer in one["answers"]] for one in found}
    assert answers == {"job/small": [[1]], "job/large": [[5]]}


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    corpus = Path(__file__).parents[1] / "corpus" / "untimed.jsonl"
    call = f"main(['check', '--corpus', {str(corpus)!r}])"
    code = f"import sys; from streambound.cli import main; sys.exit({call})"
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" | head -n 1', sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr and len(done.stdout.splitlines()) == 1


def test_the_lint_path_loads_neither_spark_nor_airflow(folder: Path) -> None:
    path = write(folder, "q", BOUNDED)
    catalog = str(folder / "streams.yml")
    code = (
        "import sys; from streambound.cli import main; "
        f"main(['check', '--catalog', {catalog!r}, {path!r}]); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'pyspark', 'airflow', 'great_expectations', 'pandas', 'duckdb', 'pyarrow', 'sqlalchemy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
