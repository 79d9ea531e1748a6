"""Replay: it counts what is told apart, and a witness that proves nothing is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streambound.certificate.slots import Slot
from streambound.certificate.verification import REPLAY_LIMIT, Witness, verify
from streambound.certificate.witness import witness
from streambound.errors import DataError, WitnessError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Query
from streambound.query.parse import parse, statement

CATALOG = catalog_from_mapping(
    {"S": {"A": "int"}, "T": {"A": "int"}, "U": {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}}
)


def query(sql: str) -> Query:
    return parse(sql, CATALOG)


def test_a_bounded_query_does_not_tell_the_prefixes_of_another_apart() -> None:
    found = witness(query("SELECT 1 FROM S, T WHERE S.A = T.A"), 3)
    # Whether any tuple of S has arrived, no more.
    assert verify(statement("SELECT DISTINCT 1 FROM S, T", CATALOG), found).told_apart == 2
    # How many have.
    assert verify(statement("SELECT 1 FROM S, T", CATALOG), found).told_apart == 4


def test_slots_that_repeat_each_other_are_not_told_apart() -> None:
    sql = "SELECT DISTINCT S.A FROM S"
    found = witness(query(sql), 2)
    again = replace(found, slots=(found.slots[0], found.slots[0]))
    assert verify(statement(sql, CATALOG), found).holds
    assert verify(statement(sql, CATALOG), again).told_apart == 2


def test_suffixes_are_needed() -> None:
    sql = "SELECT 1 FROM S, T WHERE S.A = T.A"
    found = witness(query(sql), 2)
    silent = replace(found, slots=tuple(replace(slot, suffix=()) for slot in found.slots))
    assert verify(statement(sql, CATALOG), silent).told_apart == 1


def test_only_answers_after_the_prefix_count() -> None:
    slots = tuple(Slot((), ({"stream": "S", "A": a},), ({"stream": "T", "A": 0},)) for a in (1, 2))
    assert verify(statement("SELECT S.A FROM S", CATALOG), Witness("q", slots)).told_apart == 1


def test_a_suffix_that_goes_back_in_time_is_no_input() -> None:
    late = ({"stream": "U", "A": 1, "ts": 9},)
    early = ({"stream": "U", "A": 1, "ts": 3},)
    with pytest.raises(DataError, match="comes after"):
        verify(statement("SELECT DISTINCT U.A FROM U", CATALOG), Witness("q", (Slot((), late, early),)))


def test_the_replay_limit_is_named() -> None:
    sql = "SELECT DISTINCT S.A FROM S"
    with pytest.raises(WitnessError, match=f"is {REPLAY_LIMIT + 1}"):
        verify(statement(sql, CATALOG), witness(query(sql), REPLAY_LIMIT + 1))
