"""Entries as text, and what merging leaves of a person's file: all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import CatalogError
from streambound.imports.entry import NESTED, Entry, Field, typed
from streambound.imports.text import document, merge, merged
from streambound.query.catalog import catalog_of_text
from streambound.query.model import Relation

OWN = """\
# Ours; do not touch.
streams:
  orders:            # from the shop

    columns:
      id: bigint     # the key
      at: timestamp
    timestamp: at
    domains: {id: {min: 1, max: 9}}   # a promise

  # last of all
  small: {A: int, ts: timestamp}
"""
ORDERS = Entry(
    "Orders",
    (
        Field("ID", "bigint"),
        Field("at", "timestamp"),
        typed("total", "DECIMAL(10, 2)"),
        typed("t", "array<int>"),
    ),
    {"timestamp": "at", "allowed_lateness": "5 minutes"},
)
CLICKS = Entry("on", (Field("null", "int", nullable=False), Field("why", None, note="nobody knows")))


def test_a_file_is_added_to_and_nothing_in_it_is_changed(tmp_path: Path) -> None:
    file = tmp_path / "streams.yml"
    file.write_text(OWN)
    told = merge(file, [ORDERS, CLICKS], "a test")
    expected = OWN.replace(
        "      at: timestamp\n",
        f"      at: timestamp\n      total: decimal(10,2)\n      t: array<int>                 # {NESTED}\n",
    )
    expected += (
        "\n  'on':\n    # No column is a timestamp, so rows have no order in time.\n    columns:\n"
        "      'null': int\n      # why: nobody knows\n    not_null: ['null']\n"
    )
    assert file.read_text() == expected
    assert told == (
        "orders: added total, t",
        "orders: left without allowed_lateness: 5 minutes",
        "on: added",
    )
    assert merge(file, [ORDERS, CLICKS], "a test") == ("orders: left without allowed_lateness: 5 minutes",)
    assert file.read_text() == expected


def test_what_differs_is_told_and_left(tmp_path: Path) -> None:
    file = tmp_path / "streams.yml"
    file.write_text(OWN)
    other = Entry("small", (Field("A", "string", nullable=False), Field("B", "int")))
    assert merge(file, [other], "a test") == (
        "small: left as it is, its columns do not stand in lines; it lacks B: int",
        "small: left A int, the source has string",
        "small: left without not_null: [A]",
    )
    assert file.read_text() == OWN


def test_ends_of_lines_and_of_documents_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "streams.yml"
    file.write_bytes(b"streams:\r\n  a:\r\n    columns:\r\n      x: int\r\n...\r\n# after\r\n")
    merge(file, [Entry("a", (Field("y", "int"),)), Entry("b", (Field("z", "int"),))], "a test")
    text = file.read_bytes().decode()
    assert "\n" not in text.replace("\r\n", "")
    assert text.endswith("      z: int\r\n...\r\n# after\r\n")
    assert [c.name for c in catalog_of_text(text, "x").relations[0].columns] == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("streams: {a: {x: int}}\n", "streams is written in braces"),
        ("streams:\n  a: &a\n    columns:\n      x: int\n  b:\n    <<: *a\n", "without changing b"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_refused_and_left(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "streams.yml"
    file.write_text(text)
    with pytest.raises(CatalogError, match=said):
        merge(file, [Entry("a", (Field("y", "int"),)), Entry("n", (Field("y", "int"),))], "a test")
    assert file.read_text() == text


def test_columns_that_entries_share_are_left() -> None:
    text = "streams:\n  a: &a\n    columns:\n      x: int\n  b: *a\n"
    found = merged(text, catalog_of_text(text, "x"), [Entry("a", (Field("y", "int"),))], "x")
    assert found.text == text and found.notes[0].endswith("it lacks y: int")


NAMES = st.sampled_from(
    ["a", "b", "on", "1", "x y", "#", "ä", "a: b", "null", "'", '"', "- c", "~", "A.b", "é\n"]
)
TYPES = st.sampled_from(
    ["int", "decimal(10,2)", "string", "timestamp", "array<struct<a: int>>", "object(x: {)"]
)
FIELDS = st.builds(
    Field,
    NAMES,
    TYPES,
    nullable=st.booleans(),
    note=st.sampled_from(["", "seen: 1 to 2", "a # b: [c", "word " * 40]),
)
ENTRIES = st.lists(
    st.builds(
        Entry,
        NAMES,
        st.lists(FIELDS, min_size=1, max_size=5, unique_by=lambda one: one.name.lower()).map(tuple),
        notes=st.lists(st.sampled_from(["Seen: 3 rows.", "x: y # z", "long " * 50]), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one.name.lower(),
)


@given(ENTRIES)
def test_what_is_written_is_read_back(entries: list[Entry]) -> None:
    catalog = catalog_of_text(document(entries, "a test"), "a test")
    assert [described(r) for r in catalog.relations] == [
        (
            one.name,
            {f.name: f.type for f in one.fields},
            {f.name for f in one.fields if not f.nullable and not nested(f)},
        )
        for one in entries
    ]


def nested(one: Field) -> bool:
    return str(one.type).startswith(("array", "object"))


def described(relation: Relation) -> tuple[str, dict[str, str], set[str]]:
    columns = {c.name: c.type.name for c in relation.columns} | dict(relation.opaque)
    return relation.name, columns, {c.name for c in relation.columns if not c.nullable}


@given(ENTRIES, ENTRIES, st.data())
def test_lines_of_a_person_stay_in_their_order(first: list[Entry], second: list[Entry], data: Any) -> None:
    lines = document(first, "a person").splitlines()
    for _ in range(data.draw(st.integers(0, 3))):
        position = data.draw(st.integers(0, len(lines)))
        lines.insert(position, data.draw(st.sampled_from(["", "# mine", "      # mine"])))
    text = "\n".join(lines) + data.draw(st.sampled_from(["", "\n", "\n\n# the end"]))
    before = catalog_of_text(text, "a person")
    found = merged(text, before, second, "a person")
    after = catalog_of_text(found.text, "a person")
    rest = iter(found.text.splitlines())
    assert all(line in rest for line in text.splitlines())
    for old in before.relations:
        new = after.find(old.name)
        assert new is not None
        known = {c.name for c in old.columns}
        opaque = {name for name, _ in old.opaque}
        kept = replace(
            new,
            columns=tuple(c for c in new.columns if c.name in known),
            opaque=tuple(pair for pair in new.opaque if pair[0] in opaque),
        )
        assert kept == old
    everything = {r.name.lower(): {c.lower() for c in described(r)[1]} for r in after.relations}
    for one in second:
        assert {f.name.lower() for f in one.fields} <= everything[one.name.lower()]
