"""What makes two deliveries the same event: rules that give the dedup key, one line of text each.

    body:id, header:X-Event-Id    the sender's own id, wherever it stands
    body                          the digest of the raw body
    type+body                     the digest of the event's type and the raw body
    fields:type,data.object.id    the digest of chosen fields, for bodies with nonces in them; `type` is the event's
    hmac:id                       an HMAC of the id there and the whole body in canonical form

A rule that finds nothing falls back to the digest of the body: a duplicate may then run twice, but no event is lost.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import msgspec

from landfast.domain.delivery import Headers
from landfast.domain.errors import ConfigError
from landfast.providers.locations import body_paths, pick_at, read_at

LONGEST_KEY = 200
"""Characters. Ids have about 30; a unique index takes a few hundred bytes without a page of its own."""

KeyRule = Callable[[Headers, bytes, Any, str], str]
"""headers, raw body, light data, type -> the dedup key."""


def key_rule(rule: str, *, hmac_key: str) -> KeyRule:
    kind, colon, rest = rule.strip().partition(":")
    match kind, rest:
        case "body", "" if not colon:
            return lambda _headers, body, _data, _type: body_digest(body)
        case "type+body", "" if not colon:
            return lambda _headers, body, _data, type_: _digest(type_.encode("utf-8", "surrogatepass"), body)
        case "header" | "body", _ if rest and "+" not in rest:
            return _own_id(rule)
        case "fields", _ if rest:
            return _chosen_fields(rest.split(","))
        case "hmac", _ if rest and "+" not in rest:
            return _hmac_of(rest, hmac_key.encode())
    raise ConfigError(
        f"dedup {rule!r} is not known: use body, type+body, body:FIELD, header:NAME, fields:ONE,TWO or hmac:FIELD"
    )


def fields_read(rule: str) -> list[list[str]] | None:
    """The fields of the body that a rule reads; None for all of them."""
    kind, _, rest = rule.strip().partition(":")
    if kind == "hmac":
        return None
    if kind == "fields":
        return [path for name in rest.split(",") if name.strip() != "type" for path in body_paths(name)]
    return body_paths(rule) if rest else []


def body_digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def storable(key: str) -> str:
    """The key, or its digest where a database would not take it: replacing characters would make two keys one."""
    if len(key) <= LONGEST_KEY and key.isprintable():
        return key
    return body_digest(key.encode("utf-8", "surrogatepass"))


def _own_id(location: str) -> KeyRule:
    read = read_at(location)

    def rule(headers: Headers, body: bytes, data: Any, _type: str) -> str:
        id_ = read(headers, data)
        return body_digest(body) if id_ is None else storable(id_)

    return rule


def _chosen_fields(names: list[str]) -> KeyRule:
    picks = [_field(name.strip()) for name in names]

    def rule(headers: Headers, body: bytes, data: Any, type_: str) -> str:
        values = [_canonical(pick(headers, data, type_)) for pick in picks]
        return _digest(*values) if all(values) else body_digest(body)

    return rule


def _field(name: str) -> Callable[[Headers, Any, str], Any]:
    if name == "type":  # as the provider reads it, maybe from a header; `body:type` is the field of that name
        return lambda _headers, _data, type_: type_ or None
    pick = pick_at(name)
    return lambda headers, data, _type: pick(headers, data)


def _hmac_of(location: str, key: bytes) -> KeyRule:
    pick = pick_at(location)

    def rule(headers: Headers, body: bytes, data: Any, _type: str) -> str:
        id_, canonical = _canonical(pick(headers, data)), _canonical(data)
        if not id_ or not canonical:
            return body_digest(body)
        return f"hmac:{hmac.digest(key, _length(id_) + id_ + canonical, 'sha256').hex()}"

    return rule


def _canonical(value: Any) -> bytes:
    """The same bytes for the same data, whatever the order of its keys; nothing for null and what is not there."""
    try:
        return b"" if value is None else msgspec.json.encode(value, order="sorted")
    except (ValueError, RecursionError):
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
