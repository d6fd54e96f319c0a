"""The ordinary request of a provider: JSON, one HMAC of the usual form in a header, and nothing else to look at.

From a profile and the secrets of a source come functions that read such a request, one for each order of headers that a
sender uses. They believe a request or say nothing: whatever they do not recognise is left to `Profile.verify`, which is
the only one that refuses. What they believe is what that would believe. Key, type, entity and time are read by the
profile's own functions, so that one place knows them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from landfast.domain.delivery import Head
from landfast.domain.json_limits import is_surely_within
from landfast.ports.provider import Believed, PublicKey, ReadOrdinary, Secret, Shaped
from landfast.providers.found_event import FoundEvent
from landfast.providers.locations import Sight
from landfast.providers.schemes.algorithms import ALGORITHMS, Hmac, decode
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signature_headers import LONGEST_ID, SignatureHeaders
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.timestamps import LONGEST_TIMESTAMP

if TYPE_CHECKING:
    from landfast.providers.profile import Profile

_LETTERS = {"hex": "[0-9A-Fa-f]", "base64": "[0-9A-Za-z+/=]", "base64url": "[0-9A-Za-z_-]"}
_NUMBER = f"([0-9]{{1,{LONGEST_TIMESTAMP}}})"
_PARTS = frozenset({"timestamp", "id", "body"})
_is_number = re.compile(_NUMBER.encode()).fullmatch
_is_id = re.compile(rb"[!-~]{1,%d}" % LONGEST_ID).fullmatch
_BARE = Head("POST", "/")

_Present = Callable[[Sequence[bytes]], tuple[bytes, bytes, float | None, bytes | None] | None]
"""The values of the headers -> the digest, what is signed before the body, when it was signed, the id that was."""
_Prove = Callable[[bytes, bytes, float], Secret | None]
"""What is signed, the digest, the time -> the secret that made it."""
_Find = Callable[[Sequence[bytes], bytes, datetime, bytes | None], FoundEvent | None]
"""The values of the headers, the body, the time, the signed id -> the event."""


def ordinary(profile: Profile, secrets: Sequence[Secret], tolerance: float) -> Shaped | None:
    """What makes a reader for each order of headers; None where no request of this provider is an ordinary one."""
    schemes = profile.scheme.schemes if isinstance(profile.scheme, AnyOf) else (profile.scheme,)
    is_keyed = secrets and all(each.key and not isinstance(each.key, PublicKey) for each in secrets)
    if not is_keyed or not any(map(_is_usual, schemes)) or not _is_plain(profile):
        return None
    # Once, and not for each order of headers: strangers send those, too.
    ways = [_way(scheme, secrets) for scheme in schemes]

    def shaped(names: Sequence[bytes]) -> ReadOrdinary | None:
        at = {name: number for number, name in enumerate(names)}
        way = _way_in(at, ways)
        present = None if way is None else _presenter(way, at)
        return None if way is None or present is None else _reader(way, present, tolerance, _finder(profile, names))

    return shaped


class _Way(NamedTuple):
    """What is made of a scheme."""

    scheme: SignedScheme
    match: Callable[[bytes], re.Match[bytes] | None]
    fill: Callable[[bytes | None, bytes | None], bytes]
    prove: _Prove


def _way(scheme: Any, secrets: Sequence[Secret]) -> tuple[Sequence[bytes], _Way | None]:
    """The headers that it may be presented in, none where it is not that clear; and the way, if it is a usual one."""
    names = [name for _, name in scheme.written_in.headers] if isinstance(scheme, SignedScheme) else []
    match = _pattern(scheme) if _is_usual(scheme) else None
    return names, None if match is None else _Way(scheme, match, _filler(scheme), _prover(scheme, secrets))


def _is_plain(profile: Profile) -> bool:
    """Whether a POST of JSON that is no handshake is one event, and has its time in a header if anywhere."""
    strange = [each for each in profile.handshakes if each.method == "POST" and not _has_needle(each)]
    return "POST" in profile.methods and not strange and profile.items is None and profile.signed_at_place is None


def _has_needle(handshake: Any) -> bool:
    return handshake.is_signed and bool(handshake.needle) and not handshake.is_in_head()


def _is_usual(scheme: Any) -> bool:
    """An HMAC in a header over the body, and over a time and an id before it at most."""
    if not isinstance(scheme, SignedScheme) or not isinstance(ALGORITHMS[scheme.algorithm], Hmac):
        return False
    names = [name for _, name in scheme.template.pieces]
    is_over_the_body = names[-1] == "body" and names.count("body") == 1 and _PARTS.issuperset(names)
    others = (scheme.key_name, scheme.items, scheme.body_digest, scheme.any_port, scheme.signs_once, scheme.is_whole)
    is_in_headers = all(place.strip().startswith("header:") for place in scheme.signature.split("|"))
    return is_over_the_body and is_in_headers and scheme.timestamp_unit != "iso" and not any(others)


def _way_in(at: Mapping[bytes, int], ways: Sequence[tuple[Sequence[bytes], _Way | None]]) -> _Way | None:
    """The one that counts, as `AnyOf` chooses it: the first whose header is there. None where that is not clear."""
    for names, way in ways:
        if not names:
            return None
        if any(name in at for name in names):
            return way
    return None


def _presenter(way: _Way, at: Mapping[bytes, int]) -> _Present | None:
    """What reads the headers that the proof is made of. Each is there, and once."""
    scheme, match, fill, _ = way
    written, encoding = scheme.written_in, scheme.encoding
    places = [at[name] for _, name in written.headers if name in at]
    required = {name.lower().encode(): value.lower().encode() for name, value in scheme.require.items()}
    named = [pair[1] for pair in (written.timestamp_header, written.id_header) if pair is not None]
    if len(places) != 1 or not at.keys() >= {*named, *required}:
        return None
    (place,) = places
    checked = [(at[name], value) for name, value in required.items()]
    time_at, id_at = (pair and at[pair[1]] for pair in (written.timestamp_header, written.id_header))
    units = 1000 if scheme.timestamp_unit == "ms" else 1

    def present(values: Sequence[bytes]) -> tuple[bytes, bytes, float | None, bytes | None] | None:
        found = match(values[place])
        if found is None or (checked and any(values[number].lower() != value for number, value in checked)):
            return None
        stamp = values[time_at] if time_at is not None else found[1] if found.lastindex == 2 else None
        id_ = None if id_at is None else values[id_at]
        if (stamp is not None and _is_number(stamp) is None) or (id_ is not None and not _is_usual_id(id_, written)):
            return None
        digest = decode(found[found.lastindex or 1], encoding)
        return (digest, fill(stamp, id_), None if stamp is None else int(stamp) / units, id_) if digest else None

    return present


def _filler(scheme: SignedScheme) -> Callable[[bytes | None, bytes | None], bytes]:
    """The time and the id -> all that is signed before the body."""
    *parts, (last, _) = scheme.template.pieces
    form = b"".join([text.replace(b"%", b"%%") + b"%b" for text, _ in parts]) + last.replace(b"%", b"%%")
    order = [name for _, name in parts]
    if order == ["timestamp"]:
        return lambda stamp, _id: form % stamp
    if order == ["id", "timestamp"]:
        return lambda stamp, id_: form % (id_, stamp)
    return lambda stamp, id_: form % tuple([id_ if name == "id" else stamp for name in order])


def _is_usual_id(id_: bytes, written: SignatureHeaders) -> bool:
    is_cut = any(end in id_ for end in written.id_ends) or (written.has_bare_id and not id_.isalnum())
    return _is_id(id_) is not None and not is_cut


def _pattern(scheme: SignedScheme) -> Callable[[bytes], re.Match[bytes] | None] | None:
    """One signature, as its sender writes it, with the time before it where both stand in one header."""
    written, letters = scheme.written_in, _LETTERS[scheme.encoding]
    separator, prefix = scheme.separator or "", scheme.prefix
    time = None if written.timestamp_prefix is None else written.timestamp_prefix.decode()
    # What could be cut in another way is not usual.
    is_odd = prefix.startswith("*") or (separator and (separator in prefix or re.search(letters, separator)))
    if is_odd or (time is not None and (not separator or not prefix or prefix.startswith(time))):
        return None
    before = "" if time is None else re.escape(time) + _NUMBER + re.escape(separator)
    return re.compile(f"{before}{re.escape(prefix)}({letters}{{{written.text_size}}})".encode()).fullmatch


def _reader(way: _Way, present: _Present, tolerance: float, find: _Find) -> ReadOrdinary:
    prove, is_json = way.prove, way.scheme.is_json

    def read(values: Sequence[bytes], body: bytes, now: datetime, at: float) -> Believed | None:
        presented = present(values)
        if presented is None or not body.startswith(b"{"):
            return None
        digest, before, signed_at, id_ = presented
        if signed_at is not None and not abs(at - signed_at) <= tolerance:
            return None
        secret = prove(before + body, digest, at)
        if secret is None or (is_json and (b"\0" in body or not body.rstrip().endswith(b"}"))):
            return None
        found = find(values, body, now, id_)
        return None if found is None else Believed(secret, found)

    return read


def _prover(scheme: SignedScheme, secrets: Sequence[Secret]) -> _Prove:
    keyed, shortest = [(secret, *_states(secret.key, scheme.algorithm)) for secret in secrets], scheme.shortest

    def prove(content: bytes, digest: bytes, at: float) -> Secret | None:
        matching = None
        for secret, inner, outer in keyed:
            if secret.active_from <= at < secret.retired_at:
                inside, mac = inner.copy(), outer.copy()
                inside.update(content)
                mac.update(inside.digest())
                # No early exit: how long this takes says nothing about which secret was right.
                if compare_digest(mac.digest(), digest):
                    matching = secret
        return matching if len(content) >= shortest else None

    return prove


def _finder(profile: Profile, names: Sequence[bytes]) -> _Find:
    """What finds the event in a request that is proven; None for what only the general path should name."""
    typed = [names.index(key) for _, key in profile.type_headers if key in names]
    is_type, decode_body = profile.is_type, profile.decode
    needles = [each.needle for each in profile.handshakes if each.method == "POST"]
    places = (profile.key, profile.type, profile.entity or "", profile.occurred_at or "")
    reads_headers = any("header:" in place for place in places)

    def find(values: Sequence[bytes], body: bytes, now: datetime, id_: bytes | None) -> FoundEvent | None:
        if is_type is not None and not all(is_type(values[number].strip()) for number in typed):
            return None
        if not is_surely_within(body) or (needles and any(needle in body for needle in needles)):
            return None
        try:
            data = decode_body(body)
        except ValueError:
            return None
        head = cast("Head", _Glance(dict(zip(names, values, strict=True)))) if reads_headers else _BARE
        return FoundEvent(profile, Sight(head, data, None, None, now, None, None, id_), body, None)

    return find


def _states(key: bytes, hash_: str) -> tuple[Any, Any]:
    """HMAC's two hashes with the key in them already: to copy both is cheaper than to copy an HMAC."""
    size = hashlib.new(hash_).block_size
    block = (hashlib.new(hash_, key).digest() if len(key) > size else key).ljust(size, b"\0")
    return hashlib.new(hash_, block.translate(hmac.trans_36)), hashlib.new(hash_, block.translate(hmac.trans_5C))


class _Glance:
    """As much of a head as the places of a profile read. Those take off the blanks around what they read."""

    __slots__ = ("get",)
    method, query = "POST", ""

    def __init__(self, values: Mapping[bytes, bytes]) -> None:
        self.get = values.get

    @property
    def headers(self) -> _Glance:
        return self
