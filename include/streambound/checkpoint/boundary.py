"""A checkpoint: what is known at the boundary after one partition.

Its digest covers all that a re-run must reproduce. Not covered is what differs between equal runs: times of
input files (a wrong identity only makes the partition be read again), and the file with the answers: another
release of Parquet's writer gives the same rows other bytes, and a wrong digest only costs writing them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from streambound.checkpoint.answer_files import AnswerFile
from streambound.checkpoint.inputs import Input
from streambound.state.serial import digest as digest_of

# Made once: there is a digest to be checked of every boundary.
_SORTED = json.JSONEncoder(sort_keys=True)


@dataclass(frozen=True)
class Tally:
    """Answer rows: how many different ones, their multiplicities, and the hash of the bag."""

    rows: int = 0
    count: int = 0
    hash: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """The boundary after a partition.

    ``scope`` is the partition from which on history was asked for (empty: all); ``inputs`` are by stream;
    ``segment`` is the summary of this partition, what the plan keeps of it alone, and ``state`` what it keeps
    of all up to it, both None where they have not been loaded; ``chain`` digests all summaries up to here;
    ``units`` and ``peak_units`` are of the state here and of the largest so far; ``rows`` are input rows so
    far; ``new`` are the answers of this partition, ``total`` those so far; ``file`` is that with the answers
    of this partition, and ``answers`` the token of the folder that holds it.
    """

    query: str
    fingerprint: str
    partition: str
    scope: str
    inputs: Mapping[str, Input]
    segment_digest: str
    state_digest: str
    chain: str
    units: int
    peak_units: int
    rows: int
    new: Tally
    total: Tally
    file: AnswerFile
    answers: str
    segment: bytes | None = field(default=None, repr=False)
    state: bytes | None = field(default=None, repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, in hexadecimal."""
        body = {
            "query": self.query,
            "fingerprint": self.fingerprint,
            "partition": self.partition,
            "scope": self.scope,
            "inputs": {stream: operand.rows for stream, operand in self.inputs.items()},
            "segment": self.segment_digest,
            "state": self.state_digest,
            "chain": self.chain,
            "units": self.units,
            "peak_units": self.peak_units,
            "rows": self.rows,
            "new": vars(self.new),
            "total": vars(self.total),
        }
        return digest_of(_SORTED.encode(body).encode())

    @property
    def intact(self) -> bool:
        """Whether the loaded bytes are those that were written."""
        return all(
            data is not None and digest_of(data) == digest
            for data, digest in ((self.segment, self.segment_digest), (self.state, self.state_digest))
        )


@dataclass(frozen=True)
class Late:
    """A version of a stream's partition that came later than the catalog allows, and is quarantined.

    ``kept`` is the folder that holds it; with ``earlier`` the version before it stays part of the answers.
    """

    stream: str
    partition: str
    identity: str
    lateness: str
    allowed: str
    kept: str
    earlier: bool

    @property
    def reason(self) -> str:
        """What is said of it."""
        what = "changed" if self.earlier else "arrived"
        stands = "; its earlier version stays evaluated" if self.earlier else ""
        allowed = f"more than the allowed {self.allowed}"
        return f"{what} {self.lateness} late, {allowed}: kept in {self.kept}{stands}"


def chained(before: str, partition: str, inputs: Mapping[str, Input], segment_digest: str) -> str:
    """The chain at a boundary, from the one before it: equal chains have equal states and answers."""
    rows = sorted((stream, operand.rows) for stream, operand in inputs.items())
    return digest_of(json.dumps([before, partition, rows, segment_digest]).encode())


def to_row(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint as a row of its table (see ``table.SCHEMA``)."""
    return {
        "kind": "boundary",
        "fingerprint": checkpoint.fingerprint,
        "partition": checkpoint.partition,
        "scope": checkpoint.scope,
        "inputs": json.dumps({s: [i.identity, i.rows] for s, i in sorted(checkpoint.inputs.items())}),
        "segment_digest": checkpoint.segment_digest,
        "state_digest": checkpoint.state_digest,
        "chain": checkpoint.chain,
        "units": str(checkpoint.units),
        "peak_units": str(checkpoint.peak_units),
        "rows": checkpoint.rows,
        "new": _tally_text(checkpoint.new),
        "total": _tally_text(checkpoint.total),
        "file": f"{checkpoint.file.digest} {checkpoint.file.identity}",
        "answers": checkpoint.answers,
        "digest": checkpoint.digest,
        "segment": checkpoint.segment,
        "state": checkpoint.state,
    }


def from_row(query: str, row: Mapping[str, Any]) -> Checkpoint | None:
    """The checkpoint of a row; None if the row is not what was written."""
    try:
        checkpoint = Checkpoint(
            query=query,
            fingerprint=row["fingerprint"],
            partition=row["partition"],
            scope=row["scope"],
            inputs={s: Input(i, int(n)) for s, (i, n) in json.loads(row["inputs"]).items()},
            segment_digest=row["segment_digest"],
            state_digest=row["state_digest"],
            chain=row["chain"],
            units=int(row["units"]),
            peak_units=int(row["peak_units"]),
            rows=int(row["rows"]),
            new=_tally(row["new"]),
            total=_tally(row["total"]),
            file=AnswerFile(*row["file"].split(" ")),
            answers=row["answers"],
            segment=row.get("segment"),
            state=row.get("state"),
        )
        return checkpoint if checkpoint.digest == row["digest"] else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def late_to_row(late: Late, fingerprint: str) -> dict[str, Any]:
    """A quarantined partition as a row."""
    note = json.dumps(asdict(late), sort_keys=True)
    body = {"kind": "late", "fingerprint": fingerprint, "partition": late.partition, "inputs": note}
    return {**body, "digest": digest_of(note.encode())}


def late_from_row(row: Mapping[str, Any]) -> Late | None:
    """The quarantined partition of a row; None if the row is not what was written."""
    try:
        intact = digest_of(row["inputs"].encode()) == row["digest"]
        return Late(**json.loads(row["inputs"])) if intact else None
    except (ValueError, TypeError, AttributeError):
        return None


def _tally_text(tally: Tally) -> str:
    return json.dumps([tally.rows, str(tally.count), f"{tally.hash:064x}"])


def _tally(text: str) -> Tally:
    rows, count, digest = json.loads(text)
    return Tally(int(rows), int(count), int(digest, 16))
