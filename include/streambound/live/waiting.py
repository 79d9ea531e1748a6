"""Which timestamps are complete: tuples wait until every stream has shown a later one, or the input ends.

A marker is a new timestamp (Schiff & Özçep, execution model), and all tuples of one timestamp are one
batch, of whatever stream. Files of the streams come in any order, so a batch is complete once no stream can
still have a part of it: streams are in order of time each, but for their lateness, and what each has shown
counts, tuples that no answer needs included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streambound.query.column_types import Type
from streambound.state.serial import compact_text, decoded, plain
from streambound.tasks.columns import encoded_values
from streambound.tasks.relations import dump_relation, in_order, relation_of, rows_of
from streambound.tasks.statements import COUNT, MOMENT

# What the names of its entries begin with.
PREFIX = '["waiting",'


@dataclass
class Waiting:
    """The tuples of incomplete timestamps, and the latest timestamp that each stream has shown.

    ``tuples`` are relations (see ``tasks.relations``) by occurrence, in no order and equal tuples maybe more
    than once; ``latest`` has every stream that is read, None as long as it has shown nothing; ``lateness`` is
    how far behind its latest timestamp a stream may still be (0 if not given).
    """

    latest: dict[str, int | None]
    lateness: Mapping[str, int] = field(default_factory=dict)
    tuples: dict[str, pa.Table] = field(default_factory=dict)

    def show(self, stream: str, latest: int | None) -> None:
        """Say which timestamp a file of a stream reaches; None of an empty file."""
        before = self.latest[stream]
        if latest is not None and (before is None or latest > before):
            self.latest[stream] = latest

    def put(self, alias: str, arriving: pa.Table, most: int | None = None) -> int | None:
        """Take in what counts of a file: the relation of an occurrence.

        Returns the first timestamp of which there are now more than ``most`` rows; None if there is none.
        """
        if alias in self.tuples:
            # One file may hold a column more widely than another.
            both = [self.tuples[alias], arriving]
            arriving = pa.concat_tables(both, promote_options="permissive")
        self.tuples[alias] = arriving
        if most is None:
            return None
        sizes = arriving.group_by(MOMENT).aggregate([(COUNT, "sum")])
        crowded = sizes.filter(pc.greater(sizes.column(f"{COUNT}_sum"), most))
        return min(encoded_values(crowded.column(MOMENT)), default=None)

    def complete(self, ended: bool) -> tuple[list[int], dict[str, bytes]]:
        """Take out the complete timestamps; returns them in order, and what counts of each occurrence."""
        reached = [
            latest - self.lateness.get(stream, 0)
            for stream, latest in self.latest.items()
            if latest is not None
        ]
        every = len(reached) == len(self.latest)
        until = min(reached) if every and reached else None
        moments, tables = set[int](), dict[str, bytes]()
        for alias, table in self.tuples.items():
            done = np.full(len(table), ended)
            if until is not None:
                done |= table.column(MOMENT).to_numpy() < until
            if done.any():
                chosen = table.filter(pa.array(done))
                moments.update(encoded_values(chosen.column(MOMENT).unique()))
                tables[alias] = dump_relation(merged(chosen))
            self.tuples[alias] = table.filter(pa.array(~done)).combine_chunks()
        return sorted(moments), tables

    @property
    def count(self) -> int:
        """Different tuples that wait."""
        return sum(len(merged(table)) for table in self.tuples.values())

    def entries(self) -> Iterator[tuple[str, str]]:
        """An entry for each tuple that waits."""
        for alias, table in self.tuples.items():
            for moment, *values, count in rows_of(merged(table)):
                yield compact_text(["waiting", moment, alias, list(map(plain, values))]), str(count)


def merged(table: pa.Table) -> pa.Table:
    """The same tuples, equal ones once, in an order that does not depend on theirs."""
    names = table.column_names
    sums = table.group_by(names[:-1], use_threads=False).aggregate([(COUNT, "sum")])
    return in_order(sums.rename_columns(names))


def waiting_of(
    latest: Mapping[str, int | None],
    entries: Mapping[str, str],
    lateness: Mapping[str, int],
    kinds: Mapping[str, Sequence[Type]],
) -> Waiting:
    """What waits, from its entries; ``kinds`` are the types of each occurrence's relation."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for name, count in entries.items():
        _, moment, alias, columns = json.loads(name)
        rows.setdefault(alias, []).append((moment, *decoded(columns), int(count)))
    tuples = {alias: relation_of(own, kinds[alias]) for alias, own in rows.items()}
    return Waiting(dict(latest), lateness, tuples)
