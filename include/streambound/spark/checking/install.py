"""``streambound.spark.install``: every streaming query of a session is asked when it is started."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

from streambound.errors import PlanError, QueryError, meant
from streambound.query.column_types import shown
from streambound.spark.checking.check import Checked, Promises, asked
from streambound.spark.checking.plans import STARTED, of_spark

MODES = ("warn", "refuse")
_STARTS = ("start", "toTable")
_MODULES = ("pyspark.sql.streaming.readwriter", "pyspark.sql.connect.streaming.readwriter")
_ORIGINAL = "_streambound_original"


class StateWarning(UserWarning):
    """A query was started whose state can outgrow memory, or of which that is not known."""


@dataclass(frozen=True)
class _Rule:
    on: str
    promises: Promises


_rules: dict[str, _Rule] = {}


@dataclass(frozen=True)
class Installed:
    """What ``install`` has put in place; ``remove`` takes it back, as does leaving a ``with`` block."""

    session: str

    def remove(self) -> None:
        """Queries of the session start unasked again."""
        _rules.pop(self.session, None)
        if not _rules:
            for writer in _writers():
                for name in _STARTS:
                    method = getattr(writer, name)
                    setattr(writer, name, getattr(method, _ORIGINAL, method))

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def install(session: Any, on: str = "warn", promises: Promises | None = None) -> Installed:
    """Have every streaming query of a session checked when it is started, by ``start`` or ``toTable``.

    Called again it only changes how. What is bounded starts in silence.

    Args:
        session: a ``SparkSession``, classic or Connect.
        on: ``refuse``: an unbounded query is not started, a ``PlanError`` says why; one that is not decided
            starts with a ``StateWarning``. ``warn``: both start with a warning.
        promises: as for ``check``, of the streams of all queries.

    Raises:
        QueryError: ``session`` is none, or ``on`` is no such word.
    """
    if on not in MODES:
        raise QueryError(f"on is {shown(on)}", accepted=", ".join(MODES), fix=meant(str(on), MODES))
    key = _key(session)
    if key is None:
        raise QueryError(f"found {shown(session)}", accepted="a SparkSession, classic or Connect")
    _rules[key] = _Rule(on, promises or {})
    for writer in _writers():
        for name in _STARTS:
            if not hasattr(getattr(writer, name), _ORIGINAL):
                setattr(writer, name, _asking(getattr(writer, name)))
    return Installed(key)


def _writers() -> Iterator[Any]:
    """The classes whose queries are asked: of what is loaded, since no session is of another."""
    yield from (sys.modules[name].DataStreamWriter for name in _MODULES if name in sys.modules)


def _key(session: Any) -> str | None:
    if of_spark(session, "sql.connect.session", "SparkSession"):
        return str(session.session_id)
    if of_spark(session, "sql.session", "SparkSession"):
        return str(session._jsparkSession.sessionUUID())
    return None


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def start(writer: Any, *args: Any, **options: Any) -> Any:
        frame, session = _frame(writer)
        rule = _rules.get(_key(session) or "")
        if rule is None:
            return original(writer, *args, **options)
        given = inspect.signature(original).bind_partial(writer, *args, **options).arguments
        _judge(frame, given.get("queryName") or _name(writer), rule)
        query = original(writer, *args, **options)
        if of_spark(query, "sql.connect.streaming.query", "StreamingQuery"):
            setattr(query, STARTED, frame)
        return query

    setattr(start, _ORIGINAL, original)
    return start


def _frame(writer: Any) -> tuple[Any, Any]:
    """The DataFrame that a writer is of, and its session."""
    if not hasattr(writer, "_write_stream"):
        return writer._df, writer._df.sparkSession
    from pyspark.sql.connect.dataframe import DataFrame

    return DataFrame(writer._write_stream._child, writer._session), writer._session


def _name(writer: Any) -> str | None:
    name = getattr(getattr(writer, "_write_proto", None), "query_name", None)
    return str(name) if name else None


def _judge(frame: Any, name: str | None, rule: _Rule) -> None:
    try:
        checked = asked(frame, name, rule.promises, suggest=True)
    except Exception as error:
        # Whatever it is, it must not keep the query from starting.
        warnings.warn(f"not checked: {error}", StateWarning, stacklevel=4)
        return
    if checked.verdict == "bounded":
        return
    if checked.verdict == "unbounded" and rule.on == "refuse":
        raise PlanError(_refusal(checked), subject=checked.query)
    warnings.warn(str(checked), StateWarning, stacklevel=4)


def _refusal(checked: Checked) -> str:
    return f"its state can outgrow memory, so it was not started\n{checked}"
