"""A report in the forms that ``streambound check`` prints, and in the one that editors show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streambound.compiler import Planned, Report


def formed(
    form: str,
    report: Report,
    path: Path,
    sql: str,
    job: Planned | None = None,
    span: tuple[int, int] | None = None,
) -> Any:
    """A report on the text of a file: as text, as the object of ``--format json``, as results of SARIF, or
    with the query as it was compiled and where it stands as what an editor shows."""
    # Each is loaded when it is asked for.
    if form == "text":
        from streambound.report.verdicts import verdict_text

        return verdict_text(report, sql)
    if form == "editor":
        from streambound.report.editor import marked

        return marked(report, sql, span or (0, len(sql)), job)
    if form == "sarif":
        from streambound.report.sarif import Checked, results

        return list(results(Checked(report, path, sql)))
    return report.to_json()
