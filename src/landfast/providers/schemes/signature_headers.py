"""What a sender writes beside the request: signatures, a timestamp and an id, in headers of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from landfast.domain.delivery import Headers
from landfast.domain.errors import UnverifiedError
from landfast.providers.schemes.algorithms import LONGEST_SIGNATURE, decode

Encoding = Literal["hex", "base64", "base64url"]

MOST_ENTRIES = 16
"""Parts of one signature header. A sender that rolls its secret sends two signatures; each costs us a comparison."""

LONGEST_ID = 256
"""Bytes of a signed message id; they have about 30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureHeaders:
    headers: tuple[tuple[str, bytes], ...]
    """That may hold a signature: every one that is there counts."""
    is_repeated: bool
    separator: bytes | None
    prefix: bytes
    encoding: Encoding
    text_size: int
    """Characters of one signature; 0 where its size is not fixed."""
    size: int | None
    """Bytes of one signature, if fixed."""
    timestamp_header: tuple[str, bytes] | None
    timestamp_prefix: bytes | None
    """Of the entry that is the timestamp."""
    id_header: tuple[str, bytes] | None
    id_ends: tuple[bytes, ...]
    """What may end the id in what is signed."""
    has_bare_id: bool
    """Whether nothing stands before the id in what is signed."""

    def entries(self, headers: Headers) -> list[bytes]:
        read = self._all if self.is_repeated else only
        found = [read(headers, name, key) for name, key in self.headers if headers.get(key) is not None]
        if not found:
            raise UnverifiedError(f"the header {self.headers[0][0]} is missing")
        if len(found) == 1:
            return self.split(found[0])
        return [entry for value in found for entry in self.split(value)]

    def _all(self, headers: Headers, _name: str, key: bytes) -> bytes:
        """The values of a header that is repeated, as if they stood in one."""
        return (self.separator or b",").join(value.strip() for each, value in headers if each == key)

    def split(self, value: bytes) -> list[bytes]:
        if self.separator is None:
            return [value]
        entries = value.split(self.separator, MOST_ENTRIES)
        if len(entries) > MOST_ENTRIES:
            raise UnverifiedError(f"the signature header has more than {MOST_ENTRIES} entries")
        return [entry.strip(b" ") for entry in entries]

    def digests(self, entries: list[bytes]) -> tuple[bytes, ...]:
        prefix, size, length = self.prefix, self.text_size, self.size
        digests = []
        for entry in entries:
            if prefix.startswith(b"*"):
                text = entry.rpartition(prefix[1:])[2]
            elif entry.startswith(prefix):
                text = entry[len(prefix) :]
            else:
                continue
            if (size and len(text) != size) or len(text) > 2 * LONGEST_SIGNATURE:
                continue
            digest = decode(text, self.encoding)
            if digest and len(digest) == (length or len(digest)):
                digests.append(digest)
        if not digests:
            raise UnverifiedError("the signature header holds no well-formed signature")
        return tuple(digests)

    def timestamp(self, headers: Headers, entries: list[bytes]) -> bytes | None:
        if self.timestamp_header is not None:
            return only(headers, *self.timestamp_header)
        prefix = self.timestamp_prefix
        if prefix is None:
            return None
        found = [entry[len(prefix) :] for entry in entries if entry.startswith(prefix)]
        if len(found) != 1:
            raise UnverifiedError("the signature header needs exactly one timestamp")
        return found[0]

    def id(self, headers: Headers) -> bytes | None:
        if self.id_header is None:
            return None
        name, key = self.id_header
        value = only(headers, name, key)
        if not value.isascii() or len(value) > LONGEST_ID:
            raise UnverifiedError(f"the header {name} is not ASCII or too long")
        # An id that holds its own delimiter could be cut at two places: one signature for two messages.
        if any(end in value for end in self.id_ends):
            raise UnverifiedError(f"the header {name} holds the delimiter that ends it")
        # With nothing before it, it could begin with a piece of what another way of signing has there.
        if self.has_bare_id and not value.isalnum():
            raise UnverifiedError(f"the header {name} is not of letters and digits")
        return value


def only(headers: Headers, name: str, key: bytes) -> bytes:
    """The one value of a header."""
    value = headers.get(key)
    if value is None:
        raise UnverifiedError(f"the header {name} is missing")
    if headers.is_repeated(key):
        raise UnverifiedError(f"the header {name} is repeated")
    if not (value := value.strip()):
        raise UnverifiedError(f"the header {name} is empty")
    return value


def named(name: str) -> tuple[str, bytes]:
    """A header as it is written, and as it is looked up."""
    return name, name.lower().encode()
