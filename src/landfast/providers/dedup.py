"""What makes two deliveries the same event: rules that give the dedup key, one line of text each.

    body:id, header:X-Event-Id    the sender's own id, wherever it stands
    body                          the digest of the raw body; in a request of many events, of the item's own bytes
    type+body                     the digest of the event's type and the same
    form                          the digest of a form's fields, for senders that sign those and not how they are spelt
    fields:type,data.object.id    the digest of chosen fields, for bodies with nonces in them; `type` is the event's
    fields:id | uuid,at           the same; of `id` and `uuid` the first that is there
    fields:sent_at,number         the same; `number` is the place of the event in its request, where two may be alike
    hmac:id                       an HMAC of the id there and the whole body in canonical form
    arrival                       every arrival is an event of its own
    body:id or arrival            the same for what has no id there
    query:id or query             for what has no id there, the digest of query and body, for senders that sign both

A rule that finds nothing falls back to the digest of the body: a duplicate may then run twice, but no event is lost.
That holds while two events never have the same bytes. A sender that only says that something changed says it in the
same words each time: there take `arrival`. What it redelivers runs again, which a handler that asks what changed can
bear; otherwise the second change would be taken for the first.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from landfast.domain import json_limits
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.legible import is_legible
from landfast.providers.locations import KINDS, Sight, as_text, first_at, pick_at, read_at
from landfast.providers.request import Request

LONGEST_KEY = 200
"""Characters. Ids have about 30; a unique index takes a few hundred bytes without a page of its own."""

KeyRule = Callable[[Sight, bytes, str], str]
"""What can be read of the event, its raw bytes, its type -> the dedup key."""


def key_rule(rule: str, *, hmac_key: str) -> KeyRule:
    first, otherwise = _parted(rule)
    kind, colon, rest = first.partition(":")
    match kind, rest:
        case "body", "" if not colon:
            return _of_body
        case "arrival", "" if not colon:
            return _of_arrival
        case "form", "" if not colon:
            return _of_form
        case "type+body", "" if not colon:
            return lambda _sight, body, type_: _digest(type_.encode("utf-8", "surrogatepass"), body)
        case _, _ if kind in KINDS and rest and "+" not in rest:
            return _own_id(first, otherwise)
        case "fields", _ if rest:
            return _chosen_fields(rest.split(","), otherwise)
        case "hmac", _ if rest and "+" not in rest:
            return _hmac_of(rest, hmac_key.encode(), otherwise)
    raise _unknown(rule)


def places_read(rule: str) -> list[str] | None:
    """The places that a rule reads; None for the whole body."""
    first, _ = _parted(rule)
    kind, _, rest = first.partition(":")
    if kind == "hmac":
        return None
    if kind == "fields":
        return [name.strip() for name in rest.split(",") if name.strip() not in {"type", "number"}]
    return [first] if rest else []


def reads_type(rule: str) -> bool:
    """Whether the event's type is part of the key."""
    first, _ = _parted(rule)
    kind, _, rest = first.partition(":")
    return kind == "type+body" or (kind == "fields" and "type" in [name.strip() for name in rest.split(",")])


def body_digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def storable(key: str) -> str:
    """The key, or its digest where a database would not take it: replacing characters would make two keys one."""
    if len(key) <= LONGEST_KEY and is_legible(key):
        return key
    return body_digest(key.encode("utf-8", "surrogatepass"))


def _parted(rule: str) -> tuple[str, KeyRule]:
    """The rule itself, and the one for what it finds nothing in."""
    first, joint, last = rule.strip().partition(" or ")
    otherwise = {"": _of_body, "arrival": _of_arrival, "query": _of_query}.get(last.strip())
    if otherwise is None or (joint and not last.strip()):
        raise _unknown(rule)
    return first.strip(), otherwise


def _unknown(rule: str) -> ConfigError:
    return ConfigError(
        f"dedup {rule!r} is not known: "
        "use body, type+body, form, body:FIELD, header:NAME, fields:ONE,TWO, hmac:FIELD or arrival"
    )


def _of_body(sight: Sight, body: bytes, _type: str) -> str:
    # A GET has its event in the query. Without that, all of them would have the digest of nothing, and be one event.
    return body_digest(_query_of(sight) if sight.head.method == "GET" and not body else body)


def _of_query(sight: Sight, body: bytes, _type: str) -> str:
    # Neither the spelling of a query is signed nor the method: in another order, or by a POST, it is the same event.
    return _digest(_query_of(sight), body)


def _query_of(sight: Sight) -> bytes:
    try:
        return Request(sight.head, b"").sorted_query()
    except UnverifiedError:  # more parameters than anybody signs in order
        return sight.head.query.encode()


def _of_form(sight: Sight, body: bytes, type_: str) -> str:
    # As it was signed: in another order or escaped otherwise it is the same event sent again.
    fields = sight.form if sight.form is not None else Request(sight.head, body).fields()
    return body_digest(_written(fields)) if fields else _of_body(sight, body, type_)


def _written(fields: Sequence[tuple[bytes, bytes]]) -> bytes:
    # Without anything between them, because that is how they are signed: where a name ends makes no other event. And
    # each as often as verification counted it: what is signed twice and counts once could be cut in two otherwise.
    return b"".join(name + value for name, value in sorted(fields))


def _of_arrival(sight: Sight, body: bytes, _type: str) -> str:
    # The body as well: of many events in one request, each is its own.
    return f"arrival:{sight.received_at.isoformat()}:{hashlib.sha256(body).hexdigest()[:32]}"


def _own_id(location: str, otherwise: KeyRule) -> KeyRule:
    read = read_at(location)

    def rule(sight: Sight, body: bytes, type_: str) -> str:
        id_ = read(sight)
        return otherwise(sight, body, type_) if id_ is None else storable(id_)

    return rule


def _chosen_fields(names: list[str], otherwise: KeyRule) -> KeyRule:
    picks = [_field(name.strip()) for name in names]

    def rule(sight: Sight, body: bytes, type_: str) -> str:
        # A number and the same as text are one: a sender that signs fields signs them as text, so either would pass.
        values = [_canonical(as_text(value) or value) for value in [pick(sight, type_) for pick in picks]]
        return _digest(*values) if all(values) else otherwise(sight, body, type_)

    return rule


def _field(name: str) -> Callable[[Sight, str], Any]:
    if name == "type":  # as the provider reads it, maybe from a header; `body:type` is the field of that name
        return lambda _sight, type_: type_ or None
    if name == "number":
        return lambda sight, _type: sight.number
    pick = first_at(name)
    return lambda sight, _type: pick(sight)


def _hmac_of(location: str, key: bytes, otherwise: KeyRule) -> KeyRule:
    pick = pick_at(location)

    def rule(sight: Sight, body: bytes, type_: str) -> str:
        id_, canonical = _canonical(pick(sight)), _canonical(sight.data if sight.item is None else sight.item)
        if not id_ or not canonical:
            return otherwise(sight, body, type_)
        return f"hmac:{hmac.digest(key, _length(id_) + id_ + canonical, 'sha256').hex()}"

    return rule


def _canonical(value: Any) -> bytes:
    """The same bytes for the same data, whatever the order of its keys; nothing for null and what is not there, and
    for what is deeper than we read."""
    if value is None or json_limits.is_deep(value):
        return b""
    try:
        return msgspec.json.encode(value, order="sorted")
    except ValueError:
        return b""


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(_length(part))
        digest.update(part)  # not joined first: a body may have 25 MiB
    return f"sha256:{digest.hexdigest()}"


def _length(part: bytes) -> bytes:
    # Stands before each part, so that ("ab", "c") and ("a", "bc") differ.
    return len(part).to_bytes(4, "big")
