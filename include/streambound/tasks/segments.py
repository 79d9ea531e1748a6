"""The summary of a segment from arrays: an automaton over all tuples in order of time, exact counts.

Counts are machine integers where none can leave their range; else they are counted modulo several primes
and put together (Chinese remainders), so they are exact whatever their size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streambound.plan.model import Streams
from streambound.state.automaton import UNITY, Automaton, Target, automaton
from streambound.state.codec import BufferedRow
from streambound.state.row_join import PartialMatch
from streambound.state.segments import SegmentPlan, TimeSegment, empty_segment, with_moments
from streambound.state.table import Layout
from streambound.tasks.encoded_sql import encoded
from streambound.tasks.encoding import EncodedTuples, Encoder
from streambound.tasks.kernels import take

Numbers = NDArray[np.int64]
# Counts of completed matches held at once: 128 megabytes.
COMPLETIONS = 1 << 24
EXACT = 2**62
# Products of two residues stay within 62 bits.
FIRST_MODULUS = 2**31 - 1


def summarised(plan: SegmentPlan, encoded: Mapping[str, EncodedTuples]) -> TimeSegment:
    """The summary of a segment; ``encoded`` has every occurrence's."""
    segment, run = _begun(plan, encoded)
    if run is not None:
        for target, count in run.counts():
            _put(segment, target, count)
    return segment


@dataclass(frozen=True)
class Arriving:
    """The tuples of an occurrence that count: timestamps, and the carried columns in ordered form.

    Each array has the length n of the number of tuples.
    """

    moments: Numbers
    columns: Sequence[pa.Array]

    def some(self, chosen: NDArray[np.bool_]) -> Arriving:
        """The tuples where ``chosen`` (of length n) is true."""
        mask = pa.array(chosen)
        return Arriving(self.moments[chosen], [column.filter(mask) for column in self.columns])

    def rows(self) -> list[BufferedRow]:
        """The tuples as states hold them: equal ones once, with their number."""
        columns = [map(encoded, column.to_pylist()) for column in self.columns]
        counter = Counter(zip(*columns, self.moments.tolist(), strict=True))
        return [(*row, count) for row, count in counter.items()]


def partitioned(plan: SegmentPlan, arriving: Mapping[str, Arriving]) -> TimeSegment:
    """The summary of a partition, with what of it has to meet held tuples and what is to be held.

    Args:
        plan: how it is summarised.
        arriving: the tuples of the occurrences of which there are any files.
    """
    # In the order of the plan, whatever that of the files; at equal timestamps its first stream is named.
    here = {s.alias: arriving[s.alias] for s in plan.plan.streams if s.alias in arriving}
    ends = [
        (int(item.moments.min()), int(item.moments.max()), alias)
        for alias, item in here.items()
        if len(item.moments)
    ]
    if not ends:
        return empty_segment(plan)
    first, _, alias = min(ends, key=itemgetter(0))
    until = max(last for _, last, _ in ends)
    encoded: dict[str, EncodedTuples] = {}
    head, tail = dict[str, list[BufferedRow]](), dict[str, list[BufferedRow]]()
    for name in (s.alias for s in plan.plan.streams):
        coder, tuples = Encoder(plan, name), here.get(name)
        if tuples is None:
            encoded[name] = coder.nothing
            continue
        moments = tuples.moments + plan.delays[name]
        if plan.delay:
            late = moments > until
            early = ~late & (moments < first + plan.delay)
            head[name], tail[name] = tuples.some(early).rows(), tuples.some(late).rows()
            inside = ~(late | early)
            tuples, moments = tuples.some(inside), moments[inside]
        encoded[name] = coder.encode(moments, tuples.columns)
    segment = summarised(plan, encoded)
    segment.first, segment.until, segment.head, segment.tail = (first, alias), until, head, tail
    return segment


@dataclass(frozen=True)
class Completed:
    """Matches that the last stream completes: ``counts`` of those complete at each of ``moments``."""

    match: PartialMatch
    moments: Numbers
    counts: NDArray[Any]


def completed(
    plan: SegmentPlan, encoded: Mapping[str, EncodedTuples]
) -> tuple[TimeSegment, dict[Streams, list[Completed]]]:
    """The summary of a segment without the sets that have the last stream, and those apart, by moment.

    Args:
        encoded: coded for ``segments.with_moments(plan)``.
    """
    segment, run = _begun(with_moments(plan), encoded)
    apart: dict[Streams, list[Completed]] = {streams: [] for streams in plan.tables if plan.last in streams}
    if run is None:
        return segment, apart
    rows = {base: number for number, base in enumerate(dict.fromkeys(row[:-1] for row in run.rows))}
    bases = np.array([rows[row[:-1]] for row in run.rows], np.int64)
    moments = np.array([row[-1] for row in run.rows], np.int64)
    outputs, numbers, counts = run.completions()
    order = np.lexsort((bases[outputs], numbers))
    groups = np.stack([numbers[order], bases[outputs][order]])
    edges = np.flatnonzero((groups[:, 1:] != groups[:, :-1]).any(axis=0)) + 1
    targets = list(run.machine.completions)
    for own in np.split(order, edges) if len(order) else ():
        streams, (number, key) = run.completed(targets[numbers[own[0]]], int(outputs[own[0]]))
        match = Layout(plan.tables[streams].cells[number]).representative(key[:-1], (), ())
        apart[streams].append(Completed(PartialMatch(match, {}), moments[outputs[own]], counts[own]))
    for target, count in run.kept():
        _put(segment, target, count)
    return segment, apart


def _begun(plan: SegmentPlan, encoded: Mapping[str, EncodedTuples]) -> tuple[TimeSegment, _Run | None]:
    """The ends of a segment, and its counts, which are still to be made; None where nothing counts."""
    segment = empty_segment(plan)
    present = {alias: tuples for alias, tuples in encoded.items() if len(tuples.moments)}
    if not present:
        return segment, None
    # At equal timestamps the stream that the plan names first.
    first = min(present, key=lambda alias: int(present[alias].moments[0]))
    segment.first = int(present[first].moments[0]), first
    segment.until = max(int(tuples.moments[-1]) for tuples in present.values())
    machine = automaton(plan, {alias: tuples.profiles for alias, tuples in encoded.items()})
    return segment, _Run(plan, encoded, machine)


def _put(segment: TimeSegment, target: Target, count: int) -> None:
    streams, bucket = target
    segment.tables[streams].put(bucket, count, (), ())


class _Run:
    def __init__(self, plan: SegmentPlan, encoded: Mapping[str, EncodedTuples], machine: Automaton) -> None:
        self.plan, self.machine = plan, machine
        self.aliases = list(encoded)
        sizes = [len(tuples.times) for tuples in encoded.values()]
        self.bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.times = np.concatenate([tuples.times for tuples in encoded.values()])
        self.symbols = np.concatenate([tuples.symbols + machine.starts[a] for a, tuples in encoded.items()])
        self.outputs = np.concatenate([tuples.outputs for tuples in encoded.values()])
        self.rows = encoded[plan.last].rows if plan.last is not None else [()]
        self.last = self.aliases.index(plan.last) if plan.last is not None else -1
        # No count exceeds the number of choices of a tuple of every stream.
        self.moduli = _moduli(prod(max(1, size) for size in sizes))
        self.starts, self.targets, self.factors = _products(machine)

    def counts(self) -> Iterator[tuple[Target, int]]:
        """Every entry with its count, where that is not zero."""
        targets = list(self.machine.completions)
        outputs, numbers, counts = self.completions()
        for output, number, count in zip(outputs.tolist(), numbers.tolist(), counts.tolist(), strict=True):
            yield self.completed(targets[number], output), count
        yield from self.kept()

    def kept(self) -> Iterator[tuple[Target, int]]:
        """The entries of sets without the last stream; after ``completions``."""
        for target, position in self.machine.counts.items():
            if self._kept[position]:
                yield target, int(self._kept[position])

    def completions(self) -> tuple[Numbers, Numbers, NDArray[Any]]:
        """The output, the place of the target and the count of each entry of a set with the last stream."""
        width = max(1, len(self.machine.completions))
        step = max(1, COMPLETIONS // width)
        counted: list[tuple[Numbers, Numbers, NDArray[Any]]] = []
        for low in range(0, max(1, len(self.rows)), step):
            self._kept, made = self._counted(low, min(step, len(self.rows) - low), width)
            outputs, numbers = np.nonzero(made)
            counted.append((outputs + low, numbers, made[outputs, numbers]))
        outputs, numbers, counts = (np.concatenate(arrays) for arrays in zip(*counted, strict=True))
        return outputs, numbers, counts

    def completed(self, target: Target, output: int) -> Target:
        """An entry of a set with the last stream, told apart by what that projects."""
        streams, (number, key) = target
        values = dict(zip(self.plan.outputs, self.rows[output], strict=True))
        profile = next(s for s in self.plan.profiles if frozenset(s.streams) == streams)
        own = zip(profile.cells[number].keys, key, strict=True)
        kept = tuple(value for k, value in own if k.attribute not in values)
        return streams, (number, (*kept, *(values[a] for a in self.plan.outputs)))

    def _counted(self, low: int, rows: int, width: int) -> tuple[NDArray[Any], NDArray[Any]]:
        residues = [self._taken(low, rows, width, modulus) for modulus in self.moduli]
        if self.moduli == [0]:
            return residues[0]
        return (
            _recombined([counts for counts, _ in residues], self.moduli),
            _recombined([completions for _, completions in residues], self.moduli),
        )

    def _taken(self, low: int, rows: int, width: int, modulus: int) -> tuple[Numbers, Numbers]:
        counts = np.zeros(self.machine.symbols + len(self.machine.counts), np.int64)
        counts[UNITY] = 1
        completions = np.zeros((max(0, rows), width), np.int64)
        take(
            self.times,
            self.symbols,
            self.outputs,
            self.bounds,
            self.starts,
            self.targets,
            self.factors,
            counts,
            completions,
            self.last,
            low,
            modulus,
        )
        return counts, completions


def _products(machine: Automaton) -> tuple[Numbers, Numbers, Numbers]:
    """Where the products of each position begin, their targets, and their factors filled up with 1."""
    by_symbol = [machine.products.get(position, []) for position in range(machine.symbols)]
    starts = np.concatenate([[0], np.cumsum([len(products) for products in by_symbol])]).astype(np.int64)
    flat = [product for products in by_symbol for product in products]
    width = max((len(factors) for _, factors in flat), default=1) or 1
    factors = np.full((len(flat), width), UNITY, np.int64)
    for number, (_, mine) in enumerate(flat):
        factors[number, : len(mine)] = mine
    return starts, np.array([target for target, _ in flat], np.int64), factors


def _moduli(most: int) -> list[int]:
    """Primes whose product exceeds a number; [0] where machine integers hold it."""
    if most < EXACT:
        return [0]
    moduli = [FIRST_MODULUS]
    while prod(moduli) <= most:
        moduli.append(_prime_below(moduli[-1]))
    return moduli


@lru_cache(maxsize=64)
def _prime_below(number: int) -> int:
    candidate = number - 2
    while any(candidate % divisor == 0 for divisor in range(3, int(candidate**0.5) + 1, 2)):
        candidate -= 2
    return candidate


def _recombined(residues: Sequence[Numbers], moduli: Sequence[int]) -> NDArray[Any]:
    """The numbers below the product of the moduli that have these residues."""
    whole = prod(moduli)
    values = np.zeros(residues[0].shape, object)
    for residue, modulus in zip(residues, moduli, strict=True):
        cofactor = whole // modulus
        values += residue.astype(object) * (cofactor * pow(cofactor, -1, modulus))
    return values % whole
