"""What the demo prints of queries in k tuples: the exact answer's size, and the trade-off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.approximate.nights import USUAL, night

from scripts.demo import exact_size, main, print_trade_offs
from streambound import settings
from streambound.approximate.nightly.night import write
from streambound.results import Answer, CacheAnswer, Results

STREAMS = """streams:
  S: {timestamp: ts, columns: {ts: int, A: int}, history: {path: S, partition_by: part}}
  T: {timestamp: ts, columns: {ts: int, A: int}, history: {path: T, partition_by: part}}
  unwritten: {timestamp: ts, columns: {ts: int}, history: {path: unwritten, partition_by: part}}
"""
JOIN = "-- cache size: 5\nSELECT S.A FROM S, T WHERE S.A = T.A AND S.ts < T.ts;\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "registry" / "queries").mkdir(parents=True)
    (tmp_path / "registry" / "streams.yml").write_text(STREAMS)
    (tmp_path / "registry" / "queries" / "q.sql").write_text(JOIN)
    for part in (0, 1):
        for stream in "ST":
            folder = tmp_path / "streams" / stream / f"part={part}"
            folder.mkdir(parents=True)
            rows = {"ts": [2 * part, 2 * part + 1], "A": [7, None]}
            pq.write_table(pa.table(rows), folder / "part-00000.parquet")
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.delenv("STREAMBOUND_STREAMS", raising=False)
    return tmp_path


def test_the_exact_size_counts_all_partitions(home: Path) -> None:
    assert exact_size("q") == 1


def test_what_is_kept_and_by_which_policy_is_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Results(f"sqlite:///{home}/results.db")
    store.record_answer(Answer("r", "q", 2, 8, 1, units=35))
    answer = CacheAnswer("r", "q", 5, "lru", "why", 1, estimated_results=1, standard_error=0)
    store.record_cache_answer(answer)
    print_trade_offs(store)
    said = "q: of 1 results in all 1 were found (100.00%) in 5 tuples (35 units) under lru; it estimated 1"
    assert capsys.readouterr().out.startswith(said)
    write(settings.caches_root(), night(*USUAL))
    print_trade_offs(store)
    text = capsys.readouterr().out
    assert text.startswith(said) and "\nq: what is kept of 1,000 results on the last 4 of 10 days" in text
    assert "\n  500   3,500  70.00%  65.00%   80.00%  lru, 70.00%\n" in text
    write(settings.caches_root(), replace(night(*USUAL), possible=0))
    print_trade_offs(store)
    assert "what is kept" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [(["--help"], 0, "--days N"), (["--days", "0"], 2, "days 1 to 365"), (["later"], 2, "unrecognized")],
)
def test_options_are_read_before_anything_starts(
    given: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    out, err = capsys.readouterr()
    assert ended.value.code == code
    assert said in out + err
