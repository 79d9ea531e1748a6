"""Checkpoints in object storage: a real server of the S3 protocol, found through the environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.history.test_nights import ALL, DAYS, World
from tests.spark.nights import from_scratch
from tests.spark.nights import left as left_on_disk

from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import StorageError
from streambound.history.evaluate import evaluate_history
from streambound.history.local import LocalExecutor

BUCKET = "streambound-tests"
ROOT = f"s3://{BUCKET}/some/checkpoints"


# In a process of its own: the table format's calls would wait for a server thread that waits for them.
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


# Hands on what it is asked, but every third time it is slow and then out of order.
TROUBLED = """
import itertools, sys, time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
asked = itertools.count(1)
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if next(asked) % 3 == 0:
            time.sleep(0.2)
            return self.answer(503, [], b"")
        there = HTTPConnection(urlsplit(sys.argv[1]).netloc)
        there.request(self.command, self.path, body, dict(self.headers))
        found = there.getresponse()
        self.answer(found.status, found.getheaders(), found.read())
    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        length = dict(headers).get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = hand_on
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
"""


@contextmanager
def serving(script: str, *arguments: str) -> Iterator[str]:
    command = [sys.executable, "-c", script, *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield next(line for line in server.stdout if line.startswith("http")).strip()
        server.kill()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving(SERVER) as address:
        yield address


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket; the environment says where, as in production."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    found = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1").Bucket(BUCKET)
    found.create()
    yield found
    found.objects.delete()
    found.delete()


@pytest.fixture
def world(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "quarantined"))
    return World(tmp_path)


def night(world: World, told: list[str] | None = None, **options: Any) -> dict[str, Any]:
    """One evaluation of all queries, its answers on disk and its checkpoints in the bucket."""
    progress = (lambda _: None) if told is None else told.append
    places: dict[str, Any] = {"output": world.home / "answers", "checkpoints": ROOT}
    found = evaluate_history(LocalExecutor(1), ALL, world.catalog, **places, progress=progress, **options)
    assert all(answer.error is None for answer in found), found
    return {answer.query: answer for answer in found}


def table(query: str) -> CheckpointTable:
    return CheckpointTable(address_of(ROOT, query), query)


def left(world: World) -> dict[str, dict[str, Any]]:
    """What the nights have left on disk and in the bucket."""
    found = {}
    for query in ALL:
        mine = table(query.name)
        assert mine.faults == []
        digests = {name: row.digest for name, row in sorted(mine.rows.items())}
        found[query.name] = {**left_on_disk(world.home, query.name), "checkpoints": digests}
    return found


def equals_one_evaluation_on_disk(world: World) -> None:
    assert left(world) == from_scratch(ALL, world.catalog, world.folder / "whole")


def objects(bucket: Any, query: str) -> list[Any]:
    """The data files of a query's checkpoints, oldest first."""
    found = bucket.objects.filter(Prefix=f"some/checkpoints/{query}/part-")
    return sorted(found, key=lambda one: (one.last_modified, one.key))


def test_nights_in_object_storage_leave_what_they_leave_on_disk(world: World, bucket: Any) -> None:
    first = night(world)
    assert [a.rows_read for a in first.values()] == [240, 240, 120]
    assert {a.rows_read for a in night(world).values()} == {0}, "a re-run reads nothing"
    world.arrive(DAYS[6])
    second = night(world)
    assert [a.rows_read for a in second.values()] == [40, 40, 20]
    assert {a.started_after for a in second.values()} == {DAYS[5]}
    world.arrive(DAYS[1], seed=1)
    assert night(world)["join"].started_after == DAYS[0]
    equals_one_evaluation_on_disk(world)
    assert not (world.home / "checkpoints").exists() and objects(bucket, "join")
    assert any("_delta_log" in one.key for one in bucket.objects.all())


def test_a_storage_that_is_slow_and_fails_now_and_then_costs_time_and_nothing_else(
    world: World, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(TROUBLED, endpoint) as troubled:
        monkeypatch.setenv("AWS_ENDPOINT_URL", troubled)
        night(world)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    equals_one_evaluation_on_disk(world)


def spoil_truncated(bucket: Any) -> None:
    one = objects(bucket, "join")[-1]
    one.put(Body=one.get()["Body"].read()[:500])


def spoil_missing(bucket: Any) -> None:
    objects(bucket, "join")[0].delete()


def spoil_log(bucket: Any) -> None:
    bucket.Object(f"some/checkpoints/join/_delta_log/{1:020}.json").delete()


@pytest.mark.parametrize("spoil", [spoil_truncated, spoil_missing, spoil_log])
def test_a_damaged_checkpoint_is_found_and_computed_again(spoil: Any, world: World, bucket: Any) -> None:
    for day in DAYS[:4]:
        night(world, last=day)
    spoil(bucket)
    told: list[str] = []
    found = night(world, told)
    assert any(message.startswith("join: ") and "computed again" in message for message in told), told
    assert found["join"].rows_read > 80 and found["distinct"].rows_read == 80
    equals_one_evaluation_on_disk(world)
    assert night(world)["join"].rows_read == 0


def test_flipped_bytes_never_reach_an_answer(world: World, bucket: Any) -> None:
    for day in DAYS[:6]:
        night(world, last=day)
    for one in objects(bucket, "join")[2:4]:
        content = bytearray(one.get()["Body"].read())
        content[len(content) // 3] ^= 255
        one.put(Body=bytes(content))
    world.arrive(DAYS[0], seed=1)
    night(world)
    equals_one_evaluation_on_disk(world)


def test_a_lost_table_is_computed_again(world: World, bucket: Any) -> None:
    night(world)
    bucket.objects.filter(Prefix="some/checkpoints/join/").delete()
    assert night(world)["join"].rows_read == 240
    equals_one_evaluation_on_disk(world)


def test_another_run_in_between_is_an_outside_cause(world: World) -> None:
    """Two machines share the bucket and no disk: the later commit is refused, nothing is overwritten."""
    night(world)
    one, other = table("join"), table("join")
    rows = list(one.load(DAYS[:1]).values())
    other.commit(rows[0].fingerprint, rows, [])
    with pytest.raises(StorageError, match="another run changed the checkpoints"):
        one.commit(rows[0].fingerprint, rows, [])
    assert sorted(table("join").rows) == DAYS[:6]


def test_no_bucket_is_an_outside_cause_of_every_query(world: World, bucket: Any) -> None:
    shutil.rmtree(world.home, ignore_errors=True)
    places: dict[str, Any] = {"output": world.home / "answers", "checkpoints": "s3://nowhere-at-all/x"}
    found = evaluate_history(LocalExecutor(1), ALL, world.catalog, **places)
    assert all(isinstance(answer.error, StorageError) for answer in found), found
