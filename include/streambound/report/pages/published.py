"""The published criteria's verdicts beside ours, with one sentence each.

A criterion says nothing of queries outside its class, and where a sufficient one fails. Where a published
verdict differs from ours, the sentence says why ours stands (docs/theory.md, "Where the papers
are read with care").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from streambound.report.pages.markup import element, table, text

HEADINGS = ("Criterion", "Verdict", "What it says")
# What a criterion says of a query that it does not speak of.
SILENT = "does not apply"
_NAMES = {
    "arasu": "Arasu et al. (2004)",
    "schiff_ozcep_1": "Schiff & Özçep, Theorem 1 (duplicates kept)",
    "schiff_ozcep_2": "Schiff & Özçep, Theorem 2 (DISTINCT)",
}
_OUTSIDE = {
    "arasu": (
        "It speaks of one SELECT without OR, over infinite streams without time and without <> between them."
    ),
    "schiff_ozcep_1": "It speaks of one SELECT without OR and without DISTINCT, and of time without offsets.",
    "schiff_ozcep_2": (
        "It speaks of one SELECT DISTINCT without OR, over different streams, and of time without offsets."
    ),
}
_AGREES = {
    ("arasu", "bounded"): "No branch breaks one of its conditions.",
    ("arasu", "unbounded"): "Some branch breaks one of its conditions, which are necessary.",
    ("schiff_ozcep_1", "bounded"): "No branch breaks one of its conditions.",
    ("schiff_ozcep_1", "unbounded"): "Some branch breaks one of its conditions.",
    ("schiff_ozcep_2", "bounded"): "No branch breaks one of its conditions, which it calls sufficient.",
}
_DIFFERS = {
    ("schiff_ozcep_1", "unbounded"): (
        "Its conditions suffice but are not necessary: counts of pairs can be kept where it asks for the"
        " whole history."
    ),
    ("schiff_ozcep_2", "bounded"): (
        "It keeps one extremum a stream where pairs of values matter, and is not sound as printed: a witness"
        " shows it."
    ),
}
_DIFFERS_OTHERWISE = "It differs from our verdict, which was proved for this query."
_NO_VERDICT = "Its conditions are sufficient only; one fails, so it leaves the question open."
_OURS = {
    "bounded": "Proved: a plan keeps all that later answers need, however long the streams run.",
    "unbounded": "Proved: a witness gives more histories to tell apart than any fixed memory has states.",
    "unknown": "Neither a plan nor a witness was found; no guess is made.",
    "invalid": "The query cannot be read, so nothing is decided.",
}
_AS_PRINTED = "The criterion that was asked for, as printed; not a proof of ours."


class Judged(Protocol):
    """A verdict with the published ones: a report of the compiler, or a record of the results database."""

    @property
    def verdict(self) -> str:
        """bounded, unbounded, unknown or invalid."""

    @property
    def criterion(self) -> str | None:
        """The criterion of the verdict."""

    @property
    def published(self) -> Mapping[str, str]:
        """The verdicts of the published criteria that apply, by criterion."""


@dataclass(frozen=True)
class PublishedRow:
    """One criterion: its name, its verdict in a word, whether that is ours, and a sentence.

    ``agrees`` is None where the criterion gives no verdict.
    """

    criterion: str
    verdict: str
    agrees: bool | None
    sentence: str


def published_rows(report: Judged) -> tuple[PublishedRow, ...]:
    """Our verdict first, then each published criterion, also those that do not apply."""
    own = report.criterion in (None, "exact")
    name, said = (
        ("ours", _OURS.get(report.verdict, "")) if own else (f"as asked for: {report.criterion}", _AS_PRINTED)
    )
    ours = PublishedRow(name, report.verdict, True, said)
    return ours, *(_row(report, key) for key in _NAMES)


def _row(report: Judged, key: str) -> PublishedRow:
    said = report.published.get(key)
    if said is None:
        return PublishedRow(_NAMES[key], SILENT, None, _OUTSIDE[key])
    if said not in ("bounded", "unbounded"):
        return PublishedRow(_NAMES[key], "no verdict", None, _NO_VERDICT)
    if report.verdict == said or report.verdict not in ("bounded", "unbounded"):
        agrees = report.verdict == said
        return PublishedRow(_NAMES[key], said, agrees or None, _AGREES.get((key, said), ""))
    return PublishedRow(_NAMES[key], said, False, _DIFFERS.get((key, said), _DIFFERS_OTHERWISE))


def published_table(report: Judged) -> str:
    """The rows as a table; one that differs from our verdict has the class ``differs``."""
    rows = published_rows(report)
    cells = [
        (
            text(row.criterion),
            element("span", {"class": f"verdict {row.verdict.replace(' ', '-')}"}, text(row.verdict)),
            text(row.sentence),
        )
        for row in rows
    ]
    differing = {number: "differs" for number, row in enumerate(rows) if row.agrees is False}
    return table("Published criteria beside ours", HEADINGS, cells, "published", differing)
