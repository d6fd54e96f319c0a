"""Requests as a provider would send them: a sample, changed where a test says so, signed, and taken in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from landfast.app.sources import profile_of
from landfast.config import SourceSettings, nearest
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.errors import SenderError, UserError
from landfast.intake.answers import answer_to
from landfast.intake.receive import Intake
from landfast.providers import Profile
from landfast.providers.request import Draft
from landfast.providers.samples import sample_of
from landfast.providers.signing import sample, signed_request, without_signature
from landfast.testing.reports import Delivered
from landfast.testing.sender_secrets import Pair


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """One request of a provider, to be sent at `/in/NAME` of a server or a test client."""

    method: str
    """POST, for nearly all of them."""
    path: str
    """`/in/NAME`, and the query of those who sign in it."""
    headers: dict[str, str]
    """With the signature, for nearly all of them."""
    body: bytes
    """The exact bytes that were signed."""
    head: Head = field(repr=False)
    """The same, as intake reads it."""


def source_named(sources: Mapping[str, SourceSettings], name: str) -> SourceSettings:
    """By its own name, or by its provider's where only one source has that."""
    if name in sources:
        return sources[name]
    of_provider = [source for source in sources.values() if source.provider == name]
    if len(of_provider) == 1:
        return of_provider[0]
    if of_provider:
        several = ", ".join(source.name for source in of_provider)
        raise UserError(f"deliver: {name} is the provider of several sources; name one of {several}")
    hint = nearest(name, sources) or f"; there are {', '.join(sources) or 'none'}"
    raise UserError(f"deliver: there is no source {name!r}{hint}")


def signed(
    source: SourceSettings,
    pair: Pair,
    *,
    now: datetime,
    body: bytes | Mapping[str, Any] | None = None,
    type: str | None = None,  # noqa: A002 - the word that senders use
    id: str | None = None,  # noqa: A002 - same
    fields: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> SignedRequest:
    """Without a body, the provider's sample of this type with these fields in it. `headers` take the place of the
    sample's; what a signature left in them is replaced by ours."""
    profile, at = profile_of(source), now.timestamp()
    content = _bytes(body) if body is not None else _sample(profile, type, id, fields or {}, at)
    how: dict[str, Any] = {"now": at, "id": id, "url": source.public_url}
    if headers is not None:
        headers = without_signature(profile, headers, pair.signing, **how | {"id": id or "msg"})
    declared = source.path if source.endpoint else ""
    draft = signed_request(profile, content, pair.signing, type=type, path=declared, headers=headers, **how)
    if body is None and type is not None:
        _check_type(profile, draft, type, now)
    head, path = draft.head(), source.path
    peer = "127.0.0.1" if source.endpoint else ""  # one that asks for no proof is for callers here
    request = Head(draft.method, path, head.query, head.headers, len(draft.body), peer)
    target = f"{path}?{head.query}" if head.query else path
    return SignedRequest(draft.method, target, draft.headers, draft.body, request)


def recorded(source: SourceSettings, body: bytes, headers: Mapping[str, str], *, query: str = "") -> SignedRequest:
    """Exactly as it was sent once."""
    head = Draft(body, dict(headers), f"https://recorded.invalid/?{query}" if query else "").head()
    path = source.path
    request = Head("POST", path, head.query, head.headers, len(body))
    return SignedRequest("POST", f"{path}?{query}" if query else path, dict(headers), body, request)


async def take_in(intake: Intake, request: SignedRequest) -> Delivered:
    answer = await answer_of(intake, request)
    return Delivered(answer.status, _told(answer.body))


async def answer_of(intake: Intake, request: SignedRequest) -> Answer:
    try:
        admitted = intake.admit(request.head)
    except SenderError as error:
        return answer_to(error)
    return await intake.respond(admitted, request.body)


def chosen_id(source: SourceSettings, type_: str | None, fields: Mapping[str, Any]) -> str:
    """The same type and fields are the same event; any others are another one."""
    plain = sample_of(profile_of(source), type_)
    if not fields and type_ in (None, plain.type):
        return plain.id
    told = json.dumps([type_, fields], sort_keys=True, default=str).encode()
    return f"{plain.id}{int(hashlib.sha256(told).hexdigest()[:8], 16)}"


def _sample(profile: Profile, type_: str | None, id_: str | None, fields: Mapping[str, Any], now: float) -> bytes:
    # A time in a sample is always the same, so that the same id is the same bytes; unless that time is checked.
    times = {"now": now} if profile.signed_at_place else {}
    body = sample(profile, type_, id=id_, **times)
    return with_fields(body, fields) if fields else body


def _check_type(profile: Profile, draft: Draft, type_: str, now: datetime) -> None:
    """A sample that would be taken for another type would run the wrong handler."""
    found = [each.type for each in profile.identify(draft.head(), draft.body, received_at=now)]
    if found and type_ not in found:
        known = ", ".join(dict.fromkeys([*(each.type for each in profile.samples), *found]))
        raise UserError(
            f"deliver: a sample of {profile.name} cannot be of type {type_!r}, which stands in {profile.type};"
            f" use {known}, or deliver_body with a body of your own"
        )


def with_fields(body: bytes, fields: Mapping[str, Any]) -> bytes:
    """Each name is a field that the body has once, at whatever depth; or a path to it, as `data__object__amount` or
    `data.object.amount`, which may be new."""
    try:
        data = json.loads(body)
    except ValueError:  # a form, whose fields are flat
        return urlencode(dict(parse_qsl(body.decode(), keep_blank_values=True)) | dict(fields)).encode()
    for name, value in fields.items():
        _put(data, _path(data, name), value, name)
    return json.dumps(data, separators=(",", ":")).encode()


def _path(data: Any, name: str) -> list[str]:
    if "." in name or "__" in name:
        return name.replace("__", ".").split(".")
    found = list(_places(data, name, []))
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join("__".join(path) for path in found)
        raise UserError(f"deliver: the sample has {name} in several places; write one of {several}")
    raise UserError(
        f"deliver: the sample has no field {name!r}; write where it belongs, such as data__object__{name}=..."
    )


def _places(data: Any, name: str, above: list[str]) -> Iterator[list[str]]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, below in steps:
        path = [*above, str(step)]
        if step == name:
            yield path
        yield from _places(below, name, path)


def _put(data: Any, path: list[str], value: Any, name: str) -> None:
    *parents, last = path
    for step in parents:
        data = data.setdefault(step, {}) if isinstance(data, dict) else _item(data, step)
    if isinstance(data, dict):
        data[last] = value
    elif _item(data, last) is not None:
        data[int(last)] = value
    else:
        raise UserError(f"deliver: {name} cannot be set, because what it would stand in is no object")


def _item(data: Any, step: str) -> Any:
    is_there = isinstance(data, list) and step.isdecimal() and int(step) < len(data)
    return data[int(step)] if is_there else None


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def _told(body: bytes) -> dict[str, Any]:
    """What the answer says; some senders want to read a word of their own instead of JSON."""
    try:
        told: dict[str, Any] = json.loads(body)
    except ValueError:
        return {"text": body.decode()}
    return told
