"""What ``import streambound`` offers refuses an argument of another type by name, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import streambound
from streambound.errors import StreamboundError

CATALOG = streambound.catalog({name: {"columns": {"A": "int"}} for name in "ST"})
UNBOUNDED, FILTER = "SELECT S.A FROM S, T WHERE S.A = T.A", "SELECT S.A FROM S"


def caching(**more: Any) -> Any:
    return streambound.simulate(**{"values": [1, 2], "policies": ["lru"], "sizes": [1], **more})


def joining(**more: Any) -> Any:
    return caching(values=[[1, 2], [1, 2]], policies=["rand"], problem="joining", **more)


CALLS: dict[str, Callable[[Any], Any]] = {
    "source": streambound.catalog,
    "sql": lambda given: streambound.compile(given, CATALOG),
    "catalog": lambda given: streambound.compile(FILTER, given),
    "events": lambda given: streambound.evaluate(FILTER, CATALOG, given),
    "static": lambda given: streambound.evaluate(FILTER, CATALOG, [], given),
    "engine": lambda given: streambound.evaluate(FILTER, CATALOG, [], engine=given),
    "size": lambda given: streambound.witness(UNBOUNDED, CATALOG, given),
    "witness": lambda given: streambound.verify(UNBOUNDED, CATALOG, given),
    "values": lambda given: caching(values=given),
    "policies": lambda given: caching(policies=given),
    "sizes": lambda given: caching(sizes=given),
    "problem": lambda given: caching(problem=given),
    "model": lambda given: caching(model=given),
    "alpha": lambda given: caching(alpha=given),
    "window": lambda given: joining(window=given),
    "weights": lambda given: joining(weights=given),
}
# What no argument of these is.
NEVER = [object(), 1.5j, b"x"]
STRANGE = [*NEVER, 5, 1.5, "x", [None], {"a": 1}]


@pytest.mark.parametrize("argument", CALLS)
@pytest.mark.parametrize("given", NEVER, ids=lambda given: type(given).__name__)
def test_what_no_argument_is_is_refused(argument: str, given: Any) -> None:
    with pytest.raises(StreamboundError):
        CALLS[argument](given)


@pytest.mark.parametrize("argument", CALLS)
@pytest.mark.parametrize("given", STRANGE, ids=lambda given: type(given).__name__)
def test_no_other_error_than_our_own_is_met(argument: str, given: Any) -> None:
    try:
        CALLS[argument](given)
    except StreamboundError as error:
        assert error.message


def test_what_is_bounded_and_has_no_plan_is_not_called_unbounded() -> None:
    timed = {"columns": {"at": "timestamp", "A": "int"}, "timestamp": "at", "not_null": ["A"]}
    catalog = streambound.catalog(dict.fromkeys("STU", timed))
    inner = "SELECT 1 FROM T, U WHERE T.A <> U.A AND S.at < T.at"
    sql = f"SELECT 1 AS c FROM S WHERE EXISTS ({inner})"
    with pytest.raises(StreamboundError) as raised:
        streambound.evaluate(sql, catalog, [])
    said = "bounded, but it cannot be evaluated yet: no plan was found: its rows alone are unbounded: "
    assert raised.value.message.startswith(said)
    with pytest.raises(StreamboundError, match=r"^query: the query is unbounded: "):
        streambound.evaluate(UNBOUNDED, CATALOG, [])
