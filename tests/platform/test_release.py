"""A release: a wheel, the same bytes twice, in clean environments; action, version, bill of materials."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from datetime import date
from email.parser import Parser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from scripts.release import release
from scripts.sbom import bill, packages

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GUIDE = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
CATALOG = """streams:
  S: {columns: {A: int, B: int}, history: {path: S, partition_by: date}}
  T: {columns: {D: int}, history: {path: T, partition_by: date}}
"""
# What `streambound explain` shows in the README.
SQL = "SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20\n"


def built(source: Path, into: Path, target: str = "wheel") -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, umask=0o077)
    (package,) = into.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return package


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environments(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of the lint alone and of the extra ``run`` an environment with the locked packages and nothing else."""
    found = {}
    for name, extras in (("lint", ()), ("run", ("run",))):
        folder = tmp_path_factory.mktemp(name)
        wanted = {*packages(*extras)} - {"streambound"}
        pins = [entry for entry in re.split(r"\n(?=\S)", LOCK) if entry.split("==")[0] in wanted]
        assert wanted == {entry.split("==")[0] for entry in pins}
        (folder / "wanted.txt").write_text("\n".join(pins))
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
        quiet = {**os.environ, "UV_NO_PROGRESS": "1"}
        install = [
            uv,
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--python",
            str(folder / "env" / "bin" / "python"),
        ]
        for command in (
            [uv, "venv", "-q", "--python", sys.executable, str(folder / "env")],
            [*install, "--require-hashes", "-r", str(folder / "wanted.txt")],
            [*install, str(wheel)],
        ):
            subprocess.run(command, check=True, capture_output=True, env=quiet)
        found[name] = folder / "env"
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "q.sql").write_text(SQL)
    for name, columns in (("S", {"A": [12, 14], "B": [5, 50]}), ("T", {"D": [30]})):
        partition = tmp_path / "streams" / name / "date=2013-01-01"
        partition.mkdir(parents=True)
        pq.write_table(pa.table(columns), partition / "part.parquet")
    return tmp_path


def said(environment: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What an installed command says where there is neither Java nor anything of this project."""
    return subprocess.run(
        [str(environment / "bin" / "streambound"), *arguments],
        cwd=folder,
        env={"PATH": "/nowhere", "HOME": str(folder), "STREAMBOUND_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_is_the_same_bytes_from_another_folder_at_another_time(wheel: Path, tmp_path: Path) -> None:
    copied = tmp_path / "elsewhere"
    copied.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        (copied / name).write_bytes((ROOT / name).read_bytes())
    shutil.copytree(ROOT / "docs" / "codes", copied / "docs" / "codes")
    library = copied / "include" / "streambound"
    ignored = shutil.ignore_patterns("__pycache__")
    # Files get the time and the mode of now.
    shutil.copytree(
        ROOT / "include" / "streambound",
        library,
        symlinks=True,
        ignore=ignored,
        copy_function=shutil.copyfile,
    )
    assert built(copied, tmp_path).read_bytes() == wheel.read_bytes()


def test_a_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(built(ROOT, tmp_path, "sdist"), tmp_path)
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert built(source, tmp_path).read_bytes() == wheel.read_bytes()


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(content.read(about).decode())
        licence = content.read(about.replace("METADATA", "licenses/LICENSE")).decode()
        changes = content.read("streambound/CHANGELOG.md")
    assert told["License-Expression"] == "Apache-2.0" and "Apache License" in licence
    assert told["Author"] == "streambound contributors" and told["Version"] == PROJECT["version"]
    assert {line.split(",")[0] for line in told.get_all("Project-URL") or ()} == set(PROJECT["urls"])
    assert {"run", "spark", "airflow", "lsp", "all"} <= set(told.get_all("Provides-Extra") or ())
    assert told.get_all("Classifier") == PROJECT["classifiers"]
    assert "streambound/py.typed" in names and changes == (ROOT / "CHANGELOG.md").read_bytes()
    pages = {path.name for path in (ROOT / "docs" / "codes").glob("*.md")}
    assert {f"streambound/report/code_pages/{page}" for page in pages} <= names
    assert {name.split("/")[0] for name in names} == {
        "streambound",
        f"streambound-{told['Version']}.dist-info",
    }


def test_the_lint_alone_is_small_and_judges(environments: dict[str, Path], folder: Path) -> None:
    lint = environments["lint"]
    size = sum(path.stat().st_size for path in lint.rglob("*") if path.is_file())
    assert size < 60_000_000
    assert said(lint, folder, "--version").stdout == f"streambound {PROJECT['version']}\n"
    checked = said(lint, folder, "check", "--catalog", "streams.yml", "queries")
    assert checked.returncode == 0 and "at most 10 units of state" in checked.stdout
    page = (ROOT / "docs" / "codes" / "filter.md").read_text(encoding="utf-8")
    assert said(lint, folder, "code", "filter").stdout == page
    refused = said(lint, folder, "run", "queries/q.sql", "--catalog", "streams.yml", "--engine", "local")
    assert refused.returncode == 3 and "[run]" in refused.stderr and "Traceback" not in refused.stderr


def test_the_extra_run_evaluates_without_java_and_airflow(
    environments: dict[str, Path], folder: Path
) -> None:
    options = ("queries/q.sql", "--catalog", "streams.yml", "--input", "streams", "--output", "out")
    done = said(environments["run"], folder, "run", *options, "--engine", "local")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(folder / "out" / "q" / "_total.parquet").to_pylist() == [{"A": 12, "count": 1}]
    assert json.loads(done.stdout)["units"] == 10


def test_the_action_of_the_guide_fails_as_check_does_and_writes_its_findings(
    environments: dict[str, Path], wheel: Path, folder: Path
) -> None:
    snippet = next(text for text in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "jobs:" in text)
    steps = yaml.safe_load(snippet)["jobs"]["check"]["steps"]
    (use,) = (step for step in steps if "/streambound@" in step.get("uses", ""))
    assert use["uses"].endswith(f"@v{PROJECT['version']}") and set(use["with"]) <= set(ACTION["inputs"])
    given = {name: value["default"] for name, value in ACTION["inputs"].items()} | use["with"]
    (uploaded,) = (step["with"] for step in steps if "upload-sarif" in step.get("uses", ""))
    assert uploaded["sarif_file"] == given["sarif"]
    (folder / "queries" / "unbounded.sql").write_text("SELECT DISTINCT A FROM S\n")
    known = {"github.action_path": str(wheel), "runner.temp": str(folder)}
    install, check = ACTION["runs"]["steps"]
    # Instead of an index: a pip that writes down what it was asked, beside what was installed above.
    installed = environments["lint"] / "bin" / "streambound"
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\n'
        f'ln -s "{installed}" "$3/bin/streambound"\n'
        'printf \'#!/bin/sh\\necho "$@" > asked\\n\' > "$3/bin/python"\nchmod +x "$3/bin/python"\n'
    )
    (folder / "bin" / "python3").chmod(0o755)
    assert step(install, known, folder) == 0
    words = (folder / "asked").read_text().split()
    assert words[:3] == ["-m", "pip", "install"] and words[-1] == str(wheel)
    assert step(check, known | inputs(given), folder) == 1
    (run,) = json.loads((folder / given["sarif"]).read_text())["runs"]
    assert [found["ruleId"] for found in run["results"]] == ["unbounded-projection"]
    # What a pull request may name is no command.
    odd = {
        "paths": "queries/q.sql $(touch${IFS}owned);touch owned",
        "catalog": '$(touch owned)"; touch owned',
    }
    assert step(check, known | inputs(given | odd), folder) == 2
    assert not (folder / "owned").exists()


def inputs(given: dict[str, str]) -> dict[str, str]:
    return {f"inputs.{name}": value for name, value in given.items()}


def step(one: dict[str, Any], known: dict[str, str], folder: Path) -> int:
    """The exit code of a step of the action, with what its expressions stand for."""
    assert "${{" not in one["run"]
    named = {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text)
        for name, text in one["env"].items()
    }
    paths = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    env = {**os.environ, "PATH": paths, "PYTHONPATH": "", **named}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", one["run"]]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False).returncode


def test_a_version_is_set_everywhere_by_one_command(tmp_path: Path) -> None:
    old = PROJECT["version"]
    deployed = {f"deploy/helm/streambound/{name}" for name in ("Chart.yaml", "values.yaml")}
    deployed.add("docker-compose.yml")
    for name in ("pyproject.toml", "CHANGELOG.md", "docs/lint.md", *deployed):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- News.\n", 1))
    changed = release("99.0.1", date(2030, 1, 2), tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in changed} == {
        "pyproject.toml",
        "CHANGELOG.md",
        "docs/lint.md",
        *deployed,
    }
    for name in deployed:
        text = (tmp_path / name).read_text()
        assert text == (ROOT / name).read_text().replace(old, "99.0.1") and "99.0.1" in text
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["version"] == "99.0.1"
    assert "## Unreleased\n\n## 99.0.1 (2030-01-02)\n\n- News.\n" in changelog.read_text()
    guide = (tmp_path / "docs" / "lint.md").read_text()
    assert f"v{old}" in GUIDE and f"v{old}" not in guide and guide.count("v99.0.1") == GUIDE.count(f"v{old}")
    for wrong in ("99.0.1", old, "100", "100.0.0-rc1"):
        with pytest.raises(ValueError, match=r"version|come after"):
            release(wrong, date(2030, 1, 3), tmp_path)
    with pytest.raises(ValueError, match="nothing stands below Unreleased"):
        release("100.0.0", date(2030, 1, 3), tmp_path)


def test_the_bill_of_materials_names_every_package_with_its_licence_and_digests() -> None:
    found = bill("all")
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    components = {component["name"]: component for component in found["components"]}
    assert {"sqlglot", "duckdb", "apache-airflow", "pyspark", "pygls"} <= set(components)
    assert not {"pytest", "hypothesis", "moto", "streambound"} & set(components)
    assert all(component["licenses"] and component["properties"] for component in components.values())
    references = {component["bom-ref"] for component in components.values()}
    own = found["metadata"]["component"]["bom-ref"]
    assert {entry["ref"] for entry in found["dependencies"]} == references | {own}
    assert {other for entry in found["dependencies"] for other in entry["dependsOn"]} == references
    assert json.dumps(found) == json.dumps(bill("all"))
