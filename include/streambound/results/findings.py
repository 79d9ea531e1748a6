"""What of a run people want to be told without looking: pure functions over recorded results.

Four kinds: a failed expectation, a verdict that turned from bounded to unbounded, a state above 80% of its
bound, and streams that have left the models which a cache's policy was chosen for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from streambound.results.records import Answer, CacheAnswer, CacheBenchmark, QualityOutcome, VerdictRecord

Kind = Literal["expectation", "verdict", "state", "drift"]

# A state above this share of its bound, in percent, is worth a word.
NEARLY_FULL = 80
# So many failed partitions are named one by one.
NAMED = 5


@dataclass(frozen=True)
class Finding:
    """One thing worth telling: of a query, or of a stream (``about``), in one sentence."""

    kind: Kind
    about: Literal["query", "stream"]
    subject: str
    message: str


class Recorded(Protocol):
    """What of ``Results`` the findings of a run are made from."""

    def quality(self, run_id: str, job: str = "") -> list[QualityOutcome]: ...
    def verdicts(self, run_id: str, job: str = "") -> list[VerdictRecord]: ...
    def earlier_verdicts(self, run_id: str, job: str = "") -> list[VerdictRecord]: ...
    def answers(self, run_id: str, job: str = "") -> list[Answer]: ...
    def earlier_answers(self, run_id: str, job: str = "") -> list[Answer]: ...
    def cache_answers(self, run_id: str, job: str = "") -> list[CacheAnswer]: ...
    def cache_benchmarks(self, run_id: str, job: str = "") -> list[CacheBenchmark]: ...


def findings(store: Recorded, run_id: str, job: str) -> list[Finding]:
    """Everything that a run found, by kind and subject.

    Raises:
        StorageError: the results database failed.
    """
    cached = {answer.query for answer in store.cache_answers(run_id, job)}
    return [
        *turned_unbounded(store.verdicts(run_id, job), store.earlier_verdicts(run_id, job)),
        *failed_expectations(store.quality(run_id, job)),
        *nearly_full(store.answers(run_id, job), store.earlier_answers(run_id, job), cached),
        *drifted(store.cache_benchmarks(run_id, job)),
    ]


def turned_unbounded(
    verdict_records: Iterable[VerdictRecord], earlier: Iterable[VerdictRecord]
) -> list[Finding]:
    """Queries that are unbounded, and were bounded under the same criterion.

    Args:
        verdict_records: a run's verdicts.
        earlier: of each query and criterion the newest verdict before, of those that decided.
    """
    before = {(verdict_record.query, verdict_record.criterion): verdict_record for verdict_record in earlier}
    turned = []
    for record in verdict_records:
        former = before.get((record.query, record.criterion))
        if record.verdict != "unbounded" or former is None or former.verdict != "bounded":
            continue
        why = "; ".join(str(reason.get("message", "")) for reason in record.reasons[:1])
        edited = "" if former.sql == record.sql else ", and its text has changed since"
        message = f"unbounded, bounded on {former.checked_at:%Y-%m-%d %H:%M} UTC{edited}"
        turned.append(Finding("verdict", "query", record.query, f"{message}: {why}" if why else message))
    return turned


def failed_expectations(outcomes: Iterable[QualityOutcome]) -> list[Finding]:
    """Streams, answers and benchmarks that broke an expectation."""
    return [
        Finding(
            "expectation",
            "stream" if quality_outcome.kind == "stream" else "query",
            quality_outcome.subject,
            _failure(quality_outcome),
        )
        for quality_outcome in outcomes
        if not quality_outcome.success
    ]


def _failure(outcome: QualityOutcome) -> str:
    reasons = [str(why) for item in outcome.failed for why in _reasons(item)]
    first = f": {reasons[0]}" if reasons else ""
    names = outcome.failed_partitions
    if not names:
        what = {"answers": "its answers", "caches": "its benchmark of caches"}.get(outcome.kind, "it")
        return f"{what} broke an expectation{first}"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    word = "partition" if len(names) == 1 else "partitions"
    return f"{len(names)} {word} broke an expectation ({', '.join(names[:NAMED])}{more}){first}"


def _reasons(item: Mapping[str, object]) -> Sequence[object]:
    reasons = item.get("reasons")
    return reasons if isinstance(reasons, (list, tuple)) else ()


def nearly_full(
    answers: Iterable[Answer], earlier: Iterable[Answer], cached: Iterable[str] = ()
) -> list[Finding]:
    """Queries whose state rose above 80% of its bound, or has grown further since it did.

    A state that is as it was is no news: one that keeps three airports of three stays full for good.

    Args:
        answers: a run's answers.
        earlier: of each query the newest answer before.
        cached: queries that were answered in k tuples of memory, which is meant to be full.
    """
    before, full = {answer.query: answer for answer in earlier}, frozenset(cached)
    filled = []
    for item in answers:
        if item.query in full or not _above(item) or not _grown(item, before.get(item.query)):
            continue
        assert item.peak_units is not None and item.units
        fraction = item.peak_units * 100 // item.units
        message = f"its state took {item.peak_units:,} of at most {item.units:,} units ({fraction}%)"
        filled.append(Finding("state", "query", item.query, message))
    return filled


def _above(answer: Answer) -> bool:
    # Units may exceed what a float tells apart.
    return bool(
        answer.units
        and answer.peak_units is not None
        and answer.peak_units * 100 > answer.units * NEARLY_FULL
    )


def _grown(now: Answer, before: Answer | None) -> bool:
    if before is None or not _above(before) or before.units != now.units:
        return True
    return (now.peak_units or 0) > (before.peak_units or 0)


def drifted(benchmarks: Iterable[CacheBenchmark]) -> list[Finding]:
    """Queries whose streams have left the models of their earlier choice."""
    nights = {
        cache_benchmark.query: cache_benchmark.night
        for cache_benchmark in benchmarks
        if cache_benchmark.drifted
    }
    return [
        Finding(
            "drift",
            "query",
            query,
            f"by {night} its streams have left the models that its cache's policy was chosen for; "
            "they were learned anew",
        )
        for query, night in sorted(nights.items())
    ]
