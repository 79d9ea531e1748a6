"""The picture of a plan: it draws what ``explain`` says, of whatever query, inside its frame."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.beyond import beyond
from tests.report.parsing import hostile, names, read
from tests.strategies import Case, cases, statements, timed_cases

from streambound.compiler import Planned, compile
from streambound.errors import StreamboundError
from streambound.projects.registry import load_registry
from streambound.query.catalog import catalog_from_mapping
from streambound.query.registry import RegisteredQuery
from streambound.report.operations import operations, said_of
from streambound.report.pages import plan_picture
from streambound.report.pages.drawing import cut, text_width, wrapped
from streambound.report.plan_words import explained
from streambound.report.verdicts import plan_text

REGISTRY = load_registry(Path(__file__).parents[3] / "include" / "registry")
BODY = {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"}
FIXED = {"columns": {"A": "int"}, "kind": "static"}
CATALOG = catalog_from_mapping({**{name: BODY for name in "STUVWX"}, "R": FIXED})
DRAWN = {"svg", "title", "desc", "defs", "use", "g", "rect", "path", "polygon", "line", "text"}


def drawn(sql: str) -> ElementTree.Element:
    return read(plan_picture(compile(sql, CATALOG)))


def cards(root: ElementTree.Element) -> dict[str, list[str]]:
    """The lines of each card by its first line."""
    found = {}
    for group in root.iter("g"):
        if group.find("rect") is not None:
            title, *lines = (group.findtext("title") or "").split("\n")
            found[title] = lines
    return found


def test_a_long_title_is_wrapped_and_not_cut() -> None:
    (query,) = (one for one in REGISTRY.queries if one.name == "first_flight_of_the_day")
    root = read(plan_picture(compile(query.sql, REGISTRY.catalog, query.name)))
    shown = " ".join(text.text or "" for text in root.iter("text"))
    assert "window(departed_at, '1 day').start, by departed_at" in shown and "…" not in shown


@pytest.mark.parametrize("query", REGISTRY.queries, ids=lambda query: query.name)
def test_every_registered_query_has_a_picture(query: RegisteredQuery) -> None:
    job = compile(query.sql, REGISTRY.catalog, query.name)
    root = read(plan_picture(job))
    inside(root)
    titles = cards(root)
    if job.node is None:
        assert {o.alias for o in job.statement.occurrences} <= {title.split("  ")[0] for title in titles}
    if job.verdict.bounded:
        assert root.findtext("desc") == plan_text(job)
        planned = job.plans or job.node is not None
        assert root.findtext("title") == f"How {query.name} is evaluated" or not planned
        # Each stream is a card, and so is what each operation keeps.
        relations = {relation.name for relation in job.statement.scanned}
        assert relations <= {part for title in titles for part in title.split("  ")}
        done = [] if job.node is None else [*operations(job.node)]
        # A title may be wrapped, with the size at the right of its first line.
        flat = [" ".join(line.split("  ")[0] for line in (title, *lines)) for title, lines in titles.items()]
        assert all(any(text.startswith(said_of(one)[0]) for text in flat) for one in done)
    else:
        assert root.findtext("title") == f"{query.name} has no plan"


def test_the_worked_example() -> None:
    root = drawn(
        "SELECT S.A, T.B FROM S, T, U WHERE S.ts > T.ts AND T.ts > U.ts AND S.A > T.B AND T.B > 0 AND T.B < 5"
    )
    assert {
        title: [line.replace("\u00a0", " ") for line in lines] for title, lines in cards(root).items()
    } == {
        "S": ["stream · only completes matches", "only with S.A >= 2"],
        "T": ["stream · kept", "only with T.B > 0 and T.B < 5"],
        "U": ["stream · kept"],
        "nothing is kept: a tuple is joined with what is kept": ["when it arrives"],
        "partial matches of T, U  4 units": [
            "while S may still come",
            "per T.B (4 values) keep how many there are",
        ],
        "tuples of U  1 unit": ["while S, T may still come", "keep how many there are"],
        "answer": [
            *("A", "B", "joined on", "S.A > T.B and", "S.ts > T.ts and", "T.ts > U.ts"),
            *("state in all", "at most 5 units"),
        ],
    }
    # An arrow for each stream of each card, and one from each card to the answer.
    assert len(list(root.iter("polygon"))) == (1 + 2 + 1) + 3


def test_distinct_unions_statics_ends_and_what_is_left_out() -> None:
    united = drawn(
        "SELECT DISTINCT S.A FROM S WHERE S.A BETWEEN 0 AND 9"
        " UNION SELECT T.A FROM T, U WHERE T.A BETWEEN 5 AND 20 AND U.B < T.B"
    )
    texts = [t.text or "" for t in united.iter("text")]
    assert any(text.startswith("part 2 of 2: SELECT DISTINCT T.A") for text in texts)
    assert "put together from 2 parts" in cards(united)["answer  DISTINCT"]
    assert "at most 27 units" in cards(united)["answer  DISTINCT"]
    folded = cards(drawn("SELECT DISTINCT 1 FROM S x, S y WHERE x.B = y.B AND x.A > 0"))
    assert folded["y  S"] == ["stream · adds nothing"]
    static = cards(drawn("SELECT S.A FROM S, R WHERE S.A = R.A"))
    assert static["R"] == ["static relation · read once"] and static["S"] == ["stream · not kept"]
    ending = cards(drawn("SELECT S.A FROM S, T WHERE T.ts < 50 AND S.A = T.A"))
    assert "every tuple, until T ends" in ending and ending["S"] == ["stream · kept until one ends"]
    nothing = cards(drawn("SELECT S.A FROM S, T WHERE S.A > 3 AND S.A < 2"))
    assert any(title.startswith("The conditions contradict each other") for title in nothing)


def test_of_very_many_parts_and_columns_the_number_of_the_rest_is_said() -> None:
    branches = " OR ".join(f"S.A = {n} AND T.B = {n + 1}" for n in range(9))
    root = drawn(f"SELECT {', '.join(['S.A', 'T.B'] * 6)} FROM S, T WHERE {branches}")
    texts = [t.text or "" for t in root.iter("text")]
    assert "and 3 more parts" in texts and "and 7 more columns" in texts


def inside(root: ElementTree.Element) -> None:
    """Nothing is drawn outside of the picture, and no cards of a column overlap."""
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    columns: dict[float, list[tuple[float, float]]] = {}
    for rect in root.iter("rect"):
        x, y, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
        columns.setdefault(x, []).append((y, y + h))
    for spans in columns.values():
        spans.sort()
        assert all(below[0] > above[1] for above, below in pairwise(spans))
    for text in root.iter("text"):
        assert 0 < float(text.attrib["y"]) < height


@settings(max_examples=30)
@given(st.one_of(cases(), timed_cases(("int",), windows=True), statements()))
def test_any_query_is_drawn_inside_its_frame_with_all_that_explain_says(case: Case) -> None:
    says_all(compile(case.sql, case.catalog, "q"))


def test_so_are_groups_windows_ranks_frames_and_guards() -> None:
    trees = 0
    for line in (beyond(seed).line for seed in range(80)):
        assert line.catalog is not None
        job = compile(line.sql, line.catalog, "q")
        says_all(job)
        trees += job.node is not None
    assert trees > 15


def says_all(job: Planned) -> None:
    """The picture of a query is inside its frame, with all that ``explain`` says is kept."""
    root = read(plan_picture(job))
    assert names(root) <= DRAWN
    inside(root)
    if job.verdict.bounded:
        found = explained(job)
        kept = [one for part in found.parts for one in part.kept]
        whole = "\n".join(group.findtext("title") or "" for group in root.iter("g"))
        if len(found.parts) <= 6 and len(kept) <= 10:
            assert all(one.size in whole for one in kept if len(one.size) < 20)


@settings(max_examples=40)
@given(hostile.filter(str.strip), hostile, hostile)
def test_names_stay_text(name: str, column: str, value: str) -> None:
    def quoted(text: str) -> str:
        return "`" + text.replace("`", "``") + "`"

    word = "".join(c for c in value if c not in "\\'\x00")
    catalog = catalog_from_mapping(
        {name: {"columns": {f"A{column}": "string", "B": "int"}}, "T": {"B": "int"}}
    )
    relation, attribute = quoted(name), quoted(f"A{column}")
    sql = f"SELECT DISTINCT x.{attribute} FROM {relation} x, T WHERE x.{attribute} = '{word}' AND x.B < T.B"
    try:
        job = compile(sql, catalog, name)
    except StreamboundError:
        # Not every text is a name.
        assume(False)
    root = read(plan_picture(job))
    assert names(root) <= DRAWN
    inside(root)


@given(hostile, st.integers(0, 300))
def test_cut_text_fits_and_begins_as_the_text_does(content: str, width: int) -> None:
    shown, whole = cut(content, width), " ".join(content.split())
    assert text_width(shown) <= max(width, text_width("…"))
    assert shown == whole or whole.startswith(shown.removesuffix("…"))


@given(st.lists(st.text(max_size=12)).map(" ".join), st.integers(1, 5))
def test_wrapping_loses_no_word(content: str, lines: int) -> None:
    found = wrapped(content, 120, lines)
    assert len(found) <= lines
    assert "".join("".join(found).split()) == "".join(content.split())


def test_long_lists_take_time_in_proportion() -> None:
    began = time.process_time()
    first, second = wrapped("S.A among " + "1, " * 500_000, 300, 2)
    assert cut(second, 300).endswith("…") and text_width(first) <= 300
    assert time.process_time() - began < 5


def test_a_time_that_is_forgotten_is_said() -> None:
    sql = "SELECT 1 FROM S, U WHERE S.ts < U.ts AND EXISTS (SELECT 1 FROM T WHERE T.ts < S.ts AND T.B = 1)"
    assert "ts is forgotten once it is before all that comes." in plan_text(compile(sql, CATALOG))
