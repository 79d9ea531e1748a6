"""The address of the results database: what it may be, and what of it others may see."""

from __future__ import annotations

import re
from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from streambound.errors import StorageError

DIALECTS = "sqlite:///FILE or postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE"
FIX = "set STREAMBOUND_DATABASE_URL"


def parse_url(address: str) -> URL:
    """The address, checked.

    Raises:
        StorageError: not an address, or of a database that is not supported. An address that cannot
            be read is not repeated: it may hold a password.
    """
    # What follows an @ of a password or of a parameter is taken for the host, and would be shown.
    path, _, parameters = address.partition("?")
    if not address.startswith("sqlite") and (path.count("@") > 1 or "@" in parameters):
        raise StorageError(
            "the results database's address has an @ in a name, a password or a parameter",
            accepted=DIALECTS,
            fix=f"{FIX}; write it as %40 there, and %2F for /, %3F for ?, %25 for %",
        )
    try:
        url = make_url(address)
    except ArgumentError:
        raise StorageError(
            "the results database's address cannot be read", accepted=DIALECTS, fix=FIX
        ) from None
    except ValueError:
        raise StorageError(
            "the results database's address has a port that is no number", accepted=DIALECTS, fix=FIX
        ) from None
    if url.get_backend_name() not in ("sqlite", "postgresql") or url.database in (None, "", ":memory:"):
        raise StorageError(
            "the results database's address is not supported", subject=shown(url), accepted=DIALECTS, fix=FIX
        )
    return url


def shown(url: URL) -> str:
    """An address as others may see it: without its password, and without parameters, which may hold one."""
    return url.set(query={}).render_as_string(hide_password=True)


def masked(text: str, url: URL) -> str:
    """A text without the passwords of an address, as they are or as they stand in it."""
    words = [url.password]
    for name, value in url.query.items():
        if "pass" in name.lower():
            words += [value] if isinstance(value, str) else value
    for form in {form for word in words if word for form in (word, quote(word, safe=""))}:
        # A short one may be part of other words.
        edge = r"\b" if len(form) < 5 and form.isalnum() else ""
        text = re.sub(f"{edge}{re.escape(form)}{edge}", "***", text)
    return text
