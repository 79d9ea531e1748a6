"""The findings of one run as one message: a subject, plain text, and JSON for machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from streambound.results.findings import Finding

# A message names so many findings one by one, so that a bad night does not break a mailbox.
LISTED = 50
# Characters of one finding's message.
LONGEST = 500

TITLES = {
    "verdict": "No longer bounded",
    "expectation": "Failed expectations",
    "state": "State near its bound",
    "drift": "Streams that have drifted",
}


@dataclass(frozen=True)
class Notice:
    """One message about one run; ``body`` is the same for machines, with the plain text under ``text``."""

    subject: str
    text: str
    body: dict[str, Any]


def notice(
    findings: Sequence[Finding],
    job: str,
    run_id: str,
    run_page: str,
    page_of: Callable[[Finding], str | None] = lambda finding: None,
) -> Notice:
    """The message about a run's findings, in which each kind has a heading.

    Args:
        findings: at least one.
        job: the DAG, or a command.
        run_page: the address of the run's page.
        page_of: the address of a finding's page, if it has one.
    """
    number = f"{len(findings)} finding{'s' if len(findings) > 1 else ''}"
    subject = f"streambound: {number} in {job}"
    shown = findings[:LISTED]
    lines = [f"{number} in run {run_id} of {job}", f"run: {run_page}"]
    for kind, title in TITLES.items():
        if mine := [output for output in shown if output.kind == kind]:
            lines += ["", title]
            lines += [line for item in mine for line in _lines(item, page_of(item))]
    if len(findings) > LISTED:
        lines += ["", f"and {len(findings) - LISTED} more: see the run"]
    text = "\n".join(lines)
    body = {
        "text": text,
        "subject": subject,
        "job": job,
        "run_id": run_id,
        "run_page": run_page,
        "total": len(findings),
        "findings": [_json(output, page_of(output)) for output in shown],
    }
    return Notice(subject, text, body)


def _lines(finding: Finding, page: str | None) -> list[str]:
    line = f"- {finding.subject}: {_short(finding.message)}"
    return [line, f"  {page}"] if page else [line]


def _json(finding: Finding, page: str | None) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "about": finding.about,
        "subject": finding.subject,
        "message": _short(finding.message),
        "page": page,
    }


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
