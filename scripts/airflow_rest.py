"""A small client of Airflow's REST API: enough to start runs and to follow them.

Standard library only, so that the demo and the tests see what any other tool would see.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

TRIES = 3
FINISHED = frozenset({"success", "failed"})

TaskStates = dict[str, str]
"""State of each task instance; a mapped one is keyed ``task_id[index]``."""


class AirflowApiError(Exception):
    """Airflow answered with an error, or did not get where it was expected to in time."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class AirflowClient:
    """One Airflow, one user. A token is fetched when first needed and when it has expired."""

    def __init__(self, url: str, username: str, password: str, timeout: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self.username = username
        self._password = password
        self._timeout = timeout
        self._token: str | None = None
        # An http proxy of the user's environment cannot reach this machine's loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def token(self) -> str:
        """A bearer token for this user.

        Raises:
            AirflowApiError: the name or the password is wrong.
        """
        answer = self._send(
            "POST", "/auth/token", {"username": self.username, "password": self._password}, token=None
        )
        return str(answer["access_token"])

    def request(
        self, method: str, path: str, body: object | None = None, params: dict[str, Any] | None = None
    ) -> Any:
        """Call ``/api/v2`` + ``path``; the decoded JSON, or None where there is no content."""
        query = f"?{urllib.parse.urlencode(params, doseq=True)}" if params else ""
        for tries_left in reversed(range(TRIES)):
            try:
                self._token = self._token or self.token()
                return self._send(method, f"/api/v2{path}{query}", body, token=self._token)
            except AirflowApiError as error:
                # A busy server is late now and then; asking again for what is there does no harm.
                late = error.status is None and method == "GET"
                if not tries_left or not (late or error.status == 401):
                    raise
                self._token = None if error.status == 401 else self._token
        raise AssertionError("the last try returns or raises")

    def health(self) -> dict[str, str]:
        """Status of each component, such as ``{"scheduler": "healthy", ...}``; empty when nobody answers."""
        try:
            answer = self._send("GET", "/api/v2/monitor/health", None, token=None)
        except (AirflowApiError, OSError):
            return {}
        return {name: str((part or {}).get("status")) for name, part in answer.items()}

    def ensure_pool(self, name: str, slots: int, description: str) -> None:
        """Create the pool; one that exists keeps the slots that its owner gave it."""
        try:
            self.request("GET", f"/pools/{name}")
        except AirflowApiError as error:
            if error.status != 404:
                raise
            self.request("POST", "/pools", {"name": name, "slots": slots, "description": description})

    def import_errors(self) -> dict[str, str]:
        """The stack trace of each DAG file that could not be parsed."""
        answer = self.request("GET", "/importErrors", params={"limit": 100})
        return {str(error["filename"]): str(error["stack_trace"]) for error in answer["import_errors"]}

    def wait_for_dag(self, dag_id: str, timeout: float = 300.0) -> None:
        """Return when the DAG is parsed and can be triggered.

        Raises:
            AirflowApiError: not parsed in time; the import errors are in the message.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                dag = self.request("GET", f"/dags/{dag_id}")
                if not dag.get("has_import_errors") and not dag.get("is_stale"):
                    return
            except AirflowApiError as error:
                if error.status != 404:
                    raise
            if time.monotonic() > deadline:
                broken = "\n".join(f"{name}:\n{trace}" for name, trace in self.import_errors().items())
                raise AirflowApiError(
                    f"DAG {dag_id} was not parsed within {timeout:.0f} s" + (f"\n{broken}" if broken else "")
                )
            time.sleep(0.5)

    def trigger(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """Start a run without a logical date; its run id."""
        answer = self.request("POST", f"/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": conf or {}})
        return str(answer["dag_run_id"])

    def asset_run(self, dag_id: str, since: str, timeout: float = 20.0) -> str | None:
        """Id of a run that an asset's event started after the moment ``since``; None if none comes."""
        deadline = time.monotonic() + timeout
        while True:
            answer = self.request(
                "GET", f"/dags/{dag_id}/dagRuns", params={"order_by": "-run_after", "limit": 20}
            )
            for run in answer["dag_runs"]:
                if run["run_type"] == "asset_triggered" and _moment(run["queued_at"]) >= _moment(since):
                    return str(run["dag_run_id"])
            if time.monotonic() > deadline:
                return None
            time.sleep(0.5)

    def wait_for_run(
        self,
        dag_id: str,
        run_id: str,
        timeout: float = 600.0,
        on_change: Callable[[TaskStates], None] | None = None,
    ) -> str:
        """Poll until the run has ended; its state, ``success`` or ``failed``.

        Args:
            on_change: called with the states of all tasks whenever one has changed.

        Raises:
            AirflowApiError: it was still running after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        before: TaskStates = {}
        while True:
            state = str(self.request("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])
            if on_change is not None:
                now = self.task_states(dag_id, run_id)
                if now != before:
                    on_change(now)
                    before = now
            if state in FINISHED:
                return state
            if time.monotonic() > deadline:
                raise AirflowApiError(
                    f"run {run_id} of {dag_id} is still {state} after {timeout:.0f} s: "
                    f"{self.task_states(dag_id, run_id)}"
                )
            time.sleep(1.0)

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """All task instances of the run, mapped ones included."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.request(
                "GET",
                f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances",
                params={"limit": 100, "offset": len(found)},
            )
            found.extend(page["task_instances"])
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def task_states(self, dag_id: str, run_id: str) -> TaskStates:
        """State of each task instance of the run."""
        return {label(task): str(task["state"] or "none") for task in self.task_instances(dag_id, run_id)}

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1, map_index: int = -1) -> str:
        """The log of one try of one task instance, one event a line."""
        answer = self.request(
            "GET",
            f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{try_number}",
            params={"map_index": map_index, "full_content": "true"},
        )
        content = answer["content"]
        if isinstance(content, str):
            return content
        return "\n".join(_log_line(event) for event in content)

    def failure_log(self, dag_id: str, run_id: str, lines: int = 40) -> str:
        """The ends of the logs of the tasks that failed by themselves."""
        parts = []
        for task in self.task_instances(dag_id, run_id):
            if task["state"] != "failed":
                continue
            text = self.log(dag_id, run_id, task["task_id"], max(task["try_number"], 1), task["map_index"])
            tail = "\n".join(text.splitlines()[-lines:])
            parts.append(f"--- {dag_id}.{label(task)}, end of its log ---\n{tail}")
        return "\n".join(parts)

    def _send(self, method: str, path: str, body: object | None, token: str | None) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Accept", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, data=data, timeout=self._timeout) as response:
                payload = response.read()
        except urllib.error.HTTPError as error:
            detail = error.read().decode(errors="replace")
            raise AirflowApiError(f"{method} {path}: {error.code} {detail}", error.code) from None
        # While an answer is read, a late server is a TimeoutError of its own.
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise AirflowApiError(f"{method} {self.url}{path}: {reason}") from None
        return json.loads(payload) if payload else None


def _moment(text: str | None) -> datetime:
    return datetime.fromisoformat(text) if text else datetime.min.replace(tzinfo=UTC)


def label(task: dict[str, Any]) -> str:
    """How a person would name this task instance: its map name or index where it is mapped."""
    if task.get("map_index", -1) < 0:
        return str(task["task_id"])
    return f"{task['task_id']}[{task.get('rendered_map_index') or task['map_index']}]"


def _log_line(event: Any) -> str:
    if not isinstance(event, dict):
        return str(event)
    known = {
        *("timestamp", "event", "level", "logger", "filename", "lineno", "loc", "error_detail"),
        *("ti_id", "map_index", "try_number", "dag_id", "task_id", "run_id"),
    }
    extra = " ".join(f"{key}={value}" for key, value in event.items() if key not in known)
    head = (
        f"{event.get('timestamp', '')} {str(event.get('level', '')).upper()} {event.get('event', '')}".strip()
    )
    trace: list[str] = []
    for error in event.get("error_detail") or []:
        trace.extend(f"  {f['filename']}:{f['lineno']} in {f['name']}" for f in error.get("frames") or [])
        trace.append(f"  {error.get('exc_type')}: {error.get('exc_value')}")
    return "\n".join([f"{head} {extra}".strip(), *trace])
