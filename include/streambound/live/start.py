"""Where a live query begins: at the last boundary that the nightly evaluation checkpointed, or at the start.

This is decided once, when the query is first started, and noted in its folder: files that a checkpoint rests
on are not read again, whatever is checkpointed later. With the same note, Spark's own checkpoint goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from streambound import settings
from streambound.checkpoint.boundary import Checkpoint, chained
from streambound.checkpoint.inputs import identity
from streambound.checkpoint.table import CheckpointTable, address_of
from streambound.errors import DataError, QueryError, StorageError, UnsupportedError
from streambound.history.prepare import Job
from streambound.live.step import Beginning
from streambound.query.model import Relation
from streambound.storage.partitions import Partition, history_folder, present_partitions
from streambound.tasks import emit

NOTE = "_live.json"


def _refuse_rates(job: Job) -> None:
    """Refuse rates: what files of one interval hold together would have to be known at a restart.

    Raises:
        UnsupportedError: naming the stream.
    """
    assert job.plan is not None
    for relation in job.plan.inputs.values():
        if relation.rate is not None:
            raise UnsupportedError(
                f"the rate of {relation.name} is not counted over files that arrive, so it would be taken for"
                " granted",
                subject=job.name,
                fix="declare max_rows_per_timestamp instead of rate, or evaluate history without --live",
            )


There = Mapping[str, Mapping[str, Partition]]


@dataclass(frozen=True)
class Start:
    """The note: of which plan the query is, after which partition it began, and from which state.

    ``covered`` are the files of each stream that the state rests on, relative to the stream's folder;
    ``sources`` the formats of those that are no folders: Spark's notes of how far one is read fit no other;
    ``run`` is a name of this beginning that no other has.
    """

    fingerprint: str
    after: str | None = None
    state: str | None = None
    peak_units: int = 0
    covered: Mapping[str, list[str]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    run: str = ""


def begun(folder: Path, job: Job, checkpoints: str | None, anew: bool) -> Start:
    """The note of a query's folder, made if the query has not begun yet.

    Args:
        folder: of the live query; cleared where it begins anew.
        job: with a plan.
        checkpoints: where those of the nightly evaluation lie; None to begin at the beginning.
        anew: forget what was there, and begin at the beginning.

    Raises:
        QueryError: the folder is of another plan.
        StorageError: the disk refuses.
    """
    assert job.plan is not None
    _refuse_rates(job)
    mine = job.plan.fingerprint(job.static)
    sources = {name: r.live.format for name, r in relations_of(job).items() if r.live is not None}
    noted_start = None if anew else _noted(folder / NOTE)
    if noted_start is not None:
        if noted_start.fingerprint != mine or noted_start.sources != sources:
            raise QueryError(
                f"{folder} holds the live state of another query, of other domains, static rows or sources, "
                "or of another release of streambound",
                subject=job.name,
                fix="begin anew with --recompute, or choose another --output",
            )
        return noted_start
    _clear(folder)
    start = Start(mine) if anew or checkpoints is None else _after_checkpoint(job, checkpoints, mine)
    start = replace(start, sources=sources, run=uuid4().hex)
    emit.write_json(folder / NOTE, asdict(start))
    return start


def noted(name: str, output: Path | None) -> bool:
    """Whether a live query of that name has begun."""
    return ((output or settings.live_root()) / name / NOTE).exists()


def _noted(path: Path) -> Start | None:
    try:
        return Start(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"not the note of a live query: {error}",
            subject=str(path),
            fix="begin anew with --recompute, or choose another --output",
        ) from None


def _clear(folder: Path) -> None:
    """Remove what is left of a query: its note first, without which the rest counts for nothing."""
    try:
        (folder / NOTE).unlink(missing_ok=True)
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        raise StorageError(f"cannot remove: {error.strerror or error}", subject=str(folder)) from None


def relations_of(job: Job) -> dict[str, Relation]:
    """The streams that the plan needs, by name."""
    assert job.plan is not None
    return {relation.name: relation for relation in job.plan.inputs.values()}


def beginning_of(job: Job, start: Start) -> Beginning:
    """What micro-batches need to begin there."""
    assert job.plan is not None
    state = None if start.state is None else start.state.encode()
    return Beginning(job.plan, job.static, state, start.peak_units)


def _after_checkpoint(job: Job, checkpoints: str, mine: str) -> Start:
    table = CheckpointTable(address_of(checkpoints, job.name), job.name)
    rows = {n: row for n, row in table.rows.items() if row.fingerprint == mine and row.scope == ""}
    quarantined = {(late.stream, late.partition, late.identity) for late in table.late}
    there = {name: {p.name: p for p in present_partitions(r)} for name, r in relations_of(job).items()}
    last, covered = _boundary(rows, there, quarantined)
    if last is None or (state := table.load([last.partition]).get(last.partition)) is None:
        return Start(mine)
    assert state.state is not None
    files = {
        stream: [
            str(file.relative_to(history_folder(relation)))
            for name in covered
            if name in there[stream]
            for file in there[stream][name].files
        ]
        for stream, relation in relations_of(job).items()
    }
    return Start(mine, last.partition, state.state.decode(), last.peak_units, files)


def _boundary(
    rows: Mapping[str, Checkpoint], there: There, late: set[tuple[str, str, str]]
) -> tuple[Checkpoint | None, list[str]]:
    """The last boundary that rests on what is there now, and the partitions up to it.

    A partition in quarantine is one of them: it is no part of the answers.
    """
    last: Checkpoint | None = None
    chain, passed, covered = "", list[str](), list[str]()
    for name in sorted({name for parts in there.values() for name in parts} | set(rows)):
        row, passed = rows.get(name), [*passed, name]
        now = {stream: identity(parts[name].files) for stream, parts in there.items() if name in parts}
        inputs = {} if row is None else row.inputs
        settled = {
            s for s, i in now.items() if (s, name, i) in late or (s in inputs and inputs[s].identity == i)
        }
        if settled != set(now) or not set(inputs) <= set(now):
            break
        if row is not None:
            chain = chained(chain, name, row.inputs, row.segment_digest)
            if chain != row.chain:
                break
            last, covered = row, passed
    return last, covered
