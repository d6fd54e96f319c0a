"""Signed webhooks for `landfast send`, the demo and tests: what each provider would send, without the provider.

Where only the provider has the key, a private key of one's own takes its place: see `private_keys`. For a provider that
brings no sample, one is made of the places that its profile names: see `samples`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from landfast.domain.errors import UnverifiedError, UserError
from landfast.ports.provider import Secret
from landfast.providers import Profile
from landfast.providers import provider as provider_named
from landfast.providers.private_keys import signing_key
from landfast.providers.request import Draft
from landfast.providers.samples import sample_of

_BORN = 1_767_225_600.0
"""The time in samples that nobody gives another, 2026-01-01: the same bytes on every machine."""
_JSON = {"Content-Type": "application/json"}
_DAY = 86_400
_DATES = {"2026-01-01": 0, "2026-01-31": 30 * _DAY}
"""The day of a sample and what it says will be in a month, as text; in seconds after the day's begin."""
_LATEST = int(_BORN) + 366 * _DAY
"""A number between the two is a time: when a subscription of the sample ends, say. It moves with the day."""


def sign(
    provider: str | Profile,
    body: bytes,
    secret: str | Secret,
    *,
    now: float,
    id: str | None = None,  # noqa: A002 - the word that senders use
    type: str | None = None,  # noqa: A002 - same
    url: str = "",
) -> dict[str, str]:
    """The headers of a genuine request with this body. `id` and `type` matter where a provider has them in headers. The
    secret is as the sender hands it out, or as it was loaded; where that is a public key, the private one, as PEM."""
    draft = signed_request(provider, body, secret, now=now, id=id, type=type, url=url)
    if draft.body != body or draft.url != url:
        name = provider if isinstance(provider, str) else provider.name
        raise UserError(f"{name} does not sign in headers alone; use signed_request, which gives body and URL as well")
    return draft.headers


def signed_request(
    provider: str | Profile,
    body: bytes,
    secret: str | Secret,
    *,
    now: float,
    id: str | None = None,  # noqa: A002 - the word that senders use
    type: str | None = None,  # noqa: A002 - same
    url: str = "",
    path: str = "",
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Draft:
    """The whole of a genuine request: headers, and body and URL, where the sender signs in those. `path` is for one
    that is signed without what stands before it in the URL. `headers` take the place of the sample's: those of a
    request that came once."""
    profile = provider_named(provider) if isinstance(provider, str) else provider
    sample_ = sample_of(profile, type)
    chosen_id = id or f"msg_{hashlib.sha256(body).hexdigest()[:24]}"
    words = _words(type or sample_.type, chosen_id, now)
    kind = "application/x-www-form-urlencoded" if sample_.is_form else "application/json"
    if headers is None:
        headers = {"Content-Type": kind} | {name: _filled(text, words) for name, text in sample_.headers.items()}
    draft = Draft(body, dict(headers), url, method, settings=profile.given, path=path)
    scheme, key = signing_key(profile, secret)
    scheme.sign(draft, key, now=now, id_=chosen_id)
    return draft


def without_signature(
    profile: Profile,
    headers: Mapping[str, str],
    secret: str | Secret,
    *,
    now: float,
    id: str,  # noqa: A002 - the word that senders use
    url: str = "",
) -> dict[str, str]:
    """Those of a request that came once, without the ones that the provider's signature is written in."""
    hidden = {name.decode("latin-1") for name in profile.hidden_headers}
    try:
        made = signed_request(profile, b"{}", secret, now=now, id=id, url=url, headers=_JSON).headers
    except (UserError, UnverifiedError, ValueError, LookupError):  # what it signs is not in an empty body
        made = {}
    written = {name.lower() for name in made} - {"content-type"} | hidden
    return {name: value for name, value in headers.items() if name.lower() not in written}


def sample(
    provider: str | Profile,
    type: str | None = None,  # noqa: A002 - the word that senders use
    *,
    id: str | None = None,  # noqa: A002 - same
    now: float = _BORN,
    day: float = _BORN,
) -> bytes:
    """A realistic body of this type. The same arguments give the same bytes; another `id` is another event. Times that
    only tell when it happened are on `day`: an event that happened long ago is held."""
    profile = provider_named(provider) if isinstance(provider, str) else provider
    chosen = sample_of(profile, type)
    data = _filled(chosen.data, _words(type or chosen.type, id or chosen.id, now, day))
    if chosen.encoded is not None:
        data[chosen.encoded] = base64.b64encode(data[chosen.encoded].encode()).decode()
    return urlencode(data).encode() if chosen.is_form else json.dumps(data, separators=(",", ":")).encode()


def _words(type_: str, id_: str, now: float, day: float = _BORN) -> dict[str, str]:
    first, _, rest = type_.partition(".")
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    times = {"{now}": at, "{now.s}": str(int(now)), "{now.ms}": str(int(now * 1000))}
    # No more exact than the day, so that a sample that is sent again has the same bytes.
    midnight = int(day) // _DAY * _DAY
    times |= {date: f"{datetime.fromtimestamp(midnight + later, UTC):%Y-%m-%d}" for date, later in _DATES.items()}
    times[str(int(_BORN))] = str(midnight)
    return {"{id}": id_, "{type}": type_, "{type.first}": first, "{type.rest}": rest} | times


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if value == "{now.ms}":  # alone it is a number, as its senders write it
        return int(words[value])
    if type(value) is int and _BORN <= value <= _LATEST:
        return value - int(_BORN) + int(words[str(int(_BORN))])
    if isinstance(value, int | float) and str(value).startswith(str(int(_BORN))):
        return type(value)(str(value).replace(str(int(_BORN)), words[str(int(_BORN))]))
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, dict):
        pairs = [(_filled(name, words), below, _filled(below, words)) for name, below in value.items()]
        return {name: filled for name, below, filled in pairs if filled != "" or below == ""}
    return [_filled(below, words) for below in value] if isinstance(value, list) else value
