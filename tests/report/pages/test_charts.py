"""The chart of a query's state: what it says at every size, and where its bound stands."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read

from streambound.report.pages import state_chart

DAYS = [(f"2013-01-{day:02}", units) for day, units in enumerate((3, 7, 7, 12, 11), start=1)]
POINTS = st.lists(st.tuples(hostile, st.integers(0, 10**15)), max_size=12)
DRAWN = {"rect", "svg", "title", "desc", "path", "line", "circle", "text"}


def desc(root: ElementTree.Element) -> str:
    found = root.find("desc")
    assert found is not None and found.text is not None
    return found.text


def dashed(root: ElementTree.Element) -> list[float]:
    """The heights of dashed lines over the curve; a shorter one is their key."""
    lines = (line.attrib for line in root.iter("line") if "stroke-dasharray" in line.attrib)
    return [float(line["y1"]) for line in lines if float(line["x2"]) - float(line["x1"]) > 50]


def labels(root: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in root.iter("text")]


def ticks(root: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in root.iter("text") if t.attrib.get("text-anchor") == "end"]


@pytest.mark.parametrize("large", [False, True])
def test_it_says_in_words_what_it_draws(large: bool) -> None:
    root = read(state_chart(DAYS, 20, large=large, name="hubs"))
    assert root.attrib["role"] == "img"
    assert root.findtext("title") == "State of hubs over time"
    said = "3 to 12 units (2013-01-01 to 2013-01-05, 5 partitions), at last 11; the bound is 20 units."
    assert desc(root) == said
    assert len(dashed(root)) == 1


def test_the_bound_is_to_scale_if_it_is_near_and_else_above_a_break() -> None:
    # The axis, 178 high, ends at 20.
    root = read(state_chart(DAYS, 16, large=True))
    assert dashed(root) == [pytest.approx(34 + 178 * 4 / 20)]
    far = read(state_chart(DAYS, 1_000_000, large=True))
    assert dashed(far) == [34]
    assert "bound: 1,000,000 units (far above: not to scale)" in labels(far)
    assert "15" in ticks(far) and "1,000,000" not in ticks(far)


def test_a_state_above_its_bound_is_drawn_above_the_line() -> None:
    root = read(state_chart([("a", 40), ("b", 10)], 20))
    (curve,) = (p for p in root.iter("path") if p.attrib["fill"] == "none")
    heights = [float(y) for y in re.findall(r",([\d.]+)", curve.attrib["d"])]
    assert heights[0] < dashed(root)[0] < heights[1]


def test_nothing_one_point_and_no_bound() -> None:
    empty = read(state_chart([], 20))
    assert desc(empty) == "No state was recorded; the bound is 20 units."
    assert labels(empty) == ["no state recorded yet"]
    one = read(state_chart([("2013-01-01", 1)], None, large=True))
    assert desc(one) == "1 unit (2013-01-01), at last 1; no bound is known."
    assert len(list(one.iter("circle"))) == 1 and dashed(one) == []
    nothing = read(state_chart([("a", 0), ("b", 0)], 0, large=True))
    assert desc(nothing) == "0 units (a to b, 2 partitions), at last 0; the bound is 0 units."


def test_of_very_many_points_the_peaks_are_kept() -> None:
    points = [(str(n), 5) for n in range(100_000)]
    points[61_803] = ("peak", 900)
    markup = state_chart(points, 1_000, large=True)
    assert len(markup) < 40_000
    (curve,) = (p for p in read(markup).iter("path") if p.attrib["fill"] == "none")
    assert min(float(y) for y in re.findall(r",([\d.]+)", curve.attrib["d"])) == pytest.approx(51.8)


@settings(max_examples=40)
@given(POINTS, st.one_of(st.none(), st.integers(0, 10**18)), st.booleans(), hostile)
def test_any_points_are_drawn_inside_the_picture(
    points: list[tuple[str, int]], bound: int | None, large: bool, name: str
) -> None:
    root = read(state_chart(points, bound, large=large, name=name))
    assert names(root) <= DRAWN
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for found in root.iter():
        for key, most in (("cx", width), ("x1", width), ("x2", width), ("cy", height), ("y1", height)):
            assert 0 <= float(found.attrib.get(key, 0)) <= most
        for x, y in re.findall(r"([\d.e+-]+),([\d.e+-]+)", found.attrib.get("d", "")):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height


@pytest.mark.parametrize(
    ("units", "bound", "said"),
    [
        (12, 1_224, ["12", "of 1,224"]),
        (9_999, 999_999, ["9,999", "of 1,000k"]),
        (12_345_678, 10**16, ["12.3M", "of 1.0e+16"]),
        (7, None, ["7"]),
    ],
)
def test_beside_a_small_chart_stand_the_newest_state_and_its_bound(
    units: int, bound: int | None, said: list[str]
) -> None:
    root = read(state_chart([("a", 1), ("b", units)], bound))
    full = [text.findtext("title") or text.text for text in root.iter("text")]
    assert full == said
