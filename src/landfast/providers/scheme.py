"""HMAC signatures, as data: where they stand, what was signed, how they are written."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Literal, get_args

from landfast.domain.delivery import Headers
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Secret, Signature

Algorithm = Literal["sha256", "sha1", "sha512"]
Encoding = Literal["hex", "base64"]
KeyForm = Literal["text", "base64"]
Unit = Literal["s", "ms"]

MOST_ENTRIES = 16
"""Parts of one signature header. A sender that rolls its secret sends two signatures; each costs us a comparison."""

LONGEST_TIMESTAMP = 15
"""Digits: milliseconds have 13 until the year 2286, and any 15 of them fit a float exactly."""

LONGEST_ID = 256
"""Bytes of a signed message id; they have about 30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HmacScheme:
    headers: tuple[str, ...]
    """Where the signature stands; the first of these that the request has."""
    algorithm: Algorithm = "sha256"
    encoding: Encoding = "hex"
    content: str = "{body}"
    """What is signed: `{body}`, `{timestamp}` and `{id}` between literal text."""
    prefix: str = ""
    """What a signature starts with, such as `sha256=`. In a list, entries that start otherwise are not for us."""
    separator: str | None = None
    """Between the entries of a header that lists several signatures."""
    timestamp_header: str | None = None
    timestamp_prefix: str | None = None
    """For a timestamp that is an entry of the signature header, such as Stripe's `t=`."""
    timestamp_unit: Unit = "s"
    id_header: str | None = None
    """A message id that is part of what is signed."""
    key_form: KeyForm = "text"
    """How a secret becomes a key: its UTF-8, or base64 after an optional `whsec_`."""

    _format: bytes = field(init=False, repr=False, compare=False)
    _digest_size: int = field(init=False, repr=False, compare=False)
    _text_size: int = field(init=False, repr=False, compare=False)
    _after_id: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_choices()
        format_, after_id = self._compile_content()
        size = hashlib.new(self.algorithm).digest_size
        # A frozen dataclass computes derived fields this way; they are set once, here.
        object.__setattr__(self, "_format", format_)
        object.__setattr__(self, "_after_id", after_id)
        object.__setattr__(self, "_digest_size", size)
        object.__setattr__(self, "_text_size", 2 * size if self.encoding == "hex" else 4 * -(-size // 3))

    def present(self, headers: Headers) -> Signature:
        value = _only(headers, self.headers)
        entries = [value] if self.separator is None else value.split(self.separator.encode(), MOST_ENTRIES)
        if len(entries) > MOST_ENTRIES:
            raise UnverifiedError(f"the signature header has more than {MOST_ENTRIES} entries")
        digests = self._digests(entries)
        timestamp = self._timestamp(headers, entries)
        return Signature(
            digests=digests,
            timestamp=timestamp,
            signed_at=None if timestamp is None else self._seconds(timestamp),
            id=None if self.id_header is None else self._id(headers, self.id_header),
        )

    def verify(self, signature: Signature, body: bytes, secrets: Sequence[Secret]) -> Secret:
        content = self._signed_content(signature, body)
        matching: Secret | None = None
        for secret in secrets:
            expected = hmac.digest(secret.key, content, self.algorithm)
            for digest in signature.digests:
                # No early exit: how long this takes says nothing about which secret or signature was right.
                # Anybody can sign with an empty key, so that one never counts.
                if hmac.compare_digest(expected, digest) and secret.key:
                    matching = secret
        if matching is None:
            raise UnverifiedError("no active secret made any of the signatures")
        return matching

    def sign(self, body: bytes, key: bytes, *, now: float, id_: str) -> Mapping[str, str]:
        """The headers that a sender with this key would send."""
        timestamp = str(int(now * 1000) if self.timestamp_unit == "ms" else int(now))
        content = self._signed_content(Signature((), timestamp=timestamp.encode(), id=id_.encode()), body)
        digest = hmac.digest(key, content, self.algorithm)
        text = self.prefix + (digest.hex() if self.encoding == "hex" else base64.b64encode(digest).decode())
        if self.timestamp_prefix is not None and self.separator is not None:
            text = f"{self.timestamp_prefix}{timestamp}{self.separator}{text}"
        signed = {self.headers[0]: text}
        if self.timestamp_header is not None:
            signed[self.timestamp_header] = timestamp
        if self.id_header is not None:
            signed[self.id_header] = id_
        return signed

    def decode_secret(self, text: str) -> bytes:
        """The key; ConfigError, without the secret in it, for one that cannot be any."""
        if self.key_form == "text":
            key = text.encode("utf-8", "surrogateescape")  # what an environment variable held, byte for byte
        elif text.startswith(("whpk_", "whsk_")):
            raise ConfigError("the secret is an Ed25519 key (v1a); give the symmetric one, which starts with whsec_")
        else:
            encoded = text.strip().removeprefix("whsec_").rstrip("=")
            try:
                key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
            except ValueError:
                raise ConfigError("the secret is not base64; copy it again, with or without its whsec_") from None
        if not key.strip():
            raise ConfigError("the secret is empty, and anybody can sign with that; set it to the sender's secret")
        return key

    def _check_choices(self) -> None:
        for name, value, choices in (
            ("algorithm", self.algorithm, get_args(Algorithm)),
            ("encoding", self.encoding, get_args(Encoding)),
            ("timestamp_unit", self.timestamp_unit, get_args(Unit)),
            ("key_form", self.key_form, get_args(KeyForm)),
        ):
            if value not in choices:
                raise ConfigError(f"{name} {value!r} is not known: use {', '.join(choices)}")
        if not self.headers or not all(self.headers):
            raise ConfigError("header is empty: name the header that holds the signature")

    def _compile_content(self) -> tuple[bytes, bytes]:
        """The template as a bytes format, and the text that ends the id in it."""
        try:
            parts = list(Formatter().parse(self.content))
        except ValueError as error:
            raise ConfigError(f"content {self.content!r} cannot be read: {error}") from None
        names = [name for _, name, _, _ in parts if name is not None]
        has_timestamp = self.timestamp_header is not None or self.timestamp_prefix is not None
        has = {"body": True, "timestamp": has_timestamp, "id": self.id_header is not None}
        for used in names:
            if not has.get(used):
                raise ConfigError(f"content {self.content!r} uses {{{used}}}, and no header is given that holds it")
        for given in (part for part, is_given in has.items() if is_given):
            if given not in names:
                raise ConfigError(f"content {self.content!r} must hold {{{given}}}: what is not signed proves nothing")
        compiled = b""
        after_id = b""
        for literal, name, _, _ in parts:
            if compiled.endswith(b"%(id)b"):
                after_id = literal.encode()
            compiled += literal.encode().replace(b"%", b"%%")
            compiled += b"" if name is None else b"%%(%b)b" % name.encode()
        return compiled, after_id

    def _signed_content(self, signature: Signature, body: bytes) -> bytes:
        if self.content == "{body}":
            return body  # no copy: GitHub's may have 25 MiB
        return self._format % {b"timestamp": signature.timestamp, b"id": signature.id, b"body": body}

    def _digests(self, entries: list[bytes]) -> tuple[bytes, ...]:
        prefix = self.prefix.encode()
        digests = []
        for entry in entries:
            if entry.startswith(prefix):
                digest = self._decoded(entry[len(prefix) :])
                if digest is not None:
                    digests.append(digest)
        if not digests:
            raise UnverifiedError("the signature header holds no well-formed signature")
        return tuple(digests)

    def _decoded(self, text: bytes) -> bytes | None:
        """Exactly one spelling for each digest in base64, two (upper and lower case) in hex; anything else is None."""
        if len(text) != self._text_size:
            return None
        try:
            if self.encoding == "hex":
                return binascii.unhexlify(text)
            digest = binascii.a2b_base64(text, strict_mode=True)
        except ValueError:
            return None
        is_canonical = len(digest) == self._digest_size and binascii.b2a_base64(digest, newline=False) == text
        return digest if is_canonical else None

    def _timestamp(self, headers: Headers, entries: list[bytes]) -> bytes | None:
        if self.timestamp_header is not None:
            return _only(headers, (self.timestamp_header,))
        if self.timestamp_prefix is None:
            return None
        prefix = self.timestamp_prefix.encode()
        found = [entry[len(prefix) :] for entry in entries if entry.startswith(prefix)]
        if len(found) != 1:
            raise UnverifiedError("the signature header needs exactly one timestamp")
        return found[0]

    def _seconds(self, timestamp: bytes) -> float:
        # bytes.isdigit takes ASCII digits only: no sign, no point, no exponent, no Infinity.
        if not timestamp.isdigit() or len(timestamp) > LONGEST_TIMESTAMP:
            raise UnverifiedError("the timestamp is no number that a clock could show")
        return int(timestamp) / (1000 if self.timestamp_unit == "ms" else 1)

    def _id(self, headers: Headers, name: str) -> bytes:
        value = _only(headers, (name,))
        if not value.isascii() or len(value) > LONGEST_ID:
            raise UnverifiedError(f"the header {name} is not ASCII or too long")
        # An id that holds its own delimiter could be cut at two places: one signature for two messages.
        if self._after_id and self._after_id in value:
            raise UnverifiedError(f"the header {name} holds the delimiter that ends it")
        return value


def _only(headers: Headers, names: Sequence[str]) -> bytes:
    """The one value of the first of these headers that is there."""
    for name in names:
        key = name.lower().encode()
        value = headers.get(key)
        if value is None:
            continue
        if headers.is_repeated(key):
            raise UnverifiedError(f"the header {name} is repeated")
        value = value.strip()
        if not value:
            raise UnverifiedError(f"the header {name} is empty")
        return value
    raise UnverifiedError(f"the header {names[0]} is missing")
