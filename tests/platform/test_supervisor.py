"""The supervisor keeps the parts of the local Airflow alive, tells what became of them, keeps its secrets.

A small program stands for Airflow here: what is tested is how parts are started, watched, ended and told of.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.platform.leaks import leaks

from scripts import airflow_layout, airflow_local, airflow_parts
from scripts.airflow_layout import AirflowFailed, Layout, free_port, generated_secrets, prepare, read_private
from scripts.airflow_local import LocalAirflow
from scripts.airflow_parts import PAUSES, STEADY, Part
from scripts.sessions import command_line

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["api-server", "scheduler", "dag-processor", "triggerer"]
STAND_IN = """
    import http.server, json, os, pathlib, signal, subprocess, sys

    name = sys.argv[1]
    if pathlib.Path(f"broken-{name}").exists():
        sys.exit(f"{name} has had enough")
    if name == "db":
        for trace in pathlib.Path().glob("*.lives"):
            trace.unlink()
        sys.exit()
    pathlib.Path(f"{name}.lives").touch()
    if name == "scheduler":
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", "airflow task"])
    if name == "api-server":
        def health():
            parts = {"metadatabase": name, **{part: part for part in ("scheduler", "triggerer")}}
            parts["dag_processor"] = "dag-processor"
            lives = {part: pathlib.Path(f"{file}.lives").exists() for part, file in parts.items()}
            return {part: {"status": "healthy" if lives[part] else "unhealthy"} for part in parts}

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answer = health() if self.path.endswith("/health") else {"access_token": "let me in"}
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            do_POST = do_GET

        address = "127.0.0.1", int(os.environ["AIRFLOW__API__PORT"])
        http.server.HTTPServer(address, Answers).serve_forever()
    signal.pause()
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(
        airflow_home=tmp_path / "airflow",
        home=tmp_path / "home",
        dags=tmp_path / "dags",
        plugins=tmp_path / "plugins",
        port=free_port(),
    )
    made.airflow_home.mkdir(mode=0o700)
    # `python -m airflow` looks into the folder that it runs in first.
    (made.airflow_home / "airflow.py").write_text(textwrap.dedent(STAND_IN))
    return made


def until(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while not (result := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return result


def living(pid: int) -> bool:
    return command_line(pid) != ""


def process_of(airflow: LocalAirflow, name: str) -> subprocess.Popen[bytes]:
    process = airflow._parts[name].process
    assert process is not None
    return process


def kill(airflow: LocalAirflow, name: str) -> int:
    process = process_of(airflow, name)
    process.kill()
    process.wait()
    return process.pid


def tasks_of(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and int(entry.name) != session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_was_killed_is_started_again(name: str, layout: Layout) -> None:
    said: list[str] = []
    with LocalAirflow(layout, echo=said.append) as airflow:
        before = {part: process_of(airflow, part).pid for part in PARTS}
        tasks = until(lambda: tasks_of(before["scheduler"]))
        assert kill(airflow, name) == before[name]
        airflow.tend()
        after = {part: process_of(airflow, part).pid for part in PARTS}
        assert {part for part in PARTS if before[part] != after[part]} == {name}
        assert any(map(living, tasks)) is (name != "scheduler"), "what it had started is tried again"
        until(lambda: len(airflow.client().health()) > 1)
        told = read_private(layout.state_file)["parts"]
        assert told[name]["restarts"] == 1 and told[name]["ended"] == "was killed by SIGKILL"
        assert {told[part]["state"] for part in PARTS} == {"running"}
        assert f"{name} was killed by SIGKILL; {name} was started again (1 of 3 times in a row)" in said
    assert not any(map(living, after.values()))


@pytest.mark.parametrize("kills", [8, pytest.param(30, marks=pytest.mark.heavy)])
def test_kills_of_any_parts_in_any_way(kills: int, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random parts, several at once, by random signals: all run again, and what they had started does not."""
    monkeypatch.setattr(airflow_parts, "PAUSES", (0.0,) * kills)
    draws, killed = random.Random(20), dict.fromkeys(PARTS, 0)
    with LocalAirflow(layout) as airflow:
        while sum(killed.values()) < kills:
            gone = set(tasks_of(process_of(airflow, "scheduler").pid))
            victims = draws.sample(PARTS, draws.randint(1, len(PARTS)))
            for name in victims:
                process = process_of(airflow, name)
                process.send_signal(
                    draws.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
                )
                process.wait()
                killed[name] += 1
            airflow.tend()
            airflow.check()
            assert "scheduler" not in victims or not any(map(living, gone))
            told = read_private(layout.state_file)["parts"]
            assert {name: part["restarts"] for name, part in told.items()} == killed
        until(lambda: airflow.client().health().get("scheduler") == "healthy")
        last = [process.pid for process in airflow.processes()]
    assert min(killed.values()) > 0 and not any(map(living, last))


def test_a_part_that_cannot_stay_is_given_up_and_its_own_words_tell_why(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_parts, "PAUSES", (0.0, 0.0))
    with pytest.raises(AirflowFailed) as failure, LocalAirflow(layout) as airflow:
        (layout.airflow_home / "broken-triggerer").touch()
        kill(airflow, "triggerer")
        for _ in range(3):
            airflow.tend()
            process_of(airflow, "triggerer").wait(60)
    assert "triggerer ended with exit code 1, as it did 2 times before" in str(failure.value)
    assert "triggerer has had enough" in str(failure.value)
    assert "triggerer has had enough" in read_private(layout.state_file)["failed"]


class Clockwork:
    """A part whose process ends when it is told to, and whose clock goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.code: int | None = None
        self.starts: list[float] = []
        self.part = Part("part", self._begin, clock=lambda: self.now)

    def _begin(self) -> subprocess.Popen[bytes]:
        self.code = None
        self.starts.append(self.now)
        return cast("subprocess.Popen[bytes]", self)

    # A process that no one has.
    pid = -1

    def poll(self) -> int | None:
        return self.code


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 5.0, 30.0, STEADY - 1, STEADY]), st.sampled_from([-9, -15, 0, 1, None])
        )
    )
)
def test_a_part_is_started_again_after_its_pause_and_only_so_often(
    events: list[tuple[float, int | None]],
) -> None:
    """Against a plain account: of each end, how many came before it in a row, and what must happen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(airflow_parts, "sessions_below", lambda leaders: set())
        patch.setattr(airflow_parts, "end_sessions", lambda sessions: None)
        _lives_as_it_should(Clockwork(), events)


def _lives_as_it_should(world: Clockwork, events: list[tuple[float, int | None]]) -> None:
    row, due, up_since, restarts = 0, None, 0.0, 0
    for seconds, code in events:
        world.now += seconds
        if due is None and code is not None:
            row = 0 if world.now - up_since >= STEADY else row
            world.code = code
            if row == len(PAUSES):
                with pytest.raises(AirflowFailed, match="not started again"):
                    world.part.tend()
                return
            due, row = world.now + PAUSES[row], row + 1
        said = world.part.tend()
        if due is not None and world.now >= due:
            due, up_since, restarts = None, world.now, restarts + 1
            assert said is not None and world.starts[-1] == world.now
        assert world.part.restarts == restarts == len(world.starts) - 1
        assert (world.part.process is None) is (due is not None)
        assert world.part.described()["state"] == ("running" if due is None else "ended")


class Command:
    """``python -m scripts.airflow_local`` in an AIRFLOW_HOME, as a user would run it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.printed = ""

    def __call__(self, action: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "scripts.airflow_local", action, "--port", str(self.layout.port)],
            cwd=ROOT,
            env={
                **os.environ,
                "AIRFLOW_HOME": str(self.layout.airflow_home),
                "STREAMBOUND_HOME": str(self.layout.home),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.printed += done.stdout + done.stderr
        assert "Traceback" not in self.printed
        return done

    @property
    def state(self) -> dict[str, Any]:
        return read_private(self.layout.state_file)


@pytest.fixture
def command(layout: Layout) -> Iterator[Command]:
    made = Command(layout)
    yield made
    made("down")


def test_up_status_down(command: Command) -> None:
    """One life: started twice, a part killed by force, stopped; no secret is printed or in a log."""
    log = command.layout.airflow_home / "supervisor.log"
    log.write_text("what was said before\n")
    log.chmod(0o644)
    assert command("status").returncode == 1
    assert command("up").returncode == 0
    first = command.state["parts"]["scheduler"]
    told = command("status")
    assert told.returncode == 0
    assert re.search(rf"^  scheduler     running since {first['since']}, healthy$", told.stdout, re.MULTILINE)
    assert len(re.findall(r"running since .* UTC, healthy$", told.stdout, re.MULTILINE)) == len(PARTS)
    assert command("up").returncode == 0, "it runs already"
    os.kill(command.state["sessions"][PARTS.index("scheduler")], signal.SIGKILL)
    until(lambda: command.state["parts"]["scheduler"]["restarts"])
    told = command("status")
    assert "started again 1 times, it last was killed by SIGKILL" in told.stdout and told.returncode == 0
    assert command("down").stdout.endswith("Airflow has stopped\n")
    assert command("up").returncode == command("down").returncode == 0
    said = log.read_text()
    assert said.startswith("what was said before\n") and said.count("Airflow is running at") == 2
    assert "scheduler was killed by SIGKILL" in said
    assert leaks(command.layout, command.printed) == []
    assert log.stat().st_mode & 0o077 == 0


def test_two_that_start_at_once_start_one(command: Command) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "scripts.airflow_local", "up", "--port", str(command.layout.port)],
        cwd=ROOT,
        env={
            **os.environ,
            "AIRFLOW_HOME": str(command.layout.airflow_home),
            "STREAMBOUND_HOME": str(command.layout.home),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as other:
        assert command("up").returncode == 0
        assert other.wait() == 0
    assert (command.layout.logs / "scheduler.log").read_text().count("---") == 1


def test_why_it_does_not_run_is_told(command: Command) -> None:
    (command.layout.airflow_home / "broken-scheduler").touch()
    failed = command("up")
    assert failed.returncode == 3 and "scheduler has had enough" in failed.stderr
    told = command("status")
    assert told.returncode == 1
    assert re.search(r"not running\n  since .* UTC: scheduler ended with exit code 1\n", told.stdout)
    (command.layout.airflow_home / "broken-scheduler").unlink()
    assert command("up").returncode == 0
    os.kill(command.state["pid"], signal.SIGKILL)
    until(lambda: command("status").returncode == 1)
    assert f"process {command.state['pid']}, was ended by force" in command("status").stdout
    assert command("up").returncode == 0


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk without room; where none can be mounted, the system is made to say so."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = os.geteuid() == 0 and (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
        == 0
    )
    if not mounted:
        usage = shutil.disk_usage(folder)._replace(free=60_000)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_up_on_a_full_disk_says_so(
    full: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(full))
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    assert airflow_local.main(["up"]) == 3
    told = capsys.readouterr().err
    assert re.fullmatch(
        rf"the disk of {full}/airflow is full: 0\.\d MB are free, and Airflow needs 50 MB; free some space, "
        r"or name a folder on another disk with AIRFLOW_HOME\n",
        told,
    )


@pytest.mark.parametrize("name", ["supervisor.log", "processes/migrate.log", "processes/scheduler.log"])
def test_a_log_that_cannot_be_written_is_named(
    name: str, layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(layout)
    (layout.airflow_home / name).symlink_to("/dev/full")
    monkeypatch.setenv("AIRFLOW_HOME", str(layout.airflow_home))
    monkeypatch.setenv("STREAMBOUND_HOME", str(layout.home))
    assert airflow_local.main(["up", "--port", str(layout.port)]) == 3
    assert f"{layout.airflow_home / name}: No space left on device" in capsys.readouterr().err
    assert airflow_local.supervised(layout) is None


def test_an_airflow_home_of_before_is_closed_to_others(layout: Layout) -> None:
    prepare(layout)
    kept = generated_secrets(layout)
    for path in (layout.airflow_home / "secrets.json", layout.passwords_file):
        path.chmod(0o666)
    layout.airflow_home.chmod(0o755)
    prepare(layout)
    assert generated_secrets(layout) == kept and leaks(layout) == []


def test_a_folder_that_others_use_is_not_closed(layout: Layout) -> None:
    layout.airflow_home.chmod(0o755)
    with pytest.raises(AirflowFailed, match=r"holds other things than an Airflow.*chmod 700"):
        prepare(layout)
    assert layout.airflow_home.stat().st_mode & 0o777 == 0o755


DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda whole: whole[: len(whole) // 2],
    lambda whole: b"",
    lambda whole: b"[]",
    lambda whole: b"{}",
    lambda whole: b"\xff" + whole,
    lambda whole: whole.replace(b'"admin_password": "', b'"admin_password": 1, "x": "'),
    lambda whole: re.sub(rb'("jwt_secret": ")[^"]*', rb"\1", whole),
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("action", ["up", "status"])
def test_damaged_secrets_are_told_in_one_line(
    action: str,
    damage: Callable[[bytes], bytes],
    layout: Layout,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(layout.airflow_home))
    monkeypatch.setenv("STREAMBOUND_HOME", str(layout.home))
    prepare(layout)
    path = layout.airflow_home / "secrets.json"
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    # As if one ran here.
    running = {"pid": os.getpid(), "port": layout.port, "ready": True, "parts": {}}
    if action == "status":
        monkeypatch.setattr(airflow_local, "supervised", lambda layout: running)
    assert airflow_local.main([action]) == 3
    told = capsys.readouterr().err
    assert told.startswith(f"{path} is damaged: ") and told.count("\n") == 1
    assert not any(word in told for word in json.loads(whole).values())


def test_files_damaged_anywhere_end_in_no_traceback(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random bytes of each file that is read are changed or missing: a documented code, the file is named."""
    monkeypatch.setenv("AIRFLOW_HOME", str(layout.airflow_home))
    monkeypatch.setenv("STREAMBOUND_HOME", str(layout.home))
    draws, codes = random.Random(20), set()
    with LocalAirflow(layout):
        monkeypatch.setattr(airflow_local.AirflowClient, "health", lambda self: {})
        paths = [layout.state_file, layout.airflow_home / "secrets.json", layout.passwords_file]
        whole = {path: path.read_bytes() for path in paths}
        for path, _ in itertools.product(paths, range(40)):
            text = bytearray(whole[path])
            for _ in range(draws.randrange(3)):
                text[draws.randrange(len(text))] = draws.randrange(256)
            path.write_bytes(bytes(text[: draws.choice([len(text), draws.randrange(len(text))])]))
            code = airflow_local.main(["status"])
            told = capsys.readouterr()
            assert code == 1 or (code == 3 and told.err.startswith(f"{path} is damaged")), told
            codes.add(code)
            path.write_bytes(whole[path])
    assert codes == {1, 3}


@pytest.mark.parametrize("port", ["0", "65536", "-1", "99999999999999999999", "eighty", "8080.0", ""])
def test_a_port_is_a_number_that_a_server_may_have(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        airflow_local.main(["status", f"--port={port}"])
    assert refused.value.code == 2
    assert "is not a number from 1 to 65535" in capsys.readouterr().err


def test_a_password_is_shown_on_a_terminal_only(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    password = generated_secrets(layout)["admin_password"]
    assert password not in airflow_local.describe(layout)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert password in airflow_local.describe(layout)


def test_a_log_that_has_grown_large_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow_local, "LOG_BYTES", 10)
    log = tmp_path / "part.log"
    for word in ("first", "second"):
        with airflow_local.appended(log) as out:
            out.write(word.encode())
    assert log.read_text().endswith("second") and "first" not in log.read_text()
    assert (tmp_path / "part.log.1").read_text().endswith("first")


def test_room_is_told_where_a_part_is_given_up(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(layout)
    monkeypatch.setattr(airflow_layout, "ROOM", 10**18)
    assert "is full" in str(LocalAirflow(layout)._failure("scheduler ended", "scheduler"))
