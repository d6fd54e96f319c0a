"""`landfast send`."""

from __future__ import annotations

import http.client
import json
import secrets
from typing import Any
from urllib.parse import urlsplit

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of, secrets_of
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, without_app
from landfast.cli.output import safe, say, say_json
from landfast.config import SourceSettings, nearest
from landfast.domain.errors import UserError
from landfast.providers.signing import sample, sign

SECONDS = 30.0
"""As long as the most patient senders wait."""


@click.command()
@click.argument("source")
@click.argument("event_type", metavar="TYPE")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a field: data.object.amount=8999.")
@click.option("--id", "event", metavar="ID", help="The sender's id of the event. Default: a new one each time.")
@click.option("--times", type=click.IntRange(1, 100_000), default=1, help="Deliver the same event this often.")
@click.option(
    "--url",
    help="Where the inbox listens: http://HOST:PORT, with what it is mounted at. Default: that of the settings.",
)
@app_option
@json_option
def send(
    *,
    source: str,
    event_type: str,
    changes: tuple[str, ...],
    event: str | None,
    times: int,
    url: str | None,
    app: str | None,
    as_json: bool,
) -> int:
    """Send a sample webhook, signed with the source's first secret, to a running inbox."""
    inbox = find_inbox(app)
    settings = _known(inbox, source, app)
    event = event or f"evt_{secrets.token_hex(8)}"
    body = _changed(sample(settings.provider, event_type, id=event), changes)
    secret = secrets_of(settings, inbox.settings.folder)[0]
    target = _target(url or f"http://{inbox.settings.host}:{inbox.settings.port}", source)
    answers = []
    for _ in range(times):
        now = inbox.clock.now().timestamp()
        headers = sign(profile_of(settings), body, secret, now=now, id=event, type=event_type)
        answers.append(_post(target, body, headers))
    if as_json:
        say_json([{"status": status, "answer": answer} for status, answer in answers])
    else:
        for status, answer in answers:
            say(f"{status} {safe(answer)}")
    return 0 if all(200 <= status < 300 for status, _ in answers) else NEGATIVE


def _known(inbox: Inbox, source: str, app: str | None) -> SourceSettings:
    settings = inbox.sources.get(source)
    if settings is None:
        known = ", ".join(inbox.sources) or "none"
        hint = nearest(source, inbox.sources) or f"; there are: {known}"
        raise UserError(f"send: there is no source {source!r}{hint}{without_app(app)}")
    return settings


def _changed(body: bytes, changes: tuple[str, ...]) -> bytes:
    if not changes:
        return body
    data = json.loads(body)
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path:
            raise UserError(f"send: --set {change!r} needs PATH=VALUE, such as data.object.amount=8999")
        _set(data, path.split("."), _value(text))
    return json.dumps(data, separators=(",", ":")).encode()


def _set(data: Any, path: list[str], value: Any) -> None:
    *parents, last = path
    for name in parents:
        data = data.setdefault(name, {}) if isinstance(data, dict) else None
    if not isinstance(data, dict):
        raise UserError(f"send: --set {'.'.join(path)}: only fields of objects can be set")
    data[last] = value


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself: 8999 is a number, eur a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _target(url: str, source: str) -> str:
    """Where to post: a base, such as http://HOST:PORT or .../hooks, or the source's own address already."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError(f"send: --url {url!r} must be http://HOST:PORT or https://HOST:PORT, or all of .../in/{source}")
    base = url.rstrip("/")
    return base if base.endswith(f"/in/{source}") else f"{base}/in/{source}"


def _post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    parts = urlsplit(url)
    where = f"{parts.scheme}://{parts.netloc}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=SECONDS)
    try:
        connection.request("POST", parts.path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        raise UserError(f"send: nothing listens at {where}; start it with landfast serve, or give --url") from None
    except (OSError, http.client.HTTPException) as error:
        raise UserError(f"send: {where} gave no answer: {error or type(error).__name__}") from None
    finally:
        connection.close()
