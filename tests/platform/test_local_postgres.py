"""PostgreSQL of one's own: its messages when it cannot start, and who may connect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts import cluster_demo, local_postgres
from scripts.local_postgres import LocalPostgres, PostgresFailed
from streambound.errors import StorageError
from streambound.results import Figure, Results


def test_a_missing_server_is_named_with_the_way_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(local_postgres, "DEBIAN", tmp_path)
    monkeypatch.setenv("STREAMBOUND_HOME", str(tmp_path / "home"))
    assert cluster_demo.main(["--days", "1"]) == 3
    told = capsys.readouterr().err
    assert "PostgreSQL's server is not installed" in told and "apt-get install postgresql" in told
    assert not (tmp_path / "home").exists(), "nothing has been started"


def test_a_folder_that_its_user_may_not_enter_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    server = LocalPostgres(tmp_path / "closed" / "server", lasting=False)
    if os.geteuid() == 0:
        with pytest.raises(PostgresFailed, match=r"refuses to run as root, and user postgres may not enter"):
            server.start()
    else:
        with server:
            assert server.port


def test_only_those_with_the_password_get_in(postgres: LocalPostgres) -> None:
    postgres.create_databases("private")
    postgres.create_databases("private")
    address = postgres.url("private")
    assert Results(address).runs() == []
    with pytest.raises(StorageError, match="password authentication failed") as caught:
        Results(address.replace(postgres.password, "another")).runs()
    assert "another" not in str(caught.value)


def test_a_server_that_does_not_start_shows_its_log(postgres: LocalPostgres) -> None:
    postgres.create_databases("private")
    # The data folder is in use: PostgreSQL says so, and the first server goes on.
    second = LocalPostgres(postgres.folder, lasting=False)
    with pytest.raises(PostgresFailed, match=r"did not start[\s\S]*postmaster.pid"):
        second.start()
    assert Results(postgres.url("private")).runs() == []


def test_a_server_that_is_killed_loses_nothing_that_was_recorded(postgres: LocalPostgres) -> None:
    postgres.create_databases("killed")
    before = Results(postgres.url("killed"))
    figure = Figure("run", "seconds", 1.5)
    before.record_figures([figure])
    assert postgres._process is not None
    postgres._process.kill()
    postgres._process.wait()
    with pytest.raises(StorageError):
        before.figures("run")
    postgres.start()
    assert Results(postgres.url("killed")).figures("run") == [figure]
