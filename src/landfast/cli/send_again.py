"""Bytes that are there already, as a request: those of a file, and those of an event that an inbox holds."""

from __future__ import annotations

from collections.abc import Mapping

import click

from landfast.app import Inbox
from landfast.app.batch_of_one import body_alone
from landfast.cli.no_event import NoEventError
from landfast.cli.signing import Requests, Signing
from landfast.domain.errors import UserError
from landfast.domain.summary import EventRecord
from landfast.providers import Profile
from landfast.providers.locations import split_place
from landfast.providers.signing import without_signature
from landfast.recovery.find import find_event
from landfast.recovery.stored_request import headers_of, must_have_body


async def stored_event(inbox: Inbox, name: str) -> EventRecord:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
    if record is None:
        raise NoEventError(name)
    must_have_body(record, "send")
    return record


def file_request(signing: Signing, body: bytes, event_type: str | None, given: Mapping[str, str]) -> Requests:
    """TYPE and --id matter where the provider has them in headers."""
    profile = signing.profile
    if event_type is None:
        names = {name.lower() for name in given}
        for header in _type_headers(profile):
            if header.lower() in names:
                break
        else:
            if headers := _type_headers(profile):
                raise UserError(
                    f"send: {profile.name} has the type in the header {headers[0]}, and not in the body;"
                    " write it after the source: landfast send SOURCE TYPE --body-file FILE"
                )
    return _kept(signing.requests(body, id_=signing.new_id(), type_=event_type), body, profile)


def stored_request(signing: Signing, record: EventRecord) -> Requests:
    """The event's own bytes under its own key, with the headers it came with; the signature is ours, and of now."""
    profile, event = signing.profile, record.summary
    headers, body = headers_of(record), body_alone(profile, record, "send")
    id_ = signing.given_id or event.key
    kept = without_signature(profile, headers, signing.key, now=signing.now, id=id_, url=signing.public)
    return _kept(signing.requests(body, id_=id_, type_=event.type, headers=kept), body, profile)


def _kept(requests: Requests, body: bytes, profile: Profile) -> Requests:
    if requests().body != body:
        click.echo(f"landfast: note: {profile.name} signs inside of the body, so that part of it is new", err=True)
    return requests


def _type_headers(profile: Profile) -> list[str]:
    """The headers that hold the type, where no part of the body does."""
    places = [split_place(each.strip().partition("|")[0]) for each in profile.type.split("+")[0].split(" | ")]
    return [rest for kind, rest in places if kind == "header"] if all(kind == "header" for kind, _ in places) else []
