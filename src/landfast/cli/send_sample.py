"""Samples: which there are, and one of them as a request, with the fields that the user changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, urlencode

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of
from landfast.cli.output import safe, say_json, say_table
from landfast.cli.signing import Requests, Signing
from landfast.domain.errors import ConfigError, UserError
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.locations import KINDS
from landfast.providers.request import Draft
from landfast.providers.samples import sample_types
from landfast.providers.signing import sample


def sample_request(signing: Signing, event_type: str, changes: tuple[str, ...]) -> Requests:
    profile, event, now = signing.profile, signing.new_id(), signing.now
    plain = sample(profile, event_type, id=event, now=now, day=now)
    _check_expressible(profile, signing.requests(plain, id_=event, type_=event_type)(), event, event_type)
    _note_unknown(profile, event_type)
    return signing.requests(_changed(plain, changes), id_=event, type_=event_type)


def say_samples(inbox: Inbox, name: str | None, *, as_json: bool) -> int:
    """Of one source or provider, or of all that are known."""
    if name is None:
        profiles = [*{profile_of(one).name: profile_of(one) for one in inbox.sources.values()}.values()]
        profiles = profiles or list(PROFILES.values())
    elif name in inbox.sources:
        profiles = [profile_of(inbox.sources[name])]
    else:
        try:
            profiles = [provider(name)]
        except ConfigError as error:
            raise UserError(f"send: {error}") from None
    found = [(profile.name, type_) for profile in profiles for type_ in sample_types(profile)]
    if as_json:
        say_json([{"provider": profile, "type": type_} for profile, type_ in found])
    elif found:
        say_table(("provider", "type"), found)
    else:
        name = safe(profiles[0].name)
        click.echo(f"landfast: {name} is described by you: every type of it is sent with one sample", err=True)
    return 0


def _note_unknown(profile: Profile, event_type: str) -> None:
    """The list is of what is common, so an unknown type is sent all the same; a typing mistake must not pass unseen."""
    known = sample_types(profile)
    if not known or event_type in known:
        return
    near = get_close_matches(event_type, known, n=3) or [type_ for type_ in known if _is_related(type_, event_type)][:3]
    hint = f"near it are {', '.join(near)}" if near else f"landfast send --list {profile.name} names those there are"
    general = profile.samples[0].type
    click.echo(
        f"landfast: note: there is no sample of {safe(event_type)!r} for {profile.name}, so the fields are those of"
        f" {general}; {hint}",
        err=True,
    )


def _is_related(type_: str, other: str) -> bool:
    return type_.replace("/", ".").partition(".")[0] == other.replace("/", ".").partition(".")[0]


def _check_expressible(profile: Profile, draft: Draft, event: str, event_type: str) -> None:
    """A sample that would be taken for another type, or another event, is not sent: the wrong handler would run."""
    found = profile.identify(draft.head(), draft.body, received_at=datetime.now(UTC))
    types = [each.type for each in found]
    if event_type not in types:
        others = ", ".join(dict.fromkeys(each for each in [*sample_types(profile), *types] if each))
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
