"""Spark is refused where it could not work, and each refusal names its cure."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streambound.errors import PlatformError
from streambound.spark import session as sessions
from streambound.spark.data_frames import staging


def fake_java(folder: Path, version_line: str) -> Path:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but one empty folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(bare))
    return bare


def jars(folder: Path, *versions: str) -> Path:
    for version in versions:
        (folder / f"spark-core_2.13-{version}.jar").touch()
    return folder


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_java_major(text: str, major: int | None) -> None:
    assert sessions.java_major(text) == major


def test_missing_java_is_refused(alone: Path) -> None:
    with pytest.raises(PlatformError) as caught:
        sessions.require_platform()
    assert "openjdk-17-jre-headless" in str(caught.value)
    assert caught.value.exit_code == 3


def test_old_java_is_refused(alone: Path) -> None:
    fake_java(alone, 'openjdk version "11.0.22" 2024-01-16')
    with pytest.raises(PlatformError, match="Java 11"):
        sessions.require_java()


def test_java_home_that_leads_nowhere_is_refused(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(alone / "nowhere"))
    with pytest.raises(PlatformError, match="unset it"):
        sessions.require_java()


def test_java_21_is_accepted(alone: Path) -> None:
    fake_java(alone, 'openjdk version "21.0.8" 2025-07-15')
    assert sessions.require_java() == 21


def test_other_jars_are_refused(alone: Path, tmp_path: Path) -> None:
    fake_java(alone, 'openjdk version "17.0.15" 2025-04-15')
    with pytest.raises(PlatformError, match=r"the jars in .* are Spark 4\.2\.0"):
        sessions.require_platform(jars(tmp_path, "4.2.0"))


def test_matching_jars_are_accepted(alone: Path, tmp_path: Path) -> None:
    fake_java(alone, 'openjdk version "17.0.15" 2025-04-15')
    sessions.require_platform(jars(tmp_path, pyspark.__version__))


@pytest.mark.parametrize("versions", [(), ("4.2.0", "4.3.0")])
def test_no_or_several_sparks_are_refused(tmp_path: Path, versions: tuple[str, ...]) -> None:
    with pytest.raises(PlatformError, match="holds"):
        sessions.jars_version(jars(tmp_path, *versions))


def test_another_python_for_workers_is_refused(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(alone, 'openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python-of-another-world")
    with pytest.raises(PlatformError, match="python-of-another-world"):
        sessions.require_platform(jars(tmp_path, pyspark.__version__))


def test_workers_run_this_python_by_default(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(alone, 'openjdk version "17.0.15" 2025-04-15')
    monkeypatch.delenv("PYSPARK_PYTHON")
    sessions.require_platform(jars(tmp_path, pyspark.__version__))
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.delenv("PYSPARK_PYTHON")


def test_pyspark_client_over_pyspark_is_refused(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(alone, 'openjdk version "17.0.15" 2025-04-15')
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "4.2.0" if name == "pyspark-client" else real(name))
    with pytest.raises(PlatformError, match=r"pyspark-client 4\.2\.0"):
        sessions.require_platform(jars(tmp_path, pyspark.__version__))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("said", "told"), [("refused\nat once", ": refused\n"), ("", ": PySparkException\n")]
)
def test_a_server_that_refuses_is_told(monkeypatch: pytest.MonkeyPatch, said: str, told: str) -> None:
    def refused(builder: object) -> None:
        raise PySparkException(said)

    monkeypatch.setattr(pyspark.sql.SparkSession.Builder, "getOrCreate", refused)
    monkeypatch.setattr(sessions, "_require_server", lambda address: None)
    with pytest.raises(PlatformError) as caught:
        sessions.session("none", master="sc://somewhere").__enter__()
    assert f"no session on the Spark Connect server sc://somewhere{told}" in str(caught.value)


def test_stagings_of_one_folder_are_apart(tmp_path: Path) -> None:
    """Also where drivers on two machines have the same process id."""
    with ExitStack() as held:
        one, other = staging(held, tmp_path), staging(held, tmp_path)
        assert list(tmp_path.iterdir()) == [], "none is made that nobody needs"
        assert one() == one() != other() and one().parent == other().parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_real_session_is_local_and_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path))
    with sessions.session("test", master="local[1]", spark__sql__shuffle__partitions="3") as spark:
        assert spark.version == pyspark.__version__
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.driver.host") == "127.0.0.1"
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        assert spark.range(10).count() == 10


def test_java_compiles_for_a_short_life_and_as_the_user_says(tmp_path: Path) -> None:
    """In a process of its own: the Java of the tests may have been started by another session."""
    program = """
from streambound.spark.session import session
with session("test", master="local[1]", spark__driver__extraJavaOptions="-Dmine=1") as spark:
    beans = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    print(*beans.getRuntimeMXBean().getInputArguments(), sep="\\n")
"""
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -Dadministrators=1\n")
    given = {name: value for name, value in os.environ.items() if name != sessions.JAVA_OPTIONS}
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**given, "STREAMBOUND_HOME": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    options = told.stdout.splitlines()
    assert {*sessions.SHORT_LIVED.split(), "-Dadministrators=1", "-Dmine=1"} <= set(options)
    assert options.index(sessions.SHORT_LIVED.split()[0]) < options.index("-Dadministrators=1")


def test_java_has_the_archive_of_classes(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    maps = Path(f"/proc/{gateway.proc.pid}/maps").read_text().splitlines()
    assert any(line.endswith(f" {sessions.CLASS_ARCHIVE}") for line in maps)


def test_the_launcher_of_java_reads_a_path_as_it_is() -> None:
    odd = Path("/a \"b' \\c/spark.jsa")
    assert shlex.split(sessions.java_option("SharedArchiveFile", odd)) == [f"-XX:SharedArchiveFile={odd}"]


def test_without_an_archive_of_classes_java_starts_without(tmp_path: Path) -> None:
    assert sessions.java_options(tmp_path / "spark.jsa") == sessions.SHORT_LIVED


def test_without_spark_the_archive_of_classes_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError(name='pyspark')\n")
    told = subprocess.run(
        [sys.executable, "-m", "streambound.spark.applications.class_archive"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    assert told.returncode == PlatformError.exit_code
    assert told.stderr.startswith("class archive: platform-error: the package pyspark is not installed")
    assert "[spark]'" in told.stderr
