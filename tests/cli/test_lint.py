"""The lint alone: what it imports, and its hook for pre-commit."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from streambound import settings
from streambound.cli import main

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CATALOG = "streams:\n  S: {A: int, B: int}\n"
BOUNDED, UNBOUNDED = "SELECT A FROM S WHERE A > 10\n", "SELECT DISTINCT A FROM S\n"
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)

IMPORTED = """
import json, shlex, sys
before = set(sys.modules)
from streambound import settings
from streambound.cli import main
for command in sys.argv[1:]:
    main(shlex.split(command))
# What check starts to decide in.
from streambound.examination.__main__ import examined
for name in ("bounded", "unbounded"):
    path = f"queries/{name}.sql"
    question = {"sql": open(path).read(), "name": name, "path": path, "criterion": "exact"}
    for form in ("text", "json", "sarif"):
        assert examined({**question, "catalog": "streams.yml", "form": form})["verdict"] == name
modules = {name.split(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(modules - set(sys.stdlib_module_names))))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "job.sql").write_text("CREATE TABLE S (A INT, B INT) WITH ('connector' = 'kafka');\n")
    (tmp_path / "a.avsc").write_text(
        '{"type": "record", "name": "S", "fields": [{"name": "A", "type": "int"}]}'
    )
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "bounded.sql").write_text(BOUNDED)
    (tmp_path / "queries" / "unbounded.sql").write_text(UNBOUNDED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINTS = (
    "check --catalog streams.yml queries",
    "check --catalog streams.yml --format json queries",
    "check --catalog streams.yml --format sarif queries",
    "check --catalog streams.yml --criterion arasu queries",
    "explain --catalog streams.yml queries/bounded.sql",
    "import flink job.sql --merge more.yml",
    "import avro a.avsc --check queries",
)


def test_only_the_base_dependencies_are_imported(folder: Path) -> None:
    command = [sys.executable, "-c", IMPORTED, *LINTS]
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": library}
    )
    owners = metadata.packages_distributions()
    imported = {
        owner.lower() for name in json.loads(done.stdout.splitlines()[-1]) for owner in owners.get(name, [])
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[^\w-]", text)[0] for text in project["dependencies"]}
    # sqlglot takes the decorators of mypy_extensions where they are installed.
    assert imported - {"mypy_extensions", "streambound"} == declared


def test_a_command_that_needs_more_says_which_extra(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "streambound.spark.session", raising=False)
    monkeypatch.delitem(sys.modules, "streambound.history.evaluate", raising=False)
    assert main(["run", "--catalog", "streams.yml", "queries/bounded.sql"]) == 3
    error = capsys.readouterr().err
    assert "pyspark is not installed" in error
    # The package is on no index: the hint names where it lies.
    command = shlex.split(error.split("fix: ")[1].split(", or ")[0])
    assert command[:2] == ["pip", "install"] and command[-1].endswith("[spark]")
    project = Path(command[-1].removesuffix("[spark]")) / "pyproject.toml"
    assert "spark" in tomllib.loads(project.read_text())["project"]["optional-dependencies"]


PINNED = {"vcs": "git", "requested_revision": "v0.1.0", "commit_id": "0"}


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ({"url": "file:///a%20b/c", "dir_info": {"editable": True}}, ["-e", "/a b/c[all]"]),
        ({"url": "file:///a/c", "dir_info": {}}, ["/a/c[all]"]),
        ({"url": "file:///a/c.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}, ["/a/c.git[all]"]),
        ({"url": "file:///a/c.whl", "archive_info": {}}, ["/a/c.whl[all]"]),
        (
            {"url": "https://host/c", "vcs_info": PINNED},
            ["streambound[all] @ git+https://host/c@v0.1.0"],
        ),
        (
            {"url": "https://host/c.whl", "archive_info": {}},
            ["streambound[all] @ https://host/c.whl"],
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_library_came_from(
    origin: dict[str, Any], named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_origin", lambda: origin)
    command = shlex.split(settings.installing("all"))
    assert command == ["pip", "install", *named]
    if " @ " in command[-1]:
        assert Requirement(command[-1]).extras == {"all"}


def test_the_documented_commands_name_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = GUIDE.split("```sh")[1].split("```")[0].strip().splitlines()
    wanted = [shlex.split(line, comments=True)[-1] for line in lines]
    for one in wanted:
        # A path is no address, and an address no path: pip takes neither for the other.
        requirement = Requirement(one) if " @ " in one else None
        assert requirement is not None or one.startswith("/")
        extra = re.search(r"\[(\w+)\]", one)
        assert extra is None or extra[1] in extras


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    paths = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    home = str(folder / "home")
    env = {**os.environ, "PATH": paths, "PYTHONPATH": library, "PRE_COMMIT_HOME": home}
    # The surroundings may be a hook themselves.
    env = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    command = [str(BIN / "pre-commit"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)


def test_the_manifest_is_what_pre_commit_accepts(folder: Path) -> None:
    done = pre_commit(folder, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))
    assert done.returncode == 0, done.stdout
    assert (HOOK["id"], HOOK["entry"], HOOK["language"]) == (
        "streambound-check",
        "streambound check",
        "python",
    )


def test_the_hook_judges_the_staged_queries(folder: Path) -> None:
    # The installed command stands for the environment that pre-commit would make from an index.
    hook: dict[str, Any] = {**HOOK, "language": "system", "args": ["--catalog", "streams.yml"]}
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (folder / "notes.txt").write_text("SELECT")
    git(folder, "init", "-q")
    git(folder, "add", "queries/bounded.sql", "notes.txt", ".pre-commit-config.yaml")
    done = pre_commit(folder, "run")
    assert done.returncode == 0 and "Passed" in done.stdout
    git(folder, "add", "queries/unbounded.sql")
    done = pre_commit(folder, "run")
    assert done.returncode == 1 and "unbounded-projection" in done.stdout and "notes" not in done.stdout
    (folder / "queries" / "unbounded.sql").write_text("SELECT Z FROM S\n")
    git(folder, "add", "queries/unbounded.sql")
    done = pre_commit(folder, "run")
    assert done.returncode == 1 and "invalid-query" in done.stdout and "exit code: 2" in done.stdout


def test_the_guide_configures_the_hook_as_pre_commit_accepts_it(folder: Path) -> None:
    first, second = SNIPPETS[:2]
    (folder / "config.yaml").write_text(first + second)
    assert pre_commit(folder, "validate-config", "config.yaml").returncode == 0
    one, other = yaml.safe_load(first + second)["repos"][0]["hooks"]
    assert one["id"] == other["id"] == HOOK["id"]
    assert main(["check", *other["args"]]) == 1
    assert main(["check", *one["args"], "queries/bounded.sql"]) == 0
