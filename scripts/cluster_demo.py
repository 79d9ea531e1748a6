"""The demo on PostgreSQL and a Spark cluster, then on SQLite and local Spark: the answers must be the same.

Starts the parts of docker-compose.yml without containers, each on the loopback interface: PostgreSQL for
Airflow's metadata and for the results, a Spark master, two workers and a history server, and Airflow. Runs
the demo on them, runs it again as ``make demo`` does, and compares what the two recorded.

    python -m scripts.cluster_demo [--days N]

Exit codes: 0 the same, 1 different or a DAG failed, 3 a part could not be started.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.airflow_layout import PROJECT
from scripts.airflow_local import AirflowFailed, Layout, LocalAirflow, free_port, stop_on_signals
from scripts.airflow_rest import AirflowApiError
from scripts.comparison import compared
from scripts.demo import Clock, run_all
from scripts.local_postgres import LocalPostgres, PostgresFailed, find_programs
from scripts.local_spark import LocalSpark, SparkFailed
from streambound.errors import StreamboundError
from streambound.locks import taken

# Databases, and the one user of each.
AIRFLOW_DATABASE, RESULTS_DATABASE = "airflow", "streambound"
USERS = PROJECT / "deploy" / "postgres" / "users.sql"
# Of the user's own Airflow and streams, which this must not touch.
OTHERS = (
    *(
        "STREAMBOUND_DATABASE_URL",
        "STREAMBOUND_STREAMS",
        "STREAMBOUND_CHECKPOINTS",
        "STREAMBOUND_SPARK_MASTER",
        "STREAMBOUND_ALERTS",
    ),
    *("AIRFLOW_HOME", "AIRFLOW_CONN_SPARK_DEFAULT", "AIRFLOW_CONN_STREAMBOUND_DB", "SPARK_CONF_DIR"),
    "SPARK_REMOTE",
)


class DemoFailed(Exception):
    """A DAG failed; its log has been printed."""


def with_users(postgres: LocalPostgres) -> dict[str, str]:
    """The addresses of the two databases, each made as Compose makes it, with a user of its own."""
    passwords = {name: secrets.token_hex(24) for name in (AIRFLOW_DATABASE, RESULTS_DATABASE)}
    postgres.run(
        USERS,
        AIRFLOW_DB_PASSWORD=passwords[AIRFLOW_DATABASE],
        RESULTS_DB_PASSWORD=passwords[RESULTS_DATABASE],
    )
    return {name: postgres.url(name, name, password) for name, password in passwords.items()}


def layout_on(folder: Path, databases: Mapping[str, str], spark: LocalSpark, registry: Path) -> Layout:
    """An Airflow on PostgreSQL whose tasks run on the cluster and record in PostgreSQL."""
    results = databases[RESULTS_DATABASE]
    host, _, port = spark.master.rpartition(":")
    cluster = {"conn_type": "spark", "host": host, "port": int(port), "extra": {"deploy-mode": "client"}}
    settings = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": databases[AIRFLOW_DATABASE],
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(cluster),
        "AIRFLOW_CONN_STREAMBOUND_DB": json.dumps({"conn_type": "generic", "extra": {"url": results}}),
        "STREAMBOUND_DATABASE_URL": results,
        "SPARK_CONF_DIR": str(spark.configuration),
    }
    return Layout(folder / "airflow", folder, registry, port=free_port(), settings=settings)


def layout_alone(folder: Path, registry: Path) -> Layout:
    """An Airflow on SQLite whose tasks run on this machine's cores."""
    return Layout(folder / "airflow", folder, registry, port=free_port())


def run_demo(layout: Layout, days: int | None, say: Clock) -> None:
    """The demo in an Airflow of its own.

    Raises:
        DemoFailed: a DAG failed.
        AirflowFailed: Airflow did not start.
    """
    with LocalAirflow(layout, echo=say.say) as airflow:
        ok = run_all(airflow.client(), say, days)
        say.say("stopping Airflow")
    if not ok:
        raise DemoFailed(f"a DAG failed; its logs are in {layout.airflow_home / 'logs'}")


def run_both(base: Path, registry: Path, days: int | None, say: Clock) -> int:
    """Both demos in folders below ``base``, and the comparison; the exit code."""
    from streambound.results import Results

    with (
        LocalPostgres(base / "postgres", echo=say.say) as postgres,
        LocalSpark(base / "spark", echo=say.say) as spark,
    ):
        databases = with_users(postgres)
        say.say("1 of 2: the demo on PostgreSQL and the Spark cluster")
        run_demo(layout_on(base / "cluster", databases, spark, registry), days, say)
        shown = len(spark.applications())
        say.say(f"the history server shows {shown} application{'' if shown == 1 else 's'}")
        say.say("2 of 2: the demo on SQLite and local Spark")
        alone = layout_alone(base / "local", registry)
        run_demo(alone, days, say)
        found = compared(
            Results(databases[RESULTS_DATABASE]), Results(f"sqlite:///{alone.home / 'results.db'}")
        )
        say.say("stopping the cluster")
    print(f"\n{found.table}\n")
    for difference in found.differences:
        print(f"different: {difference}")
    if found.differences:
        print("PostgreSQL and the cluster do not give what SQLite and local Spark give")
        return 1
    print("PostgreSQL and the cluster give what SQLite and local Spark give")
    return 0


@contextmanager
def fresh(base: Path) -> Iterator[None]:
    """The folder, emptied of what an earlier run left; of two runs at once the second is refused."""
    base.mkdir(parents=True, exist_ok=True)
    # PostgreSQL's user passes through it, where that is another one.
    base.chmod(0o711)
    with open(base / "lock", "w") as lock:
        if not taken(lock):
            raise AirflowFailed(f"another cluster demo is running in {base}")
        for entry in base.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="cluster_demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--days", type=int, metavar="N", help="only the first N days of 2013 (default: all)")
    days = parser.parse_args(arguments).days
    if days is not None and not 1 <= days <= 365:
        parser.error("--days: a number from 1 to 365")
    say, plain = Clock(), Layout()
    home = Path(os.environ.get("STREAMBOUND_HOME") or plain.home).resolve()
    registry = Path(os.environ.get("STREAMBOUND_REGISTRY") or plain.registry).resolve()
    for name in OTHERS:
        os.environ.pop(name, None)
    try:
        find_programs()
        with stop_on_signals(), fresh(home / "cluster-demo"):
            return run_both(home / "cluster-demo", registry, days, say)
    except DemoFailed as error:
        print(f"cluster-demo: {error}", file=sys.stderr)
        return 1
    except (AirflowFailed, AirflowApiError, PostgresFailed, SparkFailed, StreamboundError) as error:
        print(f"cluster-demo: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
