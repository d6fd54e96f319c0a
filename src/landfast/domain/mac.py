"""MACs: whether something that lies outside of the two databases was written by a Landfast of the same inbox.

Keyed BLAKE2b (RFC 7693): a MAC by itself, and half the time of an HMAC with SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac

TAG_BYTES = 16
"""Whoever guesses has one chance in 2**128 for each attempt, and each attempt is told."""

KEY_BYTES = 32


class Mac:
    """It has no repr: it holds a key."""

    __slots__ = ("_key", "_keyed")

    def __init__(self, key: bytes, *, purpose: bytes) -> None:
        """`purpose`, 16 bytes at most: what was made for one purpose proves nothing for another."""
        self._key = (key, purpose)
        self._keyed = hashlib.blake2b(key=key, person=purpose, digest_size=TAG_BYTES)

    def tag(self, *parts: bytes) -> bytes:
        state = self._keyed.copy()
        for part in parts:
            state.update(len(part).to_bytes(8))  # or bytes could move from one part to the next
            state.update(part)
        return state.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mac) and hmac.compare_digest(b"".join(self._key), b"".join(other._key))

    def __hash__(self) -> int:
        return hash(self._key)
