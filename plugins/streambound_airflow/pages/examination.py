"""Deciding and drawing a query for a page within a time, by processes that are ended when it is over."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from streambound.examination.examiner import Examiner, NotDecided, Unanswered
from streambound_airflow.pages.guard import SQL_BYTES, too_large
from streambound_airflow.pages.problems import Problem, Refused
from streambound_airflow.pages.sources import catalog_file, dialect_of, mentioned

# Seconds that a query may take to be decided and drawn; that a request waits for its turn.
SECONDS, PATIENCE = 10.0, 10.0
# Processes, each of which decides one query at a time.
PROCESSES = 2
# Answers kept: a query that has not changed is not decided again to be shown.
KEPT = 256
# Seconds that a query which could not be decided is not tried again: a page that is loaded again and again
# must not hold the processes, and a machine that was busy may have time later.
GIVEN_UP = 300.0
# Asked of a process before anybody is: its answer has all that a page draws.
FIRST: Mapping[str, Any] = {
    "sql": "SELECT DISTINCT S.A FROM S, T WHERE S.A = T.A",
    "name": "first",
    "criterion": "exact",
    "catalog": {"S": {"A": "int"}, "T": {"A": "int"}},
}
# Of a text, in the log.
LOGGED = 2_000
# Requests that are decided or wait for it: each holds one of the 40 threads that all of Airflow's API shares.
WAITING = 8
# The problems of a query that a process was given all its time, or all its memory, for.
UNDECIDED = ("too-slow", "too-complex")
log = logging.getLogger(__name__)


class Examiners:
    """The processes, and the answers that they gave last."""

    def __init__(self, number: int = PROCESSES, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._number = number
        self._free: queue.LifoQueue[Examiner] = queue.LifoQueue()
        for _ in range(number):
            self._free.put(Examiner())
        self._kept: OrderedDict[Any, dict[str, Any]] = OrderedDict()
        # Why a query could not be decided, and until when that holds.
        self._given_up: OrderedDict[Any, tuple[Problem, float]] = OrderedDict()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(WAITING)

    def examine(
        self,
        sql: str,
        name: str = "query",
        criterion: str = "exact",
        *,
        suggest: bool = True,
        engine: str | None = None,
        dialect: str | None = None,
    ) -> dict[str, Any]:
        """The verdict on a query against the registry's catalog, and ``shown``: the same as markup.

        Args:
            dialect: of the text, whatever is said of it otherwise.

        Raises:
            Refused: the query is too large, or was not decided in time, now or a while ago; or nobody is free
                to decide it, or it met a defect of ours.
        """
        _refuse_text(sql)
        catalog, dialect = catalog_file(), dialect or dialect_of(name, sql)
        queries = mentioned(sql)
        key = (sql, name, criterion, suggest, engine, dialect, str(catalog), _content(catalog), queries)
        cached = self._cached_answer(key)
        if cached is not None:
            return cached
        question = {"sql": sql, "name": name, "criterion": criterion, "catalog": str(catalog)}
        question["dialect"] = dialect
        question["queries"] = list(map(astuple, queries))
        return self._asked(key, {**question, "suggest": suggest, "engine": engine})

    def _cached_answer(self, key: tuple[Any, ...]) -> dict[str, Any] | None:
        """The answer that is kept.

        Raises:
            Refused: the query could not be decided a while ago.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            problem, until = self._given_up.get(self._text(key), (None, 0.0))
        if problem is not None and time.monotonic() < until:
            body = problem.model_dump()
            raise Refused(body.pop("status"), body.pop("message"), **body)
        return None

    def _text(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """What it depends on whether a query can be decided: not its name, but the time for it."""
        return (self.seconds, key[0], *key[2:])

    def _keep(self, kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        with self._lock:
            kept[key] = value
            kept.move_to_end(key)
            while len(kept) > KEPT:
                kept.popitem(last=False)

    def start(self) -> None:
        """Start the processes that are at rest, and ask each what makes it load all it needs, so that the
        first who asks does not wait for that."""
        idle = self._idle()
        try:
            for examiner in idle:
                examiner.start()
            for examiner in idle:
                examiner.ask(FIRST, self.seconds)
        except (OSError, NotDecided, Unanswered) as error:
            log.warning("the processes that decide queries are not ready: %s", error)
        finally:
            for examiner in idle:
                self._free.put(examiner)

    def end(self) -> None:
        """End all processes that are at rest."""
        for examiner in self._idle():
            examiner.end()
            self._free.put(examiner)

    def _idle(self) -> list[Examiner]:
        idle = []
        with contextlib.suppress(queue.Empty):
            while True:
                idle.append(self._free.get_nowait())
        return idle

    def _asked(self, key: tuple[Any, ...], question: Mapping[str, Any]) -> dict[str, Any]:
        busy = Refused(503, "too many queries are being decided at once", fix="try again")
        if not self._slots.acquire(blocking=False):
            raise busy
        try:
            examiner = self._free.get(timeout=PATIENCE)
            try:
                # Another request may have had the same question meanwhile.
                cached = self._cached_answer(key)
                if cached is not None:
                    return cached
                answer = _answered(_asked(examiner, question, self.seconds), question)
                self._keep(self._kept, key, answer)
                return answer
            except Refused as refused:
                if refused.problem.code in UNDECIDED:
                    until = time.monotonic() + GIVEN_UP
                    self._keep(self._given_up, self._text(key), (refused.problem, until))
                raise
            finally:
                self._free.put(examiner)
        except queue.Empty:
            raise busy from None
        finally:
            self._slots.release()


def _content(path: Path) -> bytes:
    """What is in a file, whose time tells no two changes of a moment apart; nothing if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _asked(examiner: Examiner, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What a process found.

    Raises:
        Refused: it could not decide the query, or there is no process.
    """
    try:
        return examiner.ask(question, seconds)
    except NotDecided as error:
        if error.code == "too-complex":
            raise Refused(422, error.message, code=error.code, fix="make it smaller") from None
        raise Refused(
            408,
            error.message,
            accepted="queries with fewer relations, branches and columns",
            fix="check it with `streambound check FILE.sql --timeout SECONDS`",
        ) from None
    except Unanswered as error:
        raise Refused(503, str(error), fix="try again") from None


def _answered(response: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
    """What a process found.

    Raises:
        Refused: the query could not be decided; or by a defect of ours, which is logged.
    """
    defect, refused = response.get("defect"), response.get("refused")
    if defect is not None:
        text = repr(question["sql"][:LOGGED])
        log.error("deciding %s by %s failed\n%s", text, question["criterion"], defect["traceback"])
        raise Refused(
            500,
            f"this is a defect of streambound, not of the query: {defect['error']} while it was decided",
            code="internal-error",
            fix="report it with the query and the traceback, which is in the log of Airflow's API server",
        )
    if refused is not None:
        status = 503 if refused.get("exit_code", 2) >= 3 else 422
        raise Refused(status, str(refused["message"]), code=str(refused["code"]))
    answer: dict[str, Any] = response["answer"]
    return answer


def _refuse_text(sql: str) -> None:
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise Refused(422, "sql: half of a surrogate pair is no text", accepted="Unicode text") from None
    if size > SQL_BYTES:
        raise too_large(size)


EXAMINERS = Examiners()
