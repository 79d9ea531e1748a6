"""Plain-text tables."""

from __future__ import annotations

from streambound.report.tables import aligned


def test_numbers_align_right() -> None:
    assert aligned(("a", "n"), [("x", "1,000"), ("yy", "7")], right=["n"]).splitlines() == [
        "a       n",
        "--  -----",
        "x   1,000",
        "yy      7",
    ]
