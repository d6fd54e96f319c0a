"""The tokens of the inbox, as far as they are known here: read again every few seconds, so that a request costs no
statement of its own."""

from __future__ import annotations

from landfast.admin.desk import Desk
from landfast.domain.access import Token, token_digest

KNOWN_SECONDS = 2.0
"""For which the list is believed: a token that is revoked is refused everywhere this much later."""


class TokenBook:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tokens: dict[bytes, Token] | None = None
        self._read_at = 0.0

    async def has_any(self) -> bool:
        """Whether one was ever made. One that was revoked or has expired counts: the end of the last token must not
        open the door."""
        return bool(await self._known())

    async def find(self, token: str) -> Token | None:
        """If it is valid."""
        return await self.by_digest(token_digest(token))

    async def by_digest(self, digest: bytes) -> Token | None:
        found = (await self._known()).get(digest)
        return found if found is not None and found.is_valid(self._desk.now()) else None

    async def _known(self) -> dict[bytes, Token]:
        """StoreError where the inbox is away: nobody is let in by a list that nobody can check."""
        now = self._desk.inbox.clock.monotonic()
        if self._tokens is None or now - self._read_at > KNOWN_SECONDS:
            await self._desk.open()
            self._tokens = {token.digest: token for token in await self._desk.archive.tokens()}
            self._read_at = now
        return self._tokens
