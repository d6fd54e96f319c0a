"""`landfast send`."""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO
from urllib.parse import parse_qsl, urlencode, urlsplit

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of, source_of
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, without_app
from landfast.cli.output import safe, say, say_json
from landfast.config import SourceSettings, nearest
from landfast.domain.errors import UnverifiedError, UserError
from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers.locations import KINDS
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request

EXAMPLES = """
\b
Examples:
  landfast send stripe payment_intent.succeeded --set data.object.amount=8999
  landfast send github push --times 3                     one event, delivered three times
  landfast send sendgrid delivered --private-key mine.pem where only the sender holds the key
"""

ANSWER_SECONDS = 30.0
"""As long as the most patient senders wait."""


@click.command(epilog=EXAMPLES)
@click.argument("source")
@click.argument("event_type", metavar="TYPE")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a field: data.object.amount=8999.")
@click.option("--id", "event", metavar="ID", help="The sender's id of the event. Default: a new one each time.")
@click.option("--times", type=click.IntRange(1, 100_000), default=1, help="Deliver the same event this often.")
@click.option(
    "--url",
    help="Where the inbox listens: http://HOST:PORT, with what it is mounted at. Default: that of the settings.",
)
@click.option(
    "--private-key",
    type=click.File("r"),
    metavar="FILE",
    help="For a sender that signs with a private key: one of your own as PEM, whose public key is the source's secret.",
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
    private_key: TextIO | None,
    app: str | None,
    as_json: bool,
) -> int:
    """Send a sample webhook, signed as the source's provider signs, with the source's first secret that is active."""
    inbox = find_inbox(app)
    settings = _known(inbox, source, app)
    event = event or f"evt_{secrets.token_hex(8)}"
    profile, now = profile_of(settings), inbox.clock.now().timestamp()
    key = private_key.read().strip() if private_key else _secret(settings, inbox, now)
    target = _target(url or f"http://{inbox.settings.host}:{inbox.settings.port}", source)

    def signed(body: bytes) -> Draft:
        at, public = inbox.clock.now().timestamp(), settings.public_url or target
        return signed_request(profile, body, key, now=at, id=event, type=event_type, url=public)

    plain = sample(profile, event_type, id=event, now=now, day=now)
    _check_expressible(profile, _tried(profile, signed, plain), event, event_type)
    body = _changed(plain, changes)
    answers = [_post(target, signed(body)) for _ in range(times)]
    if as_json:
        say_json([{"status": status, "answer": answer} for status, answer in answers])
    else:
        for status, answer in answers:
            say(f"{status} {safe(answer) or '(empty answer)'}")
    return 0 if all(200 <= status < 300 for status, _ in answers) else NEGATIVE


def _known(inbox: Inbox, source: str, app: str | None) -> SourceSettings:
    settings = inbox.sources.get(source)
    if settings is None:
        known = ", ".join(inbox.sources) or "none"
        hint = nearest(source, inbox.sources) or f"; there are: {known}"
        raise UserError(f"send: there is no source {source!r}{hint}{without_app(app)}")
    return settings


def _secret(settings: SourceSettings, inbox: Inbox, now: float) -> Secret:
    active = source_of(settings, inbox.settings).active(now)
    if not active:
        raise UserError(f"send: no secret of {settings.name} is active now; see landfast sources list")
    return active[0]


def _tried(profile: Profile, signed: Callable[[bytes], Draft], body: bytes) -> Draft:
    try:
        return signed(body)
    except (UnverifiedError, ValueError, LookupError) as error:
        why = error.reason if isinstance(error, UnverifiedError) else f"{error}"
        raise UserError(f"send: a sample of {profile.name} cannot be signed: {why}") from None


def _check_expressible(profile: Profile, draft: Draft, event: str, event_type: str) -> None:
    """A sample that would be taken for another type, or another event, is not sent: the wrong handler would run."""
    found = profile.identify(draft.head(), draft.body, received_at=datetime.now(UTC))
    types = [each.type for each in found]
    if event_type not in types:
        others = ", ".join(dict.fromkeys(each for each in [*(one.type for one in profile.samples), *types] if each))
        fix = f"use {others}" if others else "send cannot fill that in"
        raise UserError(
            f"send: a sample of {profile.name} cannot be of type {event_type!r}, which stands in {profile.type}; {fix}"
        )
    is_place = ":" in profile.key and profile.key.partition(":")[0] in KINDS
    if is_place and not profile.samples and event not in [each.key for each in found]:
        raise UserError(
            f"send: a sample of {profile.name} has no key, which stands in {profile.key}; send cannot fill that in"
        )


def _changed(body: bytes, changes: tuple[str, ...]) -> bytes:
    if not changes:
        return body
    parted = [change.partition("=") for change in changes]
    for change, (path, equals, _) in zip(changes, parted, strict=True):
        if not equals or not path:
            raise UserError(f"send: --set {change!r} needs PATH=VALUE, such as data.object.amount=8999")
    try:
        data = json.loads(body)
    except ValueError:  # a form, whose fields are flat
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
        return urlencode(fields | {path: text for path, _, text in parted}).encode()
    for path, _, text in parted:
        _set(data, path.split("."), _value(text))
    return json.dumps(data, separators=(",", ":")).encode()


def _set(data: Any, path: list[str], value: Any) -> None:
    *parents, last = path
    for name in parents:
        data = data.setdefault(name, {}) if isinstance(data, dict) else _item(data, name)
    if isinstance(data, list) and _item(data, last) is not None:
        data[int(last)] = value
    elif isinstance(data, dict):
        data[last] = value
    else:
        raise UserError(f"send: --set {'.'.join(path)}: only fields of objects can be set")


def _item(data: Any, name: str) -> Any:
    """Of a list, the item of this number: events.0.type."""
    is_there = isinstance(data, list) and name.isdecimal() and int(name) < len(data)
    return data[int(name)] if is_there else None


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


def _post(url: str, draft: Draft) -> tuple[int, str]:
    parts, query = urlsplit(url), urlsplit(draft.url).query
    where = f"{parts.scheme}://{parts.netloc}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    try:
        target = f"{parts.path}?{query}" if query else parts.path
        connection.request(draft.method, target, draft.body, draft.headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        raise UserError(f"send: nothing listens at {where}; start it with landfast serve, or give --url") from None
    except (OSError, http.client.HTTPException) as error:
        raise UserError(f"send: {where} gave no answer: {error or type(error).__name__}") from None
    finally:
        connection.close()
