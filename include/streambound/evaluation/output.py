"""Answers of one machine's engines as a file: one JSON object a line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from streambound.durable import replaced


def answers_file(folder: Path, query: str) -> Path:
    """Where the answers of a query lie."""
    return folder / query / "answers.jsonl"


@contextmanager
def written(target: Path) -> Iterator[TextIO]:
    """A file to write, which is there whole or not at all.

    Raises:
        StorageError: the disk refuses.
    """
    with replaced(target) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", write_through=True)
        yield text
        text.detach()


def write_document(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write a query's answers to ``folder/<query>/answers.jsonl``, whole or not at all.

    Returns the object to print instead: how many rows there are, and where.
    """
    target = answers_file(folder, body["query"])
    with written(target) as file:
        for answer in body["answers"]:
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
    rows = {json.dumps(answer["row"]) for answer in body["answers"]}
    return {
        "query": body["query"],
        "answer_rows": len(rows),
        "answer_count": sum(answer["count"] for answer in body["answers"]),
        "peak_units": body["peak_units"],
        "output": str(target),
    }
