"""Try a query: what the editor is given, what is underlined, and where a text is to be saved."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.dags.test_pages import Seen, decide, page

from streambound.engines import ENGINES
from streambound.query.dialects.languages import LANGUAGES
from streambound.results import Results
from streambound_airflow.pages import trying
from streambound_airflow.pages.documents import STATIC
from streambound_airflow.pages.schemas import Dialect, Engine

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]


def tried(client: Any, sql: str, **choices: Any) -> Seen:
    answer = client.post("try", json={"sql": sql, **choices}, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 200, answer.text
    return Seen(answer.text)


def marks(seen: Seen) -> list[dict[str, Any]]:
    (heading,) = seen.all("h2", id="answer")
    found: list[dict[str, Any]] = json.loads(str(heading["data-marks"]))
    return found


def test_the_editor_is_built_of_what_stands_beside_it_and_small() -> None:
    built, digest = STATIC / "codemirror.js", hashlib.sha256()
    for name in ("editor.js", "package-lock.json"):
        digest.update((ROOT / "scripts" / "codemirror" / name).read_bytes())
    assert digest.hexdigest() in built.read_text(encoding="utf-8").splitlines()[0], (
        "cd scripts/codemirror && npm ci && npm run build"
    )
    assert built.stat().st_size < 1_000_000
    licences = (STATIC / "codemirror.LICENSE.txt").read_text(encoding="utf-8")
    assert licences.count("MIT License") >= 10 and "@codemirror/view" in licences


def test_all_dialects_and_engines_can_be_chosen(viewer: Any) -> None:
    assert set(get_args(Dialect)) == set(LANGUAGES) and get_args(Engine) == ENGINES
    seen = page(viewer, "try")
    assert [had["value"] for had in seen.all("option")] == [
        "",
        *LANGUAGES,
        "",
        *ENGINES,
        "exact",
        "arasu",
        "schiff_ozcep",
    ]
    assert "ksqlDB" in seen.text and "Azure Stream Analytics" in seen.text


def test_the_editor_has_the_catalog_and_the_queries(viewer: Any) -> None:
    (form,) = page(viewer, "try").all("form", id="try")
    schema = json.loads(str(form["data-schema"]))
    assert schema["departures"]["self"] == {"label": "departures", "type": "type", "detail": "stream"}
    assert {"label": "tailnum", "type": "property", "detail": "string"} in schema["departures"]["children"]
    assert schema["bounded"]["self"]["detail"] == "query"


def test_a_registered_query_is_opened_and_others_are_examples(
    viewer: Any, registry: Path, working_folder: Path
) -> None:
    decide(Results(f"sqlite:///{working_folder}/connected.db"), registry)
    assert page(viewer, "queries/unbounded").all("a", href="../try?query=unbounded")
    seen = page(viewer, "try?query=unbounded")
    assert "SELECT DISTINCT tailnum\nFROM departures" in seen.text
    (chosen,) = seen.all("a", aria_current="true")
    assert chosen["href"] == "./try?query=unbounded" and chosen["class"] == "unbounded"
    assert {"bounded", "typo", "windy"} <= {str(had["href"]).rpartition("=")[2] for had in seen.all("a")}
    page(viewer, "try?query=nowhere", 404)


def test_of_another_catalog_the_first_text_is_one_that_it_has(viewer: Any, registry: Path) -> None:
    (registry / "streams.yml").write_text("streams: {S: {columns: {A: int}}}")
    assert "SELECT DISTINCT A\nFROM S" in page(viewer, "try").text
    (registry / "streams.yml").write_text("streams: [")
    assert page(viewer, "try").all("div", id="problem")


def test_every_problem_has_its_place_in_the_text(viewer: Any) -> None:
    sql = "SELECT DISTINCT d.tailnum, d.dest FROM departures d"
    found = marks(tried(viewer, sql))
    assert [sql[one["start"] : one["end"]] for one in found] == ["d.tailnum", "d.dest"]
    assert {one["severity"] for one in found} == {"error"}
    sql = "-- \N{AIRPLANE}\N{GRINNING FACE}\nSELECT orgin FROM departures"
    (one,) = marks(tried(viewer, sql))
    assert sql[one["start"] : one["end"]] == "orgin" and "did you mean origin?" in one["message"]
    assert marks(tried(viewer, "SELECT DISTINCT origin FROM departures")) == []
    # The API has the same.
    body = viewer.post("api/v1/check", json={"sql": sql}, headers={"Sec-Fetch-Site": "same-origin"}).json()
    assert body["shown"]["marks"][0]["span"] == [one["start"], one["end"]]


def test_the_dialect_that_is_chosen_is_the_texts(viewer: Any) -> None:
    sql = 'SELECT DISTINCT "origin" FROM departures'
    assert marks(tried(viewer, sql))
    seen = tried(viewer, sql, dialect="risingwave")
    assert marks(seen) == [] and "-- dialect: risingwave" in seen.text
    refused = {"sql": sql, "dialect": "cobol"}
    assert viewer.post("try", json=refused, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 422


def test_it_says_what_to_save_where(viewer: Any) -> None:
    seen = tried(viewer, "SELECT DISTINCT origin FROM departures")
    text = " ".join(seen.text.split())
    assert "queries/my_query.sql" in text and "-- owner: YOUR TEAM -- description:" in text
    # What leads a text already is kept.
    head = "-- owner: fleet\n-- description: Planes.\n"
    assert trying._saved(f"{head}SELECT 1\n", None) == f"{head}SELECT 1\n"
    assert trying._saved(f"{head}SELECT 1", "flink") == f"-- dialect: flink\n{head}SELECT 1\n"
    assert (
        "queries/unbounded.sql"
        in tried(viewer, "SELECT DISTINCT origin FROM departures", query="unbounded").text
    )
    assert "Where to save it" not in tried(viewer, "SELECT orgin FROM departures").text
