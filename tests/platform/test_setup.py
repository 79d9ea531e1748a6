"""Setting up stops at once where it may not install, and says exactly what to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ["sh", "cat", "cksum", "dirname", "env", "grep", "head", "mkdir", "rm", "sed"]


class Machine:
    """A folder of stub commands that stands for a bare machine, and a copy of what setup reads."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.root = folder / "project"
        self.bin.mkdir()
        (self.root / "scripts").mkdir(parents=True)
        for name in ("scripts/setup", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, self.root / name)
        for name in TOOLS:
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)
        self.user(1000)

    def command(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{shutil.which('sh')}\n{body}\n")
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.command("id", f"echo {number}")

    def java(self, version: str = "17.0.15") -> None:
        self.command("java", f"echo 'openjdk version \"{version}\"' >&2")

    def python_without_venv(self) -> None:
        self.command("python3", f'[ "$1" = -m ] && exit 1\nexec {sys.executable} "$@"')

    def setup(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "sh"), str(self.root / "scripts" / "setup"), *arguments],
            env={"PATH": str(self.bin), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("script", ["demo", "check", "scripts/setup"])
def test_scripts_are_posix_shell(script: str) -> None:
    path = ROOT / script
    assert path.read_text().startswith("#!/bin/sh\n")
    assert os.access(path, os.X_OK)
    subprocess.run(["sh", "-n", str(path)], check=True)


def test_the_ci_script_is_bash() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)


def test_no_venv_module_and_no_root(machine: Machine) -> None:
    machine.java()
    machine.python_without_venv()
    told = machine.setup()
    assert told.returncode == 3
    assert "sudo apt-get install python3-venv" in told.stderr
    assert not (machine.root / ".venv").exists()


def test_no_java_and_no_root(machine: Machine) -> None:
    machine.python_without_venv()
    told = machine.setup()
    assert told.returncode == 3
    assert "sudo apt-get install openjdk-17-jre-headless" in told.stderr


def test_old_java(machine: Machine) -> None:
    machine.python_without_venv()
    machine.java("11.0.22")
    told = machine.setup()
    assert told.returncode == 3
    assert "Java 17 or later" in told.stderr


def test_java_home_leads_nowhere(machine: Machine) -> None:
    machine.python_without_venv()
    machine.java()
    told = machine.setup(JAVA_HOME="/nowhere")
    assert told.returncode == 3
    assert "JAVA_HOME is /nowhere" in told.stderr


def test_no_python(machine: Machine) -> None:
    machine.java()
    told = machine.setup()
    assert told.returncode == 3
    assert "sudo apt-get install python3 python3-venv" in told.stderr


def test_old_python(machine: Machine) -> None:
    machine.java()
    machine.command("python3", "exit 1")
    told = machine.setup()
    assert told.returncode == 3
    assert "no Python from 3.11 to 3.14" in told.stderr


def test_root_installs_java_21_where_there_is_no_17(machine: Machine, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    machine.python_without_venv()
    machine.user(0)
    machine.java("21.0.8")
    (machine.bin / "java").rename(tmp_path / "java-21")
    machine.command(
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {calls}\n'
        'case "$*" in\n'
        "  *openjdk-17*) exit 100 ;;\n"
        f"  *openjdk-21*) {shutil.which('cp')} -p {tmp_path}/java-21 {machine.bin}/java ;;\n"
        "esac",
    )
    told = machine.setup()
    log = calls.read_text()
    assert "openjdk-21-jre-headless" in log
    assert "python3-venv" in log
    assert all(line.startswith("noninteractive ") for line in log.splitlines())
    # The stub's apt-get cannot bring a venv module, so setup still has to stop, by its own word.
    assert told.returncode == 3
    assert "its venv module is not installed" in told.stderr


def test_the_tests_need_a_browser(machine: Machine) -> None:
    machine.python_without_venv()
    machine.java()
    told = machine.setup("tests")
    assert told.returncode == 3
    assert "sudo apt-get install chromium" in told.stderr
