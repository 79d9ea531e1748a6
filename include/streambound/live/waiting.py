"""Which timestamps are complete: tuples wait until every stream has shown a later one, or the input ends.

A marker is a new timestamp (Schiff & Özçep, execution model), and all tuples of one timestamp are one
batch, of whatever stream. Files of the streams come in any order, so a batch is complete once no stream can
still have a part of it: streams are in order of time each, but for their lateness, and what each has shown
counts, tuples that no answer needs included.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streambound.synopsis.serial import canonical, compact_text

# Carried columns with their multiplicity; equal ones are put together when they are counted or given away.
Rows = list[tuple[list[Any], int]]
# What the names of its entries begin with.
PREFIX = '["waiting",'


@dataclass
class Waiting:
    """The tuples of incomplete timestamps, and the latest timestamp that each stream has shown.

    ``rows`` is by (timestamp, occurrence); ``latest`` has every stream that is read, None as long as it has
    shown nothing; ``lateness`` is how far behind its latest timestamp a stream may still be (0 if not given).
    """

    latest: dict[str, int | None]
    lateness: Mapping[str, int] = field(default_factory=dict)
    rows: dict[tuple[int, str], Rows] = field(default_factory=dict)

    def show(self, stream: str, latest: int | None) -> None:
        """Say which timestamp a file of a stream reaches; None of an empty file."""
        before = self.latest[stream]
        if latest is not None and (before is None or latest > before):
            self.latest[stream] = latest

    def put(self, alias: str, rows: Iterable[list[Any]], most: int | None = None) -> int | None:
        """Take in what counts of a file: rows (timestamp, columns, multiplicity) of an occurrence.

        Returns a timestamp of which there are now more than ``most`` rows; None if there is none.
        """
        crowded = None
        for moment, columns, count in rows:
            held = self.rows.setdefault((moment, alias), [])
            held.append((columns, count))
            if crowded is None and most is not None and _more(held, most):
                crowded = moment
        return crowded

    def complete(self, ended: bool) -> tuple[list[int], dict[str, bytes]]:
        """Take out the complete timestamps; returns them in order, and what counts of each occurrence."""
        reached = [
            latest - self.lateness.get(stream, 0)
            for stream, latest in self.latest.items()
            if latest is not None
        ]
        every = len(reached) == len(self.latest)
        until = min(reached) if every and reached else None
        done = sorted(key for key in self.rows if ended or (until is not None and key[0] < until))
        found: dict[str, list[Any]] = {}
        for moment, alias in done:
            rows = _merged(self.rows.pop((moment, alias)))
            found.setdefault(alias, []).extend([moment, columns, count] for columns, count in rows)
        moments = list(dict.fromkeys(moment for moment, _ in done))
        return moments, {alias: canonical(rows) for alias, rows in found.items()}

    @property
    def count(self) -> int:
        """Different tuples that wait."""
        return sum(len(_merged(rows)) for rows in self.rows.values())

    def entries(self) -> Iterator[tuple[str, str]]:
        """An entry for each tuple that waits."""
        for (moment, alias), rows in self.rows.items():
            for columns, count in _merged(rows):
                yield compact_text(["waiting", moment, alias, columns]), str(count)


def _merged(rows: Rows) -> Rows:
    """The same rows, each once, in an order that does not depend on theirs."""
    if len(rows) == 1:
        return rows
    found: dict[str, tuple[list[Any], int]] = {}
    for columns, count in rows:
        # Python's own text is made several times faster than JSON's.
        text = repr(columns)
        found[text] = columns, count + (found[text][1] if text in found else 0)
    return [found[text] for text in sorted(found)]


def _more(rows: Rows, most: int) -> bool:
    """Whether there are more than so many tuples, of which most often there is one alone."""
    return (rows[0][1] if len(rows) == 1 else sum(count for _, count in rows)) > most


def waiting_of(
    latest: Mapping[str, int | None], entries: Mapping[str, str], lateness: Mapping[str, int]
) -> Waiting:
    """What waits, from its entries."""
    found = Waiting(dict(latest), lateness)
    for name, count in entries.items():
        _, moment, alias, columns = json.loads(name)
        found.put(alias, [[moment, columns, int(count)]])
    return found
