"""A report in the forms that ``streambound check`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streambound.compiler import Report
from streambound.report.sarif import Checked, results
from streambound.report.verdicts import verdict_text

FORMS = ("text", "json", "sarif")


def formed(form: str, report: Report, path: Path, sql: str) -> Any:
    """A report on the text of a file: as text, as the object of ``--format json``, or as results of SARIF."""
    if form == "text":
        return verdict_text(report, sql)
    return report.to_json() if form == "json" else list(results(Checked(report, path, sql)))
