"""What waits does not depend on how rows were cut into files, nor on the order of files."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streambound.live.waiting import Waiting, merged, waiting_of
from streambound.query.column_types import NAN, parse_type
from streambound.tasks.relations import load_relation, relation_of, rows_of

KINDS = {"S": [parse_type(name) for name in ("int", "bigint", "double", "decimal(5,1)", "string")]}
ROWS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from([None, 0, 10, 9, -1]),
        st.sampled_from([None, NAN, 0.5, -1.0]),
        st.sampled_from([None, 2, Fraction(1, 2)]),
        st.sampled_from([None, "", "é", '"']),
        st.integers(1, 3),
    ),
    max_size=12,
)


def put(rows: list[tuple[Any, ...]], cuts: int, chance: Random, latest: int | None) -> Waiting:
    found = Waiting({"S": None})
    mixed = chance.sample(rows, len(rows))
    for number in range(cuts):
        found.put("S", relation_of(mixed[number::cuts], KINDS["S"]))
    found.show("S", latest)
    return found


@given(
    ROWS, st.integers(1, 4), st.randoms(use_true_random=False), st.none() | st.integers(0, 7), st.booleans()
)
def test_any_cut_into_files(
    rows: list[tuple[Any, ...]], cuts: int, chance: Random, latest: int | None, ended: bool
) -> None:
    one, other = put(rows, 1, chance, latest), put(rows, cuts, chance, latest)
    assert one.count == other.count == len({row[:-1] for row in rows})
    assert dict(one.entries()) == dict(other.entries())
    again = waiting_of({"S": latest}, dict(other.entries()), {}, KINDS)
    complete = one.complete(ended)
    assert complete == other.complete(ended) == again.complete(ended)
    done = [row for row in rows if ended or (latest is not None and row[0] < latest)]
    moments, given_away = complete
    assert moments == sorted({row[0] for row in done})
    wanted = Counter[Any]()
    for *row, count in done:
        wanted[tuple(row)] += count
    found = {
        tuple(row): count for data in given_away.values() for *row, count in rows_of(load_relation(data))
    }
    assert found == wanted
    assert dict(one.entries()) == dict(other.entries()) == dict(again.entries())
    assert sum(int(count) for count in dict(one.entries()).values()) == sum(r[-1] for r in rows) - sum(
        found.values()
    )


def test_more_rows_of_a_timestamp_than_promised() -> None:
    waits = Waiting({"S": None})
    row = (None, None, None, None)
    assert waits.put("S", relation_of([(5, *row, 2), (4, *row, 2)], KINDS["S"]), 2) is None
    assert waits.put("S", relation_of([(5, 1, *row[1:], 1), (6, *row, 9)], KINDS["S"]), 2) == 5


def test_equal_tuples_are_one() -> None:
    table = relation_of([(5, 1, 0.0, 1, "x", 1), (5, 1, 0.0, 1, "x", 2)], KINDS["S"])
    assert list(rows_of(merged(table))) == [(5, 1, 0.0, 1, "x", 3)]
