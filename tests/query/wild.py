"""Public streaming queries as their users have them: how many get a verdict, and whether it is right.

``python -m tests.query.wild`` prints the shares: of the queries that need nothing beyond joins, filters,
DISTINCT, UNION and the clock; of those that need functions and other expressions as well; and of all others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streambound.compiler.report import Report, check
from streambound.query.catalog import catalog_from_mapping

CORPUS = Path(__file__).parents[1] / "corpus" / "wild.jsonl"
EXPRESSIONS = frozenset(
    {
        *("expression", "expression_in_condition", "like", "nested_access", "time_arithmetic"),
        *("time_function_key", "udf", "unnest"),
    }
)
# What a query may need to be decided today.
DECIDED = frozenset(
    {
        *("clock", "derived_table", "dialect_syntax", "distinct", "equality_join", "filter", "hint"),
        *("inequality_join", "interval_join", "lookup_join", "order_by", "star", "time_equality", "union"),
        "wrapper",
    }
)
GROUPS = ("joins and filters", "and expressions", "all others")


@dataclass(frozen=True)
class Answered:
    """A line of the corpus, and what is said of its statement."""

    line: dict[str, Any]
    report: Report

    @property
    def outcome(self) -> str:
        """``right``, ``wrong``, or ``refused``."""
        if self.report.verdict not in ("bounded", "unbounded"):
            return "refused"
        return "right" if self.report.verdict == self.line["expected"]["verdict"] else "wrong"


def lines(*groups: str) -> Iterator[dict[str, Any]]:
    """Every query of these groups whose verdict is settled."""
    for text in CORPUS.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if line["expected"]["verdict"] is not None and group_of(line) in groups:
            yield line


def group_of(line: dict[str, Any]) -> str:
    """Which of the groups a query is in."""
    further = set(line["features"]) - DECIDED
    return GROUPS[0] if not further else GROUPS[1] if further <= EXPRESSIONS else GROUPS[2]


def answered(line: dict[str, Any]) -> Answered:
    """What is said of a query in its own dialect."""
    catalog = catalog_from_mapping(line["streams"])
    return Answered(
        line, check(line["statement"], catalog, line["id"], suggest=False, dialect=line["dialect"])
    )


def main() -> None:
    """Print the shares."""
    found = [answered(line) for line in lines(*GROUPS)]
    for group in (*GROUPS, "together"):
        counts = Counter(one.outcome for one in found if group in (group_of(one.line), "together"))
        total = counts.total()
        definite = counts["right"] + counts["wrong"]
        print(
            f"{group:<18} {total:>4} queries: {definite:>3} definite ({definite / max(total, 1):.0%}),"
            f" {counts['right']:>3} right, {counts['wrong']} wrong"
        )


if __name__ == "__main__":
    main()
