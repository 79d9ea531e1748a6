"""Checkpoints for tests."""

from __future__ import annotations

from streambound.checkpoint.answer_files import AnswerFile
from streambound.checkpoint.boundary import Checkpoint, Late, Tally
from streambound.checkpoint.inputs import Input
from streambound.state.serial import digest


def checkpoint(partition: str, state: bytes = b"{}", fingerprint: str = "f") -> Checkpoint:
    segment = f"segment of {partition}".encode()
    return Checkpoint(
        query="q",
        fingerprint=fingerprint,
        partition=partition,
        scope="",
        inputs={"S": Input(f"files of {partition}", 3)},
        segment_digest=digest(segment),
        state_digest=digest(state),
        chain=f"chain to {partition}",
        units=5,
        peak_units=7,
        rows=2**40,
        new=Tally(1, 10**30, 2**255),
        total=Tally(0, 10**37, 3),
        file=AnswerFile("digest", "123:4"),
        answers="token",
        segment=segment,
        state=state,
    )


def late(partition: str) -> Late:
    return Late("S", partition, "other files", "3 days", "2 days", "/quarantine", True)
