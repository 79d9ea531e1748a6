"""Sending a notice: to the task's log, or through an Airflow connection by what kind it is."""

from __future__ import annotations

import base64
import json
import logging
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import escape

from streambound.errors import StorageError

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from streambound.report.notices import Notice

LOG = "log"
SECONDS = 10.0
KINDS = "smtp, slackwebhook, http, https"
log = logging.getLogger(__name__)


def send(notice: Notice, setting: str) -> None:
    """Sends a notice where the setting says: ``log``, or the name of an Airflow connection.

    Raises:
        AirflowNotFoundException: there is no such connection.
        StorageError: the connection is of a kind that cannot carry it, lacks something, or was refused.
    """
    if setting == LOG:
        for line in notice.text.splitlines():
            log.warning("%s", line)
        return
    from airflow.sdk import Connection

    connection = Connection.get(setting)
    carriers = {"smtp": _mail, "slackwebhook": _slack, "http": _post, "https": _post}
    carry = carriers.get(connection.conn_type)
    if carry is None:
        raise StorageError(
            f"connection {setting} is of type {connection.conn_type}",
            accepted=KINDS,
            fix="name another in STREAMBOUND_ALERTS",
        )
    carry(notice, connection)
    log.info("sent %r through connection %s", notice.subject, setting)


def _mail(notice: Notice, connection: Connection) -> None:
    try:
        from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    except ImportError:
        raise _not_installed("smtp") from None
    if not (to := connection.extra_dejson.get("to")):
        raise StorageError(
            f"connection {connection.conn_id} does not say who gets mail",
            fix='add {"to": "...", "from_email": "..."} to its extra',
        )
    page = f"<pre>{escape(notice.text)}</pre>"
    mail = SmtpNotifier(to=to, subject=notice.subject, html_content=page, smtp_conn_id=connection.conn_id)
    # Not by calling it: what users wrote into their queries would be rendered as templates.
    mail.notify({})


def _slack(notice: Notice, connection: Connection) -> None:
    try:
        from airflow.providers.slack.hooks.slack_webhook import SlackWebhookHook
    except ImportError:
        raise _not_installed("slack") from None
    SlackWebhookHook(slack_webhook_conn_id=connection.conn_id).send(text=notice.text)


def _not_installed(provider: str) -> StorageError:
    return StorageError(f"Airflow's provider is missing: pip install apache-airflow-providers-{provider}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses to follow: another place must see neither the findings nor the password."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def _post(notice: Notice, connection: Connection) -> None:
    """POSTs JSON; its ``text`` is what chat services show."""
    request = urllib.request.Request(_address(connection), method="POST")
    request.add_header("Content-Type", "application/json")
    if connection.password and connection.login:
        pair = f"{connection.login}:{connection.password}".encode()
        request.add_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
    elif connection.password:
        request.add_header("Authorization", f"Bearer {connection.password}")
    opener = urllib.request.build_opener(_NoRedirect())
    try:
        with opener.open(request, json.dumps(notice.body).encode(), timeout=SECONDS):
            pass
    # The address is not repeated: a webhook's own path is its password.
    except urllib.error.HTTPError as error:
        raise _refused(connection, f"answered {error.code}") from None
    except urllib.error.URLError as error:
        raise _refused(connection, f"cannot be reached: {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise _refused(connection, f"cannot be reached: {type(error).__name__}") from None


def _address(connection: Connection) -> str:
    """``http(s)://HOST[:PORT]/PATH``; as in Airflow's own HTTP hook the host may hold all of it."""
    host = connection.host or ""
    # Airflow has the scheme of an HTTP connection in its schema, or in its type.
    address = host if "://" in host else f"{connection.schema or connection.conn_type}://{host}"
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused(connection, "has no host, or one that is not http or https")
    if connection.port and parts.port is None:
        parts = parts._replace(netloc=f"{parts.netloc}:{connection.port}")
    endpoint: Any = connection.extra_dejson.get("endpoint") or ""
    path = "/".join(filter(None, [parts.path.rstrip("/"), str(endpoint).lstrip("/")]))
    return parts._replace(path=path).geturl()


def _refused(connection: Connection, what: str) -> StorageError:
    return StorageError(f"the webhook of connection {connection.conn_id} {what}")
