"""Every code that a reason may have: the one place where they are declared.

Each has a page, docs/codes/CODE.md. The codes of what makes a query invalid are declared in ``errors``.
"""

from __future__ import annotations

from dataclasses import dataclass

_A = "Theorem A (Arasu et al., Theorems 4.2 and 4.3)"
_B = "Theorems B1 and B2 (Arasu et al., Theorems 5.2 and 5.3)"
_PRINTED = "the theorem as printed"


@dataclass(frozen=True)
class Code:
    """What a finding is about, one sentence each.

    Args:
        meaning: what was found.
        fix: what to do about it; empty where nothing is wrong.
        preserving: the condition of the criterion that a duplicate-preserving query breaks (or meets).
        eliminating: the same for DISTINCT.
    """

    meaning: str
    fix: str
    preserving: str
    eliminating: str

    def criterion(self, projection: str | None) -> str:
        """The condition for a projection, ``eliminating`` or ``preserving``."""
        return self.eliminating if projection == "eliminating" else self.preserving


REASON_CODES: dict[str, Code] = {
    "filter": Code(
        "One stream, or streams that time keeps together, with duplicates preserved: nothing is kept.",
        "",
        f"{_A}: with one infinite composite a query is bounded",
        f"{_A}: with one infinite composite a query is bounded",
    ),
    "no-obstruction": Code(
        "Every column that must be remembered has finitely many values or a single extremum.",
        "",
        f"{_A}: no branch breaks (a), (b) or (c)",
        f"{_B}: no branch breaks (P), (E) or (N)",
    ),
    "irredundant-tuples": Code(
        "Of a stream joined with itself boundedly many tuples are ever needed.",
        "",
        f"{_A} speaks of self-joins as of other joins",
        "condition (H): no family of tuples that are all needed grows without end",
    ),
    "engine-state": Code(
        "What an engine keeps of the query as it is written, operator by operator.",
        "Where it grows although the query is bounded, write the query as the engine can keep it.",
        "the engine's rules, docs/engines.md",
        "the engine's rules, docs/engines.md",
    ),
    "engine-refused": Code(
        "The engine refuses an operator of the query as it is written, with its own error.",
        "Write the query in another form or for another output mode, or run it on another engine.",
        "the engine's rules, docs/engines.md",
        "the engine's rules, docs/engines.md",
    ),
    "unsatisfiable": Code(
        "The conditions contradict each other, so the answer is always empty.",
        "Read the conditions again: this is seldom meant.",
        "an unsatisfiable query needs no state",
        "an unsatisfiable query needs no state",
    ),
    "unbounded-projection": Code(
        "A projected column that must be remembered has infinitely many values.",
        "Bound the column, declare its domain, or do not project it; over one stream, remove DISTINCT.",
        f"{_A}, condition (a): projected columns are bounded, but for those of the stream that comes last",
        f"{_B}, condition (P): projected columns are bounded",
    ),
    "unbounded-equality": Code(
        "An equality joins two streams on columns with infinitely many values.",
        "Bound either column, declare its domain, or join within a window of time.",
        f"{_A}, condition (b): no equality links unbounded columns of two streams",
        f"{_B}, condition (E): no equality links unbounded columns of two streams",
    ),
    "unbounded-inequality": Code(
        "Pairs are counted over an inequality between two streams that constants do not decide.",
        "Bound either column, use DISTINCT if counts do not matter, or join within a window of time.",
        f"{_A}, condition (c): no inequality links unbounded columns of two streams",
        f"{_B}: inequalities alone are no obstacle",
    ),
    "unbounded-disequality": Code(
        "Pairs are counted over <> between two streams on columns with infinitely many values.",
        "Bound either column, use DISTINCT if counts do not matter, or join within a window of time.",
        f"{_A}, condition (c): no <> links unbounded columns of two streams",
        f"{_B}: <> alone is no obstacle",
    ),
    "two-pending-groups": Code(
        "Two comparisons wait for the tuples of one stream, and no single extremum serves both.",
        "Bound a column of either comparison, or join within a window of time.",
        f"{_A} has no such condition",
        f"{_B}, condition (N): what is still to be compared with later tuples is of one group",
    ),
    "unbounded-list": Code(
        "A list holds all rows of a group that never closes.",
        "Put a time of the last stream among the keys, or show a number or an extremum instead.",
        "a list grows with every row, unless its group ends",
        "a list grows with every row, unless its group ends",
    ),
    "unbounded-versions": Code(
        "The latest row of each key is kept, and the keys have infinitely many values.",
        "Bound the key, declare its domain, or look back a limited time only.",
        "as-of joins and changing tables keep a row for each key",
        "as-of joins and changing tables keep a row for each key",
    ),
    "unbounded-waiting": Code(
        "Rows wait for a match of a sub-query, and a column of each must be kept to find it.",
        "Bound the column, or look for a match within a window of time.",
        "Theorem S, conditions (D1) to (D3): nothing unbounded is compared with what may still come",
        "Theorem S: under DISTINCT, EXISTS is a join",
    ),
    "self-join": Code(
        "DISTINCT over a stream with itself is obstructed, but one occurrence may be redundant.",
        "Remove an occurrence that adds nothing, or bound the column that is named.",
        f"{_A} speaks of self-joins as of other joins",
        "DISTINCT self-joins are decided after folding (Arasu et al., Appendix C), and open beyond it",
    ),
    "open-question": Code(
        "No theorem says whether this is bounded; the message names what is not known.",
        "Bound the columns that are named, or put a window of time around what is compared.",
        f"{_A} has no such case; groups, sub-queries and ranks have some",
        f"{_B}, condition (G)",
    ),
    "disjunction": Code(
        "An alternative of OR is not bounded alone, but another may hold with it.",
        "Bound the alternative that is named, or make the alternatives exclude each other.",
        "bounded parts make a query bounded (Arasu et al., Theorem 4.3), and conversely if none overlap",
        "bounded parts make a query bounded (Arasu et al., Theorem 5.3), and conversely if none overlap",
    ),
    "union-member": Code(
        "A SELECT of a union is not bounded alone, but another may answer for it.",
        "Bound the SELECT that is named, or check it alone.",
        "bounded members make a union bounded, and conversely if they share no answers",
        "bounded members make a union bounded, and conversely if they share no answers",
    ),
    "derived-column": Code(
        "An expression is not bounded as a column of its own, but depends on other columns of the query.",
        "Bound the column that is named, or join within a window of time.",
        "an expression is decided as a column, conversely where nothing else depends on its arguments",
        "an expression is decided as a column, conversely where nothing else depends on its arguments",
    ),
    "search-limit": Code(
        "The conditions leave more cases than are searched, or than there is time for.",
        "Use fewer <>, IN and OR conditions, or shorter lists; or give check more --timeout SECONDS.",
        "a named limit: conditions can encode graph colouring",
        "a named limit: conditions can encode graph colouring",
    ),
    "not-applicable": Code(
        "The chosen criterion does not speak of this query.",
        "Use --criterion exact.",
        "the class of queries that the criterion is printed for",
        "the class of queries that the criterion is printed for",
    ),
    "condition-violated": Code(
        "A condition of the criterion as printed fails; the message names it.",
        "Use --criterion exact for reasons with their place, and for suggestions.",
        _PRINTED,
        _PRINTED,
    ),
    "conditions-hold": Code(
        "Every condition of the criterion as printed holds in every branch.",
        "",
        _PRINTED,
        _PRINTED,
    ),
}
