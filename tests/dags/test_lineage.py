"""OpenLineage: what our operators tell of their inputs, outputs and findings, and that nothing needs it.

Every facet of ours is held against its published schema in ``docs/lineage``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openlineage.client.serde import Serde
from sqlalchemy import make_url
from tests.dags.test_operators import FakeTaskInstance, check, quality, weather

from streambound.query.catalog import load_catalog
from streambound_airflow import lineage, selection
from streambound_airflow.spark_submit import BenchmarkCachesOperator, EvaluateHistoryOperator

pytestmark = pytest.mark.airflow
__all__ = ["weather"]

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "lineage" / lineage.VERSION


def told(operator: Any, dag_id: str = "a_dag") -> dict[str, Any]:
    """What an operator tells after it has run, as it is sent."""
    instance = type("Instance", (), {"dag_id": dag_id, "run_id": "r1"})()
    found = operator.get_openlineage_facets_on_complete(instance)
    return {
        "inputs": [Serde.to_dict(one) for one in found.inputs],
        "outputs": [Serde.to_dict(one) for one in found.outputs],
        "run": {name: Serde.to_dict(one) for name, one in found.run_facets.items()},
        "job": {name: Serde.to_dict(one) for name, one in found.job_facets.items()},
    }


def conforms(facet: dict[str, Any]) -> dict[str, Any]:
    """The facet, held against the schema that it names."""
    name = facet["_schemaURL"].rpartition(":")[2].rpartition("/")[2].removesuffix(".json")
    # An absent value is left out on the way.
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    absent = {key: None for key in schema["required"] if key not in facet}
    jsonschema.validate({**absent, **facet}, schema, cls=jsonschema.Draft202012Validator)
    return facet


def checked(query: str, **arguments: Any) -> Any:
    operator = check(query, **arguments)
    operator.execute({"run_id": "r1", "ti": FakeTaskInstance()})  # type: ignore[typeddict-item]
    return operator


def test_a_check_reads_the_histories_and_writes_the_verdict(working_folder: Path, registry: Path) -> None:
    found = told(checked("windy"))
    names = [one["name"] for one in found["inputs"]]
    assert names == [str(working_folder / "streams" / name) for name in ("departures", "weather")]
    assert {one["namespace"] for one in found["inputs"]} == {"file"}
    fields = {one["name"] for one in found["inputs"][1]["facets"]["schema"]["fields"]}
    assert {"origin", "observed_at"} <= fields
    assert found["outputs"] == [
        {
            "namespace": "file",
            "name": f"{working_folder}/connected.db#verdicts",
            "facets": {},
            "outputFacets": {},
        }
    ]
    facet = conforms(found["run"]["streambound_verdict"])
    assert (facet["query"], facet["verdict"], facet["criterion"]) == ("windy", "bounded", "exact")
    assert facet["units"] == 51
    assert found["job"]["sql"]["query"].startswith("SELECT d.carrier")


def test_an_unbounded_verdict_has_its_reasons_with_their_places(registry: Path) -> None:
    facet = conforms(told(checked("unbounded"))["run"]["streambound_verdict"])
    assert facet["verdict"] == "unbounded" and "units" not in facet
    reason = facet["reasons"][0]
    assert "tailnum" in reason["message"] and reason["where"] == {"line": 2, "column": 17}


def test_an_invalid_query_tells_its_error_and_no_inputs(registry: Path) -> None:
    operator = check("typo")
    with pytest.raises(Exception, match="orgin"):
        operator.execute({"run_id": "r1", "ti": FakeTaskInstance()})  # type: ignore[typeddict-item]
    found = told(operator)
    facet = conforms(found["run"]["streambound_verdict"])
    assert found["inputs"] == [] and facet["verdict"] == "invalid" and "orgin" in facet["error"]


def test_an_operator_that_did_not_get_far_tells_nothing(registry: Path) -> None:
    assert check("bounded").get_openlineage_facets_on_complete(None) is None
    assert quality("weather").get_openlineage_facets_on_complete(None) is None


def test_a_quality_check_says_which_partitions_failed(weather: Path) -> None:
    operator = quality("weather")
    operator.execute({"run_id": "r1", "ti": FakeTaskInstance()})  # type: ignore[typeddict-item]
    found = told(operator)
    (source,) = found["inputs"]
    assert source["name"] == str(weather / "streams" / "weather")
    (failed,) = source["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert failed["success"] is False and failed["params"] == {"partition": "2013-01-02"}
    assert "outside its declared domain" in failed["description"]
    assert [one["name"].rpartition("#")[2] for one in found["outputs"]] == ["quality", "partition_metrics"]


def body(query: str, **changed: Any) -> dict[str, Any]:
    known = {"query": query, "verdict": "bounded", "streams": ["departures"], "error": None, "memory": None}
    sizes = {"units": 10, "peak_units": 9, "rows": 90, "rows_read": 30, "answer_rows": 2}
    return {**known, **sizes, **changed}


def summarised(job: str, summary: dict[str, Any]) -> None:
    folder = selection.run_folder(job, "r1")
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(summary))


MEMORY = {"size": 20, "policy": "prob", "alpha": None, "results": 30, "estimated_results": 40.0}
MEMORY |= {"standard_error": 2.5, "estimated_share": 0.75}


def test_an_evaluation_tells_state_bound_and_share_of_each_query(
    working_folder: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMBOUND_CHECKPOINTS", "s3://bucket/states")
    kept = body("kept", verdict="unbounded", memory=MEMORY, streams=["departures", "arrivals"])
    summarised(
        "materialize_synopses",
        {"answers": [body("q"), kept, body("bad", error="corrupt", streams=["weather"])]},
    )
    found = told(EvaluateHistoryOperator(task_id="evaluate"), "materialize_synopses")
    names = [Path(one["name"]).name for one in found["inputs"]]
    assert names == ["arrivals", "departures"]
    outputs = {(one["namespace"], one["name"]): one for one in found["outputs"]}
    answers = str(working_folder / "answers")
    assert set(outputs) == {
        ("file", f"{answers}/q"),
        ("file", f"{answers}/kept"),
        ("s3://bucket", "states/q"),
        ("s3://bucket", "states/kept"),
    }
    state = conforms(outputs["file", f"{answers}/q"]["facets"]["streambound_state"])
    assert (state["peakUnits"], state["boundUnits"], state["rowsRead"]) == (9, 10, 30)
    assert outputs["file", f"{answers}/q"]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert "streambound_memory" not in outputs["file", f"{answers}/q"]["facets"]
    share = conforms(outputs["file", f"{answers}/kept"]["facets"]["streambound_memory"])
    assert (share["size"], share["policy"], share["estimatedShare"]) == (20, "prob", 0.75)


def test_a_benchmark_tells_its_choices(working_folder: Path, registry: Path) -> None:
    sizes = [{"size": 5, "choice": {"policy": "lru", "why": "it won"}, "kept": 7, "optimum": 8}]
    days = ["2013-01-01", "2013-01-02"]
    night = {"query": "windy", "days": days, "possible": 10, "drifted": True, "sizes": sizes}
    summarised("benchmark_caches", {"nights": [night], "failed": []})
    found = told(BenchmarkCachesOperator(task_id="benchmark"))
    assert [Path(one["name"]).name for one in found["inputs"]] == ["departures", "weather"]
    (choices,) = found["outputs"]
    assert choices["name"] == str(working_folder / "caches" / "windy.json")
    facet = conforms(choices["facets"]["streambound_choices"])
    assert facet["drifted"] and facet["night"] == "2013-01-02"
    assert facet["choices"] == [{"size": 5, "policy": "lru", "kept": 7, "optimum": 8, "possible": 10}]


def test_places_are_named_as_openlineage_names_them(tmp_path: Path) -> None:
    assert lineage.located("s3://bucket/a/b/") == ("s3://bucket", "a/b")
    assert lineage.located(f"file://{tmp_path}/x") == ("file", f"{tmp_path}/x")
    assert lineage.located(str(tmp_path / "x")) == ("file", f"{tmp_path}/x")
    found = lineage.table(make_url("postgresql+psycopg2://me:hush@db.example/results"), "verdicts")
    assert (found.namespace, found.name) == ("postgres://db.example:5432", "results.public.verdicts")


def test_schemas_are_named_below_the_published_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STREAMBOUND_DOCS_URL", raising=False)
    names = sorted(path.stem for path in SCHEMAS.glob("*.json"))
    assert names == ["ChoicesDatasetFacet", "MemoryDatasetFacet", "StateDatasetFacet", "VerdictRunFacet"]
    for name in names:
        schema = json.loads((SCHEMAS / f"{name}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == lineage.schema_url(name)
    monkeypatch.setenv("STREAMBOUND_DOCS_URL", "https://docs.example.org/streambound/")
    url = "https://docs.example.org/streambound/lineage/1-0-0/VerdictRunFacet.json"
    assert lineage.schema_url("VerdictRunFacet") == url


def test_relations_without_a_history_or_of_broken_sql_are_left_out(registry: Path) -> None:
    catalog = load_catalog(registry / "streams.yml")
    assert lineage.relations_of("SELECT", catalog, "q") == []
    (registry / "mine.yml").write_text("streams: {E: {level: boolean}}")
    mine = load_catalog(registry / "mine.yml")
    assert lineage.histories(lineage.relations_of("SELECT level FROM E", mine, "q")) == []


def test_a_table_that_only_spark_knows_is_named_as_there(registry: Path) -> None:
    (registry / "mine.yml").write_text("streams: {E: {columns: {A: int}, history: {table: prod.events}}}")
    mine = load_catalog(registry / "mine.yml")
    (found,) = lineage.histories(lineage.relations_of("SELECT A FROM E", mine, "q"))
    assert (found.namespace, found.name) == ("spark", "prod.events")


def python(*arguments: str, **env: str) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout


WITHOUT = """
import importlib.metadata, importlib_metadata, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("airflow.providers.openlineage", "openlineage")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
for module in (importlib.metadata, importlib_metadata):
    def others(*given, found=module.distributions, **named):
        return (one for one in found(*given, **named) if "openlineage" not in (one.metadata["Name"] or ""))
    module.distributions = others
from airflow.dag_processing.dagbag import DagBag
import streambound_airflow.operators as operators
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
class Instance:
    def xcom_push(self, key, value): ...
check = operators.BoundedMemoryCheckOperator(task_id="check", query="bounded")
print(check.execute({"run_id": "r", "ti": Instance()})["verdict"], len(bag.dags))
"""


def test_nothing_needs_the_provider(working_folder: Path, registry: Path) -> None:
    printed = python("-c", WITHOUT, str(ROOT / "dags"))
    assert printed.splitlines()[-1] == "bounded 5"
