"""``live`` of a catalog entry: what it may say, and one clear error for what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from streambound.errors import CatalogError
from streambound.query.catalog import catalog_from_mapping
from streambound.query.model import Live, Payload

COLUMNS = {"at": "timestamp", "user_id": "bigint"}


def live(body: Any, **more: Any) -> Live | None:
    described = {"columns": COLUMNS, "timestamp": "at", "live": body, **more}
    return catalog_from_mapping({"orders": described}).relations[0].live


def test_what_it_says_is_kept() -> None:
    found = live(
        {
            "format": "kafka",
            "options": {"subscribe": "orders", "failOnDataLoss": False, "maxOffsetsPerTrigger": 100},
            "value": {"format": "avro", "schema": "orders.avsc", "schema_id": 7, "options": {"mode": "x"}},
            "columns": {"user_id": "value.user.id"},
            "epoch": "millisecond",
            "lateness": "1.5  minutes",
            "late": "drop",
            "malformed": "drop",
        }
    )
    assert found == Live(
        "kafka",
        (("subscribe", "orders"), ("failOnDataLoss", "false"), ("maxOffsetsPerTrigger", "100")),
        Payload("avro", "value", (("mode", "x"),), "orders.avsc", 7),
        (("user_id", "value.user.id"),),
        "millisecond",
        90_000_000,
        "drop",
        "drop",
    )


def test_the_lateness_is_that_of_the_stream_where_it_says_none() -> None:
    rate = {"format": "rate"}
    assert live(rate) == Live("rate")
    allowed = live(rate, allowed_lateness="2 days")
    assert allowed is not None and allowed.lateness == 2 * 86_400_000_000
    own = live({**rate, "lateness": "0 seconds"}, allowed_lateness="2 days")
    assert own is not None and own.lateness == 0
    ticks = catalog_from_mapping(
        {"S": {"columns": {"at": "int"}, "timestamp": "at", "live": {**rate, "lateness": 5}}}
    )
    assert ticks.relations[0].live == Live("rate", lateness=5)
    assert live(None, allowed_lateness="2 days") is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("kafka", "live is 'kafka'; accepted: a mapping with format and options"),
        ({"formt": "kafka"}, "unknown key formt; accepted: columns, epoch, format"),
        ({}, "the format of live is null; accepted: the name of a source of Spark's"),
        ({"format": "a b"}, "the format of live is 'a b'"),
        ({"format": "rate", "options": ["a"]}, "options of live: found ['a']; accepted: a mapping"),
        ({"format": "rate", "options": {"a": [1]}}, "options of live: found a with [1]"),
        ({"format": "rate", "options": {1: "a"}}, "options of live: found 1"),
        ({"format": "kafka", "value": {"format": "xml"}}, "format is 'xml'; accepted: json, avro"),
        ({"format": "kafka", "value": {"format": "avro"}}, "schema is null; accepted: for avro a file"),
        ({"format": "kafka", "value": {"format": "json", "schema": "a"}}, "schema is 'a'"),
        ({"format": "kafka", "value": {"format": "json", "schema_id": -1}}, "schema_id is -1"),
        ({"format": "kafka", "value": {"format": "json", "column": "a..b"}}, "column is 'a..b'"),
        ({"format": "rate", "columns": {"usr_id": "a"}}, "unknown key usr_id; accepted: at, user_id"),
        ({"format": "rate", "columns": {"user_id": 5}}, "user_id is 5; accepted: where the source has it"),
        ({"format": "rate", "epoch": "minute"}, "epoch of live is 'minute'; accepted: second, millisecond"),
        ({"format": "rate", "late": "keep"}, "late of live is 'keep'; accepted: refuse, drop"),
        ({"format": "rate", "malformed": True}, "malformed of live is true; accepted: refuse, drop"),
        ({"format": "rate", "lateness": 5}, "lateness of live is 5; accepted: a number of seconds"),
        ({"format": "rate", "lateness": "-5 minutes"}, "lateness of live is '-5 minutes'"),
    ],
)
def test_what_it_may_not_say_is_one_error(body: Any, said: str) -> None:
    with pytest.raises(CatalogError) as told:
        live(body)
    assert "stream orders" in str(told.value)
    assert said in str(told.value).replace("\n  ", "; "), str(told.value)
