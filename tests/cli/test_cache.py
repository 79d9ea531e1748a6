"""``streambound cache simulate`` and ``streambound.simulate`` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import streambound
from streambound.cli import main
from streambound.errors import StreamboundError
from streambound.simulator.configurations import CONFIGURATIONS


@pytest.fixture
def trace(tmp_path: Path) -> str:
    (tmp_path / "trace.csv").write_text("k\n1\n2\n1\n3\n1\n2\n")
    return str(tmp_path / "trace.csv")


@pytest.fixture
def joined(tmp_path: Path) -> str:
    (tmp_path / "streams.csv").write_text("t,R,S\n0,1,2\n1,2,1\n2,1,1\n")
    return str(tmp_path / "streams.csv")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_object_a_policy_and_size(trace: str, capsys) -> None:
    arguments = ["--trace", trace, "--column", "k", "--problem", "caching", "--policy", "lru,lfd"]
    assert main(["cache", "simulate", *arguments, "--size", "1,2,99", "--format", "json"]) == 0
    found = lines(capsys)
    assert [(each["policy"], each["size"], each["results"]) for each in found] == [
        ("lru", 1, 0),
        ("lru", 2, 2),
        ("lru", 99, 3),
        ("lfd", 1, 0),
        ("lfd", 2, 2),
        ("lfd", 99, 3),
    ]
    assert found[0] == {
        "policy": "lru",
        "size": 1,
        "results": 0,
        "warmup": 0,
        "steps": 6,
        "possible": 3,
    }


@pytest.mark.parametrize(
    "wrong", [["--policy", "lru,nru", "--size", "1"], ["--policy", "lru", "--size", "1,-1"]]
)
def test_nothing_is_simulated_if_a_later_policy_or_size_is_wrong(
    trace: str, capsys: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    assert main(["cache", "simulate", "--trace", trace, "--column", "k", *wrong]) == 2
    assert capsys.readouterr().out == ""


def test_joining_with_window_and_warmup(joined: str, capsys) -> None:
    arguments = ["cache", "simulate", "--streams", joined, "--policy", "fifo", "--size", "6"]
    assert main(arguments) == 0
    assert main([*arguments, "--window", "1", "--problem", "joining"]) == 0
    assert main([*arguments, "--warmup", "2"]) == 0
    assert [each["results"] for each in lines(capsys)] == [4, 3, 2]


@pytest.mark.parametrize("size", [10**9, 10**20])
def test_more_room_than_tuples_is_room_for_all(trace: str, joined: str, capsys, size: int) -> None:
    arguments = ["--policy", "lru,lfd,opt-offline", "--size", str(size)]
    assert main(["cache", "simulate", "--trace", trace, "--column", "k", *arguments]) == 0
    arguments = ["--policy", "rand,prob,opt-offline", "--size", str(size)]
    assert main(["cache", "simulate", "--streams", joined, *arguments]) == 0
    assert [(each["size"], each["results"]) for each in lines(capsys)] == [(size, 3)] * 3 + [(size, 4)] * 3


def test_text_is_a_table(trace: str, capsys) -> None:
    arguments = ["--trace", trace, "--column", "k", "--policy", "lru-3", "--size", "2"]
    assert main(["cache", "simulate", *arguments, "--format", "text"]) == 0
    assert capsys.readouterr().out.split() == ["lru-3", "2", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "lru", "--size", "-1"], "size is -1"),
        (["--policy", "lru", "--size", "1.5"], "--size is '1.5'"),
        (["--policy", "lru", "--size", "1", "--warmup", "-1"], "warmup is -1"),
        (["--policy", "nru", "--size", "1"], "the policy 'nru' is unknown"),
        (["--policy", "life", "--size", "1"], "the policy life is not one for caching"),
        (["--policy", "lru", "--size", "1", "--window", "3"], "caching has no use for --window"),
        (["--policy", "a0", "--size", "1"], "none are given"),
    ],
)
def test_what_cannot_be_meant_is_refused(trace: str, capsys, arguments: list[str], message: str) -> None:
    assert main(["cache", "simulate", "--trace", trace, "--column", "k", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_options_of_the_other_problem_are_refused(trace: str, joined: str, capsys) -> None:
    rest = ["--policy", "rand", "--size", "1"]
    assert main(["cache", "simulate", "--trace", trace, *rest]) == 2
    assert main(["cache", "simulate", "--streams", joined, "--bypass", *rest]) == 2
    assert main(["cache", "simulate", "--streams", joined, "--problem", "caching", *rest]) == 2
    text = capsys.readouterr().err
    assert "caching needs --column" in text and "joining has no use for --bypass" in text
    assert "caching needs --trace and --column" in text


def test_an_empty_trace_has_no_results(tmp_path: Path, capsys) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("k\n")
    policies = "rand,fifo,lru,lfu,lfd,arc,s3-fifo,sieve,lru-k,prob"
    arguments = ["--trace", str(path), "--column", "k", "--policy", policies, "--size", "0,3"]
    assert main(["cache", "simulate", *arguments]) == 0
    assert {each["results"] for each in lines(capsys)} == {0}


def test_python_does_the_same() -> None:
    found = streambound.simulate([[1, 2, 1], [2, 1, 1]], ["fifo"], [6], "joining", window=1)
    assert found[0].results == 3
    with pytest.raises(StreamboundError, match="the problem is 'sorting'"):
        streambound.simulate([1], ["lru"], [1], "sorting")


def test_checking_queries_does_not_load_numba() -> None:
    code = (
        "import sys; from streambound.cli import main; main(['check']); "
        "sys.exit(bool({'numba', 'scipy', 'statsmodels', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_heeb_fits_its_model_on_the_warm_up(tmp_path: Path, capsys) -> None:
    models = CONFIGURATIONS["tower"]()
    rows = [model.sample(400, np.random.default_rng(at)) for at, model in enumerate(models)]
    path = tmp_path / "streams.csv"
    path.write_text("t,R,S\n" + "".join(f"{t},{r},{s}\n" for t, (r, s) in enumerate(zip(*rows, strict=True))))
    arguments = ["cache", "simulate", "--streams", str(path), "--size", "5", "--warmup", "100"]
    assert main([*arguments, "--policy", "rand,heeb,life,opt-offline"]) == 0
    fitted = {each["policy"]: each["results"] for each in lines(capsys)}
    assert main([*arguments, "--policy", "rand,heeb,life,opt-offline", "--model", "tower"]) == 0
    given = {each["policy"]: each["results"] for each in lines(capsys)}
    assert fitted["rand"] < fitted["heeb"] <= fitted["opt-offline"] == given["opt-offline"]
    # RAND is told which tuples have fallen behind the window only if a model is named.
    assert given["rand"] > fitted["rand"] and given["heeb"] > given["life"]
    assert main([*arguments, "--policy", "heeb", "--alpha", "2.5", "--model", "tower"]) == 0
    assert lines(capsys)[0]["results"] > 0


def test_heeb_without_warm_up_says_so(trace: str, capsys) -> None:
    assert (
        main(["cache", "simulate", "--trace", trace, "--column", "k", "--policy", "heeb", "--size", "1"]) == 2
    )
    assert "a model cannot be fitted to 0 steps" in capsys.readouterr().err
