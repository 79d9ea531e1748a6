"""Self-joins under DISTINCT: occurrences of a stream that add nothing (Arasu et al., Appendix C).

Occurrence j folds onto occurrence k of the same stream if the query's own conditions with j replaced
by k already follow from the query, and the projection agrees: then wherever there is a match, there
is one in which k's tuple plays both parts. Definition C.1 also asks that both have the same local
order, which is stricter than needed: ``SELECT DISTINCT 1 FROM S x, S y WHERE x.B = y.B AND x.A > 0``
only asks for a tuple with A > 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streambound.constraints.closure import Difference, at_least, at_most
from streambound.constraints.search import Disjunction
from streambound.constraints.system import System, constraints_of, shifted, system, unconstrained
from streambound.query.model import (
    Atom,
    Attribute,
    Filter,
    Join,
    Membership,
    Never,
    NullTest,
    Op,
    Query,
    Relation,
)
from streambound.query.renaming import renamed, renamed_atom


def folded(query: Query) -> Query:
    """The duplicate-eliminating query without occurrences that fold; others as they are."""
    if not query.ring.idempotent or not any(_pairs(query)):
        return query
    query = _alike(query)
    # What is implied between the occurrences that are left is what the whole query implies: a tuple that
    # plays both parts is one match. From what contradicts itself everything follows: nothing may be left out.
    facts = system(query)
    if not facts.satisfiable():
        return query
    while (pair := next((p for p in _pairs(query) if _folds(facts, query, *p)), None)) is not None:
        query = _substituted(query, *pair)
    return query


def _alike(query: Query) -> Query:
    """The query whose occurrences of one stream all have what is computed of the columns of any."""
    relations: dict[str, Relation] = {}
    for occurrence in query.occurrences:
        relations[occurrence.relation.name] = relations.get(
            occurrence.relation.name, occurrence.relation
        ).with_computed(occurrence.relation)
    occurrences = (
        replace(o, relation=o.relation.with_computed(relations[o.relation.name])) for o in query.occurrences
    )
    return replace(query, occurrences=tuple(occurrences))


def _pairs(query: Query) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    for occurrence in query.occurrences:
        by_name.setdefault(occurrence.relation.name, []).append(occurrence.alias)
    for item in query.occurrences:
        yield from ((item.alias, alias) for alias in by_name[item.relation.name] if alias != item.alias)


def _folds(facts: System, query: Query, gone: str, kept: str) -> bool:
    columns = {column.name for column in query.occurrence(kept).relation.columns}
    for atom in query.where:
        if not any(a.occurrence == gone for a in atom.attributes):
            continue
        if any(a.occurrence == gone and a.column not in columns for a in atom.attributes):
            # It is computed of one occurrence alone.
            return False
        moved = renamed_atom(atom, {gone: kept})
        if not entailed(facts, moved):
            return False
    return all(_agrees(facts, a, gone, kept) for a in query.projected if a.occurrence == gone)


def _agrees(facts: System, attribute: Attribute, gone: str, kept: str) -> bool:
    image = renamed(attribute, {gone: kept})
    if image not in facts.query.mentioned:
        return False
    return all(not facts.satisfiable(shifted(attribute, op, image, 0)) for op in (Op.LT, Op.GT))


def _substituted(query: Query, gone: str, kept: str) -> Query:
    atoms = (renamed_atom(a, {gone: kept}) for a in query.where)
    # Between the two timestamps, now one, whatever was asked follows.
    left = (
        a for a in atoms if not (isinstance(a, Join) and a.left == a.right and query.is_timestamp(a.left))
    )
    return replace(
        query,
        select=tuple(replace(o, term=renamed(o.term, {gone: kept})) for o in query.select),
        occurrences=tuple(o for o in query.occurrences if o.alias != gone),
        where=tuple(dict.fromkeys(left)),
    )


def entailed(facts: System, atom: Atom) -> bool:
    """Whether a condition follows: no way to break it is consistent with the query."""
    query = facts.query
    if isinstance(atom, NullTest) and atom.null:
        return atom.attribute in query.nulls
    if not all(a in query.present or not query.nullable(a) for a in atom.attributes):
        return False
    if isinstance(atom, NullTest):
        return True
    if not set(atom.attributes) <= set(query.mentioned):
        return False
    if isinstance(atom, Membership):
        family = facts.space.family(atom.attribute)
        points = [facts.space.embed(family, v.value) for v in atom.values if v.value is not None]
        outside: list[Disjunction] = [
            (at_most(atom.attribute, v, True), at_least(atom.attribute, v, True)) for v in points
        ]
        return not facts.satisfiable(disjunctions=outside)
    if isinstance(atom, Never):
        return False
    return not any(facts.satisfiable(broken) for broken in _broken(facts, atom))


def _broken(facts: System, atom: Filter | Join) -> list[list[Difference]]:
    """The ways in which a comparison can fail, as constraints."""
    opposite = {
        Op.LT: [Op.GE],
        Op.LE: [Op.GT],
        Op.GE: [Op.LT],
        Op.GT: [Op.LE],
        Op.NE: [Op.EQ],
        Op.EQ: [Op.LT, Op.GT],
    }[atom.op]
    if isinstance(atom, Filter):
        assert atom.constant.value is not None
        number = facts.space.embed(facts.space.family(atom.attribute), atom.constant.value)
        return [_against(atom.attribute, op, number) for op in opposite]
    return [shifted(atom.left, op, atom.right, atom.offset) for op in opposite]


def _against(attribute: Attribute, op: Op, number: int) -> list[Difference]:
    strict = op in (Op.LT, Op.GT)
    differences = []
    if op in (Op.LT, Op.LE, Op.EQ):
        differences.append(at_most(attribute, number, strict))
    if op in (Op.GT, Op.GE, Op.EQ):
        differences.append(at_least(attribute, number, strict))
    return differences


def filters_apart(query: Query) -> bool:
    """Whether no tuple passes the local filters of two occurrences of its stream."""
    return all(never_both(query, first, second) for first, second in _pairs(query))


def never_both(query: Query, first: str, second: str) -> bool:
    """Whether no tuple passes the local filters of both of two occurrences of a stream."""
    local = [a for a in query.where if {x.occurrence for x in a.attributes} in ({first}, {second})]
    merged = replace(query, where=tuple(renamed_atom(a, {first: second}) for a in local))
    facts = system(merged)
    constraints, disjunctions = constraints_of(facts.space, merged.where)
    closure = unconstrained(facts.space).assume(constraints)
    return closure is None or not System(merged, facts.space, closure, tuple(disjunctions)).satisfiable()
