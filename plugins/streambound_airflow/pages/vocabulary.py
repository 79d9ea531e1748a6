"""The words of the pages, each with one meaning; what a page says in a word is explained beside it."""

from __future__ import annotations

from collections.abc import Mapping

from streambound.report.sizes import UNIT_BYTES

# What is asked of each word, and what is told, by the name that a template asks for.
TERMS: Mapping[str, tuple[str, str]] = {
    "unit": (
        "What is a unit?",
        "One stored value or one count. State is counted in units, since values differ in size: bytes are an"
        f" estimate of {UNIT_BYTES} a unit, and long texts take more.",
    ),
    "bound": (
        "What is a bound?",
        "The most units that a query's state can ever have, however long its streams run. It is proved before"
        " the query runs; an unbounded query has none.",
    ),
    "state": (
        "What is state?",
        "What is kept of the tuples that have come, so that later answers are right. All else is forgotten.",
    ),
    "peak": (
        "What is a peak?",
        "The largest state that one evaluation had. The line shows those of the last evaluations; its upper"
        " edge, dashed, is the bound (dotted: the bound is far above, and not to scale).",
    ),
    "rows": (
        "Which rows?",
        "Rows are the different rows of the answer. Rows read are those of the streams' partitions that the"
        " answer rests on.",
    ),
    "verdict": (
        "What is a verdict?",
        "bounded: the state never outgrows its bound. unbounded: there are histories for which no fixed"
        " memory is enough. unknown: no theorem says which. invalid: the text cannot be decided.",
    ),
    "quality": (
        "What is quality?",
        "ok: the newest checks hold of the streams that a query reads, and of its answers. failed: one does"
        " not; partitions that fail are kept out of answers. partial: they hold, and the answer is what a"
        " limited memory keeps of it. unchecked: nothing was looked at.",
    ),
}
