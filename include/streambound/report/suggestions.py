"""Suggestions as text for a terminal: the change in words, what it costs, and if wanted the whole SQL."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

import yaml

from streambound.report.sizes import size_text

if TYPE_CHECKING:
    from streambound.certificate.suggestions import Size, Suggestion


def suggestion_lines(suggestions: Sequence[Suggestion], whole: bool) -> Iterator[str]:
    """The suggestions under a heading, numbered; nothing if there are none.

    Args:
        whole: with the whole statement of each.
    """
    if suggestions:
        yield "  bounded after any one of these changes (each was decided again):"
    for number, suggestion in enumerate(suggestions, start=1):
        yield f"    {number}. {suggestion.change}: {cost_text(suggestion.size)}"
        yield from (f"       {line}" for line in declaring_lines(suggestion))
        if whole:
            yield from (
                f"         {line}".rstrip() for line in _statement(suggestion.written or suggestion.sql)
            )


def declaring_lines(suggestion: Suggestion) -> Iterator[str]:
    """What to declare in place of a change, and what the query costs then."""
    if suggestion.catalog is not None and suggestion.declared is not None:
        yield f"or declare {declared_text(suggestion.catalog)}: {cost_text(suggestion.declared)}"
    if suggestion.cardinality is not None and suggestion.counted is not None:
        said = declared_text(suggestion.cardinality)
        yield f"or declare how many there are, {said} (placeholder): {cost_text(suggestion.counted)}"


def cost_text(size: Size) -> str:
    """What a suggestion costs."""
    return size_text(size.units, size.formula, size.unplanned)


def declared_text(catalog: Mapping[str, Any]) -> str:
    """Declarations as lines of a catalog file, each in one line of YAML."""
    lines = (
        yaml.safe_dump(body, default_flow_style=True, sort_keys=False, width=math.inf, allow_unicode=True)
        for body in catalog.values()
    )
    return " and ".join(f"{name}: {line.strip()}" for name, line in zip(catalog, lines, strict=True))


def _statement(sql: str) -> Iterator[str]:
    """The lines of a text below its leading comments."""
    lines = sql.strip().splitlines()
    return dropwhile(lambda line: not line.strip() or line.lstrip().startswith("--"), lines)
