"""Answers of one machine's engines as a file: one JSON object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_document(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write a query's answers to ``folder/<query>/answers.jsonl``, whole or not at all.

    Returns the object to print instead: how many rows there are, and where.
    """
    target = folder / found["query"] / "answers.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    with draft.open("w", encoding="utf-8") as file:
        for answer in found["answers"]:
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
    os.replace(draft, target)
    rows = {json.dumps(answer["row"]) for answer in found["answers"]}
    return {
        "query": found["query"],
        "answer_rows": len(rows),
        "answer_count": sum(answer["count"] for answer in found["answers"]),
        "peak_units": found["peak_units"],
        "output": str(target),
    }
