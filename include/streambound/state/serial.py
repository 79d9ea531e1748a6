"""Tables as canonical JSON: what tasks send to the driver, and what checkpoints hold.

Integers, strings, booleans and None are themselves; a Fraction is ``{"q": "3/2"}``, a double
``{"d": "0x1.8p+0"}`` (exact), NaN ``{"d": "nan"}``. Entries are sorted, so equal tables have equal
bytes and a digest of the bytes identifies the state.

Law: ``table_of(cells, ring, name, json.loads(dumps(table)))`` equals ``table``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from streambound.errors import DataError
from streambound.plan.model import Cell
from streambound.query.column_types import NAN, NotANumber
from streambound.query.ring import Ring
from streambound.state.table import Table

# Made once: json.dumps makes an encoder for each text, and there is one for each entry.
compact_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def canonical(document: Any) -> bytes:
    """The bytes of a document of plain values; its keys are in the order in which it was made."""
    return compact_text(document).encode()


def canonical_list(items: Iterable[bytes]) -> bytes:
    """The canonical bytes of a list, from those of its items."""
    return b"[" + b",".join(items) + b"]"


def dumps(table: Table) -> bytes:
    """The canonical bytes of a table: its entries in the order of their texts."""
    counts = sorted([f"[{n},{row_text(key)},{_number(count)}]" for (n, key), count in table.counts.items()])
    entries = sorted(
        [
            f"[{n},{row_text(key)},{row_text(subkey)},{row_text(entry)}]"
            for (n, key), bucket in table.entries.items()
            for subkey, entry in bucket.items()
        ]
    )
    return f'{{"counts":[{",".join(counts)}],"entries":[{",".join(entries)}]}}'.encode()


def _number(count: Any) -> Any:
    # The weights of rows may be fractions.
    return count if type(count) is int else compact_text(plain(count))


def table_of(cells: tuple[Cell, ...], ring: Ring, name: str, document: Any) -> Table:
    """The table in what canonical bytes hold as JSON; ``name`` is what it is of.

    Raises:
        DataError: it is no table.
    """
    table = Table(cells, ring)
    try:
        for number, key, count in document["counts"]:
            table.counts[number, decoded(key)] = value_of(count)
        for number, key, subkey, entry in document["entries"]:
            table.entries.setdefault((number, decoded(key)), {})[decoded(subkey)] = decoded(entry)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"a stored table of {name} cannot be read: {error}") from None
    return table


def digest(data: bytes) -> str:
    """The SHA-256 of canonical bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def row_text(values: Iterable[Any]) -> str:
    """Encoded values as the text of a JSON array."""
    # Most values are integers, and there are many.
    texts = [str(value) if type(value) is int else compact_text(plain(value)) for value in values]
    return f"[{','.join(texts)}]"


def plain(value: Any) -> Any:
    """An encoded value as JSON holds it."""
    # Most values are these, and asking an abstract class is slow.
    if type(value) is int or type(value) is str:
        return value
    if isinstance(value, tuple):
        return {"t": [plain(item) for item in value]}
    if isinstance(value, NotANumber):
        return {"d": "nan"}
    if isinstance(value, float):
        # -0.0 equals 0.0 in SQL, and equal states must have equal bytes.
        return {"d": (value + 0.0).hex()}
    if isinstance(value, Fraction):
        return {"q": str(value)}
    return value


def decoded(values: list[Any]) -> tuple[Any, ...]:
    """The encoded values of a JSON array."""
    return tuple([value_of(value) if type(value) is dict else value for value in values])


def value_of(value: Any) -> Any:
    """The encoded value that JSON holds."""
    if not isinstance(value, dict):
        return value
    if "t" in value:
        return decoded(value["t"])
    if "q" in value:
        return Fraction(value["q"])
    return NAN if value["d"] == "nan" else float.fromhex(value["d"])
