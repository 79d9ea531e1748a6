"""Findings as SARIF 2.1.0, which code review tools read: one result a reason or error, at its place.

An unbounded query and one that cannot be read are errors, an unknown one is a warning; bounded queries have
no result. Suggestions are fixes of the first result of their query: they replace the file's whole text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.compiler.report import Report
from streambound.engines.state import OnEngine
from streambound.errors import Location, UnsupportedError
from streambound.report.code_pages import address, errors, meaning, page
from streambound.settings import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"unbounded": "error", "unknown": "warning", "invalid": "error"}

Object = dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """A report with the file that it is about and the file's text."""

    report: Report
    path: Path
    sql: str


def sarif(entries: Iterable[Object]) -> Object:
    """The log of one run of ``streambound check``, from the results of all its reports."""
    listed = list(entries)
    rule_ids = sorted({result["ruleId"] for result in listed})
    for result in listed:
        result["ruleIndex"] = rule_ids.index(result["ruleId"])
    driver = {"name": "streambound", "version": version(), "rules": [_rule(code) for code in rule_ids]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "the folder that streambound was run in"}}},
        "results": listed,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> Object:
    declared, error = REASON_CODES.get(code), errors().get(code)
    fix = declared.fix if declared else "The message says what is accepted, and one way to mend it."
    criteria = dict.fromkeys((declared.preserving, declared.eliminating)) if declared else {}
    text = " ".join([meaning(code), fix, *(f"Criterion: {criterion}." for criterion in criteria)])
    rule: Object = {
        "id": code,
        "shortDescription": {"text": meaning(code)},
        "help": {"text": f"{text} See {page(code)}."},
        "defaultConfiguration": {"level": "error" if error or code.startswith("unbounded") else "warning"},
    }
    if (uri := address(code)) is not None:
        rule["helpUri"] = uri
    return rule


def results(checked: Checked) -> Iterator[Object]:
    """The results of one report."""
    report = checked.report
    if report.error is not None:
        if isinstance(report.error, UnsupportedError) and report.error.further:
            for blocker in report.error.blockers:
                text = f"{report.query}: {blocker.message}"
                yield _result(checked, blocker.code, text, blocker.location, (blocker.message,))
            return
        yield _result(checked, report.error.code, report.error.one_line(), report.error.location, ())
        return
    if report.engine is not None:
        yield from _of_engine(checked, report.engine)
    if report.verdict in LEVELS:
        for number, reason in enumerate(report.reasons):
            names = tuple(map(str, reason.attributes))
            where = f" (branch: {reason.branch})" if reason.branch else ""
            entry = _result(checked, reason.code, f"{reason.message}{where}", reason.location, names)
            if report.causes:
                entry["properties"]["causes"] = [cause.message for cause in report.causes]
            fixes = [
                _fix(checked, suggestion.change, suggestion.whole)
                for suggestion in report.suggestions
                if suggestion.whole is not None
            ]
            if number == 0 and fixes:
                entry["fixes"] = fixes
            yield entry


def _of_engine(checked: Checked, on_engine: OnEngine) -> Iterator[Object]:
    """A note on each operator of which something is kept, with what people run into on the first."""
    from streambound.report.engine import code_of, operator_text

    for number, state in enumerate(on_engine.operators):
        notes = "".join(f"; {note}" for note in on_engine.notes) if number == 0 else ""
        text = f"{on_engine.named}: {operator_text(state)}{notes}"
        names = (on_engine.engine.name, state.operator.kind.value, state.operator.text)
        result = _result(checked, code_of(state.growth), text, state.operator.location, names)
        yield result | {"level": "note"}


def _result(
    checked: Checked, code: str, message: str, location: Location | None, names: tuple[str, ...]
) -> Object:
    physical: Object = {"artifactLocation": _artifact(checked.path)}
    if location is not None and location.line <= len(checked.sql.splitlines()):
        end = location.column + location.length
        physical["region"] = {"startLine": location.line, "startColumn": location.column, "endColumn": end}
    # Equal findings keep their identity while lines above them come and go.
    identity = "\0".join((checked.report.query, code, *names))
    return {
        "ruleId": code,
        "level": LEVELS.get(checked.report.verdict, "note"),
        "message": {"text": message},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"streambound/v1": hashlib.sha256(os.fsencode(identity)).hexdigest()},
        "properties": _properties(checked.report, names),
    }


def _properties(report: Report, names: tuple[str, ...]) -> Object:
    body = {"query": report.query, "verdict": report.verdict, "final": report.final, "attributes": [*names]}
    return body | ({"assumes": [*report.assumes]} if report.assumes else {})


def _artifact(path: Path) -> Object:
    """The file: relative to the current folder if it lies below it, else by its full address."""
    path_of_file = Path(os.path.abspath(path))
    if path_of_file.is_relative_to(Path.cwd()):
        return {
            "uri": quote(os.fsencode(path_of_file.relative_to(Path.cwd()).as_posix())),
            "uriBaseId": "ROOT",
        }
    return {"uri": "file://" + quote(os.fsencode(path_of_file.as_posix()))}


def _fix(checked: Checked, change: str, text: str) -> Object:
    lines = checked.sql.split("\n")
    whole = {"startLine": 1, "startColumn": 1, "endLine": len(lines), "endColumn": len(lines[-1]) + 1}
    replacement = {"deletedRegion": whole, "insertedContent": {"text": text}}
    artifact = {"artifactLocation": _artifact(checked.path), "replacements": [replacement]}
    return {"description": {"text": change}, "artifactChanges": [artifact]}
