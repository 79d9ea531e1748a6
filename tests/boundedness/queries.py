"""Random queries of many streams, and of streams that occur twice, for the exact criterion."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.strategies import OPS, Case

from streambound.query.catalog import catalog_from_mapping
from streambound.query.parse import parse


@st.composite
def wide_cases(draw: st.DrawFn) -> Case:
    """Five or six streams of one column each; mostly with time conditions, windows and constants too."""
    names = ["S", "T", "U", "V", "W", "X"][: draw(st.integers(5, 6))]
    body = {"columns": {"A": "int", "ts": "int"}, "timestamp": "ts"}
    streams: dict[str, Any] = dict.fromkeys(names, body)
    atoms = [_compared(draw, [f"{n}.A" for n in names]) for _ in range(draw(st.integers(1, 5)))]
    if draw(st.booleans()):
        atoms += [f"{n}.A > 0" for n in names]
    for _ in range(draw(st.integers(0, 7))):
        atoms += _timed(draw, names)
    return _case(draw, streams, [(n, n) for n in names], atoms)


@st.composite
def self_joins(draw: st.DrawFn) -> Case:
    """Two or three occurrences of one or two streams, sometimes with time conditions."""
    body = {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"}
    streams: dict[str, Any] = {"S": body, "T": body}
    aliases = ["x", "y", "z"][: draw(st.integers(2, 3))]
    occurrences = [("S", "x"), *((draw(st.sampled_from("SST")), alias) for alias in aliases[1:])]
    columns = [f"{alias}.{c}" for alias in aliases for c in "AB"]
    atoms = [_compared(draw, columns) for _ in range(draw(st.integers(1, 5)))]
    atoms += [f"{c} {draw(st.sampled_from(['>', '<', '=']))} 0" for c in columns if draw(st.booleans())]
    if draw(st.booleans()):
        atoms += _timed(draw, aliases)
    return _case(draw, streams, occurrences, atoms)


def _compared(draw: st.DrawFn, columns: list[str]) -> str:
    one, other = draw(st.permutations(columns))[:2]
    return f"{one} {draw(st.sampled_from(OPS))} {other}"


def _timed(draw: st.DrawFn, names: list[str]) -> list[str]:
    one, other = draw(st.permutations(names))[:2]
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return [f"{one}.ts < 9"]
    if kind == 1:
        return [f"{one}.ts >= 3"]
    if kind < 4:
        return [f"{one}.ts <= {other}.ts + 2", f"{other}.ts <= {one}.ts + 2"]
    return [f"{one}.ts {draw(st.sampled_from(['<', '<=', '=', '<>']))} {other}.ts"]


def _case(
    draw: st.DrawFn, streams: dict[str, Any], occurrences: list[tuple[str, str]], atoms: list[str]
) -> Case:
    columns = [f"{alias}.A" for _, alias in occurrences]
    output = draw(st.sampled_from(["1", "1", *columns, f"{occurrences[0][1]}.ts"]))
    listed = ", ".join(f"{name} {alias}" if name != alias else name for name, alias in occurrences)
    word = draw(st.sampled_from(["", "DISTINCT "]))
    sql = f"SELECT {word}{output} FROM {listed} WHERE {' AND '.join(atoms)}"
    catalog = catalog_from_mapping(streams)
    return Case(streams, sql, catalog, parse(sql, catalog))
