"""Whether two results databases say the same of every query: verdict, quality, and digest of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streambound.results import Results

# What two runs on the same streams must agree on, by kind of record; run ids and times are their own.
AGREED: Mapping[str, tuple[str, ...]] = {
    "verdict": (
        *("sql", "verdict", "projection", "criterion", "units", "units_formula"),
        *("reasons", "published", "suggestions", "error"),
    ),
    "answer": (
        *("streams", "partitions", "missing_partitions", "rows_read"),
        *("answer_rows", "answer_count", "units", "peak_units", "digest"),
    ),
    "memory": ("size", "policy", "alpha", "results", "estimated_results", "estimated_share"),
    "quality": ("success", "evaluated", "failed"),
}
HEADINGS = ("query", "verdict", "answer rows", "digest", "same")


@dataclass(frozen=True)
class Comparison:
    """``table`` has one line a query; ``differences`` name what is not the same, and how."""

    table: str
    differences: tuple[str, ...]


def compared(one: Results, other: Results) -> Comparison:
    """The newest that two databases hold, compared.

    Raises:
        StorageError: a database failed.
    """
    from streambound.report.tables import aligned

    left, right = _records(one), _records(other)
    found = {
        key: _difference(key, left.get(key), right.get(key)) for key in sorted(left.keys() | right.keys())
    }
    rows = [
        (
            summary.query,
            summary.verdict.verdict if summary.verdict else "-",
            f"{summary.answer.answer_rows:,}" if summary.answer else "-",
            (summary.answer.digest or "-")[:16] if summary.answer else "-",
            "no" if any(found[key] for key in found if key[1] == summary.query) else "yes",
        )
        for summary in one.latest_summary()
    ]
    return Comparison(aligned(HEADINGS, rows, ("answer rows",)), tuple(filter(None, found.values())))


Key = tuple[str, str]


def _records(results: Results) -> dict[Key, dict[str, Any]]:
    """What is agreed on, by kind of record and name."""
    quality = results.latest_quality()
    return {
        **_of("verdict", results.latest_verdicts(), lambda one: one.query),
        **_of("answer", results.latest_answers(), lambda one: one.query),
        **_of("memory", results.latest_cache_answers(), lambda one: one.query),
        **_of("quality", (q for q in quality if q.kind == "stream"), lambda one: f"stream {one.subject}"),
        **_of("quality", (q for q in quality if q.kind == "answers"), lambda one: one.subject),
    }


def _of(kind: str, records: Iterable[Any], name: Callable[[Any], str]) -> dict[Key, dict[str, Any]]:
    return {(kind, name(one)): {f: getattr(one, f) for f in AGREED[kind]} for one in records}


def _difference(key: Key, one: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    what = f"{key[1]}, {key[0]}"
    if one is None or other is None:
        return f"{what}: only in the {'second' if one is None else 'first'}"
    differing = [f"{name} {one[name]!r} and {other[name]!r}" for name in one if one[name] != other[name]]
    return f"{what}: {'; '.join(differing)}" if differing else ""
