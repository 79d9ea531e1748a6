"""What the playground's worker asks: the verdicts on a text, as `streambound check` gives them."""

from __future__ import annotations

import json
from typing import Any

import yaml

from streambound.engines import ENGINES
from streambound.errors import StreamboundError
from streambound.examination.__main__ import examined
from streambound.query.catalog import catalog_of_text

engines = list(ENGINES)
# Of several queries the worst is told first.
ORDER = ("bounded", "unknown", "unbounded", "invalid")


def judge(line: str) -> str:
    """The answer to one question, both as JSON.

    Args:
        line: ``sql``, ``catalog`` (the text of a streams.yml, or nothing), ``engine`` (or nothing),
            ``suggest``.
    """
    asked = json.loads(line)
    try:
        found = _verdicts(asked)
    except StreamboundError as error:
        found = [{"verdict": "invalid", "formed": str(error)}]
    except (RecursionError, MemoryError):
        found = [{"verdict": "unknown", "formed": "too complex for a browser"}]
    worst = max((one["verdict"] for one in found), key=ORDER.index)
    text = "\n".join(one["formed"] for one in found)
    first, _, rest = text.partition("\n")
    said = first.partition("query")[2].strip() if len(found) == 1 and worst == "bounded" else ""
    suggestions = [
        {"change": s["change"], "sql": s["sql"], "size": _size(s)}
        for one in found
        for s in one.get("suggestions", ())
    ]
    answer = {"verdict": worst, "said": said, "text": text if len(found) > 1 else rest or first}
    return json.dumps(answer | {"suggestions": suggestions, "suggested": asked["suggest"]})


def _verdicts(asked: dict[str, Any]) -> list[dict[str, Any]]:
    streams: dict[str, Any] = {}
    if asked["catalog"].strip():
        # Refused as the file would be; what examines it reads the mapping again.
        catalog_of_text(asked["catalog"], "catalog")
        streams = yaml.safe_load(asked["catalog"])["streams"]
    question = {"sql": asked["sql"], "name": "query", "catalog": streams, "criterion": "exact"}
    question |= {"form": "text", "path": "query.sql", "suggest": False, "default": not streams}
    if asked["engine"]:
        question["engine"] = asked["engine"]
    first = examined(question)
    chosen = first.get("queries")
    found = [first] if chosen is None else [examined(question | {"query": name}) for name in chosen]
    if asked["suggest"] and chosen is None:
        told = examined(question | {"form": "json", "suggest": True})["formed"]
        first["suggestions"] = told["suggestions"]
    return found


def _size(suggestion: dict[str, Any]) -> str:
    units = suggestion.get("units")
    if units is not None:
        return f"at most {units:,} units" if units else "no state"
    return str(suggestion.get("units_formula") or suggestion.get("unplanned"))
