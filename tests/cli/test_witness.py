"""``streambound witness``: lines a slot, replay, exit codes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streambound.cli import main

CATALOG = "streams:\n  S: {A: int, B: int}\n  T: {D: int}\n"
UNBOUNDED = "SELECT A FROM S, T WHERE A = D"
BOUNDED = "SELECT A FROM S WHERE A > 10"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(UNBOUNDED)
    (tmp_path / "bounded.sql").write_text(BOUNDED)
    (tmp_path / "wrong.sql").write_text("SELECT Z FROM S")
    return tmp_path


def run(folder: Path, name: str, *arguments: str) -> int:
    catalog = str(folder / "streams.yml")
    return main(["witness", str(folder / f"{name}.sql"), "--catalog", catalog, *arguments])


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_line_a_slot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "q", "--size", "2") == 0
    assert printed(capsys) == [
        {
            "query": "q",
            "slot": k,
            "fixed": [],
            "optional": [{"stream": "S", "A": k, "B": None}],
            "suffix": [{"stream": "T", "D": k}],
        }
        for k in (1, 2)
    ]


def test_verify_adds_what_was_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "q", "--size", "3", "--verify") == 0
    *slots, last = printed(capsys)
    assert [slot["slot"] for slot in slots] == [1, 2, 3]
    assert last == {"query": "q", "size": 3, "states": 8, "told_apart": 8}


def test_a_replay_that_falls_short_is_a_finding(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from streambound.certificate import verification as module

    monkeypatch.setattr(module, "verify", lambda query, found: module.Verification("q", 2, 3))
    assert run(folder, "q", "--size", "2", "--verify") == 1
    assert printed(capsys)[-1] == {"query": "q", "size": 2, "states": 4, "told_apart": 3}


def test_statements_with_or_and_union_have_witnesses(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "u.sql").write_text("SELECT A FROM S WHERE A > 3 OR B IS NULL UNION SELECT D FROM T")
    assert run(folder, "u", "--size", "3", "--verify") == 0
    *slots, last = printed(capsys)
    assert {found["query"] for found in (*slots, last)} == {"u"} and last["told_apart"] == 8


def test_out_writes_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "q", "--size", "2", "--verify", "--out", str(folder / "proofs")) == 0
    assert [set(found) for found in printed(capsys)] == [{"query", "size", "states", "told_apart"}]
    lines = (folder / "proofs" / "q.jsonl").read_text().splitlines()
    assert [json.loads(line)["slot"] for line in lines] == [1, 2]
    assert [path.name for path in (folder / "proofs").iterdir()] == ["q.jsonl"]


def test_registered_queries_go_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["witness", "tail_numbers_seen", "--size", "2", "--verify"]) == 0
    assert printed(capsys)[-1]["told_apart"] == 4


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("bounded", ["--size", "2"], "there is no witness: the query is bounded"),
        ("wrong", ["--size", "2"], "line 1, column 8"),
        ("missing", ["--size", "2"], "missing.sql"),
        ("q", ["--size", "0"], "--size is 0\n  accepted: 1 to 10,000"),
        ("q", ["--size", "-3", "--verify"], "--size is -3"),
        ("q", ["--size", "10001"], "accepted: 1 to 10,000"),
        ("q", ["--size", "11", "--verify"], "--size with --verify is 11\n  accepted: 1 to 10\n"),
        ("q", ["--size", "2", "--out", "{folder}/q.sql/x"], "--out: {folder}/q.sql is a file"),
    ],
)
def test_mistakes_are_one_clear_error(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, arguments: list[str], words: str
) -> None:
    filled = [argument.format(folder=folder) for argument in arguments]
    assert run(folder, name, *filled) == 2
    out, error = capsys.readouterr()
    assert error.startswith("streambound: ") and words.format(folder=folder) in error and not out
    assert "Traceback" not in error


@pytest.mark.parametrize("arguments", [["q.sql"], ["q.sql", "--size", "many"], []])
def test_a_size_is_needed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["witness", *arguments])
    assert stopped.value.code == 2 and "--size" in capsys.readouterr().err


def test_a_query_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["witness", "--size", "2"]) == 2
    assert "no query is named" in capsys.readouterr().err


def corpus(folder: Path, *lines: dict[str, Any] | str) -> str:
    path = folder / "corpus.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(path)


STREAMS = {"S": {"A": "int"}, "T": {"D": "int"}}


def test_a_corpus_has_a_proof_or_an_error_for_each_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(
        folder,
        {"id": "a", "sql": UNBOUNDED, "streams": STREAMS},
        {"id": "b", "sql": BOUNDED, "streams": STREAMS},
        "not json",
        {"id": "d", "sql": "SELECT DISTINCT D FROM T", "streams": STREAMS},
    )
    assert main(["witness", "--corpus", path, "--size", "1", "--verify"]) == 2
    found = printed(capsys)
    assert [line["query"] for line in found] == ["a", "a", "b", "corpus.jsonl:3", "d", "d"]
    assert "the query is bounded" in found[2]["error"] and "not JSON" in found[3]["error"]
    assert [line["told_apart"] for line in found if "told_apart" in line] == [2, 2]


def test_each_query_of_a_line_has_its_own_proof(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "CREATE VIEW a AS SELECT DISTINCT D FROM T; CREATE VIEW b AS SELECT DISTINCT A FROM S;"
    path = corpus(folder, {"id": "x", "statement": statement, "streams": STREAMS})
    assert main(["witness", "--corpus", path, "--size", "1", "--verify"]) == 0
    assert [line["query"] for line in printed(capsys)] == ["x/a", "x/a", "x/b", "x/b"]
    out = str(folder / "proofs")
    assert main(["witness", "--corpus", path, "--size", "1", "--out", out]) == 0
    assert {one.name for one in Path(out).iterdir()} == {"x.a.jsonl", "x.b.jsonl"}


def test_a_corpus_of_unbounded_queries_is_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(folder, {"id": "a", "sql": UNBOUNDED, "streams": STREAMS})
    assert main(["witness", "--corpus", path, "--size", "2"]) == 0
    assert len(printed(capsys)) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["q"], "QUERY cannot be given with --corpus"),
        (["--catalog", "x.yml"], "--catalog cannot be given with --corpus"),
    ],
)
def test_options_that_a_corpus_ignores_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["witness", *arguments, "--size", "2", "--corpus", corpus(folder)]) == 2
    assert words in capsys.readouterr().err


def test_an_id_that_names_no_file_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(folder, {"id": "../a", "sql": UNBOUNDED, "streams": STREAMS})
    assert main(["witness", "--corpus", path, "--size", "2", "--out", str(folder / "proofs")]) == 2
    assert "names no file" in printed(capsys)[0]["error"]
    assert not (folder.parent / "a.jsonl").exists()
