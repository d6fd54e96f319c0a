"""`landfast verify-signature`."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from landfast import config
from landfast.app.sources import source_of
from landfast.cli import NEGATIVE
from landfast.cli.options import find_inbox, json_option
from landfast.cli.output import body_text, safe, say, say_json, say_pairs
from landfast.cli.verdict import Question, judge
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ConfigError, LandfastError, UserError
from landfast.intake.source import Source
from landfast.ports.provider import PublicKey, Secret
from landfast.providers import Profile, names, provider
from landfast.providers.secrets import load_secret

EXAMPLES = """
\b
Examples:
  landfast verify-signature --provider stripe --secret env:STRIPE_WEBHOOK_SECRET \\
      --header 'Stripe-Signature: t=1767323045,v1=5257a8...' --body-file body.json
  landfast verify-signature --provider twilio --secret file:token.txt --url https://hooks.example.com/in/twilio \\
      --header 'X-Twilio-Signature: 0/KCTR6DL...' --header 'Content-Type: application/x-www-form-urlencoded' \\
      --body-file - < body.txt
  landfast verify-signature --source stripe --header 'Stripe-Signature: ...' --body-file body.json
"""

LATEST = 1e11
"""Unix seconds of the year 5138; what is more are milliseconds."""

NO_TIME = """\
A captured request is older than the moment in which you look at it. Unless --now or --tolerance is given, it is judged
as of the time that it was signed, and its age is only shown."""


@click.command("verify-signature", epilog=EXAMPLES, help=f"Say whether a request is genuine, and why not.\n\n{NO_TIME}")
@click.option("--provider", "provider_name", metavar="P", help="How it is signed: stripe, github, ...")
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="S",
    help="The secret, public key or certificate: env:NAME, file:PATH, or - for one on stdin. Repeatable.",
)
@click.option("--source", "source_name", metavar="NAME", help="Instead of both: a source of yours, with its secrets.")
@click.option("--header", "headers", multiple=True, metavar="'K: V'", help="A header of the request. Repeatable.")
@click.option("--body-file", required=True, metavar="F", help="The raw body; - is stdin.")
@click.option("--url", default="", metavar="U", help="The public URL, with its query: some senders sign it.")
@click.option("--method", default="POST", show_default=True, metavar="M")
@click.option("--now", metavar="UNIX", help="The time to judge it at, as unix seconds.")
@click.option("--tolerance", type=click.FloatRange(0), metavar="S", help="Seconds that a signed time may be away.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="What else this provider needs.")
@click.option("--app", metavar="APP", help="With --source: module:inbox, or a file.")
@json_option
def verify_signature(
    *,
    provider_name: str | None,
    secrets: tuple[str, ...],
    source_name: str | None,
    headers: tuple[str, ...],
    body_file: str,
    url: str,
    method: str,
    now: str | None,
    tolerance: float | None,
    settings: tuple[str, ...],
    app: str | None,
    as_json: bool,
) -> int:
    head = _head(method.upper(), url, headers)
    if body_file == "-" and "-" in secrets:
        raise UserError("verify-signature: --secret and --body-file cannot both be -; give one of them as a file")
    body, at = _body(body_file), None if now is None else _unix(now)
    try:
        if source_name is not None:
            source, others = _configured(source_name, app, has_more=bool(provider_name or secrets or settings))
        else:
            source, others = _described(provider_name, secrets, settings), ()
    except ConfigError as error:
        if as_json:  # whoever reads JSON reads a verdict; the sentence follows as ever
            say_json({"valid": False, "reason": str(error), "cause": "misuse"})
        raise
    source = replace(source, public_url=url or source.public_url)
    asked = Question(source, head, body, at, tolerance, others, is_by_hand=source_name is None)
    told = judge(asked)
    _print(told, as_json=as_json)
    return 0 if told["valid"] else NEGATIVE


def _head(method: str, url: str, headers: Sequence[str]) -> Head:
    parts = urlsplit(url)
    pairs = []
    for text in headers:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UserError(f"verify-signature: --header {text!r} needs a name and a value, such as 'X-Signature: abc'")
        pairs.append((name.strip().encode("ascii", "replace"), _bytes(value.strip())))
    return Head(method, parts.path or "/", parts.query, Headers(pairs))


def _bytes(text: str) -> bytes:
    """As the bytes of a header: latin-1 where it can be, as HTTP has it."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def _body(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UserError(
            f"verify-signature: --body-file {file!r} cannot be read ({error.strerror}); "
            "save the raw body there, byte for byte, or give - and send it to stdin"
        ) from None


def _unix(text: str) -> float:
    try:
        at = float(text)
    except ValueError:
        at = math.nan
    if not 0 <= at < LATEST:  # written so that a NaN fails it too
        hint = f"; in seconds, {text} milliseconds are {at / 1000:.0f}" if LATEST <= at < 1000 * LATEST else ""
        raise UserError(f"verify-signature: --now {text!r} must be unix seconds, such as 1767225600{hint}")
    return at


def _described(name: str | None, secrets: Sequence[str], settings: Sequence[str]) -> Source:
    if not name or not secrets:
        missing = "--secret" if name else "--provider"
        raise UserError(f"verify-signature: {missing} is missing; give --provider and --secret, or --source")
    profile = _profile(name, dict(_setting(text) for text in settings))
    loaded = [
        load_secret(
            "file:-" if text == "-" else text,
            provider=profile,
            name="--secret" if len(secrets) == 1 else f"--secret, number {number}",
            environ=os.environ,
            read_file=lambda path: sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes(),
            allow_short=True,
        )
        for number, text in enumerate(secrets, start=1)
    ]
    _warn_of_clear(secrets, loaded)
    named = [replace(secret, name=f"{number}") for number, secret in enumerate(loaded, start=1)]
    return Source(name, profile, tuple(named))


def _warn_of_clear(given: Sequence[str], loaded: Sequence[Secret]) -> None:
    """What stands in the command itself, everybody on the machine can read while it runs, and the shell keeps it."""
    for text, secret in zip(given, loaded, strict=True):
        if text != "-" and not text.startswith(("env:", "file:")) and not isinstance(secret.key, PublicKey):
            how = "give env:NAME or file:PATH, or - and send it to stdin"
            click.echo(f"landfast: a secret in the command can be read by others on this machine; {how}", err=True)
            return


def _profile(name: str, options: dict[str, Any]) -> Profile:
    own = config.load().providers
    if name not in own and name not in names():
        _suggest(name, [*own, *names()])
    profile = provider(name, described=own.get(name), **options)
    # What is not said is empty, which no sender's word equals: the request is then refused, not the question.
    return replace(profile, given=dict.fromkeys(profile.missing, "") | dict(profile.given))


def _suggest(name: str, known: Sequence[str]) -> None:
    """Raises with the nearest name, if one is near. Another package may have brought a provider of this very name."""
    hint = config.nearest(name.lower(), known)
    try:
        provider(name)
    except ConfigError as error:
        raise ConfigError(
            f"--provider: there is no provider {name!r}{hint}" if hint else f"--provider: {error}"
        ) from None


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"verify-signature: --setting {text!r} needs NAME=VALUE, such as key_id=abc")
    return name, value


def _configured(name: str, app: str | None, *, has_more: bool) -> tuple[Source, Sequence[Source]]:
    if has_more:
        raise UserError("verify-signature: --source has its own provider, secrets and settings; leave those out")
    inbox = find_inbox(app)
    found = inbox.sources.get(name)
    if found is None:
        hint = config.nearest(name, inbox.sources) or f"; there are: {', '.join(inbox.sources) or 'none'}"
        raise UserError(f"verify-signature: there is no source {name!r}{hint}")
    others = []
    for other in inbox.sources.values():
        try:
            others += [source_of(other, inbox.settings)] if other.name != name else []
        except LandfastError:
            continue  # only to compare with; `sources check` tells what is wrong with it
    return source_of(found, inbox.settings), others


def _print(judged: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(judged)
        return
    fields = dict(judged)
    say("valid" if fields.pop("valid") else "not valid")
    challenge, events = fields.pop("challenge", None), fields.pop("events", [])
    if len(events) > 1:
        fields = {name: value for name, value in fields.items() if name not in events[0]}
    say_pairs(fields)
    if challenge:
        say(f"challenge answered with {challenge['status']} {safe(challenge['content_type'])}")
        say(body_text(challenge["body"].encode()))
    for number, event in enumerate(events if len(events) > 1 else [], start=1):
        say(f"\nevent {number}")
        say_pairs(event)
