"""Templates and how values are written in them. Everything is escaped; addresses are relative to the page."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from streambound.report.code_pages import declared as declared_codes
from streambound.report.pages import sparkline
from streambound.report.sizes import bytes_text
from streambound_airflow.pages.documents import STATIC, has_site
from streambound_airflow.pages.overview import said
from streambound_airflow.pages.schemas import QueryRow
from streambound_airflow.pages.vocabulary import TERMS

# A timestamp in UTC, as checks record them.
_MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)\+00:00$")
FOLDER = Path(__file__).parent / "templates"
# Pages that are reached by another tab than the first part of their address names.
TAB_OF = {"runs": "queries", "docs": "help"}


def number(value: int | float | None) -> str:
    """A number with separators; a dash for none."""
    return "–" if value is None else f"{value:,}"


def signed(value: int) -> str:
    """A change, with its sign; a minus sign is as wide as a plus."""
    return f"{value:+,}".replace("-", "\N{MINUS SIGN}") if value else "0"


def numeric(kind: str) -> bool:
    """Whether values of a type of ``schemas.AnswerColumn`` are numbers."""
    return kind.startswith(("bigint", "decimal", "double", "float"))


def cell(value: Any, kind: str) -> str:
    """A value that is not NULL, of a type of ``schemas.AnswerColumn``; timestamps without their zone, UTC."""
    if kind == "timestamp":
        return str(value).replace("T", " ").removesuffix("+00:00")
    return str(value).lower() if kind == "boolean" else str(value)


def observed(value: bool | int | float | str) -> str:
    """A value that a check recorded: moments to the second, numbers as they are."""
    if isinstance(value, str):
        return _MOMENT.sub(r"\1 \2", value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def share(value: float | None) -> str:
    """A part of one, in percent."""
    return "–" if value is None else f"{value:.1%}"


def moment(value: dt.datetime | None) -> Markup:
    """A moment in UTC, to the minute."""
    if value is None:
        return Markup("–")
    return Markup('<time datetime="{}">{} UTC</time>').format(
        value.astimezone(dt.UTC).isoformat(timespec="seconds"), minute(value)
    )


def minute(value: dt.datetime) -> str:
    """A moment in UTC, to the minute, where the page says that it is one."""
    return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M}"


def line(row: QueryRow) -> str:
    """The peaks of a query's last evaluations against its bound."""
    return sparkline([point.peak_units for point in row.states], row.units)


def duration(seconds: float) -> str:
    """A time in the two largest of its parts."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def declared(catalog: Mapping[str, Any]) -> str:
    """Declarations as the lines of a catalog file."""
    return yaml.safe_dump(dict(catalog), sort_keys=False, allow_unicode=True).rstrip()


def segment(name: str) -> str:
    """A name as one segment of an address."""
    return quote(name, safe="")


def trusted(value: str | None) -> Markup | None:
    """Markup that ``streambound.report.pages`` made: escaped there, without scripts."""
    return None if value is None else Markup(value)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates; a name that is not given is an error."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bytes": bytes_text,
        "cell": cell,
        "duration": duration,
        "number": number,
        "numeric": numeric,
        "said": said,
        "segment": segment,
        "share": share,
        "signed": signed,
        "sparkline": line,
        "minute": minute,
        "moment": moment,
        "observed": observed,
        "trusted": trusted,
        "yaml": declared,
    }
    environment.globals |= {
        "version": _version(),
        "terms": TERMS,
        "codes": declared_codes(),
        "has_site": has_site,
    }
    return environment


def _version() -> str:
    """Changes with our styles and scripts, so that a browser does not mix those of two releases."""
    digest = sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def root_of(request: Request) -> str:
    """The relative address of ``/streambound/`` from a page."""
    return "../" * (_path(request).count("/") - 1) or "./"


def _path(request: Request) -> str:
    return str(request.scope["path"]).removeprefix(str(request.scope.get("root_path", "")))


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page. ``root`` is the relative address of ours, ``airflow`` that of Airflow's UI."""
    root, first = root_of(request), _path(request).strip("/").split("/")[0]
    text = (
        environment()
        .get_template(template)
        .render(
            root=root,
            airflow="../" if root == "./" else f"{root}../",
            here=TAB_OF.get(first, first),
            **values,
        )
    )
    return HTMLResponse(text, status)
