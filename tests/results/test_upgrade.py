"""The results database of an earlier release is upgraded in place or refused, on SQLite and on PostgreSQL."""

from __future__ import annotations

import datetime as dt
import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool
from tests.results.databases import Database

from streambound.errors import StorageError
from streambound.results import CacheAnswer, Figure, Results
from streambound.results import upgrade as upgrading
from streambound.results.migrations.versions.v0005_runs_of_each_job import KEYS as KEYED
from streambound.results.schema import METADATA, VERSION
from streambound.results.upgrade import MIGRATIONS, VERSION_TABLE

NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
BOOKKEEPING = ("streambound_schema", VERSION_TABLE.name)
CACHES = ("cache_answers", "cache_benchmarks")
HEAD = f"{VERSION:04d}"

New = Callable[[], Database]


def versions(database: Database) -> list[tuple[str]]:
    return database.execute(f"SELECT version_num FROM {VERSION_TABLE.name}")


def test_the_newest_migration_is_the_version_of_the_schema() -> None:
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [HEAD]


def test_migrations_make_the_tables_of_the_schema(database: Database) -> None:
    assert Results(database.url).runs() == []
    assert database.tables() == {*METADATA.tables, VERSION_TABLE.name}
    assert versions(database) == [(HEAD,)]
    with create_engine(database.url).connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE.name})
        assert compare_metadata(context, METADATA) == []


@pytest.mark.parametrize("release", ["v1", "v2"])
@pytest.mark.parametrize("counted", [True, False], ids=["counted", "unversioned"])
def test_an_older_database_is_upgraded_and_keeps_its_rows(
    database: Database, release: str, counted: bool
) -> None:
    database.load(release)
    if not counted:
        database.execute("DROP TABLE streambound_schema")
    told = columns(database)
    before = rows(database, told)
    results = Results(database.url)
    (verdict,) = results.latest_verdicts()
    (answer,) = results.latest_answers()
    assert (verdict.units, verdict.checked_at, answer.answer_count) == (10**30 + 7, NOON, 10**20)
    assert [run.parameters for run in results.runs()] == [{"days": 3}]
    assert [answer.estimated_share for answer in results.latest_cache_answers()] == [0.75] * (release == "v2")
    assert rows(database, told) == before
    assert database.tables() == {*METADATA.tables, VERSION_TABLE.name} and versions(database) == [(HEAD,)]
    results.record_cache_answer(CacheAnswer("r", "q1", 500, "lru", "why", 7))
    assert [one.results for one in results.cache_answers("r")] == [7]


def columns(database: Database) -> dict[str, str]:
    """Of each of our tables its columns."""
    with create_engine(database.url).connect() as connection:
        known = inspect(connection)
        ours = database.tables() - {*BOOKKEEPING}
        return {name: ", ".join(f'"{one["name"]}"' for one in known.get_columns(name)) for name in ours}


def rows(database: Database, told: Mapping[str, str]) -> dict[str, Any]:
    """All rows of some columns of each table."""
    return {
        name: sorted(map(repr, database.execute(f'SELECT {some} FROM "{name}"')))
        for name, some in told.items()
    }


def brought_to(database: Database, version: int) -> None:
    """A database of an earlier version, with what the first release left and more of its own."""
    database.load("v1")
    engine = create_engine(database.url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE streambound_schema"))
        upgrading._alembic(connection, "stamp", 1)
    for run, job in (("run 1", "validate_queries"), ("run 2", "materialize_synopses"), ("run 3", "ingest")):
        database.execute(f"INSERT INTO runs (run_id, job, state) VALUES ('{run}', '{job}', 'success')")
    for run, kind in (("run 2", "stream"), ("run 2", "answers"), ("run 3", "stream"), ("run 4", "caches")):
        database.execute(
            "INSERT INTO quality (run_id, kind, subject, checked_at, success, evaluated, failed)"
            f" VALUES ('{run}', '{kind}', 'T', '2026-11-26 12:00:00.000000', {FALSE[database.kind]}, 1, '[]')"
        )
    with engine.begin() as connection:
        upgrading._alembic(connection, "upgrade", version)


FALSE = {"sqlite": "0", "postgresql": "false"}


@pytest.mark.parametrize("version", range(1, VERSION))
def test_every_version_is_upgraded_and_says_whose_the_rows_are_if_it_can(
    database: Database, version: int
) -> None:
    brought_to(database, version)
    known = columns(database)
    before = rows(database, known)
    results = Results(database.url)
    assert [v.job for v in results.latest_verdicts()] == ["validate_queries"]
    assert [(a.job, a.units) for a in results.latest_answers()] == [("evaluate_history", 10**30 + 7)]
    assert len(results.partition_metrics("run 1", "S", "evaluate_history")) == 1
    assert [figure.job for figure in results.figures("run 1")] == [""]
    told = [(q.run_id, q.kind) for q in results.quality("run 2", "materialize_synopses")]
    assert told == [("run 2", "stream")]
    assert [q.kind for q in results.quality("run 2")] == ["answers"]
    assert [q.kind for q in results.quality("run 3")] == ["stream"]
    assert [q.kind for q in results.quality("run 4")] == ["caches"]
    assert rows(database, known) == before
    assert versions(database) == [(HEAD,)]
    with create_engine(database.url).connect() as connection:
        for table, key in KEYED.items():
            found = inspect(connection).get_pk_constraint(table)["constrained_columns"]
            assert found == [*key, "job"], table
    # The same id under another job is another row now.
    results.record_verdicts("run 1", [{"query": "q5", "verdict": "unknown"}], job="a_dag")
    assert [len(results.verdicts("run 1", job)) for job in ("validate_queries", "a_dag", "")] == [1, 1, 0]


def test_a_count_without_a_number_counts_as_none(database: Database) -> None:
    database.load("v1")
    database.execute("DELETE FROM streambound_schema")
    assert len(Results(database.url).latest_verdicts()) == 1
    assert versions(database) == [(HEAD,)]


def test_an_upgraded_database_is_as_a_new_one(new_database: New) -> None:
    old, fresh = new_database(), new_database()
    old.load("v1")
    for database in (old, fresh):
        Results(database.url).runs()
    schema = {
        "sqlite": "SELECT name, lower(sql) FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
        "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    }[old.kind]
    words = [[(name, " ".join(sql.split())) for name, sql in db.execute(schema)] for db in (old, fresh)]
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            f"UPDATE {VERSION_TABLE.name} SET version_num = '{VERSION + 1:04d}'",
            f"version {VERSION + 1}, of a",
        ),
        (f"UPDATE {VERSION_TABLE.name} SET version_num = 'abc'", r"no readable schema version \('abc'\)"),
        (f"UPDATE {VERSION_TABLE.name} SET version_num = '1'", r"no readable schema version \('1'\)"),
        (f"DELETE FROM {VERSION_TABLE.name}", r"no readable schema version \(nothing\)"),
        (f"INSERT INTO {VERSION_TABLE.name} VALUES ('0001')", "no readable schema version"),
    ],
)
def test_a_version_that_is_not_known_is_refused_and_left_alone(
    database: Database, statement: str, found: str
) -> None:
    Results(database.url).record_figures([Figure("r", "x", 1)])
    database.execute(statement)
    before = database.content()
    with pytest.raises(StorageError, match=found) as caught:
        Results(database.url).record_figures([Figure("r", "y", 1)])
    assert caught.value.exit_code == 3 and f"1 to {VERSION}" in str(caught.value.accepted)
    assert database.content() == before


def test_a_count_that_no_release_wrote_is_refused(database: Database) -> None:
    database.load("v2")
    database.execute("UPDATE streambound_schema SET version = 99")
    before = database.content()
    with pytest.raises(StorageError, match="schema version 99"):
        Results(database.url).latest_verdicts()
    assert database.content() == before


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE runs ADD COLUMN mine TEXT",
        "ALTER TABLE verdicts DROP COLUMN sql",
        "DROP TABLE quality",
        "CREATE TABLE cache_answers (run_id TEXT)",
    ],
)
def test_tables_that_no_release_made_are_refused(database: Database, change: str) -> None:
    database.load("v1")
    database.execute("DROP TABLE streambound_schema", change)
    before = database.content()
    with pytest.raises(StorageError, match="no schema version"):
        Results(database.url).runs()
    assert database.content() == before


def test_a_migration_that_fails_leaves_the_old_database(database: Database) -> None:
    database.load("v1")
    # The second table that the migration makes is in its way.
    database.execute("CREATE TABLE cache_answers (mine TEXT)")
    before = database.content()
    for _ in range(2):
        with pytest.raises(StorageError, match="cache_answers"):
            Results(database.url).latest_verdicts()
        assert database.content() == before
    database.execute("DROP TABLE cache_answers")
    assert len(Results(database.url).latest_verdicts()) == 1


def test_other_tables_stay_as_they_are(database: Database) -> None:
    database.execute("CREATE TABLE alembic_version (version_num TEXT)", "CREATE TABLE dag (id TEXT)")
    database.execute("INSERT INTO alembic_version VALUES ('of Airflow')")
    Results(database.url).runs()
    assert database.content()["alembic_version"] == [repr(("of Airflow",))]


def record(url: str, number: int) -> None:
    results = Results(url)
    results.record_figures([Figure("all", str(number), number)])
    assert len(results.latest_verdicts()) == 1


def test_processes_that_upgrade_at_once_do_not_clash(database: Database) -> None:
    database.load("v1")
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=record, args=(database.url, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(Results(database.url).figures("all")) == 3 and versions(database) == [(HEAD,)]


def test_threads_that_upgrade_different_databases_do_not_clash(new_database: New) -> None:
    databases = [new_database() for _ in range(4)]
    for database in databases[:2]:
        database.load("v1")
    urls = [database.url for database in databases for _ in range(3)]
    with ThreadPoolExecutor(len(urls)) as pool:
        list(
            pool.map(
                lambda item: Results(item[1]).record_figures([Figure("r", str(item[0]), 1)]), enumerate(urls)
            )
        )
    assert all(len(Results(database.url).figures("r")) == 3 for database in databases)
    assert all(versions(database) == [(HEAD,)] for database in databases)
