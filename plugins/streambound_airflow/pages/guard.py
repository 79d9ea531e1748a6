"""What every answer carries and every request is held to, whichever route it is for."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streambound_airflow.pages.problems import Refused

# The text of a query, and of a request that holds it: in JSON a character may take six.
SQL_BYTES = 64 * 1024
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
BODY_BYTES = 6 * SQL_BYTES + 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Adds the headers to answers without them, and refuses bodies that are too large while they arrive."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] not in METHODS:
            scope = {**scope, "method": "TRACE"}
        await self.app(scope, _limited(receive, Headers(scope=scope)), guarded_send)


def _limited(receive: Receive, headers: Headers) -> Receive:
    declared = headers.get("content-length", "")
    size = 0

    async def limited() -> Message:
        nonlocal size
        if declared.isdecimal() and int(declared) > BODY_BYTES:
            raise too_large(int(declared))
        message = await receive()
        size += len(message.get("body", b""))
        if size > BODY_BYTES:
            raise too_large(size)
        return message

    return limited


def too_large(size: int) -> Refused:
    """The refusal of a body or a text of so many bytes."""
    return Refused(
        413,
        f"the request has {size:,} bytes or more",
        accepted=f"a query of at most {SQL_BYTES:,} bytes",
        fix="check large files with `streambound check FILE.sql`",
    )
