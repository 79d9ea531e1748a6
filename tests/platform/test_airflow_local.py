"""The local Airflow starts, runs a DAG through its scheduler, goes on after kills, and leaves nothing.

Whom it lets in is seen in the flow of the demo (tests/e2e/test_pipeline.py), whose Airflow is up anyway.
"""

from __future__ import annotations

import json
import socket
import stat
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from scripts import airflow_layout
from scripts.airflow_layout import read_private
from scripts.airflow_local import Layout, LocalAirflow, environment, free_port
from scripts.sessions import command_line, sessions_below

DAG = """
    from airflow.sdk import dag, get_current_context, task

    @dag(schedule=None)
    def small():
        @task(pool="spark", map_index_template="{{ letter }}")
        def spell(letter):
            get_current_context()["letter"] = letter
            print("spelt", letter)

        @task
        def fails():
            raise ValueError("on purpose")

        spell.expand(letter=["a", "b"]) >> fails()

    small()

    @dag(schedule=None)
    def long():
        @task.bash
        def sleeps():
            return "sleep 600 & sleep 601"

        sleeps()

    long()
"""


def layout_in(folder: Path) -> Layout:
    return Layout(
        airflow_home=folder / "airflow",
        home=folder / "home",
        dags=folder / "dags",
        plugins=folder / "plugins",
        port=free_port(),
    )


def test_secrets_are_kept_and_private(tmp_path: Path) -> None:
    layout = layout_in(tmp_path)
    first, second = environment(layout), environment(layout)
    assert first == second
    assert len(first["AIRFLOW__API_AUTH__JWT_SECRET"]) >= 64
    for name in ("secrets.json", "passwords.json"):
        assert stat.S_IMODE((layout.airflow_home / name).stat().st_mode) == 0o600


def test_another_airflows_settings_do_not_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://elsewhere")
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
    env = environment(layout_in(tmp_path))
    assert "elsewhere" not in env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    assert env["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] == "False"


def test_processes_wait_a_minute_for_each_others_writing(tmp_path: Path) -> None:
    (tmp_path / "airflow").mkdir()
    engine = create_engine(environment(layout_in(tmp_path))["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"])
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 60_000
    assert (tmp_path / "airflow" / "airflow.db").is_file()


def test_connections_of_the_user_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = json.dumps({"conn_type": "spark", "host": "spark://elsewhere", "port": 7077})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", mine)
    monkeypatch.delenv("AIRFLOW_CONN_STREAMBOUND_DB", raising=False)
    monkeypatch.delenv("STREAMBOUND_DATABASE_URL", raising=False)
    env = environment(layout_in(tmp_path))
    assert env["AIRFLOW_CONN_SPARK_DEFAULT"] == mine
    assert json.loads(env["AIRFLOW_CONN_STREAMBOUND_DB"])["extra"]["url"].endswith("home/results.db")


def test_a_free_port_is_found_where_the_wanted_one_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert free_port(taken.getsockname()[1]) != taken.getsockname()[1]


def test_no_port_is_given_twice_or_to_a_connection_meanwhile() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    given = [free_port() for _ in range(500)]
    assert len(set(given)) == 500 and not [port for port in given if first <= port <= last]


@pytest.mark.parametrize("range_of_all", ["1024 65535", "nonsense", ""])
def test_a_port_is_found_where_the_system_keeps_all(
    range_of_all: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "range").write_text(range_of_all)
    monkeypatch.setattr(airflow_layout, "SYSTEMS_PORTS", tmp_path / "range")
    assert free_port() > 1024


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAirflow]:
    folder = tmp_path_factory.mktemp("local")
    (folder / "dags").mkdir()
    (folder / "dags" / "small.py").write_text(textwrap.dedent(DAG))
    with LocalAirflow(layout_in(folder)) as started:
        yield started


@pytest.mark.heavy
@pytest.mark.airflow
def test_a_run_through_the_scheduler(airflow: LocalAirflow) -> None:
    api = airflow.client()
    api.wait_for_dag("small")
    run_id = api.trigger("small")
    seen: list[dict[str, str]] = []
    assert api.wait_for_run("small", run_id, 300, seen.append) == "failed"
    assert seen[-1] == {"spell[a]": "success", "spell[b]": "success", "fails": "failed"}
    assert "ValueError: on purpose" in api.failure_log("small", run_id)
    assert "spelt a" in api.log("small", run_id, "spell", 1, 0)


@pytest.mark.heavy
@pytest.mark.airflow
def test_runs_go_on_after_scheduler_and_api_server_were_killed(airflow: LocalAirflow) -> None:
    api = airflow.client()
    for name in ("scheduler", "api-server"):
        process = airflow._parts[name].process
        assert process is not None
        process.kill()
        process.wait()
        airflow.tend()
    deadline = time.monotonic() + 300
    while api.health().get("scheduler") != "healthy":
        airflow.check()
        assert time.monotonic() < deadline
        time.sleep(0.3)
    run_id = api.trigger("small")
    assert api.wait_for_run("small", run_id, 300) == "failed"
    states = api.task_states("small", run_id)
    assert states == {"spell[a]": "success", "spell[b]": "success", "fails": "failed"}
    told = read_private(airflow.layout.state_file)["parts"]
    assert {name: part["restarts"] for name, part in told.items() if part["restarts"]} == {
        "scheduler": 1,
        "api-server": 1,
    }


@pytest.mark.heavy
@pytest.mark.airflow
def test_stopping_ends_what_a_task_started(airflow: LocalAirflow) -> None:
    api = airflow.client()
    api.wait_for_dag("long")
    run_id = api.trigger("long")
    deadline = time.monotonic() + 300
    # A task counts as running before its shell does.
    while not (shells := started_by(airflow, "sleep 601")):
        assert time.monotonic() < deadline, api.task_states("long", run_id)
        time.sleep(0.3)
    sessions = sessions_below({process.pid for process in airflow.processes()})
    assert len(sessions) == 5, "four components and the shell of the task"
    assert set(map(_session, shells)) < sessions
    airflow.stop()
    living = [entry for entry in Path("/proc").glob("[0-9]*") if _session(entry) in sessions]
    assert living == []
    assert not airflow.layout.state_file.exists()


def started_by(airflow: LocalAirflow, command: str) -> list[Path]:
    """The processes with this command line of these components and of their tasks."""
    sessions = sessions_below({process.pid for process in airflow.processes()})
    found = [entry for entry in Path("/proc").glob("[0-9]*") if _session(entry) in sessions]
    return [entry for entry in found if command_line(int(entry.name)) == command]


def _session(entry: Path) -> int | None:
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[3])


def test_listens_on_loopback_only(tmp_path: Path) -> None:
    env = environment(layout_in(tmp_path))
    assert env["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert env["AIRFLOW__API__BASE_URL"].startswith("http://127.0.0.1:")
    assert env["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == f"{env['AIRFLOW__API__BASE_URL']}/execution/"
