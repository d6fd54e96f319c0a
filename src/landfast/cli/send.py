"""`landfast send`."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import BinaryIO, TextIO
from urllib.parse import urlsplit

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of, source_of
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run, without_app
from landfast.cli.output import safe, say, say_json
from landfast.cli.send_again import file_request, stored_event, stored_request
from landfast.cli.send_sample import sample_request, say_samples
from landfast.cli.signing import Requests, Signing
from landfast.config import SourceSettings, nearest
from landfast.domain.errors import UserError
from landfast.ports.provider import Secret
from landfast.providers.request import Draft

EXAMPLES = """
\b
Examples:
  landfast send stripe payment_intent.succeeded --set data.object.amount=8999
  landfast send github push --times 3                     one event, delivered three times
  landfast send --list stripe                             which types there are samples of
  landfast send stripe --body-file event.json             these very bytes, signed; - for stdin
  landfast send --event evt_1 --url http://127.0.0.1:8000 a stored event once more, signed anew
  landfast send sendgrid delivered --private-key mine.pem where only the sender holds the key
"""

ANSWER_SECONDS = 30.0
"""As long as the most patient senders wait."""


@click.command(epilog=EXAMPLES)
@click.argument("source", required=False)
@click.argument("event_type", metavar="[TYPE]", required=False)
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a field: data.object.amount=8999.")
@click.option("--id", "event_id", metavar="ID", help="The sender's id of the event. Default: a new one each time.")
@click.option("--times", type=click.IntRange(1, 100_000), default=1, help="Deliver the same event this often.")
@click.option("--body-file", type=click.File("rb"), metavar="FILE", help="Send these bytes as they are; - for stdin.")
@click.option("--event", "stored", metavar="EVENT", help="Send a stored event's bytes again: by id, key or SOURCE/KEY.")
@click.option(
    "--header",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a header, or change one: X-Forwarded-Proto=https.",
)
@click.option("--list", "listing", is_flag=True, help="List the types there are samples of: of a SOURCE, or of all.")
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
    source: str | None,
    event_type: str | None,
    changes: tuple[str, ...],
    event_id: str | None,
    times: int,
    body_file: BinaryIO | None,
    stored: str | None,
    given: tuple[str, ...],
    listing: bool,
    url: str | None,
    private_key: TextIO | None,
    app: str | None,
    as_json: bool,
) -> int:
    """Send a webhook, signed as the source's provider signs, with the source's first secret that is active: a sample of
    TYPE, a body of your own, or an event that an inbox holds."""
    inbox = find_inbox(app)
    if listing:
        return say_samples(inbox, source, as_json=as_json)
    _check_one_way(source, event_type, body_file, stored, changes)
    event = None if stored is None else run(stored_event(inbox, stored))
    name = source or ("" if event is None else event.summary.source)
    signing = _signing(inbox, name, event_id, private_key, url, app)
    headers = _headers(given)
    requests: Requests
    if event is not None:
        requests = stored_request(signing, event)
    elif body_file is not None:
        requests = file_request(signing, body_file.read(), event_type, headers)
    else:
        requests = sample_request(signing, event_type or "", changes)
    answers = [_post(signing.target, requests(), headers) for _ in range(times)]
    if as_json:
        say_json([{"status": status, "answer": answer} for status, answer in answers])
    else:
        for status, answer in answers:
            say(f"{status} {safe(answer) or '(empty answer)'}")
    return 0 if all(200 <= status < 300 for status, _ in answers) else NEGATIVE


def _check_one_way(
    source: str | None, event_type: str | None, body_file: object, stored: str | None, changes: tuple[str, ...]
) -> None:
    if stored is not None and (body_file is not None or event_type is not None):
        raise UserError("send: --event has body and type already; leave out TYPE and --body-file")
    if source is None and stored is None:
        raise UserError("send: name a source and a type, such as: landfast send stripe payment_intent.succeeded")
    if event_type is None and body_file is None and stored is None:
        raise UserError(f"send: which type? landfast send --list {source} names those that there are samples of")
    if changes and (body_file is not None or stored is not None):
        raise UserError("send: --set changes a sample; --body-file and --event send the bytes as they are")


def _signing(
    inbox: Inbox, source: str, event_id: str | None, private_key: TextIO | None, url: str | None, app: str | None
) -> Signing:
    settings = _known(inbox, source, app)
    key = private_key.read().strip() if private_key else _secret(settings, inbox, inbox.clock.now().timestamp())
    target = _target(url or f"http://{inbox.settings.host}:{inbox.settings.port}", settings.path)
    signed = settings.path if settings.endpoint else ""
    return Signing(profile_of(settings), key, target, settings.public_url or target, inbox.clock, signed, event_id)


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


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    headers = {}
    for each in given:
        name, equals, value = each.partition("=")
        is_sendable = f"{name}{value}".isprintable() and name.isascii() and value.isascii()
        if not equals or not name or " " in name or ":" in name or not is_sendable:
            raise UserError(f"send: --header {each!r} needs NAME=VALUE, such as X-Forwarded-Proto=https")
        headers[name] = value
    return headers


def _target(url: str, path: str) -> str:
    """Where to post: a base, such as http://HOST:PORT or .../hooks, or the source's own address already."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError(f"send: --url {url!r} must be http://HOST:PORT or https://HOST:PORT, or all of ...{path}")
    base = url.rstrip("/")
    return base if base.endswith(path) else f"{base}{path}"


def _post(url: str, draft: Draft, given: Mapping[str, str]) -> tuple[int, str]:
    """What was given takes the place of what the signing made: a forgery is what somebody may want to send."""
    parts, query = urlsplit(url), urlsplit(draft.url).query
    where = f"{parts.scheme}://{parts.netloc}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    replaced = {name.lower() for name in given}
    headers = {name: value for name, value in draft.headers.items() if name.lower() not in replaced} | dict(given)
    try:
        target = f"{parts.path}?{query}" if query else parts.path
        connection.request(draft.method, target, draft.body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        raise UserError(f"send: nothing listens at {where}; start it with landfast serve, or give --url") from None
    except (OSError, http.client.HTTPException) as error:
        raise UserError(f"send: {where} gave no answer: {error or type(error).__name__}") from None
    finally:
        connection.close()
