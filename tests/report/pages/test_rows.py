"""The chart of a stream's rows: what it says at every size, and that a failure is more than a colour."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.parsing import hostile, names, read

from streambound.report.pages import Bar, rows_chart
from streambound.report.pages.rows import LARGE, WRONG

DAYS = [Bar("d1", 10), Bar("d2", None, True), Bar("d3", 30, True), Bar("d4", 0)]
BARS = st.lists(st.builds(Bar, hostile, st.none() | st.integers(0, 10**15), st.booleans()), max_size=12)


def test_it_says_in_words_what_it_draws() -> None:
    root = read(rows_chart(DAYS, large=True, name="weather"))
    (svg,) = root.iter("svg")
    assert svg.attrib["role"] == "img" and svg.findtext("title") == "Rows by partition of weather"
    assert svg.findtext("desc") == "0 to 30 rows a partition in 4 partitions, d1 to d4; 2 failed: d2, d3."
    assert [span.text for span in root.iter("span")] == ["d1", "d3", "d4"]


def test_a_failure_has_a_cross_and_what_cannot_be_read_is_not_zero() -> None:
    root = read(rows_chart(DAYS))
    bars = list(root.iter("rect"))
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[1] == heights[2] > heights[0] > heights[3] == 0
    assert [bar.findtext("title") for bar in bars][1] == "d2: not readable, failed"
    crosses = [path for path in root.iter("path") if path.attrib["stroke"] == WRONG]
    assert len(crosses) == 2


def test_of_very_many_partitions_none_that_failed_is_lost() -> None:
    bars = [Bar(str(n), 5) for n in range(10_000)]
    bars[6_180] = Bar("bad", 1, True)
    root = read(rows_chart(bars, large=True))
    assert len(list(root.iter("rect"))) <= LARGE and len(list(root.iter("path"))) == 1


@settings(max_examples=60, deadline=None)
@given(BARS, hostile, st.booleans())
def test_whatever_the_names_are_it_is_markup(bars: list[Bar], name: str, large: bool) -> None:
    root = read(rows_chart(bars, large=large, name=name))
    drawn = {"svg", "defs", "use", "g", "title", "desc", "line", "rect", "path"}
    assert names(root) <= drawn | {"figure", "figcaption", "div", "span"}
