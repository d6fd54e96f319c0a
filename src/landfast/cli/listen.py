"""`landfast listen`."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import click

from landfast.admin.questions.event_request import EventRequest
from landfast.app import Inbox
from landfast.app.sources import profile_of, source_of
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, moment
from landfast.cli.output import counted, safe, say, say_json
from landfast.cli.signing import Signing
from landfast.config import nearest
from landfast.domain.errors import ConfigError, UserError
from landfast.listening.hosted import AwayError, Hosted, NotGivenError
from landfast.listening.journal import Journal
from landfast.listening.listener import Forwarded, Listener
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider
from landfast.providers.request import Draft
from landfast.providers.secrets import referred
from landfast.providers.signing import without_signature


@click.command()
@click.argument("url")
@click.option("--source", "sources", multiple=True, metavar="SOURCE", help="What to forward; again for more of them.")
@click.option(
    "--to",
    metavar="URL",
    help="Where it goes: http://HOST:PORT, or the whole address of a route. Default: the inbox of the settings here.",
)
@click.option("--token", metavar="REFERENCE", help="Of the role admin there: env:NAME or file:PATH.")
@click.option("--sign-with", metavar="REFERENCE", help="Sign with this secret. Default: that of the source here.")
@click.option("--unsigned", is_flag=True, help="Do not sign: for a route that checks no signature.")
@click.option("--since", metavar="AGE|TIME", help="Begin there: 2h, or an ISO time. Default: where it stopped, or now.")
@click.option("--again", is_flag=True, help="With --since: what was forwarded before, too.")
@click.option("--event", "events", multiple=True, metavar="EVENT", help="Forward this one, even if it was, and end.")
@click.option(
    "--state", type=click.Path(dir_okay=False, path_type=Path), help="The file that remembers what was forwarded."
)
@app_option
@json_option
def listen(
    *,
    url: str,
    sources: tuple[str, ...],
    to: str | None,
    token: str | None,
    sign_with: str | None,
    unsigned: bool,
    since: str | None,
    again: bool,
    events: tuple[str, ...],
    state: Path | None,
    app: str | None,
    as_json: bool,
) -> int:
    """Forward what a hosted inbox receives to this machine, over its admin API at URL: no tunnel, and nothing changes
    there. Each event has its exact bytes and headers, and a new signature, because an inbox keeps none; it is forwarded
    once, also when this command or the inbox was away in between. Until Ctrl-C."""
    _check(sources, events, since=since, again=again, sign_with=sign_with, unsigned=unsigned)
    hosted = Hosted(url, _token(token))
    if hosted.is_clear:
        click.echo("landfast: warning: http beyond this machine shows the token to others; use https", err=True)
    begin = None if since is None else moment(since, now=datetime.now(UTC))
    signer = _Signer(find_inbox(app), to, sign_with, is_unsigned=unsigned, is_one=len(sources) < 2)
    forwarded: list[Forwarded] = []
    journal = Journal(state or _state_file(hosted.url, to or "here"))
    journal.open()
    with closing(journal):
        _note_unsure(journal)
        listener = Listener(
            hosted, journal, signer.sign, say=_teller(forwarded, as_json=as_json), note=_note, again=again
        )
        if events:
            return 0 if _forwarded(listener, events) else NEGATIVE
        _check_sources(hosted, sources)
        try:
            listener.listen(
                sources, since=begin, ready=lambda: _note(f"listening to {', '.join(sources)} at {hosted.url}")
            )
        except KeyboardInterrupt:
            _note(f"ended; {counted(len(forwarded))} forwarded")
    return 0


def _check(
    sources: tuple[str, ...],
    events: tuple[str, ...],
    *,
    since: str | None,
    again: bool,
    sign_with: str | None,
    unsigned: bool,
) -> None:
    if bool(sources) == bool(events):
        raise UserError("listen: give --source to go on listening, or --event to forward one; the one or the other")
    if events and since is not None:
        raise UserError("listen: --since goes with --source; an event that is named is forwarded whenever it came")
    if again and since is None:
        raise UserError("listen: --again says from when on: give --since, such as --since 2h; or name one with --event")
    if sign_with is not None and unsigned:
        raise UserError("listen: --sign-with signs and --unsigned does not; give one of them")


def _token(reference: str | None) -> str:
    if reference is None:
        return ""
    text = _referred(reference, "--token", "token").strip()
    if not text or not text.isascii() or not text.isprintable():
        raise UserError(f"listen: --token {reference} holds no token; landfast tokens create makes one")
    return text


def _referred(reference: str, option: str, what: str) -> str:
    if not reference.startswith(("env:", "file:")):
        raise UserError(
            f"listen: {option} takes env:NAME or file:PATH; others could read a {what} in the command itself"
        )
    text, _ = referred(
        reference, name=f"listen: {option}", environ=os.environ, read_file=lambda path: Path(path).read_bytes()
    )
    return text


def _state_file(url: str, to: str) -> Path:
    """One for each way from there to here."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return folder / "landfast" / f"listen-{hashlib.sha256(f'{url} {to}'.encode()).hexdigest()[:16]}.jsonl"


def _check_sources(hosted: Hosted, sources: tuple[str, ...]) -> None:
    try:
        known = hosted.sources()
    except AwayError as error:
        _note(f"{error}")
        return
    except NotGivenError as error:
        raise UserError(f"listen: {error}") from None
    for source in sources:
        if source not in known:
            hint = nearest(source, known) or f"; there are: {', '.join(known) or 'none'}"
            raise UserError(f"listen: --source {source!r} is not there{hint}")


def _forwarded(listener: Listener, events: tuple[str, ...]) -> bool:
    try:
        return listener.forward(events)
    except AwayError as error:
        raise UserError(f"listen: {error}") from None


@dataclass(frozen=True, slots=True)
class _Signer:
    inbox: Inbox
    to: str | None
    sign_with: str | None
    is_unsigned: bool
    is_one: bool
    """Whether there is one source, so that `to` may be the whole address of a route."""
    noted: set[str] = field(default_factory=set)

    def sign(self, request: EventRequest) -> tuple[Draft, str]:
        event, body = request.event, base64.b64decode(request.body_base64)
        address = self._address(event.source)
        if self.is_unsigned:
            return Draft(body, dict(request.headers), address, "POST"), address
        profile, key, public, path = self._means(request, address)
        signing = Signing(profile, key, address, public, self.inbox.clock, path, command="listen")
        kept = without_signature(profile, request.headers, key, now=signing.now, id=event.key, url=public)
        draft = signing.requests(body, id_=event.key, type_=event.type, headers=kept)()
        if draft.body != body and event.source not in self.noted:
            self.noted.add(event.source)
            _note(f"{profile.name} signs inside of the body, so that part of it is new")
        return draft, address

    def _address(self, source: str) -> str:
        settings = self.inbox.sources.get(source)
        base = (self.to or f"http://{self.inbox.settings.host}:{self.inbox.settings.port}").rstrip("/")
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UserError(f"listen: --to {self.to!r} must be http://HOST:PORT, or the whole address of a route")
        if parts.path and not self.is_one:
            raise UserError("listen: --to is one route, and there are several sources; give http://HOST:PORT")
        return base if parts.path else base + (settings.path if settings else f"/in/{source}")

    def _means(self, request: EventRequest, address: str) -> tuple[Profile, str | Secret, str, str]:
        """How its sender signs, with which secret, which address, and which path of it."""
        source = request.event.source
        settings = self.inbox.sources.get(source)
        if settings is None and self.sign_with is None:
            raise UserError(
                f"listen: no source {source!r} is configured here, so there is no secret to sign with;"
                " give --sign-with env:NAME with that of what listens, or --unsigned"
            )
        profile = _provider(request) if settings is None else profile_of(settings)
        public = address if settings is None else settings.public_url or address
        path = settings.path if settings is not None and settings.endpoint else ""
        if self.sign_with is not None:
            return profile, _referred(self.sign_with, "--sign-with", "secret"), public, path
        assert settings is not None  # noqa: S101 - or there would be no secret
        active = source_of(settings, self.inbox.settings).active(self.inbox.clock.now().timestamp())
        if not active:
            raise UserError(f"listen: no secret of {source} is active here now; see landfast sources list")
        return profile, active[0], public, path


def _provider(request: EventRequest) -> Profile:
    try:
        return provider(request.provider)
    except ConfigError as error:
        raise UserError(
            f"listen: {request.event.source} is of a provider that is not known here ({error});"
            " describe the source in landfast.toml, or give --unsigned"
        ) from None


def _note_unsure(journal: Journal) -> None:
    for event, source in list(journal.unsure.items())[-10:]:
        _note(f"{source} {event} was under way when it ended last time, and may have arrived; --event {event} sends it")


def _note(sentence: str) -> None:
    click.echo(f"landfast: {safe(sentence)}", err=True)


def _teller(forwarded: list[Forwarded], *, as_json: bool) -> Callable[[Forwarded], None]:
    def tell(one: Forwarded) -> None:
        forwarded.append(one)
        if as_json:
            say_json({name: getattr(one, name) for name in Forwarded.__slots__})
            return
        what = " ".join(filter(None, (one.source, one.key, one.type)))
        why = "" if one.is_good else f"  {' '.join(one.text.split())[:200]}"
        say(safe(f"{datetime.now(UTC):%H:%M:%S}  {what}  {one.outcome}  {one.seconds * 1000:.0f} ms{why}"))

    return tell
