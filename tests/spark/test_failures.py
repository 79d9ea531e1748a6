"""Whatever ends Spark is one sentence and the exit code of an outside cause."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from streambound.errors import DataError, StorageError
from streambound.spark import failures
from streambound.spark.failures import stop, translated_errors

FAILURES = [
    PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={}),
    Py4JError("org.apache.spark does not exist in the JVM"),
    Py4JNetworkError("the answer from the Java side is empty"),
    ConnectionRefusedError(111, "Connection refused"),
    BrokenPipeError(32, "Broken pipe"),
    EOFError(),
    TypeError("'JavaPackage' object is not callable"),
    AttributeError("'NoneType' object has no attribute 'sc'"),
    DataError("Spark cannot read ORC files"),
]
Java = Callable[[str], None]


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> Java:
    """A process in the place of Spark's, which has ended with some code."""

    def ended_with(how: str) -> None:
        process = subprocess.Popen([sys.executable, "-c", f"import os, signal; {how}"])
        process.wait()
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))

    return ended_with


@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: type(one).__name__)
def test_a_java_process_that_was_killed_says_so_whatever_its_client_raises(
    failure: Exception, java: Java
) -> None:
    java("os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(StorageError) as caught, translated_errors("while tasks ran"):
        raise failure
    assert caught.value.message == "Spark has ended while tasks ran: its Java process was ended by SIGKILL"
    assert caught.value.exit_code == 3 and caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("os._exit(143)", "was ended by SIGTERM"),
        ("os._exit(1)", "exited with code 1"),
        ("", "exited with code 0"),
    ],
)
def test_how_it_ended(java: Java, how: str, words: str) -> None:
    java(how)
    with pytest.raises(StorageError, match=words), translated_errors("while it started"):
        raise EOFError


def test_the_first_word_stands(java: Java) -> None:
    java("os._exit(137)")
    with (
        pytest.raises(StorageError, match="while tasks ran"),
        translated_errors("while it was in use"),
        translated_errors("while tasks ran"),
    ):
        raise Py4JError("gone")


@pytest.mark.parametrize("failure", FAILURES[:4] + FAILURES[5:6], ids=lambda one: type(one).__name__)
def test_a_failure_of_a_spark_that_goes_on_is_told(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with (
        pytest.raises(StorageError, match=r"^Spark failed while tasks ran: .{20}"),
        translated_errors("while tasks ran"),
    ):
        raise failure


@pytest.mark.parametrize("failure", FAILURES[6:] + FAILURES[4:5], ids=lambda one: type(one).__name__)
def test_what_is_not_sparks_stays(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(type(failure)) as caught, translated_errors("while tasks ran"):
        raise failure
    assert caught.value is failure


def test_a_session_whose_spark_is_gone_is_stopped_and_the_next_starts_another(
    java: Java, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise ConnectionRefusedError

    forgotten: list[bool] = []
    monkeypatch.setattr(failures, "_forget", lambda: forgotten.append(True))
    java("os._exit(137)")
    stop(SimpleNamespace(stop=gone))  # type: ignore[arg-type]
    assert forgotten == [True]
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(ConnectionRefusedError):
        stop(SimpleNamespace(stop=gone))  # type: ignore[arg-type]


@pytest.mark.parametrize("failure", [EOFError(), ConnectionResetError(), ValueError()])
def test_the_end_of_a_connection_prints_no_traceback(failure: Exception) -> None:
    printed: list[Any] = []
    server = SimpleNamespace(handle_error=lambda *about: printed.append(about))
    failures.hush(SimpleNamespace(sparkContext=SimpleNamespace(_accumulatorServer=server)))  # type: ignore[arg-type]
    try:
        raise failure
    except Exception:
        server.handle_error("request", "address")
    assert bool(printed) == isinstance(failure, ValueError)


def test_the_gateway_logs_no_traceback_and_others_do(caplog: pytest.LogCaptureFixture) -> None:
    failures.silence()
    root = logging.getLogger()
    for module, kept in (("java_gateway", False), ("mine", True)):
        record = root.makeRecord("root", logging.ERROR, f"/lib/{module}.py", 1, "failed", (), None)
        root.handle(record)
        assert (record in caplog.records) == kept


def test_the_innermost_cause_is_told() -> None:
    lines = [
        "calling o70.",
        ": awaitResult:",
        "\tat org.a",
        "Caused by: aborted",
        "Caused by: a worker crashed",
    ]
    found = failures.first_lines(Exception("\n".join(lines)))
    assert found == "calling o70. : awaitResult: Caused by: a worker crashed"


def test_of_a_stack_of_pythons_only_what_it_ended_in_is_told() -> None:
    stack = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    found = failures.first_lines(Exception(f"the sink failed. Reason: {stack}KeyError: 'a'\n\tat org.a"))
    assert found == "the sink failed. Reason: KeyError: 'a' at org.a"
    cut = failures.first_lines(Exception(f"the sink failed. {stack}\nCaused by: java.io.EOFException"))
    assert cut == "the sink failed. Caused by: java.io.EOFException"


def test_a_worker_whose_spark_is_gone_ends_without_a_word() -> None:
    program = """
import socket
from streambound.spark import daemon

here, there = socket.socketpair()
there.close()
print(daemon.worker(here, False))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
