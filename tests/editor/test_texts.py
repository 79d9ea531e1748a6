"""The SQL in documents: what is read, where it is written, and what an edit of it writes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.editor.texts import DocumentTexts, Span, edited, python_file, sql_file

PREFIXES = ("", "u", "r", "R")
QUOTES = ("'", '"', "'''", '"""')
# Also what is more than one code unit, a byte, or a line to somebody.
CHARACTERS = st.sampled_from([*"aS1 \t\n.,<=()'\"\\`{}%é€😀\x0b\x0c\u2028\x85"])


def read(document: str) -> DocumentTexts:
    found = python_file(document)
    assert found is not None
    return found


def escaped(character: str, quote: str, kind: int) -> str:
    """A character as one of the ways to write it in a literal that is not raw."""
    plain = character not in "\\" + quote[0] and (len(quote) == 3 or character != "\n")
    ways = [character] if plain else []
    ways += [f"\\U{ord(character):08x}", f"\\\n{character}" if plain else f"\\x{ord(character):02x}"]
    if ord(character) < 256:
        ways += [f"\\x{ord(character):02x}", f"\\{ord(character):03o}"]
    if character == "'":
        ways.append("\\N{APOSTROPHE}")
    return ways[kind % len(ways)]


@st.composite
def literals(draw: st.DrawFn) -> str:
    """String literals side by side, in parentheses, of which the first begins a query."""
    parts = []
    for number in range(draw(st.integers(1, 3))):
        prefix, quote = draw(st.sampled_from(PREFIXES)), draw(st.sampled_from(QUOTES))
        text = ("SELECT " if number == 0 else "") + draw(st.text(CHARACTERS, max_size=8))
        if prefix.lower() == "r":
            text = "".join(c for c in text if c not in "\\" + quote[0] and (len(quote) == 3 or c != "\n"))
        else:
            text = "".join(escaped(c, quote, draw(st.integers(0, 4))) for c in text)
        parts.append(f"{prefix}{quote}{text}{quote}")
    between = st.sampled_from([" ", "\n    ", '  # it\'s "odd"\n', " \\\n"])
    return "(" + "".join(part + draw(between) for part in parts) + ")"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Python with queries in calls."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        written = draw(literals())
        form = draw(st.sampled_from(["é = spark.sql({})", "sql({})  # 😀", "q{n} = {}\nspark.sql(q{n})"]))
        lines.append(form.replace("{n}", str(len(lines))).replace("{}", written))
    text = "\n".join(lines) + "\n"
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return text.replace("\n", end)


def values(document: str) -> list[str]:
    """What Python says that the literals of a document are."""
    return [
        node.value
        for node in ast.walk(ast.parse(document))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@given(documents())
def test_a_text_is_what_python_reads(document: str) -> None:
    found = read(document)
    assert sorted(text.sql for text in found.texts) == sorted(values(document))
    assert not found.composed


@given(documents())
def test_each_character_is_written_where_it_is_said_to_be(document: str) -> None:
    for text in read(document).texts:
        assert len(text.spans) == len(text.sql)
        assert [s.start for s in text.spans] == sorted(s.start for s in text.spans)
        for character, (start, end) in zip(text.sql, text.spans, strict=True):
            written = document[start:end]
            if written.startswith("\\") and len(written) > 1:
                written = ast.literal_eval(f'"{written}"')
            assert written.replace("\r\n", "\n") == character


@given(documents(), st.data())
def test_an_edit_of_a_text_is_written_as_its_literal_wants_it(document: str, data: st.DataObject) -> None:
    found = read(document)
    number = data.draw(st.integers(0, len(found.texts) - 1))
    text = found.texts[number]
    # Not within the word by which it is known as a query.
    at = data.draw(st.integers(len("SELECT "), len(text.sql)))
    sql = text.sql[:at] + data.draw(st.text(CHARACTERS, max_size=6)) + text.sql[at:]
    replacements = text.replacements(sql)
    if replacements is None:
        # Only what has no escapes cannot hold it, or what is not in one literal.
        assert len(text.literals) > 1 or text.literals[0].raw
        return
    again = read(edited(document, replacements))
    expected = [one.sql for one in found.texts]
    expected[number] = sql
    assert [one.sql for one in again.texts] == expected


@given(st.lists(CHARACTERS | st.just("\r\n")).map("".join), st.text(CHARACTERS), st.data())
def test_a_file_of_sql_is_one_text(document: str, new: str, data: st.DataObject) -> None:
    (text,) = sql_file(document).texts
    assert text.sql == document.replace("\r\n", "\n")
    at = data.draw(st.integers(0, len(text.sql)))
    sql = text.sql[:at] + new + text.sql[at:]
    replacements = text.replacements(sql)
    assert replacements is not None
    (again,) = sql_file(edited(document, replacements)).texts
    assert again.sql == sql


@pytest.mark.parametrize(
    ("document", "texts", "composed"),
    [
        ('spark.sql("SELECT 1")', ["SELECT 1"], 0),
        ('self.session.sql("""select 1""")', ["select 1"], 0),
        ('spark.sql(sqlQuery="SELECT 1")', ["SELECT 1"], 0),
        ('Q: str = "SELECT 1"\nsql(Q)\nsql(Q)', ["SELECT 1"], 0),
        ('spark.sql(f"SELECT {x}")', [], 1),
        ('q = f"SELECT {x}"\nspark.sql(q)', [], 1),
        ('spark.sql("SELECT " + x)', [], 1),
        ('spark.sql("SELECT {}".format(x))', [], 1),
        ('spark.sql("SELECT 1 FROM {t}", t=df)', [], 0),
        ('spark.sql("SELECT :x", {"x": 1})', [], 0),
        ('spark.sql("SET a = 1")', [], 0),
        ('tree.sql(dialect="spark")', [], 0),
        ("spark.sql(x)", [], 0),
        ("spark.sql(*x)", [], 0),
        ('q = "SELECT 1"\nq = "SELECT 2"\nspark.sql(q)', [], 0),
        ('q = "SELECT 1"\nq += x\nspark.sql(q)', [], 0),
        ('q = "SELECT 1"\ndef f(q):\n    spark.sql(q)', [], 0),
        ('"SELECT 1"\nprint("SELECT 2")', [], 0),
        ('spark.sql(b"SELECT 1")', [], 0),
    ],
)
def test_which_literals_are_queries(document: str, texts: list[str], composed: int) -> None:
    found = read(document)
    assert [text.sql for text in found.texts] == texts
    assert len(found.composed) == composed


def test_the_place_of_what_is_composed() -> None:
    document = 'df = spark.sql(f"SELECT {x}")\n'
    assert read(document).composed == (Span(15, 28),)


@pytest.mark.parametrize("document", ["spark.sql(", "x = '", "\0", "(" * 10_000])
def test_what_is_no_python_has_no_answer(document: str) -> None:
    assert python_file(document) is None
