"""A token that both sides know, sent in clear. It proves who sent a request, and nothing about what is in it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from landfast.domain.body import excerpt
from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.json_limits import read_json, skim
from landfast.ports.provider import Hidden, Proven, Secret, Signature
from landfast.providers.items import MOST_ITEMS, Item, Slice, form_places, slicer
from landfast.providers.locations import Read, Sight, read_at, split_place
from landfast.providers.outline import Decode
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.keyforms import decode_key
from landfast.providers.skim import Skimmer, items_skimmer, skimmer

LONGEST_TOKEN = 4096
"""Bytes; the longest that a provider allows has 256."""

NO_ITEM = "there is no item that could hold the token"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScheme:
    token: str
    """Where it stands: `header:X-Gitlab-Token`, `query:code`, `body:secret`, or `item:clientState` in every item."""
    prefix: str = ""
    """What stands before it, such as `Bearer `."""
    is_basic: bool = False
    """Whether it is HTTP's basic authentication: the secret is then `user:password`."""
    items: str | None = None

    coverage: Coverage = field(default="no", init=False)
    needs_url: bool = field(default=False, init=False)
    _kind: str = field(init=False, repr=False, compare=False)
    _header: bytes = field(init=False, repr=False, compare=False)
    _read: Read = field(init=False, repr=False, compare=False)
    _slice: Slice | None = field(init=False, repr=False, compare=False)
    _skim: Skimmer = field(init=False, repr=False, compare=False)
    _skim_item: Decode = field(init=False, repr=False, compare=False)
    _skim_items: Decode | None = field(init=False, repr=False, compare=False)
    """Of all items at once, where they stand in one list."""

    def __post_init__(self) -> None:
        kind, rest = split_place(self.token)
        if (kind == "item") != (self.items is not None):
            raise ConfigError(f"token {self.token!r} and items {self.items!r} must both be of items, or neither")
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_header", rest.lower().encode() if kind == "header" else b"")
        object.__setattr__(self, "_read", read_at(self.token))
        object.__setattr__(self, "_skim", skimmer([self.token, *form_places(self.items)], "body", "form"))
        object.__setattr__(self, "_skim_item", skimmer([self.token], "item"))
        skim_items = None if self.items is None else items_skimmer(self.items, [self.token])
        object.__setattr__(self, "_skim_items", skim_items)
        object.__setattr__(self, "_slice", None if self.items is None else slicer(self.items))

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {self._header: Hidden.DROPPED} if self._header else {}

    def decode_secret(self, text: str) -> bytes:
        if self.is_basic and ":" not in text:
            raise ConfigError("the secret must be user:password, as it stands in the URL that you gave the sender")
        return decode_key(text, "text")

    def present(self, head: Head) -> Signature:
        if self._kind in {"header", "query"}:
            return Signature((self._token(Sight(head, None)),))
        return Signature()

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        if signature.digests:
            return Proven(_matching(signature.digests, secrets), signature, request)
        _matching(self._skimmed_tokens(request), secrets)  # strangers end here
        request = self._read_inside(request)
        return Proven(_matching(self._tokens_inside(request, read_json), secrets), signature, request)

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:  # noqa: ARG002 - a token has neither
        text = base64.b64encode(key).decode() if self.is_basic else key.decode("latin-1")
        text = ("Basic " if self.is_basic else self.prefix) + text
        if self._slice is None:
            draft.put(self.token, text)
            return
        for number, _ in enumerate(self._slice(draft.body) or ()):
            draft.put(self.token.strip().replace("item:", f"{self.items}.{number}."), text)

    def _skimmed_tokens(self, request: Request) -> list[bytes]:
        """Of a stranger's body nothing is read but these."""
        if self._skim_items is not None:
            try:
                items = skim(request.body, self._skim_items)
            except ValueError:
                items = None
            if not items or len(items) > MOST_ITEMS:
                raise UnverifiedError(NO_ITEM)
            return [self._token(Sight(request.head, None, item)) for item in items]
        request = request.skimmed(self._skim)
        if self._slice is not None:
            request = self._with_items(request, self._slice(request.body, is_proven=False))
        return self._tokens_inside(request, partial(excerpt, read_json=self._skim_item))

    def _read_inside(self, request: Request) -> Request:
        return request.decoded() if self._slice is None else self._with_items(request, self._slice(request.body))

    def _with_items(self, request: Request, items: Sequence[Item] | None) -> Request:
        if not items:
            raise UnverifiedError(NO_ITEM)
        return replace(request, items=items)

    def _tokens_inside(self, request: Request, read_item: Callable[[bytes], Any]) -> list[bytes]:
        if self._slice is None:
            return [self._token(request.sight())]
        try:
            return [self._token(Sight(request.head, None, read_item(item.body))) for item in request.items or ()]
        except ValueError:  # msgspec's own errors are ValueErrors, and so is UnicodeDecodeError
            raise UnverifiedError("an item cannot be read") from None

    def _token(self, sight: Sight) -> bytes:
        if self._header and sight.head.headers.is_repeated(self._header):
            raise UnverifiedError(f"{self.token} is repeated")
        text = self._read(sight)
        if text is None or len(text) > LONGEST_TOKEN:
            raise UnverifiedError(f"{self.token} is missing, empty or too long")
        prefix = "Basic " if self.is_basic else self.prefix
        if text[: len(prefix)].lower() != prefix.lower():
            raise UnverifiedError(f"{self.token} does not start with {prefix.strip()}")
        # A header was read as latin-1, which is its bytes again; the rest is text.
        token = text[len(prefix) :].encode("latin-1" if self._kind == "header" else "utf-8", "surrogatepass")
        if not self.is_basic:
            return token
        try:
            return binascii.a2b_base64(token, strict_mode=True)
        except ValueError:
            raise UnverifiedError(f"{self.token} is not base64") from None


def _matching(tokens: Sequence[bytes], secrets: Sequence[Secret]) -> Secret:
    """The secret that all of the tokens are."""
    matching: Secret | None = None
    for secret in secrets:
        # Digests, so that not even the length of the secret shows in how long this takes. No early exit.
        expected = hashlib.sha256(secret.key).digest()
        is_right = True
        for token in tokens:
            is_right &= hmac.compare_digest(expected, hashlib.sha256(token).digest())
        if is_right and secret.key:
            matching = secret
    if matching is None:
        raise UnverifiedError("the token is none of the active secrets")
    return matching
