"""How long the page of all queries takes with 500 of them, and a query's: ``python -m benchmarks.pages``.

A registry of 500 queries with verdicts and evaluations of 30 nights each, in a database of their own;
Airflow's own application with the pages mounted, in one process without a network, begun as its server
begins. Each address is asked in turn. The peers are Airflow's API and what its list of DAGs asks for, of as
many DAGs as one page there has at most (100). Printed are medians. Of the list *cold* is the first request
after something was recorded; pages of queries are asked for once each, and what they show is decided and
drawn for that. Aims: the list below 0.3 s warm, and below 300 kB; a query's page below 0.3 s, also the very
first. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import Run, begin

ROOT = Path(__file__).resolve().parents[1]
AIM_S, AIM_BYTES = 0.3, 300_000
NOON = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
PEERS = {
    "Airflow's API, 100 DAGs": "/api/v2/dags?limit=100",
    "Airflow's list of DAGs, 100": "/ui/dags?limit=100&dag_runs_limit=14",
}


def prepare_environment(home: Path) -> None:
    """An Airflow and a registry of the benchmark's own; before Airflow is imported."""
    os.environ.update(
        {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
            "AIRFLOW__API_AUTH__JWT_SECRET": "of no use elsewhere " * 4,
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "STREAMBOUND_HOME": str(home),
            "STREAMBOUND_REGISTRY": str(home / "registry"),
            "STREAMBOUND_DATABASE_URL": f"sqlite:///{home}/results.db",
        }
    )
    os.environ.pop("AIRFLOW_CONN_STREAMBOUND_DB", None)


def fill(home: Path, queries: int, nights: int) -> Any:
    """A registry of so many queries, made from the project's, and what as many nights record."""
    from streambound.compiler.report import check
    from streambound.projects.registry import load_registry
    from streambound.results import Answer, Results

    real = load_registry(ROOT / "include" / "registry")
    (home / "registry" / "queries").mkdir(parents=True)
    (home / "registry" / "streams.yml").write_text((ROOT / "include/registry/streams.yml").read_text())
    verdicts = [{**check(one.sql, real.catalog, one.name).to_json(), "sql": one.sql} for one in real.queries]
    bodies = []
    for number in range(queries):
        body = verdicts[number % len(verdicts)]
        bodies.append({**body, "query": f"{body['query']}_{number}"})
        (home / "registry" / "queries" / f"{bodies[-1]['query']}.sql").write_text(body["sql"])
    store = Results()
    for night in range(nights):
        moment = NOON + dt.timedelta(days=night)
        store.record_verdicts(f"night-{night}", bodies, moment)
        for body in bodies:
            if body["verdict"] == "bounded":
                units = body["units"] or 100
                known = {"peak_units": units * (night + 1) // (nights + 1), "units": units}
                store.record_answer(
                    Answer(f"night-{night}", body["query"], 365, 336_776, 42, evaluated_at=moment, **known)
                )
    return store


def airflow_with_dags(number: int) -> Any:
    """A client of Airflow's own application, signed in, with so many DAGs in its database; entered, it starts
    as a server does."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session
    from fastapi.testclient import TestClient

    initdb()
    with create_session() as session:
        session.add(DagBundleModel(name="bench"))
        session.flush()
        for one in range(number):
            known = {"bundle_name": "bench", "fileloc": f"/{one}.py", "relative_fileloc": f"{one}.py"}
            session.add(DagModel(dag_id=f"dag_{one}", is_stale=False, is_paused=False, **known))
    app = create_app(apps="core")
    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="admin", role="ADMIN"))
    return TestClient(app, headers={"Authorization": f"Bearer {token}"})


def ready() -> None:
    """Wait until the pages are prepared, which a server's start begins."""
    for thread in threading.enumerate():
        if thread.name == "streambound-pages":
            thread.join()


def asked(client: Any, address: str) -> tuple[float, int]:
    """Seconds until the answer is there, and its bytes."""
    started = time.perf_counter()
    answer = client.get(address)
    took = time.perf_counter() - started
    answer.raise_for_status()
    return took, len(answer.content)


def main() -> int:
    """Run the benchmark; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=9)
    options, run = begin("pages", parser, ["apache-airflow"], nights=3, rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        prepare_environment(Path(folder))
        sys.path.insert(0, str(ROOT / "plugins"))
        store = fill(Path(folder), options.queries, options.nights)
        logging.disable(logging.CRITICAL)
        with airflow_with_dags(100) as client:
            return measured(client, store, options, run)


def measured(client: Any, store: Any, options: argparse.Namespace, run: Run) -> int:
    """Ask for everything, print and write what it took, and return the exit code."""
    ready()
    names = sorted(path.stem for path in Path(os.environ["STREAMBOUND_REGISTRY"], "queries").glob("*.sql"))
    pages = [asked(client, f"/streambound/queries/{name}") for name in names[:: max(len(names) // 40, 1)]]
    first, others = pages[0][0], sorted(took for took, _ in pages[1:])
    page = f"page of {options.queries} queries"
    ways = {page: "/streambound/queries", **PEERS}
    for address in ways.values():
        asked(client, address)
    times: dict[str, list[float]] = {name: [] for name in (*ways, "cold")}
    sizes: dict[str, int] = {}
    for number in range(options.rounds):
        for name, address in ways.items():
            took, sizes[name] = asked(client, address)
            times[name].append(took)
        moment = NOON + dt.timedelta(days=options.nights, seconds=number)
        store.record_verdicts("later", [{"query": "late", "verdict": "bounded"}], moment)
        times["cold"].append(asked(client, ways[page])[0])
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name in ways:
        told = f"{1000 * medians[name]:6.0f} ms  {sizes[name] / 1000:6.0f} kB"
        print(f"{name:28} {told}  page / it {medians[page] / medians[name]:.1f}")
    print(f"{'the page, cold':28} {1000 * medians['cold']:6.0f} ms")
    middle, last = statistics.median(others), others[-1]
    print(f"{'the first page of a query':28} {1000 * first:6.0f} ms")
    print(f"{f'each of {len(others)} others, once':28} {1000 * middle:6.0f} ms  at most {1000 * last:.0f} ms")
    run.add(page, options.queries, times[page], "s", aim=AIM_S)
    run.add(f"{page}, its bytes", options.queries, [sizes[page] / 1000], "kB", aim=AIM_BYTES / 1000)
    run.add(f"{page}, after a change", options.queries, times["cold"], "s")
    run.add("the very first page of a query", 1, [first], "s", aim=AIM_S)
    run.add("pages of queries, each once", len(others), [middle], "s", aim=AIM_S)
    for peer in PEERS:
        run.add(page, options.queries, times[page], "s", peer, times[peer])
    return 0 if run.met else 1


if __name__ == "__main__":
    sys.exit(main())
