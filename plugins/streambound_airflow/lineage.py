"""What our operators tell OpenLineage: which histories they read, what they write, and what was found.

Imported by the operators' ``get_openlineage_*`` methods alone, which only Airflow's OpenLineage provider
calls: without that provider nothing here is needed. The facets' schemas are in ``docs/lineage``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    RunFacet,
    data_quality_assertions_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    sql_job,
)

from streambound import settings
from streambound.errors import StreamboundError
from streambound.query.model import TABLE

if TYPE_CHECKING:
    from sqlalchemy import URL

    from streambound.compiler.report import Report
    from streambound.projects.registry import Registry
    from streambound.quality import StreamQuality
    from streambound.query.catalog import Catalog
    from streambound.query.model import History, Relation

# Of the facets' schemas: the folder in docs/lineage.
VERSION = "1-0-0"


def schema_url(name: str) -> str:
    """The address of a facet's schema: below the published documentation, or its name alone."""
    docs = settings.documentation_url()
    return (
        f"{docs.rstrip('/')}/lineage/{VERSION}/{name}.json" if docs else f"urn:streambound:{VERSION}:{name}"
    )


@attrs.define
class VerdictRunFacet(RunFacet):
    """The verdict on one query; ``units`` is None where ``unitsFormula`` names what is undeclared."""

    query: str
    verdict: str
    criterion: str | None
    units: int | None
    unitsFormula: str | None
    reasons: list[dict[str, Any]]
    error: str | None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("VerdictRunFacet")


@attrs.define
class StateDatasetFacet(DatasetFacet):
    """The state that the evaluation of a query kept at most, and its bound, in units."""

    query: str
    verdict: str
    peakUnits: int | None
    boundUnits: int | None
    rows: int
    rowsRead: int

    @staticmethod
    def _get_schema() -> str:
        return schema_url("StateDatasetFacet")


@attrs.define
class MemoryDatasetFacet(DatasetFacet):
    """How complete an answer is that was made in ``size`` tuples of memory; None: not estimated."""

    size: int
    policy: str
    results: int
    estimatedResults: float | None
    standardError: float | None
    estimatedShare: float | None

    @staticmethod
    def _get_schema() -> str:
        return schema_url("MemoryDatasetFacet")


@attrs.define
class ChoicesDatasetFacet(DatasetFacet):
    """Which policy a benchmark of caches chose at each size, and what it keeps of what is possible."""

    night: str
    drifted: bool
    choices: list[dict[str, Any]]

    @staticmethod
    def _get_schema() -> str:
        return schema_url("ChoicesDatasetFacet")


def of_check(sql: str, report: Report, catalog: Catalog, database: URL) -> OperatorLineage[Any, Any]:
    """A check reads what the query is about, and writes a verdict."""
    body = report.to_json()
    names = ("query", "verdict", "criterion", "units", "units_formula", "error")
    facts = {name: body.get(name) for name in names}
    facts["unitsFormula"] = facts.pop("units_formula")
    reasons = [
        {key: reason.get(key) for key in ("code", "message", "where")} for reason in body.get("reasons") or ()
    ]
    facet = VerdictRunFacet(**facts, reasons=reasons)
    return OperatorLineage(
        inputs=histories(relations_of(sql, catalog, report.query, report.dialect or "spark")),
        outputs=[table(database, "verdicts")],
        run_facets={"streambound_verdict": facet},
        job_facets={"sql": sql_job.SQLJobFacet(query=sql)} if sql else {},
    )


def of_quality(relation: Relation, quality: StreamQuality, database: URL) -> OperatorLineage[Any, Any]:
    """A quality check reads a history, judges it, and writes what it found."""
    assertion = data_quality_assertions_dataset.Assertion
    judged = [
        assertion("catalog promises", False, description="; ".join(why), params={"partition": name})
        for name, why in quality.failed_partitions.items()
    ] or [assertion("catalog promises", True)]
    facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(judged)
    (source,) = histories([relation])
    return OperatorLineage(
        inputs=[attrs.evolve(source, inputFacets={"dataQualityAssertions": facet})],
        outputs=[table(database, "quality"), table(database, "partition_metrics")],
    )


def of_evaluation(bodies: Iterable[Mapping[str, Any]], catalog: Catalog) -> OperatorLineage[Any, Any]:
    """An evaluation reads histories, and writes the answers and the checkpoints of each query.

    Args:
        bodies: what the Spark application says of each query; those with an error have no part in it.
    """
    from streambound.checkpoint.table import address_of

    sound = [body for body in bodies if not body["error"]]
    read = {name for body in sound for name in body["streams"]}
    outputs = []
    for body in sound:
        facets: dict[str, DatasetFacet] = {"streambound_state": _state(body)}
        if body.get("memory"):
            facets["streambound_memory"] = _memory(body["memory"])
        counted = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(body["answer_rows"])
        answers = located(str(settings.answers_root() / body["query"]))
        checkpoints = located(address_of(settings.checkpoints(), body["query"]))
        statistics = {"outputStatistics": counted}
        outputs.append(OutputDataset(*answers, facets=dict(facets), outputFacets=statistics))
        outputs.append(OutputDataset(*checkpoints, facets={"streambound_state": facets["streambound_state"]}))
    return OperatorLineage(inputs=histories(_known_relations(sorted(read), catalog)), outputs=outputs)


def _state(body: Mapping[str, Any]) -> StateDatasetFacet:
    return StateDatasetFacet(
        query=body["query"],
        verdict=body["verdict"],
        peakUnits=body["peak_units"],
        boundUnits=body["units"],
        rows=body["rows"],
        rowsRead=body["rows_read"],
    )


def _memory(memory: Mapping[str, Any]) -> MemoryDatasetFacet:
    return MemoryDatasetFacet(
        size=memory["size"],
        policy=memory["policy"],
        results=memory["results"],
        estimatedResults=memory["estimated_results"],
        standardError=memory["standard_error"],
        estimatedShare=memory["estimated_share"],
    )


def of_benchmark(nights: Iterable[Mapping[str, Any]], registry: Registry) -> OperatorLineage[Any, Any]:
    """A benchmark of caches reads histories, and writes a file of choices a query.

    Args:
        nights: what the Spark application says of each query that it benchmarked.
        registry: where the queries are.
    """
    read: dict[str, Relation] = {}
    outputs = []
    for night in nights:
        query = str(night["query"])
        said = registry.query(query)
        read |= {
            relation.name: relation
            for relation in relations_of(said.sql, registry.catalog, query, said.dialect)
        }
        choices = [
            {"size": size["size"], "policy": size["choice"]["policy"], "kept": size["kept"]}
            | {"optimum": size["optimum"], "possible": night["possible"]}
            for size in night["sizes"]
        ]
        facet = ChoicesDatasetFacet(night=str(night["days"][-1]), drifted=night["drifted"], choices=choices)
        located_at = located(str(settings.caches_root() / f"{query}.json"))
        outputs.append(OutputDataset(*located_at, facets={"streambound_choices": facet}))
    return OperatorLineage(inputs=histories([read[name] for name in sorted(read)]), outputs=outputs)


def relations_of(sql: str, catalog: Catalog, name: str, dialect: str | None = None) -> list[Relation]:
    """The relations that a query reads, by name; none if it cannot be read."""
    from streambound.query.parse import statement

    try:
        scanned = {relation.name: relation for relation in statement(sql, catalog, name, dialect).scanned}
    except StreamboundError:
        return []
    return [scanned[key] for key in sorted(scanned)]


def _known_relations(names: Sequence[str], catalog: Catalog) -> list[Relation]:
    relations = (catalog.find(name) for name in names)
    return [relation for relation in relations if relation is not None]


def histories(relations: Iterable[Relation]) -> list[InputDataset]:
    """The histories of relations, with their columns; those that declare none are left out."""
    return [
        InputDataset(*_placed(relation.history), facets={"schema": _schema(relation)})
        for relation in relations
        if relation.history is not None
    ]


def _placed(history: History) -> tuple[str, str]:
    """A folder; of a table that only Spark knows its name there."""
    if history.format == TABLE:
        return "spark", history.path
    return located(settings.history_path(history.path))


def _schema(relation: Relation) -> schema_dataset.SchemaDatasetFacet:
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=column.name, type=column.type.name)
        for column in relation.columns
    ]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def located(address: str) -> tuple[str, str]:
    """Namespace and name of a folder, file or object, as OpenLineage's naming has it."""
    parts = urlsplit(address)
    if "://" in address and parts.scheme != "file":
        return f"{parts.scheme}://{parts.hostname or ''}", parts.path.strip("/") or "/"
    return "file", str(Path(parts.path if parts.scheme == "file" else address).resolve())


def table(database: URL, name: str) -> OutputDataset:
    """A table of the results database."""
    if database.get_backend_name() == "sqlite":
        return OutputDataset("file", f"{Path(str(database.database)).resolve()}#{name}")
    host = f"{database.host or 'localhost'}:{database.port or 5432}"
    return OutputDataset(f"postgres://{host}", f"{database.database}.public.{name}")
