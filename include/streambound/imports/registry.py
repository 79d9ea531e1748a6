"""The newest schema of a subject in a schema registry with Confluent's HTTP API."""

from __future__ import annotations

import base64
import json
import os
from pathlib import PurePosixPath
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from streambound.errors import CatalogError, PlatformError
from streambound.imports import protobuf
from streambound.imports.entry import Entry
from streambound.imports.schemas import avro, json_schema
from streambound.query.column_types import shown

# USER:PASSWORD, by the name that Confluent's own tools use.
CREDENTIALS = "SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"
TIMEOUT = 30
LARGEST = 16 * 2**20


def entry(url: str, subject: str, name: str | None = None) -> Entry:
    """The relation that the newest schema of a subject describes.

    Raises:
        CatalogError: the address, the subject or its schema is none.
        PlatformError: the registry does not answer.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CatalogError(f"{url} is no address of a schema registry", accepted="http://... or https://...")
    if parts.username is not None:
        raise CatalogError(
            "the address has a password in it, which others see", fix=f"put USER:PASSWORD into {CREDENTIALS}"
        )
    body = _asked(f"{url.rstrip('/')}/subjects/{quote(subject, safe='')}/versions/latest", subject)
    source = f"subject {subject}"
    try:
        kind, schema = str(body.get("schemaType") or "AVRO").upper(), body["schema"]
    except (KeyError, TypeError, AttributeError):
        raise CatalogError("the registry's answer has no schema", subject=source) from None
    name = name or _topic(subject)
    if kind == "PROTOBUF":
        message = protobuf.entry(schema, source)
        return Entry(name, message.fields, notes=(_note(body), *message.notes))
    try:
        tree = json.loads(schema)
    except (ValueError, RecursionError, TypeError):
        raise CatalogError("the schema is no JSON", subject=source) from None
    readers = {"AVRO": avro, "JSON": json_schema}
    if kind not in readers:
        raise CatalogError(
            f"its schema is of type {shown(kind)}", subject=source, accepted="AVRO, JSON, PROTOBUF"
        )
    message = readers[kind](tree, source, name)
    return Entry(name, message.fields, notes=(_note(body), *message.notes))


def _topic(subject: str) -> str:
    """What a subject is the schema of, by the default strategy of names."""
    return PurePosixPath(subject).name.removesuffix("-value").removesuffix("-key") or subject


def _note(body: Any) -> str:
    references = body.get("references") or ()
    said = f"Version {body.get('version')} of subject {body.get('subject')}."
    if references:
        said += f" Not read: {', '.join(str(r.get('name')) for r in references)}, which it refers to."
    return said


def _asked(url: str, subject: str) -> Any:
    request = Request(url, headers={"Accept": "application/vnd.schemaregistry.v1+json, application/json"})
    if credentials := os.environ.get(CREDENTIALS):
        # A redirection to another host does not get them.
        token = base64.b64encode(credentials.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    try:
        with urlopen(request, timeout=TIMEOUT) as answer:
            text = answer.read(LARGEST + 1)
    except HTTPError as error:
        if error.code == 404:
            raise CatalogError(
                f"the registry has no subject {subject}", accepted="a subject, such as orders-value"
            ) from None
        if error.code in (401, 403):
            raise PlatformError(
                f"the registry refuses access ({error.code})", fix=f"put USER:PASSWORD into {CREDENTIALS}"
            ) from None
        raise PlatformError(f"the registry answers {error.code} {error.reason}") from None
    except (URLError, OSError) as error:
        raise PlatformError(f"the registry does not answer: {getattr(error, 'reason', error)}") from None
    try:
        if len(text) > LARGEST:
            raise ValueError
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PlatformError("the registry's answer is no JSON", fix="check the address") from None
