"""What a backup holds: each file with its size and SHA-256, as JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from streambound.checkpoint.answer_files import digest_of_file
from streambound.errors import DataError

NAME = "manifest.json"
FORMAT = 1
# In the order in which they are put back: answers say of their checkpoints that they are there.
PARTS = ("registry", "results", "checkpoints", "quarantine", "caches", "answers")
FIX = "name a folder that `streambound backup` wrote"


@dataclass(frozen=True)
class Entry:
    """A file of a backup: its size in bytes, and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The files of a backup by their paths in it, ``PART/...``; the release that wrote it, and when (UTC)."""

    files: Mapping[str, Entry]
    version: str
    made: str

    def of(self, part: str) -> dict[str, Entry]:
        """The files of a part, by their paths within it."""
        return {
            path.removeprefix(f"{part}/"): entry
            for path, entry in self.files.items()
            if path.startswith(f"{part}/")
        }

    def to_json(self) -> str:
        """As it is written: the same for the same files."""
        files = {path: asdict(entry) for path, entry in sorted(self.files.items())}
        body = {"format": FORMAT, "streambound": self.version, "made": self.made, "files": files}
        return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup.

    Raises:
        DataError: there is none, it cannot be read, or it is of a later release.
    """
    path = folder / NAME
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] != FORMAT:
            raise DataError(
                f"the backup has format {body['format']}, of a later release",
                subject=str(path),
                accepted=f"format {FORMAT}",
                fix=f"restore it with streambound {body['streambound']}",
            )
        files = {name: Entry(**entry) for name, entry in body["files"].items()}
        manifest = Manifest(files, str(body["streambound"]), str(body["made"]))
    except FileNotFoundError:
        raise DataError("there is no backup", subject=str(folder), fix=FIX) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"the manifest cannot be read: {error}", subject=str(path), fix=FIX) from None
    for name in manifest.files:
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] not in PARTS or ".." in parts or "\0" in name:
            raise DataError(f"the manifest names a file {name!r}", subject=str(path), fix=FIX)
    return manifest


def require_sound(folder: Path, manifest: Manifest, parts: Iterable[str]) -> None:
    """See that the files of these parts are what was written.

    Raises:
        DataError: naming the first that is missing or damaged.
    """
    for part in parts:
        for name, entry in manifest.of(part).items():
            path = folder / part / name
            digest = digest_of_file(path)
            if digest != entry.sha256:
                what = (
                    "is missing or cannot be read" if digest is None else "is damaged: its digest is another"
                )
                raise DataError(
                    f"a file of the backup {what}",
                    subject=str(path),
                    fix=f"restore another backup, or other parts of this one with --only ({part} is damaged)",
                )
