"""Spark sessions that are known to fit: one Java, one Python, one version of Spark.

Two mistakes are common and show up late as unreadable errors: ``pyspark-client`` of another version
written over pyspark's files, and workers that run another Python than the driver. Both, and a
missing or old Java, are refused before a session starts, with the cure.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from streambound import settings
from streambound.errors import PlatformError
from streambound.spark.failures import hush, silence, stop, translated_errors
from streambound.spark.shipping import beside, packed, ship

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
INSTALL_JAVA = (
    "sudo apt-get install openjdk-17-jre-headless (or openjdk-21-jre-headless), or run scripts/setup"
)
# How addresses of Spark Connect begin.
CONNECT = "sc://"
CONNECT_PORT = 15002
CONNECT_SECONDS = 20
# Settings of sessions wherever they are.
SESSION = {"spark.sql.session.timeZone": "UTC", "spark.sql.execution.arrow.pyspark.enabled": "true"}
# In a session of a few seconds HotSpot's optimising compiler takes more processor time over Spark's own code
# than that code. Ten times its usual thresholds still leave it the loops over rows.
SHORT_LIVED = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
# Where the launcher of Spark's Java takes options besides those of the settings, which come later and win.
JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
# What ``class_archive`` makes; of this Python's environment, since its jars are of that as well.
CLASS_ARCHIVE = Path(sys.prefix) / "share" / "streambound" / "spark.jsa"
# Which classes cannot be in an archive, or that it is of another Java or other jars, is no news.
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
# What starts the Python processes of a Spark whose messages are this process's own.
DAEMON = "streambound.spark.daemon"
START = "run it again, or look at what Java printed; correct STREAMBOUND_SPARK_MASTER if it is set"
REINSTALL = "remove .venv and run scripts/setup again"


def require_platform(jars: Path | None = None) -> None:
    """Refuse to start Spark where it could not work; set PYSPARK_PYTHON where it is not set.

    Args:
        jars: folder with Spark's jar files; by default the one that pyspark would use.

    Raises:
        PlatformError: Java is missing or older than 17, Python's and the jars' versions of Spark
            differ, or the workers would run another Python than this one.
    """
    require_java()
    _require_same_python()
    python_side = _pyspark_version()
    jars = jars or _spark_home() / "jars"
    java_side = jars_version(jars)
    if python_side != java_side:
        raise PlatformError(
            f"Python has Spark {python_side} and the jars in {jars} are Spark {java_side}",
            accepted="the same version on both sides",
            fix=REINSTALL + (", or unset SPARK_HOME" if os.environ.get("SPARK_HOME") else ""),
        )


def require_java() -> int:
    """Major version of the Java that Spark would run.

    Raises:
        PlatformError: there is none, it does not run, or it is older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise PlatformError(
            "no java on PATH and JAVA_HOME is not set", accepted="Java 17 or 21", fix=INSTALL_JAVA
        )
    try:
        completed_process = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        fix = "point JAVA_HOME to a Java 17 or 21, or unset it" if home else INSTALL_JAVA
        raise PlatformError(f"{java} does not run: {error}", accepted="Java 17 or 21", fix=fix) from error
    major = java_major(completed_process.stderr + completed_process.stdout)
    if major is None or major < OLDEST_JAVA:
        installed = f"Java {major}" if major else "not a Java that names its version"
        raise PlatformError(f"{java} is {installed}", accepted="Java 17 or 21", fix=INSTALL_JAVA)
    return major


def java_major(text: str) -> int | None:
    """17 from ``openjdk version "17.0.15"``, 8 from ``java version "1.8.0_392"``."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first = int(match[1])
    return int(match[2]) if first == 1 and match[2] else first


def require_installed() -> None:
    """Find Spark's package, before anything else is asked of the user.

    Raises:
        ModuleNotFoundError: there is none.
    """
    import pyspark  # noqa: F401


def jars_version(jars: Path) -> str:
    """The version of Spark that this folder of jar files holds.

    Raises:
        PlatformError: no spark-core jar, or several.
    """
    versions = sorted(
        match[1]
        for path in jars.glob("spark-core_*.jar")
        if (match := re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", path.name))
    )
    if len(versions) != 1:
        versions_text = ", ".join(versions) if versions else "no spark-core jar"
        raise PlatformError(f"{jars} holds {versions_text}", accepted="the jars of one Spark", fix=REINSTALL)
    return versions[0]


@contextmanager
def session(app_name: str, master: str | None = None, **conf: str) -> Iterator[SparkSession]:
    """A Spark session, which is stopped in the end. Executors get this library.

    Args:
        app_name: shown in Spark's pages and logs.
        master: by default spark-submit's, else STREAMBOUND_SPARK_MASTER, else SPARK_REMOTE, else
            ``local[*]``; ``sc://host:port`` is a Spark Connect server.
        conf: further settings, with ``__`` for dots: ``spark__sql__shuffle__partitions="8"``.

    Raises:
        PlatformError: Spark cannot work here.
        StorageError: Spark does not start, or it ends before the block does, however that shows.
    """
    silence()
    with translated_errors("while it started", START):
        spark = _started(app_name, master, conf)
    try:
        with translated_errors("while it was in use"):
            yield spark
    finally:
        stop(spark)


def _started(app_name: str, master: str | None, conf: Mapping[str, str]) -> SparkSession:
    settings_given = {name.replace("__", "."): value for name, value in conf.items()}
    address = master or os.environ.get("STREAMBOUND_SPARK_MASTER") or os.environ.get("SPARK_REMOTE") or ""
    if address.startswith(CONNECT) and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return _connected(address, settings_given)
    require_platform()
    from pyspark.sql import SparkSession

    submitted = _submitted()
    master = (
        master or submitted.get("spark.master") or os.environ.get("STREAMBOUND_SPARK_MASTER") or "local[*]"
    )
    defaults = {
        **SESSION,
        "spark.sql.warehouse.dir": str(settings.home() / "spark" / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        # Said of both, since settings of a first session stay with its Java process.
        "spark.python.daemon.module": DAEMON if beside(master) else "pyspark.daemon",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault(JAVA_OPTIONS, java_options())
        defaults.update(
            {
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.ui.enabled": "false",
                # 200 tasks a shuffle cost more than the shuffle itself on a few cores.
                "spark.sql.shuffle.partitions": "8",
            }
        )
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in {**defaults, **settings_given}.items():
        if name in settings_given or not submitted.contains(name):
            builder = builder.config(name, value)
    spark = _same_version(builder.getOrCreate())
    hush(spark)
    ship(spark.sparkContext)
    return spark


def end_java() -> None:
    """End the Java that this process started, and wait for it; the sessions have been stopped before."""
    from pyspark import SparkContext

    assert SparkContext._gateway is not None
    java = SparkContext._gateway.proc
    java.stdin.close()
    java.wait()


def java_options(archive: Path = CLASS_ARCHIVE) -> str:
    """The options of Java for a session of a few seconds, as ``SPARK_SUBMIT_OPTS`` takes them."""
    if not archive.is_file():
        return SHORT_LIVED
    return f"{SHORT_LIVED} {QUIET} {java_option('SharedArchiveFile', archive)}"


def java_option(name: str, path: Path) -> str:
    """An option of HotSpot that names a file, quoted for the launcher."""
    quoted = re.sub(r'(["\\])', r"\\\1", str(path))
    return f'-XX:{name}="{quoted}"'


def _connected(address: str, given: Mapping[str, str]) -> SparkSession:
    """A session on a Spark Connect server, whose Java and settings are its own."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _pyspark_version()
    _require_server(address)
    builder = SparkSession.builder.remote(address)
    for name, value in {**SESSION, **given}.items():
        builder = builder.config(name, value)
    try:
        spark = _same_version(builder.getOrCreate())
    except PySparkException as error:
        why = str(error).splitlines() or [type(error).__name__]
        raise _no_server(address, why[0]) from None
    spark.addArtifacts(str(packed()), pyfile=True)
    return spark


def _require_server(address: str) -> None:
    """Refuse an address where nobody listens, which Spark's client would try for minutes."""
    split_result = urlsplit(address)
    try:
        socket.create_connection(
            (split_result.hostname or "", split_result.port or CONNECT_PORT), CONNECT_SECONDS
        ).close()
    except (OSError, ValueError) as error:
        raise _no_server(address, str(error)) from None


def _no_server(address: str, why: str) -> PlatformError:
    # After the host come parameters, of which one may be a token.
    return PlatformError(
        f"no session on the Spark Connect server {address.split(';')[0]}: {why[:200]}",
        fix="start the server, or correct STREAMBOUND_SPARK_MASTER (or SPARK_REMOTE)",
    )


def _same_version(spark: SparkSession) -> SparkSession:
    if spark.version != _pyspark_version():
        running = spark.version
        spark.stop()
        raise PlatformError(
            f"Python has Spark {_pyspark_version()} and the cluster runs Spark {running}",
            accepted="the same version on both sides",
            fix=f"install pyspark=={running} here, or point STREAMBOUND_SPARK_MASTER to another cluster",
        )
    return spark


def _submitted() -> SparkConf:
    """What spark-submit handed over to this driver, which wins over our defaults; empty without one."""
    from pyspark import SparkConf, SparkContext

    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return SparkConf(loadDefaults=False)
    # The settings are in the JVM, which the driver is not attached to before the first context.
    SparkContext._ensure_initialized()
    return SparkConf()


def _require_same_python() -> None:
    workers = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    workers_python = shutil.which(workers)
    # A virtual environment's python is a link: the folder of the link tells the environments apart.
    if workers_python is None or Path(workers_python).absolute() != Path(sys.executable).absolute():
        raise PlatformError(
            f"Spark's workers would run {workers} and this is {sys.executable}",
            accepted="one Python for driver and workers",
            fix=f"export PYSPARK_PYTHON={sys.executable}, or unset it",
        )


def _pyspark_version() -> str:
    import pyspark

    # Python's files may have been overwritten by pyspark-client, the metadata of pyspark stays.
    running = str(pyspark.__version__)
    try:
        client: str | None = metadata.version("pyspark-client")
    except metadata.PackageNotFoundError:
        client = None
    if client is not None:
        raise PlatformError(
            f"pyspark-client {client} is installed over pyspark {metadata.version('pyspark')}",
            accepted="pyspark[connect] alone",
            fix=REINSTALL,
        )
    return running


def _spark_home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
