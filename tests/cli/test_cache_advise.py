"""``streambound cache advise``: what it answers, and its exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.approximate.nights import USUAL, night

from streambound import settings
from streambound.approximate.nightly.accuracy import Accuracy
from streambound.approximate.nightly.benchmark import Fit
from streambound.approximate.nightly.night import Night, path_of, write
from streambound.checkpoint.fingerprint import fingerprint
from streambound.cli import main
from streambound.history.inspection.recent_past import plan_for
from streambound.projects.registry import load_registry

CATALOG = """streams:
  S: {columns: {A: int, ts: int}, timestamp: ts}
  T: {columns: {A: int, C: int, ts: int}, timestamp: ts}
"""
QUERIES = {
    "q": "SELECT S.A, T.C FROM S, T WHERE S.A = T.A AND S.ts < T.ts",
    "bounded": "SELECT S.A FROM S",
    "product": "SELECT S.A, T.A FROM S, T",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    queries = tmp_path / "registry" / "queries"
    queries.mkdir(parents=True)
    (tmp_path / "registry" / "streams.yml").write_text(CATALOG)
    for name, sql in QUERIES.items():
        (queries / f"{name}.sql").write_text(sql)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    write(settings.caches_root(), benchmarked())
    return tmp_path


def benchmarked() -> Night:
    plan = plan_for("q", QUERIES["q"], load_registry(settings.registry()).catalog, 1)
    return night(*USUAL, fingerprint=fingerprint(plan.query, plan.streams, {}))


def advise(query: str, target: str, *more: str) -> int:
    return main(["cache", "advise", query, "--target", target, *more])


def test_a_size_that_was_tried(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("q", "0.45") == 0
    text = capsys.readouterr().out
    assert (
        "q: 500 tuples (3,500 units) keep 45% of its results: they keep 70.0% under lru; 300 may do" in text
    )
    assert (
        "the optimum reaches it in 500 tuples (3,500 units); 150 may do (an estimate: a line between" in text
    )
    assert "on the last 4 of 10 days, 2026-01-01 to 2026-01-10, with 1,000 results" in text
    assert "k = 100: lru was chosen\n  no policy keeps more\nk = 500" in text
    assert "k = 2,000: fifo was chosen\n  not chosen, though more were kept: lru 90.0%" in text


def test_estimates_and_drifts(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = benchmarked()
    sizes = (replace(found.sizes[0], estimate=Accuracy(40, 100, 90.0, 5.0)),)
    write(settings.caches_root(), replace(found, sizes=sizes, drifts=(Fit("S", "trend", -3.0, -3.75),)))
    assert advise("q", "0.45") == 0
    text = capsys.readouterr().out
    assert "held-out days alone a pass found 40 of 100 results, 40.0%; it estimated 90 with a" in text
    assert "its streams had drifted from what was known of them, and models were learned anew\n" in text
    assert "-3.75 on the days since, 0.75 nats below the -3.00 of its trend" in text
    assert advise("q", "0.45", "--format", "json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["sizes"][0]["estimate"]["estimated_share"] == pytest.approx(40 / 90)
    assert [(fit["stream"], fit["drop"], fit["drifted"]) for fit in body["drifts"]] == [("S", 0.75, True)]


def test_none_that_was_tried(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("q", "0.95") == 1
    text = capsys.readouterr().out
    assert "no memory that was tried keeps 95% of its results; 2,000 tuples (14,000 units), the most" in text
    assert "keep 85.0% under fifo" in text and "the optimum reaches it in 2,000 tuples" in text


def test_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("q", "0.45", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["memory"] == {"size": 500, "units": 3_500, "estimate": {"size": 300, "units": 2_100}}
    assert found["optimum"]["estimate"] == {"size": 150, "units": 1_050}
    assert found["sizes"][2] == {
        "size": 2_000,
        "units": 14_000,
        "policy": "fifo",
        "alpha": None,
        "why": "fifo was chosen",
        "kept": 850,
        "share": 0.85,
        "optimum": 1_000,
        "optimum_share": 1.0,
        "ahead": [{"policy": "lru", "share": 0.9}],
        "estimate": None,
    }
    assert advise("q", "0.95", "--format", "json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["memory"] is None and found["reached"] is False and found["optimum"]["size"] == 2_000


def test_the_picture(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("q", "0.5", "--picture", str(home / "q.svg")) == 0
    assert "<svg" in (home / "q.svg").read_text()
    assert advise("q", "0.5", "--picture", str(home / "q.txt")) == 2
    assert "a file in .png or .svg" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["0", "1.5", "-0.1", "nan"])
def test_a_target_that_is_no_share(home: Path, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert advise("q", target) == 2
    assert "a share above 0 and at most 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nobody", "no query is registered as nobody"),
        ("bounded", "bounded: it is bounded and needs no cache"),
        ("product", "product: it cannot run in k tuples of memory"),
    ],
)
def test_queries_without_a_cache(
    home: Path, query: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advise(query, "0.5") == 2
    assert said in capsys.readouterr().err


def test_what_has_not_been_benchmarked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "registry" / "queries" / "q.sql").write_text(QUERIES["q"].replace("S.ts < T.ts", "S.ts > T.ts"))
    assert advise("q", "0.5") == 2
    assert "has changed since its caches were benchmarked" in capsys.readouterr().err
    path_of(settings.caches_root(), "q").unlink()
    assert advise("q", "0.5") == 2
    said = capsys.readouterr().err
    assert "its caches have not been benchmarked yet" in said
    assert "spark_apps/benchmark_caches.py --queries q" in said


def test_a_damaged_benchmark(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path_of(settings.caches_root(), "q").write_text("{}")
    assert advise("q", "0.5") == 2
    assert "no benchmark of caches can be read from it" in capsys.readouterr().err
