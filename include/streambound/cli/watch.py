"""``streambound check --watch``: check again when files change, and print the verdicts that are new."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from streambound.cli.check import Again, Decided, Request, files
from streambound.errors import QueryError, StreamboundError
from streambound.examination.examiner import Examiner

# What queries and catalogs are written in.
SUFFIXES = (".sql", ".yml", ".yaml", ".toml", ".json")
# Milliseconds that it waits for a change before it looks whether there is more to do.
WAIT = 200


def watch(options: argparse.Namespace) -> int:
    """Check until it is interrupted.

    Raises:
        StreamboundError: there is nothing to watch.
    """
    form = options.format or "text"
    if options.corpus is not None or form == "sarif":
        raise QueryError(
            "--watch prints one verdict after the other as it changes",
            accepted="--format text or json, without --corpus",
        )
    try:
        with Examiner() as examiner:
            examiner.start()
            rounds = _Rounds(options, form, Again(form, options, examiner))
            folders = rounds.folders(files(options))
            while True:
                folders = rounds.until_elsewhere(folders)
    except KeyboardInterrupt:
        return 0


class _Rounds:
    """Checks of the same files, and what was printed of them last."""

    def __init__(self, options: argparse.Namespace, form: str, again: Again) -> None:
        self._options, self._form, self._again = options, form, again
        self._shown: dict[tuple[Path, str], Decided] = {}

    def folders(self, requests: Iterable[Request]) -> frozenset[Path]:
        """Where files lie whose change is another round: an editor puts a new one in the place of the old."""
        folders = {path for path in self._options.paths if os.path.isdir(path)}
        for item in requests:
            folders.add(item.path.parent)
            if isinstance(item.catalog, str):
                folders.add(Path(item.catalog).parent)
        return frozenset(folders)

    def until_elsewhere(self, folders: frozenset[Path]) -> frozenset[Path]:
        """Rounds until files lie in other folders than in these: those."""
        from watchfiles import watch

        existing = (path for path in folders if path.is_dir())
        # It waits already when the first round reads: no change is missed.
        changes = watch(
            *existing, watch_filter=_is_read, recursive=False, rust_timeout=WAIT, yield_on_timeout=True
        )
        first = True
        for changed in changes:
            if not changed and not first:
                continue
            first = False
            try:
                requests = list(files(self._options))
                self._round(requests)
            except (StreamboundError, OSError) as error:
                code = f"{error.code}: " if isinstance(error, StreamboundError) else ""
                print(f"streambound: {code}{error}", file=sys.stderr, flush=True)
                continue
            if (elsewhere := self.folders(requests)) != folders:
                return elsewhere
        raise KeyboardInterrupt

    def _round(self, requests: Iterable[Request]) -> None:
        decisions: dict[tuple[Path, str], Decided] = {}
        printed = False
        for item in requests:
            for number, decided in enumerate(self._again(item)):
                key = item.path, f"{item.name}/{number}"
                decisions[key] = decided
                if self._shown.get(key) != decided:
                    print(self._printed(decided), flush=True)
                    printed = True
        for path, name in self._shown.keys() - decisions.keys():
            print(self._gone(path, name.split("/")[0]))
            printed = True
        self._shown = decisions
        if printed and self._form == "text":
            counts = sorted(Counter(decision.verdict for decision in decisions.values()).items())
            print(", ".join(f"{number} {verdict}" for verdict, number in counts))
        sys.stdout.flush()

    def _printed(self, decided: Decided) -> str:
        return str(decided.formed) if self._form == "text" else json.dumps(decided.formed, ensure_ascii=False)

    def _gone(self, path: Path, name: str) -> str:
        if self._form == "text":
            return f"{'gone':<10} {name}"
        return json.dumps({"query": name, "verdict": None, "path": str(path)}, ensure_ascii=False)


def _is_read(change: object, path: str) -> bool:
    return path.endswith(SUFFIXES)
