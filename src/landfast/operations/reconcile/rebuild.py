"""An item of a provider's list as the delivery that it would have been: under the same key, or not at all.

Key, type, entity and time are read by the provider's own profile, as of any delivery. Where the key depends on the very
bytes that were sent, a list cannot give it. Where the list tells the signature as well, as GitHub's does, the bytes are
put together again until the signature fits them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from landfast.domain.delivery import Delivery, Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.domain.reconciliation import RECONCILED
from landfast.intake.identify import deliveries, event_of, kept_headers
from landfast.intake.source import Source
from landfast.operations.reconcile.pages import filled, is_readable, part, value
from landfast.ports.provider import KeyNeeded, Proven
from landfast.providers import Profile
from landfast.providers.listing import Listing

JSON = "application/json"
NO_JSON = "the provider tells it in bytes that are no JSON"
NO_BODY = "the list does not say what was sent"
OTHER_BYTES = (
    "its key is made of the very bytes that were sent, which the list does not have; set dedup to fields that both"
    " have, such as fields:id,updated_at"
)
UNSIGNED_BYTES = "its bytes cannot be put together as they were signed; have the provider send it again"


class NotRebuilt(NamedTuple):
    why: str


def rebuild(
    source: Source, profile: Profile, listing: Listing, item: bytes, detail: bytes | None, now: datetime
) -> Sequence[Delivery] | NotRebuilt:
    """The events that it would have brought, ready to be recorded; or why not."""
    if detail is not None and not is_readable(detail):
        return NotRebuilt(NO_JSON)
    whole = item if detail is None else detail
    body = part(whole, listing.body)
    if body is None:
        return NotRebuilt(NO_BODY)
    head = _head(source, listing, item, whole)
    if listing.sent_headers and profile.hidden_headers.keys() & dict(head.headers.pairs).keys():
        for candidate in _as_sent(body):
            if (proven := _proven(source, profile, head, candidate)) is not None:
                return _deliveries(source, proven, profile, head, candidate, now)
        return NotRebuilt(UNSIGNED_BYTES)
    if _keys(profile, head, body, now) != _keys(profile, head, body + b" ", now + timedelta(seconds=1)):
        return NotRebuilt(OTHER_BYTES)
    return _deliveries(source, profile.unproven(head, body), profile, head, body, now)


def _deliveries(
    source: Source, proven: Proven, profile: Profile, head: Head, body: bytes, now: datetime
) -> Sequence[Delivery]:
    """Marked as what nobody delivered. None of them is a variant, a sibling or bound to a proof: whoever records them
    has looked whether their key is known."""
    found = profile.find(proven, now)
    events = [event_of(source, each) for each in found]
    made = deliveries(source, found, events, head=head, body=body, now=now)
    marked = _marked(kept_headers(head.headers, source.hidden_headers), now)
    return [msgspec.structs.replace(each, headers=marked, is_strict=False, siblings=None, proof=None) for each in made]


def _keys(profile: Profile, head: Head, body: bytes, now: datetime) -> list[str]:
    return [each.key for each in profile.find(profile.unproven(head, body), now)]


def _proven(source: Source, profile: Profile, head: Head, body: bytes) -> Proven | None:
    """With any secret that counts now, or has: it was signed then."""
    try:
        signature = profile.present(head)
        return profile.verify(signature, head, body, source.secrets, url=source.public_url)
    except (UnverifiedError, KeyNeeded):
        return None


def _as_sent(body: bytes) -> Iterator[bytes]:
    """As it stands in the list, without its white space, with and without escapes, and each of these in a form."""
    data = json.loads(body)
    spelt = [json.dumps(data, separators=(",", ":"), ensure_ascii=each).encode() for each in (False, True)]
    plain = [body, msgspec.json.format(body, indent=-1), *spelt]
    yield from plain
    yield from (urlencode({"payload": each}).encode() for each in plain)


def _head(source: Source, listing: Listing, item: bytes, whole: bytes) -> Head:
    sent = value(whole, listing.sent_headers) if listing.sent_headers else None
    pairs = [(str(name), str(each)) for name, each in sent.items()] if isinstance(sent, dict) else []
    pairs += [(name, _text(template, item)) for name, template in listing.headers.items()]
    if not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(("content-type", JSON))
    headers = Headers((name.encode("latin-1", "replace"), each.encode("latin-1", "replace")) for name, each in pairs)
    return Head("POST", f"/in/{source.name}", headers=headers)


def _text(template: str, item: bytes) -> str:
    """A header's value: `{event}` is a field of the item."""
    whole = template.strip()
    if whole.startswith("{") and whole.endswith("}") and whole.count("{") == 1:
        found = value(item, whole[1:-1])
        return str(found) if isinstance(found, str | int) else ""
    return filled(template, {}, item)


def _marked(headers: bytes, now: datetime) -> bytes:
    pairs = msgspec.json.decode(headers, type=list[tuple[str, str]])
    return msgspec.json.encode([(RECONCILED, f"{now:%Y-%m-%dT%H:%M:%SZ}"), *pairs])
