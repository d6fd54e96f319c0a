"""The tokens of the admin API: kept as digests, added, listed and revoked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.access import Role, Token


class Tokens(Protocol):
    async def add_token(self, name: str, role: Role, digest: bytes, *, who: str, lasting: float | None) -> bool:
        """Durably, valid from now on, for so many seconds or until it is revoked. False, and nothing changes, where a
        token of this name is not revoked yet, or where the digest is known."""
        ...

    async def tokens(self) -> Sequence[Token]:
        """All of them, those that are not revoked first, by name; then the others, the latest first."""
        ...

    async def revoke_token(self, name: str) -> bool:
        """Valid no longer; whether there was one of this name that was not revoked."""
        ...
