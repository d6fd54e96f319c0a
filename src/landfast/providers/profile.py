"""A provider as data: how it signs, and where it puts what we need to know. One entry in the catalogue each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from landfast.domain.answer import Answer
from landfast.domain.body import light, moment
from landfast.domain.delivery import NO_SIBLINGS, Head, Headers, Identity, Siblings
from landfast.domain.errors import UnverifiedError
from landfast.domain.legible import is_legible, legible
from landfast.ports.provider import NO_KEYS, Greeting, Hidden, Proven, Secret, Shaped, Signature
from landfast.providers.coverage import unsigned_headers
from landfast.providers.dedup import KeyRule, key_rule, places_read, reads_type, storable
from landfast.providers.found_event import FoundEvent
from landfast.providers.handshake import CHALLENGE, Handshake, met
from landfast.providers.items import Item, Slice, slicer
from landfast.providers.locations import Pick, Read, Sight, as_text, first_at, pick_at, read_at
from landfast.providers.ordinary import ordinary
from landfast.providers.outline import outlined
from landfast.providers.profile_checks import check_profile
from landfast.providers.redelivery import Redelivery, Sample
from landfast.providers.request import Request
from landfast.providers.schemes import Coverage, Scheme, once

MEBIBYTE = 1024 * 1024

_is_challenge = re.compile(CHALLENGE.encode()).fullmatch

LONGEST_TYPE = 200
"""Characters; types have about 30, and this one is a column that operators filter by."""

FURTHEST_AHEAD = timedelta(days=1)
"""A sender's clock and time zone may be off by hours. An event from the year 9999 would outrank every later one."""

TOLERANCE = 300.0
"""Seconds that a signed timestamp may be away from our clock, either way: what Stripe, Slack and Standard Webhooks all
recommend. Longer lets a captured request live longer; shorter refuses senders whose clocks drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Implements the Provider port. Places are written as in `locations`, the key as in `dedup`, items as in `items`.
    What each field is for in an entry of the catalogue stands in `landfast.providers.catalogue`."""

    name: str
    scheme: Scheme
    key: str
    type: str
    title: str = ""
    entity: str | None = None
    occurred_at: str | None = None
    time_of_object: bool = False
    body_varies: bool = False
    items: str | None = None
    signed_at_place: str | None = None
    signed_at_unit: Literal["any", "ms"] = "any"
    handshakes: tuple[Handshake, ...] = ()
    settings: tuple[str, ...] = ()
    tolerance: float = TOLERANCE
    refusal: int = 401
    thanks: Answer | None = None
    methods: tuple[str, ...] = ("POST",)
    redelivery: Redelivery = Redelivery()  # noqa: RUF009 - it is frozen
    fetch_back: bool = False
    environments: tuple[str, ...] = ()
    proves_account: bool = True
    samples: tuple[Sample, ...] = ()
    setup: str = ""
    traps: tuple[str, ...] = ()
    hmac_key: str = ""
    """For the dedup rule `hmac:`; the provider's name unless one is chosen."""
    body_limit: int = MEBIBYTE
    """Events have a few kilobytes; the largest that providers document are far below a mebibyte."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The source's values for the settings; a token may be among them."""

    type_letters: str = ""
    """The pattern of a type that stands in a header which is not signed; any text unless it is given."""
    siblings: Siblings = NO_SIBLINGS
    """For such a type: when the same body under another one is an event of its own."""

    decode: Callable[[bytes | str], Any] = field(init=False, repr=False, compare=False)
    _decode_item: Callable[[bytes | str], Any] = field(init=False, repr=False, compare=False)
    _read_key: KeyRule = field(init=False, repr=False, compare=False)
    _keyed_by_type: bool = field(init=False, repr=False, compare=False)
    _read_type: Read = field(init=False, repr=False, compare=False)
    _read_entity: Read | None = field(init=False, repr=False, compare=False)
    _pick_occurred_at: Pick | None = field(init=False, repr=False, compare=False)
    _pick_signed_at: Pick | None = field(init=False, repr=False, compare=False)
    _slice: Slice | None = field(init=False, repr=False, compare=False)
    _has_parents: bool = field(init=False, repr=False, compare=False)
    _unsigned: tuple[Handshake, ...] = field(init=False, repr=False, compare=False)
    _signed: tuple[Handshake, ...] = field(init=False, repr=False, compare=False)
    _proves_to_strangers: bool = field(init=False, repr=False, compare=False)
    _methods: frozenset[str] = field(init=False, repr=False, compare=False)
    _greeting_methods: frozenset[str] = field(init=False, repr=False, compare=False)
    """By which no event comes, only a handshake that nobody signs."""
    unsigned_type: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The headers that the type is read from and nobody signs; none where the body is not signed either."""
    type_headers: tuple[tuple[str, bytes], ...] = field(init=False, repr=False, compare=False)
    is_type: Callable[[bytes], object] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = [place for place in (self.type, self.entity, self.occurred_at, self.signed_at_place) if place]
        key_places = places_read(self.key)
        unsigned_type = unsigned_headers(self.scheme, self.type)
        derived = {
            "unsigned_type": unsigned_type,
            "type_headers": tuple((name, name.lower().encode()) for name in unsigned_type),
            "is_type": re.compile(self.type_letters.encode()).fullmatch if self.type_letters else None,
            "_read_key": key_rule(self.key, hmac_key=self.hmac_key or self.name),
            "_keyed_by_type": reads_type(self.key),
            "_read_type": read_at(self.type),
            "_read_entity": read_at(self.entity) if self.entity else None,
            "_pick_occurred_at": first_at(self.occurred_at) if self.occurred_at else None,
            "_pick_signed_at": pick_at(self.signed_at_place) if self.signed_at_place else None,
            "_slice": slicer(self.items) if self.items else None,
            "_has_parents": any("parent:" in place or "name:parent" in place for place in [*places, self.key]),
            "_unsigned": tuple(each for each in self.handshakes if not each.is_signed),
            "_signed": tuple(each for each in self.handshakes if each.is_signed),
            "_proves_to_strangers": any(each.proves_to_strangers for each in self.handshakes),
            "_greeting_methods": frozenset(
                {each.method for each in self.handshakes if not each.is_signed}
                - {*self.methods, *(each.method for each in self.handshakes if each.is_signed)}
            ),
            "_methods": frozenset([*self.methods, *(each.method for each in self.handshakes)]),
            "decode": outlined(places, key_places, "body", "form"),
            "_decode_item": outlined(places, key_places, "item"),
        }
        for name, value in derived.items():  # a frozen dataclass computes derived fields this way: once, here
            object.__setattr__(self, name, value)
        check_profile(self, places)

    @property
    def coverage(self) -> Coverage:
        """Whether a changed body is noticed."""
        return self.scheme.coverage

    @property
    def signs_once(self) -> bool:
        return once(self.scheme) is not None

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return self.scheme.hidden_headers

    @property
    def needs_url(self) -> bool:
        return self.scheme.needs_url or any(each.needs_url for each in self.handshakes)

    @property
    def missing(self) -> Sequence[str]:
        """The settings that a source must still give."""
        return [name for name in self.settings if not name.endswith("?") and name not in self.given]

    @property
    def fixed_keys(self) -> str | None:
        """The one address of its keys, where no request can name another."""
        find = getattr(self.scheme, "fixed_keys", None)
        return None if find is None else find(self.given)

    def decode_secret(self, text: str) -> bytes:
        return self.scheme.decode_secret(text)

    @property
    def greets(self) -> bool:
        return bool(self._unsigned)

    def takes(self, method: str) -> bool:
        return method in self._methods

    def greet(self, head: Head, secrets: Sequence[Secret], *, url: str = "") -> Greeting | None:
        # The first secret answers: a sender that changes over asks again with the new one.
        return met(self._unsigned, Request(head, b"", url, self.given), secrets[0] if secrets else None)

    def present(self, head: Head) -> Signature:
        if self.type_headers:
            self._check_type(head.headers)
        return self.scheme.present(head)

    def verify(
        self,
        signature: Signature,
        head: Head,
        body: bytes,
        secrets: Sequence[Secret],
        *,
        url: str = "",
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> Proven:
        if head.method in self._greeting_methods:
            raise UnverifiedError(f"a {head.method} of this sender is a handshake, and this is none")
        if self._proves_to_strangers and _is_challenge(body):
            raise UnverifiedError("the body is a challenge, and anybody may have had that signed")
        proven = self.scheme.verify(signature, Request(head, body, url, self.given, keys), secrets)
        if self._pick_signed_at is not None and self.coverage != "yes" and self.signed_at(proven) is None:
            raise UnverifiedError("the signed time is missing, or is none")  # cut at another place, it is still signed
        return proven

    def ordinary(self, secrets: Sequence[Secret], *, tolerance: float) -> Shaped | None:
        return ordinary(self, secrets, tolerance)

    def proof(self, signature: Signature, proven: Proven) -> bytes | None:
        scheme = once(self.scheme)
        return None if scheme is None else scheme.proof(signature, proven.request)

    def signed_at(self, proven: Proven) -> float | None:
        if self._pick_signed_at is None:
            return None
        request: Request = proven.request
        written = self._pick_signed_at(Sight(request.head, self._data(request)))
        if self.signed_at_unit == "ms" and (text := as_text(written) or "").isdecimal() and len(text) < 20:
            return int(text) / 1000
        at = moment(written)
        return None if at is None else at.timestamp()

    def handshake(self, proven: Proven) -> Greeting | None:
        return met(self._signed, proven.request, proven.secret) if self._signed else None

    def find(self, proven: Proven, received_at: datetime) -> Sequence[FoundEvent]:
        request: Request = proven.request
        head, body, data, id_ = request.head, request.body, self._data(request), proven.signature.id
        items = request.items
        if items is None and self._slice is not None:
            items = self._slice(body, data)
        if items is None:
            sight = Sight(head, data, received_at=received_at, form=request.form, signed_id=id_)
            return (FoundEvent(self, sight, body, None),)
        parents = self._parents(items)
        fields = [light(item.body, read_json=self._decode_item) for item in items]
        sights = [
            Sight(head, data, own, parents.get(id(item.parent)), received_at, number, request.form, id_)
            for number, (item, own) in enumerate(zip(items, fields, strict=True))
        ]
        return [FoundEvent(self, sight, item.body, item.body) for item, sight in zip(items, sights, strict=True)]

    def identify(self, head: Head, body: bytes, *, received_at: datetime) -> Sequence[Identity]:
        """What a request would bring that nobody has verified: one that we made ourselves."""
        return [found.identity(received_at) for found in self.find(self.unproven(head, body), received_at)]

    def unproven(self, head: Head, body: bytes) -> Proven:
        """A request that nobody has verified, as `find` takes it."""
        try:
            signature = self.present(head)
        except UnverifiedError:
            signature = Signature()
        _, signature = signature.alternatives[0] if signature.alternatives else (None, signature)
        return Proven(Secret("none", b""), signature, Request(head, body))

    def key_of(self, sight: Sight, body: bytes) -> str:
        return self._read_key(sight, body, self.type_of(sight) if self._keyed_by_type else "")

    def type_of(self, sight: Sight) -> str:
        return _shown(self._read_type(sight) or "")

    def entity_of(self, sight: Sight) -> str | None:
        entity = None if self._read_entity is None else self._read_entity(sight)
        return None if entity is None else storable(entity)

    def moment_of(self, sight: Sight, received_at: datetime) -> datetime | None:
        at = None if self._pick_occurred_at is None else moment(self._pick_occurred_at(sight))
        return None if at is not None and at > received_at + FURTHEST_AHEAD else at

    def _check_type(self, headers: Headers) -> None:
        """A type that is not signed is one that its sender could have written, and stands there once."""
        for name, key in self.type_headers:
            value = headers.get(key)
            if value is None:
                continue
            if headers.is_repeated(key):
                raise UnverifiedError(f"the header {name} is repeated")
            if self.is_type is not None and not self.is_type(value.strip()):
                raise UnverifiedError(f"the header {name} holds no type of this sender's")

    def _data(self, request: Request) -> Any:
        """What verification read, or else as much as the profile asks for."""
        if request.data is not None:
            return request.data
        return light(request.body, read_json=self.decode)

    def _parents(self, items: Sequence[Item]) -> dict[int, Any]:
        """The data of what the items stand in, by identity: a thousand of them may stand in the same mebibyte."""
        if not self._has_parents:
            return {}
        return {id(raw): light(raw) for raw in {id(item.parent): item.parent for item in items}.values()}


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST_TYPE and is_legible(text) else legible(text[:LONGEST_TYPE])
