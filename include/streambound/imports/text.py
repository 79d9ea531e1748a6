"""Entries as the text of a ``streams.yml``, and added to one that a person keeps.

Nothing that stands in a file is changed: what is new is written between its lines, and what differs from it
is noted and left. The text is read again before it is written: an addition that changed an entry is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from streambound.durable import write_text
from streambound.errors import CatalogError
from streambound.imports.entry import Entry, Field
from streambound.query.catalog import Catalog, catalog_of_text, read_text
from streambound.query.model import Relation

# Columns of text before the comment beside a column.
BESIDE = 36
WIDTH = 110
_NAMED = ("kind", "timestamp", "granularity", "primary_key", "allowed_lateness")


def document(entries: Iterable[Entry], origin: str) -> str:
    """A whole ``streams.yml``.

    Args:
        origin: the command that made it.
    """
    return "".join((*_head(origin), "streams:\n", *(_entry(entry, "  ") for entry in entries)))


def _head(origin: str) -> Iterator[str]:
    yield f"# From {origin}: what the source says, and no more.\n"
    yield "# Every line is a promise that evaluation holds the rows to, comments and 'observed' are none.\n\n"


def _entry(entry: Entry, margin: str) -> str:
    inner = margin * 2 if margin else "  "
    lines = [f"{margin}{_flow(entry.name)}:"]
    lines += [line for note in entry.notes for line in _comment(note, inner)]
    lines += [f"{inner}{key}: {_flow(entry.further[key])}" for key in _NAMED if key in entry.further]
    if "timestamp" not in entry.further and entry.further.get("kind", "stream") == "stream":
        lines += list(_unknown_stamp(entry, inner))
    lines.append(f"{inner}columns:")
    lines += [line for field in entry.fields for line in _column(field, inner + margin)]
    if never := [field.name for field in entry.fields if not field.nullable and field.plain]:
        lines += _listed(f"{inner}not_null: ", never)
    if domains := {field.name: field.domain for field in entry.fields if field.domain is not None}:
        lines.append(f"{inner}domains:")
        lines += [f"{inner}{margin}{_flow(name)}: {_flow(domain)}" for name, domain in domains.items()]
    lines += [f"{inner}{key}: {_flow(value)}" for key, value in entry.further.items() if key not in _NAMED]
    if entry.observed:
        lines += _observed(entry, inner, margin)
    return "".join(f"{line}\n" for line in lines)


def _unknown_stamp(entry: Entry, margin: str) -> Iterator[str]:
    if not entry.stamps:
        yield from _comment("No column is a timestamp, so rows have no order in time.", margin)
        return
    several = len(entry.stamps) > 1
    asked = "which of these columns orders the rows" if several else "whether this column orders the rows"
    yield from _comment(f"Not known: {asked} in time; uncomment it if so, and say allowed_lateness.", margin)
    yield from (f"{margin}# timestamp: {_flow(stamp)}" for stamp in entry.stamps)


def _column(field: Field, margin: str) -> Iterator[str]:
    if field.type is None:
        yield f"{margin}# {_flow(field.name)}: {field.note}"
        return
    text = f"{margin}{_flow(field.name)}: {_flow(field.type)}"
    if not field.note:
        yield text
    elif len(text) < BESIDE - 1 and BESIDE + len(field.note) < WIDTH:
        yield f"{text:<{BESIDE - 1}} # {field.note}"
    else:
        yield from _comment(field.note, margin)
        yield text


def _observed(entry: Entry, inner: str, margin: str) -> list[str]:
    head = f"{inner}observed:"
    return [
        f"{head:<{BESIDE - 1}} # no promise: what the rows had, for the numbers of suggestions",
        *(f"{inner}{margin}{_flow(name)}: {_flow(seen)}" for name, seen in entry.observed.items()),
    ]


def _comment(note: str, margin: str) -> Iterator[str]:
    line = f"{margin}#"
    for word in note.split():
        if len(line) + 1 + len(word) > WIDTH and line != f"{margin}#":
            yield line
            line = f"{margin}#"
        line += f" {word}"
    yield line


def _listed(head: str, names: Sequence[str]) -> Iterator[str]:
    """A list of names in as few lines as hold it."""
    line = f"{head}["
    for number, name in enumerate(names):
        part = f"{_flow(name)}{']' if number == len(names) - 1 else ','}"
        if len(line) + len(part) > WIDTH:
            yield line.rstrip()
            line = " " * (len(head) + 1)
        line += f"{part} "
    yield line.rstrip()


def _flow(value: Any) -> str:
    """A value as YAML reads it back, in one line."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False
    )
    text = text.removesuffix("\n").removesuffix("\n...")
    # JSON is YAML, and escapes the ends of lines.
    return json.dumps(value) if "\n" in text else text


@dataclass(frozen=True)
class Merged:
    """The text of a file with additions, notes on each entry, and columns added to those there."""

    text: str
    notes: tuple[str, ...]
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def merge(path: Path, entries: Sequence[Entry], origin: str) -> tuple[str, ...]:
    """Add to a file what it does not have, and say what was added and what was left.

    Raises:
        CatalogError: the file is no catalog, or written so that nothing can be added.
    """
    if not path.exists():
        write_text(path, document(entries, origin))
        return tuple(f"{entry.name}: added" for entry in entries)
    text = read_text(path)
    before = catalog_of_text(text, str(path))
    outcome = merged(text, before, entries, str(path))
    if outcome.text != text:
        _require_kept(before, outcome, path)
        write_text(path, outcome.text)
    return outcome.notes


def merged(text: str, catalog: Catalog, entries: Sequence[Entry], source: str) -> Merged:
    """A text with the entries and columns that it does not have."""
    relations = {r.name.lower(): r for r in catalog.relations}
    streams = _child(yaml.compose(text, yaml.SafeLoader), "streams")
    assert isinstance(streams, yaml.MappingNode)
    notes: list[str] = []
    inserted: list[tuple[int, str]] = []
    columns: dict[str, tuple[str, ...]] = {}
    new: list[Entry] = []
    for entry in entries:
        relation = relations.get(entry.name.lower())
        if relation is None:
            new.append(entry)
            notes.append(f"{entry.name}: added")
            continue
        added = [f for f in entry.fields if f.type is not None and not _has(relation, f.name)]
        node = _columns(streams, relation.name)
        if added and node is not None:
            offset, margin = _after(text, node)
            inserted.append(
                (offset, "".join(f"{line}\n" for item in added for line in _column(item, margin)))
            )
            columns[relation.name] = tuple(item.name for item in added)
            notes.append(f"{relation.name}: added {', '.join(columns[relation.name])}")
        elif added:
            names = ", ".join(f"{item.name}: {item.type}" for item in added)
            notes.append(
                f"{relation.name}: left as it is, its columns do not stand in lines; it lacks {names}"
            )
        notes += _differences(entry, relation, added)
    if new:
        if streams.flow_style:
            raise CatalogError(
                "streams is written in braces, to which nothing is added",
                subject=source,
                fix="write it as lines with indentation, or name a new file with --merge",
            )
        margin = " " * streams.start_mark.column or "  "
        # First, so that columns of the last entry, which go to the same place, come before it.
        inserted.insert(0, (_end(text), "".join(f"\n{_entry(item, margin)}" for item in new)))
    line = "\r\n" if "\r\n" in text else "\n"
    for offset, addition in sorted(inserted, key=lambda pair: pair[0], reverse=True):
        gap = "" if offset == 0 or text[offset - 1] == "\n" else "\n"
        text = text[:offset] + (gap + addition).replace("\n", line) + text[offset:]
    return Merged(text, tuple(notes) or ("nothing to add",), columns)


def _end(text: str) -> int:
    """Where a document ends: before a line of three dots, if there is one."""
    ends = [e for e in yaml.parse(text, yaml.SafeLoader) if isinstance(e, yaml.DocumentEndEvent)]
    if not ends or not ends[0].explicit or ends[0].start_mark is None:
        return len(text)
    return int(ends[0].start_mark.index)


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _columns(streams: yaml.MappingNode, name: str) -> yaml.MappingNode | None:
    """The columns of an entry, if they stand in lines of their own."""
    columns = _child(_child(streams, name), "columns")
    if not isinstance(columns, yaml.MappingNode) or columns.flow_style or not columns.value:
        return None
    # What an anchor shares with other entries is theirs as well.
    shared = [body for _, body in streams.value if _child(body, "columns") is columns]
    return columns if len(shared) == 1 else None


def _after(text: str, node: yaml.MappingNode) -> tuple[int, str]:
    """Where the line of the last pair of a mapping ends, and what stands before its keys."""
    key, value = node.value[-1]
    # An alias has the marks of what it stands for.
    last = value if value.start_mark.index >= key.end_mark.index else key
    end = text.find("\n", last.end_mark.index - (1 if last.end_mark.column == 0 else 0))
    offset = len(text) if end < 0 else end + 1
    return offset, " " * node.start_mark.column


def _has(relation: Relation, column: str) -> bool:
    names = [c.name for c in relation.columns] + [name for name, _ in relation.opaque]
    return column.lower() in {name.lower() for name in names}


def _differences(entry: Entry, relation: Relation, added: Sequence[Field]) -> Iterator[str]:
    """What an entry says otherwise than a file, or more, and is left."""
    declared = {c.name.lower(): c.type.name for c in relation.columns} | {
        name.lower(): kind for name, kind in relation.opaque
    }
    new = {item.name for item in added}
    for its_field in entry.fields:
        kind = declared.get(its_field.name.lower())
        if its_field.type is None or its_field.name in new or kind is None or kind == its_field.type:
            continue
        yield f"{relation.name}: left {its_field.name} {kind}, the source has {its_field.type}"
    theirs: Mapping[str, object] = {
        "timestamp": relation.timestamp,
        "allowed_lateness": relation.allowed_lateness,
        "history": relation.history,
        "primary_key": relation.primary_key,
    }
    for key, value in entry.further.items():
        if key in theirs and not theirs[key]:
            yield f"{relation.name}: left without {key}: {_flow(value)}"
    if never := [
        f.name for f in entry.fields if not f.nullable and f.name not in new and _may_be_null(relation, f)
    ]:
        yield f"{relation.name}: left without not_null: {_flow(never)}"
    if any(f.domain is not None and f.name not in new and not _domain_of(relation, f) for f in entry.fields):
        names = ", ".join(f.name for f in entry.fields if f.domain is not None)
        yield f"{relation.name}: left without the domains of {names}"
    if entry.observed:
        yield f"{relation.name}: left without observed; the command without --merge prints it"


def _may_be_null(relation: Relation, field: Field) -> bool:
    columns = [c for c in relation.columns if c.name.lower() == field.name.lower()]
    return bool(columns) and columns[0].nullable and relation.timestamp != columns[0].name


def _domain_of(relation: Relation, field: Field) -> bool:
    columns = [c for c in relation.columns if c.name.lower() == field.name.lower()]
    return bool(columns) and columns[0].domain is not None


def _require_kept(before: Catalog, outcome: Merged, path: Path) -> None:
    """Refuse a text in which an entry is another one, but for the columns that were added to it.

    Raises:
        CatalogError: naming the entry.
    """
    after = catalog_of_text(outcome.text, str(path))
    for old in before.relations:
        new = after.find(old.name)
        if new is not None:
            added = outcome.added.get(old.name, ())
            columns = tuple(c for c in new.columns if c.name not in added)
            opaque = tuple(pair for pair in new.opaque if pair[0] not in added)
            new = replace(new, columns=columns, opaque=opaque)
        if new != old:
            raise CatalogError(
                f"nothing can be added without changing {old.name}, as the file is written",
                subject=str(path),
                fix="write it as lines with indentation, without anchors, or name a new file with --merge",
            )
