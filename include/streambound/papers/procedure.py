"""The steps of Schiff & Özçep on a query, as text: normal form, preprocessing, conditions.

Their sections "Preprocessing of Queries" (four steps) and "Criteria" (Theorems 1 and 2), on the query that
the user wrote. The theorems are those that are printed; docs/theory.md says where to read them with care.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from streambound.boundedness.criterion.verdict import Outcome
from streambound.constraints.closure import Difference
from streambound.constraints.search import SearchLimit
from streambound.constraints.system import system
from streambound.papers.branches import BRANCH_LIMIT, BranchLimit
from streambound.papers.lto import branches, broken, split_comparisons
from streambound.papers.references import References
from streambound.papers.schiff_ozcep import applies, misshapen, schiff_ozcep, theorem
from streambound.papers.splits import SPLIT_LIMIT, Split, time_splits
from streambound.query.model import Attribute, Op, Query, RelationKind

# What is shown in full; a query can have thousands of each.
SPLITS_SHOWN, BRANCHES_SHOWN = 4, 3


def procedure_text(query: Query) -> str:
    """The steps on a conjunctive query."""
    lines = [f"Steps of Schiff & Özçep, {_theorem(query)}", *_normal_form(query)]
    if not applies(query):
        lines.append(
            "   The criterion does not apply: offsets, projected timestamps and repeated streams under"
        )
        lines.append("   DISTINCT are outside Definition 4.")
        return "\n".join(lines)
    try:
        lines.extend(_preprocessing(query))
    except (BranchLimit, SearchLimit):
        lines.append(f"   Past a named limit ({SPLIT_LIMIT:,} splits of time conditions): not shown further.")
    verdict = schiff_ozcep(query)
    lines.append(f"Result: {_outcome(verdict.outcome)}; {verdict.reasons[0].message}")
    return "\n".join(lines)


def _theorem(query: Query) -> str:
    number, kind = (2, "eliminating") if theorem(query) == "schiff_ozcep_2" else (1, "preserving")
    return f"Theorem {number} (duplicate-{kind})"


def _outcome(outcome: Outcome) -> str:
    return "the theorem is silent" if outcome is Outcome.NO_VERDICT else outcome.value


def _normal_form(query: Query) -> Iterator[str]:
    sign = "distinct" if query.ring.idempotent else "all"
    yield "0. Normal form (Definition 4)"
    yield f"   project ({sign}): {', '.join(str(output.term) for output in query.select)}"
    for kind, what in (
        (RelationKind.STREAM, "infinite streams"),
        (RelationKind.FINITE, "finite streams"),
        (RelationKind.STATIC, "static relations"),
    ):
        names = [o.alias for o in query.occurrences if o.relation.kind is kind]
        if names:
            yield f"   {what}: {', '.join(names)}"
    yield f"   select: {' and '.join(map(str, query.where)) or 'everything'}"


def _preprocessing(query: Query) -> Iterator[str]:
    facts = system(query)
    if facts.closure is None or not facts.satisfiable():
        yield "   The conditions contradict each other: nothing is left to preprocess."
        return
    splits = list(time_splits(facts))
    stamps = [a for a in query.joins if query.is_timestamp(a.left) and a.op in (Op.NE, Op.LE, Op.GE)]
    yield "1. Split <> and <= into disjoint queries"
    columns = split_comparisons(splits[0]) if splits else []
    yield f"   between timestamps: {', '.join(map(str, stamps)) or 'none'}"
    yield f"   between columns of two streams: {', '.join(map(str, columns)) or 'none'}"
    yield f"   ways of splitting time that differ in what follows: {len(splits):,}"
    for number, split in enumerate(splits[:SPLITS_SHOWN], start=1):
        yield from _split_lines(number, split)
    if len(splits) > SPLITS_SHOWN:
        yield f"... and {len(splits) - SPLITS_SHOWN:,} more ways of splitting time."


def _split_lines(number: int, split: Split) -> Iterator[str]:
    yield f"Query {number}: {_made(split.made) or 'nothing was split'}"
    yield f"2. Merge streams of equal timestamps: {_merged(split) or 'none are equal'}"
    ended = sorted(split.time.finite)
    yield f"3. Streams whose timestamp is bounded above become finite: {', '.join(ended) or 'none'}"
    yield "   forest of time, a later stream above the earlier ones:"
    yield from _forest(split)
    if shape := misshapen(split):
        yield f"   {shape}"
    yield from _branches(split)


def _made(chosen: Sequence[Difference]) -> str:
    """The comparisons of timestamps that a split chose."""
    strict = [f"{d.high} < {d.low}" for d in chosen if d.strict]
    pairs = {(d.high, d.low) for d in chosen if not d.strict}
    equal = [f"{d.low} = {d.high}" for d in chosen if (d.low, d.high) in pairs and str(d.low) < str(d.high)]
    return " and ".join(dict.fromkeys((*strict, *equal)))


def _merged(split: Split) -> str:
    groups: dict[str, list[str]] = {}
    for alias, name in split.merged.items():
        groups.setdefault(name, []).append(alias)
    return ", ".join(" = ".join(group) for group in groups.values() if len(group) > 1)


def _forest(split: Split) -> Iterator[str]:
    parents = split.forest.parents
    pending = [(name, 0) for name in sorted(parents, reverse=True) if not parents[name]]
    while pending:
        name, depth = pending.pop()
        yield f"     {'  ' * depth}{name}"
        children = (n for n in sorted(parents, reverse=True) if name in parents[n])
        pending.extend((child, depth + 1) for child in children)


def _branches(split: Split) -> Iterator[str]:
    """Step 4: the number of LTO queries, first of all the ones in which a condition fails."""
    query = split.facts.query
    if len(set(split.merged.values())) <= 1 and not query.ring.idempotent:
        yield "4. One infinite stream and duplicates preserved: the theorem asks for nothing."
        return
    orders, shown = list[References](), 0
    past = ""
    try:
        for refs in branches(split):
            orders.append(refs)
    except BranchLimit:
        past = f" in the first {BRANCH_LIMIT:,} steps"
    failing = [refs for refs in orders if broken(refs, split.forest)]
    yield f"4. Locally totally ordered queries{past}: {len(orders):,}; a condition fails in {len(failing):,}"
    for refs in islice((*failing, *(r for r in orders if r not in failing)), BRANCHES_SHOWN):
        shown += 1
        yield from _branch_lines(refs, split)
    if len(orders) > shown:
        yield f"   ... and {len(orders) - shown:,} more."


def _branch_lines(refs: References, split: Split) -> Iterator[str]:
    yield f"   - where {branch_text(refs) or 'nothing is fixed'}:"
    if redundant := _redundant(refs):
        yield f"       redundant: {', '.join(redundant)}"
    for name in dict.fromkeys(split.merged.values()):
        above, under = (_set(side) for side in (refs.max_ref(name), refs.min_ref(name)))
        yield f"       MaxRef({name}) = {above}, MinRef({name}) = {under}"
    yield f"       {broken(refs, split.forest) or 'every condition holds'}"


def branch_text(refs: References) -> str:
    """Where a branch puts each column of an infinite stream, and how it orders those of one stream."""
    query = refs.query
    local_columns = [a for a in query.mentioned if a.occurrence in refs.streams and not query.is_timestamp(a)]
    ranges = [text for a in local_columns if (text := _range_text(refs, a))]
    free = [a for a in local_columns if not refs.bounded(a)]
    orders = [
        f"{low} {'=' if refs.branch.equates(low, high) else '<'} {high}"
        for low in free
        for high in free
        if low != high and _ordered(refs, low, high)
    ]
    return ", ".join((*ranges, *orders))


def _ordered(refs: References, low: Attribute, high: Attribute) -> bool:
    if refs.space.family(low) is not refs.space.family(high) or refs.stream(low) != refs.stream(high):
        return False
    equal = refs.branch.equates(low, high)
    return refs.branch.orders(low, high) and (not equal or low < high)


def _range_text(refs: References, attribute: Attribute) -> str:
    family, kind = refs.space.family(attribute), refs.query.type_of(attribute)
    ends = []
    for bound, sign in ((refs.branch.lower(attribute), ">"), (refs.branch.upper(attribute), "<")):
        if bound is not None:
            number, strict = bound
            value = kind.text(refs.space.value(family, int(number)))
            ends.append(f"{attribute} {sign}{'' if strict else '='} {value}")
    return " and ".join(ends)


def _redundant(refs: References) -> list[str]:
    query = refs.query
    redundant = []
    for atom in query.joins:
        if query.is_timestamp(atom.left):
            continue
        sides = {refs.streams.get(a.occurrence) for a in atom.attributes}
        if len(sides) < 2 or None in sides or atom.op in (Op.EQ, Op.NE):
            continue
        low, high = atom.attributes if atom.op in (Op.LT, Op.LE) else atom.attributes[::-1]
        if refs.bounded(low) or refs.bounded(high) or refs.redundant(low, high):
            redundant.append(str(atom))
    return redundant


def _set(attributes: list[Attribute]) -> str:
    return "{" + ", ".join(map(str, attributes)) + "}"
