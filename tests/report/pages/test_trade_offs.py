"""The trade-off of caches on a page: every policy, the optimum and the choice, told apart without colour."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.approximate.nights import USUAL, night, of_size
from tests.report.parsing import names, read

from streambound.approximate.policies import POLICIES
from streambound.errors import DataError
from streambound.report.pages.trade_offs import DASHES, trade_off_chart

DRAWN = {"svg", "title", "desc", "defs", "use", "g", "rect", "path", "line", "circle", "text"}


def test_it_says_in_words_what_it_draws() -> None:
    root = read(trade_off_chart(night(*USUAL)))
    assert names(root) <= DRAWN and root.attrib["role"] == "img"
    assert root.findtext("title") == "What caches of q keep"
    assert root.findtext("desc") == (
        "Chosen of the policies: 100 tuples: lru 20.0%; 500 tuples: lru 70.0%; 2,000 tuples: fifo 85.0%. "
        "The optimum: 40.0%, 80.0%, 100.0%"
    )
    told = [title.text for title in root.iter("title")]
    assert "lru: 20.0% in 100 tuples" in told and "chosen: fifo, 85.0%" in told
    shown = [text.text for text in root.iter("text")]
    assert {"optimum", "lru", "fifo", "100", "500", "2,000", "0%", "100%"} <= set(shown)


def test_lines_are_told_apart_by_dashes_and_those_alike_are_one() -> None:
    assert len(set(DASHES)) == len(DASHES) == len(POLICIES)
    same = {policy: 300 for policy in ("prob", "life", "heeb")}
    root = read(trade_off_chart(night(of_size(100, 400, {"lru": 200, **same}, "lru"), *USUAL[:1])))
    paths = [path for path in root.iter("path") if path.attrib["fill"] == "none"]
    dashes = [path.attrib.get("stroke-dasharray") for path in paths]
    assert len(set(dashes)) == len(dashes)
    assert "prob, life, heeb" in {text.text for text in root.iter("text")}


def test_everything_lies_within_the_picture_also_of_one_size_and_a_share_of_all() -> None:
    every = {policy: 1_000 for policy in POLICIES}
    for sizes in ((of_size(100, 1_000, every, "lru"),), (replace(USUAL[0], half=0.9), *USUAL[1:])):
        root = read(trade_off_chart(night(*sizes)))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for found in root.iter():
            for key, most in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height)):
                assert 0 <= float(found.attrib.get(key, 0)) <= most
            for key in ("y1", "y2", "cy"):
                assert 0 <= float(found.attrib.get(key, 0)) <= height


def test_without_results_there_is_nothing_to_draw() -> None:
    with pytest.raises(DataError, match="no results"):
        trade_off_chart(night(*USUAL, results=0))
