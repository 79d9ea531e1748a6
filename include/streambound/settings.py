"""Where things lie: paths and addresses, from the environment, with defaults for one machine.

``STREAMBOUND_HOME``      working folder (streams, answers, quality, results); default ``var`` in the project.
``STREAMBOUND_STREAMS``   folder of the streams' histories; default ``streams`` in the home.
``STREAMBOUND_REGISTRY``  folder with ``streams.yml`` and ``queries/``; default ``include/registry``.
``STREAMBOUND_DOCS_URL``  where the site that ``make docs`` builds is published; no default.
``STREAMBOUND_SITE``      folder of that site, which Airflow's pages show; default ``docs`` in the home.
``STREAMBOUND_CHECKPOINTS``  folder or address (``s3://...``) of the checkpoints; default in the home.
``STREAMBOUND_DATABASE_URL``  SQLAlchemy address of the results database; default SQLite in the home.
``STREAMBOUND_ALERTS``    where Airflow sends what a run found: ``log`` or a connection; default nowhere.
``STREAMBOUND_DEMO``      whether Airflow ingests the demo's flights: ``yes`` (default) or ``no``.
``STREAMBOUND_SHARDS``    among how many Spark applications an evaluation in Airflow is shared; default 1.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from streambound.errors import DataError

# Of a folder's name: what Delta's addresses cannot hold (as names that are no text), or would decode.
_NOT_DELTAS = re.compile(r"[\[\]|^\\\x00-\x1f\x7f\ud800-\udfff]|%[0-9A-Fa-f]{2}")
# Of packages the extra that brings them; what is in none of these comes with all.
_EXTRAS = {
    "run": ("arro3", "deltalake", "duckdb", "llvmlite", "numba", "numpy", "pyarrow"),
    "spark": ("pandas", "pyspark"),
    "lsp": ("lsprotocol", "pygls", "watchfiles"),
    "protobuf": ("proto_schema_parser",),
}
# Airflow maps a task over at most 1,024 by default.
MOST_SHARDS = 1_000
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
CHECKPOINTS = (
    "name another folder with STREAMBOUND_CHECKPOINTS, or with STREAMBOUND_HOME for all that is kept"
)


def project_root() -> Path:
    """The checkout that an editable install points to; the current folder for a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else Path.cwd()


def version() -> str:
    """What is installed; ``unknown`` where this file was not installed."""
    # Loaded here: it takes a while.
    from importlib import metadata

    try:
        return metadata.version("streambound")
    except metadata.PackageNotFoundError:
        return "unknown"


def extra_of(module: str) -> str:
    """The smallest extra that brings a module which is not installed."""
    package = module.split(".")[0]
    return next((extra for extra, brought in _EXTRAS.items() if package in brought), "all")


def installing(extra: str) -> str:
    """The command that installs an extra from where this library was installed: it is on no package index.

    Where it came from is what installers note (PEP 610), or else the checkout that this file lies in.
    """
    root = Path(__file__).resolve().parents[2]
    origin = _origin()
    if origin is None and (root / "pyproject.toml").is_file():
        origin = {"url": root.as_uri()}
    if origin is None:
        return f"pip install 'streambound[{extra}]'"
    url = urlsplit(origin["url"])
    if url.scheme == "file":
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"pip install {editable}'{unquote(url.path)}[{extra}]'"
    control = origin.get("vcs_info", {})
    revision = control.get("requested_revision")
    address = f"{control['vcs']}+{origin['url']}" if control else origin["url"]
    return f"pip install 'streambound[{extra}] @ {address}{f'@{revision}' if revision else ''}'"


def _origin() -> dict[str, Any] | None:
    # Loaded here: it takes as long as a small query, and only who misses a package asks.
    from importlib import metadata

    try:
        noted = metadata.distribution("streambound").read_text("direct_url.json")
        origin = json.loads(noted or "null")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    return origin if isinstance(origin, dict) and isinstance(origin.get("url"), str) else None


def home() -> Path:
    """The working folder; not created here."""
    return Path(os.environ.get("STREAMBOUND_HOME") or project_root() / "var")


def registry() -> Path:
    """The folder that a user edits: ``streams.yml`` and ``queries/*.sql``."""
    return Path(os.environ.get("STREAMBOUND_REGISTRY") or project_root() / "include" / "registry")


def streams_root() -> Path:
    """Folder below which relative ``path`` entries of the catalog lie."""
    return Path(os.environ.get("STREAMBOUND_STREAMS") or home() / "streams")


def site_root() -> Path:
    """Folder of the documentation as a site, where it has been built: plain files."""
    return Path(os.environ.get("STREAMBOUND_SITE") or home() / "docs")


def answers_root() -> Path:
    """Folder of evaluated answers: one folder a query."""
    return home() / "answers"


def live_root() -> Path:
    """Folder of live queries, with their answers and states: one folder a query."""
    return home() / "live"


def checkpoints() -> str:
    """Folder or address of the checkpoints: one Delta table a query.

    Raises:
        DataError: the folder has a name under which Delta would keep them elsewhere, or not at all.
    """
    return plain(os.environ.get("STREAMBOUND_CHECKPOINTS") or str(home() / "checkpoints"))


def plain(address: str) -> str:
    """The folder or address, if Delta keeps a table there and nowhere else.

    Raises:
        DataError: it decodes a part of the folder's name, or cannot take it.
    """
    scheme, _, rest = address.rpartition("://")
    if scheme in ("", "file"):
        # A link is followed before the name is looked at.
        folder = os.path.realpath(unquote(rest) if scheme else rest)
        require_named(folder, _NOT_DELTAS, "checkpoints", CHECKPOINTS)
    return address


def require_named(path: str, odd: re.Pattern[str], kept: str, fix: str) -> None:
    """Refuse a folder whose name what writes there would take for another, or for a pattern.

    Raises:
        DataError: naming what is odd about it.
    """
    if match := odd.search(path):
        raise DataError(
            f"{kept} cannot be kept in a folder with {match[0]!r} in its name",
            subject=ascii(path)[1:-1],
            accepted="letters, digits, spaces and most other characters",
            fix=fix,
        )


def checkpoints_of(answers: Path | None) -> str | None:
    """Where the checkpoints of answers in a folder lie: none are kept but of those in ``answers_root``."""
    return checkpoints() if answers is None or answers.resolve() == answers_root().resolve() else None


def quarantine_root() -> Path:
    """Folder of the partitions that came too late to be evaluated."""
    return home() / "quarantine"


def caches_root() -> Path:
    """Folder of the nightly benchmarks of caches: one file a query."""
    return home() / "caches"


def quality_root() -> Path:
    """Folder of the Great Expectations context and its Data Docs."""
    return home() / "quality"


def documentation_url() -> str | None:
    """Where the folder ``docs`` is published, for links in reports; None if nobody said so."""
    return os.environ.get("STREAMBOUND_DOCS_URL") or None


def alerts() -> str | None:
    """Where a run's findings are sent: ``log``, or the name of an Airflow connection; None for nowhere."""
    return os.environ.get("STREAMBOUND_ALERTS", "").strip() or None


def demo() -> bool:
    """Whether the demo's flights are ingested; elsewhere somebody else's DAGs bring the streams.

    Raises:
        DataError: the environment says neither yes nor no.
    """
    given = os.environ.get("STREAMBOUND_DEMO", "").strip().lower()
    if given not in ("", *_YES, *_NO):
        raise DataError(f"STREAMBOUND_DEMO is {given!r}", accepted="yes or no", fix="set it to one of these")
    return given not in _NO


def shards() -> int:
    """Among how many Spark applications Airflow shares the queries of an evaluation.

    Raises:
        DataError: the environment names no number of them.
    """
    given = os.environ.get("STREAMBOUND_SHARDS", "").strip() or "1"
    if not re.fullmatch("[0-9]{1,4}", given) or not 1 <= int(given) <= MOST_SHARDS:
        raise DataError(
            f"STREAMBOUND_SHARDS is {given!r}",
            accepted=f"a number from 1 to {MOST_SHARDS:,}",
            fix="set it to how many Spark applications the cluster runs at a time",
        )
    return int(given)


def database_url() -> str:
    """SQLAlchemy address of the results database.

    Raises:
        DataError: the folder has a name that an address cannot hold.
    """
    if given := os.environ.get("STREAMBOUND_DATABASE_URL"):
        return given
    # From there on an address has options.
    fix = "set STREAMBOUND_DATABASE_URL, or STREAMBOUND_HOME to another folder"
    require_named(str(home()), re.compile(r"\?"), "results", fix)
    return f"sqlite:///{home() / 'results.db'}"


def history_path(path: str) -> str:
    """A catalog's history path: an address or absolute path as it is, else below the streams root."""
    return path if "://" in path or Path(path).is_absolute() else str(streams_root() / path)
