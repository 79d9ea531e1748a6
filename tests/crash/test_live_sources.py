"""kill -9 in the midst of a live query over sources with rows out of order: no answer is lost or there twice.

The definition says what the files of answers and the Delta table have to hold in the end.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from tests.crash.processes import wait_until_gone
from tests.crash.test_crash import CLI, Live, kill, some
from tests.live.test_live import row, two
from tests.spark.arrivals import Rows, by_marker, written
from tests.spark.test_live_sources import SOURCES, shuffled, spread
from tests.strategies import Case

pytestmark = pytest.mark.spark
MOMENTS = [f"{victim}-{number}" for victim in ("driver", "jvm", "worker", "family") for number in range(3)]
SAMPLE = ("family-0",)
KINDS = {"S": "payload", "T": "csv"}
FILES, LATENESS = 3, 5


class FromSources(Live):
    """The query over what there is, a file of each stream at a time, into a Delta table as well."""

    def __init__(self, folder: Path, epochs: int = 0) -> None:
        self.epochs, self.output = epochs, folder / "live"
        query = [str(folder / "counts.sql"), "--catalog", str(folder / "streams.yml")]
        ends = ["--live", "--available-now", "--end-of-input", "--output", str(folder / "live")]
        into = ["--into", "delta", "--into-option", f"path={folder / 'table'}"]
        self._start([sys.executable, "-c", CLI, "run", *query, *ends, *into])


def scene(folder: Path, seed: str) -> tuple[Case, Rows]:
    """A query, its catalog and its streams."""
    case, chance = two(), random.Random(seed)
    rows = [row(chance.choice("ST"), ts, chance.randint(0, 3)) for ts in range(100)]
    spread(case, folder / "streams", KINDS, shuffled(rows, LATENESS, chance), FILES)
    streams = {}
    for relation in case.catalog.relations:
        source = SOURCES[KINDS[relation.name]]
        place = {"path": str(folder / "streams" / relation.name), "maxFilesPerTrigger": 1}
        body = {**source, "lateness": LATENESS, "options": {**source.get("options", {}), **place}}
        columns = {column.name: column.type.name for column in relation.columns}
        streams[relation.name] = {"columns": columns, "timestamp": "ts", "live": body}
    (folder / "streams.yml").write_text(yaml.safe_dump({"streams": streams}))
    (folder / "counts.sql").write_text(case.sql)
    return case, rows


@pytest.mark.parametrize("moment", some(MOMENTS, SAMPLE))
def test_a_killed_live_query_goes_on_and_answers_once(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STREAMBOUND_SPARK_MASTER", "local[2]")
    kind, chance = moment.split("-")[0], random.Random(moment)
    case, rows = scene(tmp_path, moment)
    query = FromSources(tmp_path, chance.randint(1, FILES - 1))
    query.reach()
    family = kill(query, kind, chance.uniform(0, 1))
    code = query.wait()
    wait_until_gone(family)
    told = "".join(query.told)
    print(f"{moment}: {'killed' if family else 'done before'}, exit code {code}; {''.join(query.told[-3:])}")
    assert "Traceback (most recent call last)" not in told, told
    again = FromSources(tmp_path)
    assert again.wait() == 0, again.told
    wanted = by_marker(case, rows, {})
    assert written(tmp_path / "live" / "counts", case.query, timed=True) == wanted != []
    table = DeltaTable(tmp_path / "table").to_pyarrow_table().to_pylist()
    found: Counter[Any] = Counter()
    for one in table:
        found[one["marker"], one["A"], one["A_2"]] += int(one["count"])
    assert found == Counter({(at, *key): n for at, new in wanted for key, n in new.items()})
