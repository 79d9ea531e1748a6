"""Files below a folder or an address of object storage: listed, read, compared and put in their places."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from streambound.backup.manifest import Entry
from streambound.checkpoint.lock import NAME as LOCK
from streambound.durable import DRAFT, flushed, refused, remove, replaced
from streambound.errors import DataError, StorageError

PIECE = 1 << 20
# Beside what git keeps, which the registry may be a checkout of.
LEFT_OUT = (".git",)


@dataclass(frozen=True)
class Tree:
    """The files below a folder, or below an address of object storage."""

    address: str

    @property
    def folder(self) -> Path | None:
        """The folder; None in object storage."""
        scheme, _, rest = self.address.rpartition("://")
        return Path(unquote(rest) if scheme else rest) if scheme in ("", "file") else None

    def _storage(self) -> pafs.FileSystem:
        if self.folder is None:
            return pafs.PyFileSystem(DeltaStorageHandler(self.address))
        return pafs.SubTreeFileSystem(str(self.folder), pafs.LocalFileSystem())

    def listed(self) -> dict[str, tuple[int, int]]:
        """Each file's path with its size in bytes and the time of its last change, in nanoseconds.

        Locks and drafts are left out. There are none where the folder is not there.

        Raises:
            StorageError: it cannot be listed.
        """
        if self.folder is not None and not self.folder.exists():
            return {}
        with self._readable():
            selector = pafs.FileSelector("", recursive=True, allow_not_found=True)
            return {
                info.path: (info.size, info.mtime_ns)
                for info in self._storage().get_file_info(selector)
                if info.type == pafs.FileType.File and not _is_passing(info.path)
            }

    def copied(self, folder: Path) -> dict[str, Entry]:
        """Copy all files into a folder; their digests.

        Raises:
            StorageError: it cannot be read, the disk refuses, or a file changed meanwhile.
        """
        before, entries = self.listed(), dict[str, Entry]()
        storage = self._storage()
        for path in sorted(before):
            size = 0
            with replaced(folder / path, flush=False) as file:
                for piece in self._pieces(storage, path):
                    size += file.write(piece) or len(piece)
                digest = file.digest
            entries[path] = Entry(size, digest)
        if (after := self.listed()) != before:
            changed = sorted(path for path, _ in set(before.items()) ^ set(after.items()))
            raise StorageError(
                f"{changed[0]} changed while it was copied", subject=self.address, fix="run it again"
            )
        flushed(folder / path for path in entries)
        return entries

    def holds(self, files: Mapping[str, Entry]) -> bool:
        """Whether these files are there already, and no others.

        Raises:
            DataError: there are files, and others than these.
            StorageError: it cannot be read.
        """
        present = self.listed()
        if not present:
            return not files
        storage = self._storage()
        for path in sorted(present):
            entry = files.get(path)
            if (
                entry is None
                or entry.bytes != present[path][0]
                or self._digest(storage, path) != entry.sha256
            ):
                raise self._occupied(path)
        if len(present) < len(files) and self.folder is not None:
            raise self._occupied(min(present))
        return len(present) == len(files)

    def fill(self, source: Path, files: Mapping[str, Entry]) -> None:
        """Put the files of a backup here, where ``holds`` has said that none of them would be overwritten.

        A folder appears whole or not at all. In object storage tables appear whole: their logs come last.

        Raises:
            StorageError: the disk or the object storage refuses.
        """
        if self.folder is not None:
            return _placed(source, self.folder, files)
        present = self.listed()
        with self._readable():
            # Arrow's stream around it hands on buffers, which Delta's does not take.
            handler = DeltaStorageHandler(self.address)._handler
            for path in sorted(set(files) - set(present), key=lambda name: ("/_delta_log/" in name, name)):
                out = handler.open_output_stream(path, None)
                with (source / path).open("rb") as file:
                    while piece := file.read(PIECE):
                        out.write(piece)
                # Not before this is it there.
                out.close()  # type: ignore[attr-defined]

    def _digest(self, storage: pafs.FileSystem, path: str) -> str:
        sha = hashlib.sha256()
        for piece in self._pieces(storage, path):
            sha.update(piece)
        return sha.hexdigest()

    def _pieces(self, storage: pafs.FileSystem, path: str) -> Iterator[bytes]:
        with self._readable():
            stream = storage.open_input_stream(path)
        with stream:
            while True:
                with self._readable():
                    piece = stream.read(PIECE)
                if not piece:
                    return
                yield piece

    def _occupied(self, path: str) -> DataError:
        return DataError(
            f"it holds other files than the backup, such as {path}",
            subject=self.address,
            accepted="nothing, or just what the backup holds",
            fix="move it away, or restore other parts with --only",
        )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException, DeltaError) as error:
            raise StorageError(
                f"cannot be read or written: {(str(error).splitlines() or [type(error).__name__])[0][:200]}",
                subject=self.address,
                fix="permit reading and writing there",
            ) from None


def _is_passing(path: str) -> bool:
    """Whether a file is a lock or a draft, which say nothing once their process has ended."""
    *folders, name = path.split("/")
    hidden = any(
        folder in LEFT_OUT or (folder.startswith(".") and folder.endswith(DRAFT)) for folder in folders
    )
    return hidden or name == LOCK or (name.startswith(".") and name.endswith(DRAFT))


def _placed(source: Path, folder: Path, files: Mapping[str, Entry]) -> None:
    draft = folder.with_name(f".{folder.name}.{os.getpid()}{DRAFT}")
    try:
        remove(draft)
        Tree(str(source)).copied(draft)
        # What is left there are locks of runs that have ended.
        remove(folder)
        os.rename(draft, folder)
        flushed([folder])
    except OSError as error:
        raise refused(folder, error, "stop what runs, and name a folder below a mounted one") from None
    finally:
        remove(draft)
