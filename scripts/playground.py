"""The lint in the browser, as a folder that any web server shows: ``python -m scripts.playground [FOLDER]``.

Pyodide comes from npm, whose package is held against a digest. sqlglot and PyYAML are those that are
installed, of which the sources in Python are enough, and the library is this checkout's. Nothing of what is
fetched is committed.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from scripts.imports import LIBRARY, ROOT
from streambound import settings
from streambound.errors import DataError, PlatformError

PYODIDE = "314.0.7"
# npm's own digest of that package (`npm view pyodide dist.integrity`), SHA-512.
INTEGRITY = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
NEEDED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PAGE = ROOT / "playground"


def pyodide(cache: Path) -> Path:
    """Pyodide's package, fetched once.

    Raises:
        PlatformError: there is no npm, or it cannot fetch.
        DataError: the package is another one.
    """
    package = cache / f"pyodide-{PYODIDE}.tgz"
    if not package.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        if shutil.which("npm") is None:
            raise PlatformError("npm is not installed", fix="sudo apt-get install npm")
        command = ["npm", "pack", "--silent", f"pyodide@{PYODIDE}"]
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
        if done.returncode or not package.is_file():
            raise PlatformError(f"npm cannot fetch pyodide {PYODIDE}: {done.stderr.strip()[-500:]}")
    found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if found != INTEGRITY:
        package.unlink()
        raise DataError(f"{package.name} has the digest {found}", accepted=INTEGRITY)
    return package


def build(target: Path) -> None:
    """Write the page, Pyodide and the lint into a folder, in the place of what was there."""
    package = pyodide(settings.home() / "cache")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".playground-") as name:
        stage = Path(name) / "site"
        shutil.copytree(PAGE, stage, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(ROOT / "plugins/streambound_airflow/pages/static/icon.svg", stage / "icon.svg")
        (stage / "pyodide").mkdir()
        with tarfile.open(package) as files:
            for wanted in NEEDED:
                member = files.extractfile(f"package/{wanted}")
                assert member is not None
                (stage / "pyodide" / wanted).write_bytes(member.read())
        with zipfile.ZipFile(stage / "lint.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for folder in (_package("sqlglot"), _package("yaml"), LIBRARY):
                for path in sorted(folder.rglob("*.py")):
                    archive.write(path, path.relative_to(folder.parent))
        shutil.rmtree(target, ignore_errors=True)
        stage.rename(target)


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def main() -> None:
    """Build, and say how to look at it."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else settings.home() / "playground"
    target.parent.mkdir(parents=True, exist_ok=True)
    build(target)
    print(f"python -m http.server --bind 127.0.0.1 --directory {target}")


if __name__ == "__main__":
    main()
