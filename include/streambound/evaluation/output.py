"""Answers of one machine's engines as a file: one JSON object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from streambound.errors import StorageError


def answers_file(folder: Path, query: str) -> Path:
    """Where the answers of a query lie."""
    return folder / query / "answers.jsonl"


@contextmanager
def written(target: Path) -> Iterator[TextIO]:
    """A file to write, which is there whole or not at all.

    Raises:
        StorageError: the disk refuses.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as file:
            yield file
        os.replace(draft, target)
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror or error}",
            subject=str(target),
            fix="free space or permit writing there",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def write_document(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write a query's answers to ``folder/<query>/answers.jsonl``, whole or not at all.

    Returns the object to print instead: how many rows there are, and where.
    """
    target = answers_file(folder, found["query"])
    with written(target) as file:
        for answer in found["answers"]:
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
    rows = {json.dumps(answer["row"]) for answer in found["answers"]}
    return {
        "query": found["query"],
        "answer_rows": len(rows),
        "answer_count": sum(answer["count"] for answer in found["answers"]),
        "peak_units": found["peak_units"],
        "output": str(target),
    }
