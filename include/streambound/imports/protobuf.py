"""Messages of a ``.proto`` file (Protocol Buffers, language specifications of proto2 and proto3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streambound import settings
from streambound.errors import CatalogError, Location, PlatformError, meant
from streambound.imports.entry import NESTED, REFUSED, Entry, Field, struct

_SCALARS = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32", "uint64", "fixed64"), "bigint"),
    **{name: name for name in ("float", "double", "string")},
    "bool": "boolean",
}
_BUILT_IN = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.StringValue": "string",
    "google.protobuf.BoolValue": "boolean",
    "google.protobuf.Int32Value": "int",
    "google.protobuf.Int64Value": "bigint",
    "google.protobuf.UInt32Value": "bigint",
    "google.protobuf.UInt64Value": "bigint",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.DoubleValue": "double",
}
_UNSIGNED = "unsigned: values of 2^63 and beyond are refused in evaluation"
DEPTH = 20


def entry(text: str, source: str, message: str | None = None) -> Entry:
    """A message, by default the first one of the file, which is what a schema registry means.

    Raises:
        CatalogError: the text is no ``.proto`` file, or has no such message.
        PlatformError: the reader of such files is not installed.
    """
    try:
        from antlr4.error.ErrorListener import ErrorListener
        from proto_schema_parser.parser import Parser
    except ModuleNotFoundError as error:
        raise PlatformError(
            f"the package {error.name} is not installed, and reading .proto files needs it",
            fix=settings.installing("protobuf"),
        ) from None

    class Refusing(ErrorListener):  # type: ignore[misc]
        """The parser itself prints what it does not understand, and goes on without it."""

        def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, msg: str, e: Any) -> None:
            what = msg.split(" expecting ")[0][:200]
            raise CatalogError(
                f"not a .proto file: {what}", subject=source, location=Location(line, column + 1), text=text
            )

    def strict(part: Any) -> None:
        part.removeErrorListeners()
        part.addErrorListener(Refusing())

    try:
        messages = _Messages(Parser(setup_lexer=strict, setup_parser=strict).parse(text))
    except RecursionError:
        raise CatalogError("messages are nested too deeply", subject=source, fix="flatten them") from None
    if not messages.messages:
        raise CatalogError("there is no message", subject=source, accepted="message NAME { ... }")
    name = message or next(iter(messages.messages))
    if name not in messages.messages:
        raise CatalogError(
            f"there is no message {name}",
            subject=source,
            accepted=", ".join(messages.messages),
            fix=meant(name, messages.messages),
        )
    fields = tuple(messages.fields(name, 0))
    if not fields:
        raise CatalogError(f"the message {name} has no fields", subject=source, accepted="at least one field")
    return Entry(name.split(".")[-1], fields)


class _Messages:
    """The messages and enums of a file by their names, with those that they are in."""

    def __init__(self, file: Any) -> None:
        from proto_schema_parser import ast

        self.ast = ast
        # Of proto2 a field says whether it must be there; since then one without a word has a default value.
        self.defaults = file.syntax == "proto3"
        self.messages: dict[str, Any] = {}
        self.enums: dict[str, Any] = {}
        self.package = next((e.name for e in file.file_elements if isinstance(e, ast.Package)), "")
        for element in file.file_elements:
            self._note(element, "")

    def _note(self, element: Any, within: str) -> None:
        if isinstance(element, self.ast.Message):
            self.messages[within + element.name] = element
            for inner in element.elements:
                self._note(inner, f"{within}{element.name}.")
        elif isinstance(element, self.ast.Enum):
            self.enums[within + element.name] = element

    def fields(self, message: str, depth: int) -> Iterator[Field]:
        """The fields of a message, those of a ``oneof`` among them."""
        for element in self.messages[message].elements:
            if isinstance(element, self.ast.OneOf):
                for field in element.elements:
                    if isinstance(field, self.ast.Field):
                        yield self._field(field, message, depth, chosen=True)
            elif isinstance(element, self.ast.Field):
                yield self._field(element, message, depth)
            elif isinstance(element, self.ast.MapField):
                inner = (
                    self._type(kind, message, depth + 1) for kind in (element.key_type, element.value_type)
                )
                yield Field(element.name, f"map<{', '.join(inner)}>", note=NESTED)
            elif isinstance(element, self.ast.Group):
                yield Field(element.name.lower(), "object(group)", note=f"a group is no type here: {REFUSED}")

    def _field(self, field: Any, within: str, depth: int, chosen: bool = False) -> Field:
        kind = self._type(field.type, within, depth)
        cardinality = "" if field.cardinality is None else field.cardinality.value
        if cardinality == "REPEATED":
            return Field(field.name, f"array<{kind}>", note=NESTED)
        # A message that is not sent is missing, whatever the syntax.
        scalar = field.type in _SCALARS or self._named(self.enums, field.type, within) is not None
        default = self.defaults and scalar and not chosen and cardinality != "OPTIONAL"
        nullable = not (default or cardinality == "REQUIRED")
        symbols = self._symbols(field.type, within)
        if symbols is not None:
            note = "the names of the schema's enum; a number without a name is none of them"
            return Field(field.name, "string", nullable, note, {"values": symbols})
        note = _UNSIGNED if field.type in ("uint64", "fixed64") else ""
        if kind.startswith("object("):
            note = f"{field.type} is no type here: {REFUSED}"
        return Field(field.name, kind, nullable, note or (NESTED if "<" in kind else ""))

    def _type(self, kind: str, within: str, depth: int) -> str:
        plain = kind.removeprefix(".")
        if plain in _SCALARS:
            return _SCALARS[plain]
        if plain in _BUILT_IN:
            return _BUILT_IN[plain]
        if self._named(self.enums, plain, within) is not None:
            return "string"
        message = self._named(self.messages, plain, within)
        if message is None or depth > DEPTH:
            return f"object({plain})"
        return struct(self.fields(message, depth + 1))

    def _symbols(self, kind: str, within: str) -> list[str] | None:
        name = self._named(self.enums, kind.removeprefix("."), within)
        if name is None:
            return None
        values = [e for e in self.enums[name].elements if isinstance(e, self.ast.EnumValue)]
        return [value.name for value in values]

    def _named(self, declared: Mapping[str, Any], kind: str, within: str) -> str | None:
        """The name that a type means in a message: of the innermost that has it."""
        plain = kind.removeprefix(f"{self.package}.") if self.package else kind
        scopes = within.split(".")
        for end in range(len(scopes), -1, -1):
            name = ".".join((*scopes[:end], plain))
            if name in declared:
                return name
        return None
