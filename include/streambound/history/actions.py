"""What has to be read of a job's history: what is new or has changed since it was checkpointed.

Late changes that the catalog does not allow are put into quarantine instead (``checkpoint.lateness``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum

from streambound import settings
from streambound.checkpoint import lateness
from streambound.checkpoint.boundary import Checkpoint, Late
from streambound.checkpoint.inputs import identity
from streambound.history.prepare import Job
from streambound.query.model import Relation
from streambound.storage.partitions import Partition


class Action(Enum):
    """What is to be done with a stream's share of a partition."""

    CHECKPOINTED = "its checkpoint says what the plan keeps of it"
    READ = "it is new, or has changed"
    COMPARE = "it has changed, and is too late: it is read to see whether its rows have changed"
    OUT = "it is in quarantine, and was never part of the answers"


class Actions:
    """The actions of one job, decided when it is made.

    Args:
        job: its partitions, with their files.
        rows: its checkpoints by partition.
        boundary: the last partition that was checkpointed, None if there is none.
        written: whether the answers of a checkpoint are where they belong.
        lossy: some checkpoints are damaged, so a partition without one is not known to be new.
        quarantined: what is in quarantine already.

    ``late`` are the quarantined versions that are there now, by stream and partition; ``names`` the
    partitions that are evaluated, in order.

    Raises:
        StorageError: a late partition cannot be kept.
    """

    def __init__(
        self,
        job: Job,
        rows: Mapping[str, Checkpoint],
        boundary: str | None,
        written: Callable[[Checkpoint], bool],
        lossy: bool,
        quarantined: Collection[Late],
    ) -> None:
        assert job.plan is not None
        self.rows, self.boundary, self.lossy = rows, boundary, lossy
        self.relations = {relation.name: relation for relation in job.plan.inputs.values()}
        self.identities: dict[tuple[str, str], str] = {}
        self.late: dict[tuple[str, str], Late] = {}
        self._before = {(late.stream, late.partition): late for late in quarantined}
        # Tasks write the answers of a plan that keeps nothing; others follow from what is checkpointed.
        self._usable = written if job.plan.stateless else lambda row: True
        self._actions = {
            (stream, part.name): self._action(self.relations[stream], part)
            for stream in self.relations
            for part in job.partitions[stream]
        }

        self._streams: dict[str, list[str]] = {}
        for (stream, partition), action in sorted(self._actions.items()):
            if action is not Action.OUT:
                self._streams.setdefault(partition, []).append(stream)
        self.names = sorted(self._streams)

    def __getitem__(self, at: tuple[str, str]) -> Action:
        return self._actions[at]

    def together(self, partition: str) -> list[str]:
        """The streams to read where a partition is summarised over all of them; none if it is known.

        One that is known, but whose checkpointed version is in the files no longer, cannot be read again.
        """
        streams = self.streams(partition)
        row = self.rows.get(partition)
        actions = {self._actions[stream, partition] for stream in streams}
        if actions == {Action.CHECKPOINTED} and row is not None and set(row.inputs) == set(streams):
            return []
        return [stream for stream in streams if not self.replaced(stream, partition)]

    def replaced(self, stream: str, partition: str) -> bool:
        """Whether what is checkpointed of a partition's share is in its files no longer."""
        late = self.late.get((stream, partition))
        return late is not None and late.earlier

    def streams(self, partition: str) -> list[str]:
        """The streams of which a partition is evaluated."""
        return self._streams.get(partition, [])

    def partitions(self, *wanted: Action) -> list[str]:
        """The partitions of which a stream's share asks for one of these actions, in order."""
        return sorted({name for (_, name), action in self._actions.items() if action in wanted})

    def _action(self, relation: Relation, part: Partition) -> Action:
        at = (relation.name, part.name)
        now = self.identities[at] = part.content or identity(part.files)
        row = self.rows.get(part.name)
        before = None if row is None else row.inputs.get(relation.name)
        if row is not None and not self._usable(row):
            return Action.READ
        if before is not None and before.identity == now:
            return Action.CHECKPOINTED
        late = self._before.get(at)
        if late is not None and late.identity == now and late.earlier == (before is not None):
            self.late[at] = late
            return Action.OUT if before is None else Action.CHECKPOINTED
        if lateness.too_late(relation, part.name, self.boundary) is None or (before is None and self.lossy):
            return Action.READ
        if before is not None:
            return Action.COMPARE
        self.quarantine(relation.name, part, earlier=False)
        return Action.OUT

    def quarantine(self, stream: str, part: Partition, earlier: bool) -> None:
        """Keep a partition that is too late, and say so.

        Raises:
            StorageError: the disk refuses.
        """
        relation, now = self.relations[stream], self.identities[stream, part.name]
        by = lateness.too_late(relation, part.name, self.boundary)
        assert by is not None and relation.allowed_lateness is not None
        kept = lateness.keep(part.files, settings.quarantine_root(), stream, part.name, now)
        allowed = " ".join(relation.allowed_lateness.split())
        self.late[stream, part.name] = Late(stream, part.name, now, by, allowed, str(kept), earlier)


def read_all(job: Job) -> Actions:
    """The actions where nothing is checkpointed."""
    return Actions(job, {}, None, lambda row: False, False, ())
