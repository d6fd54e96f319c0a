"""The operators' part for the tokens of the admin API."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.access import Role, Token
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class KeepingTokens:
    _connections: Connections

    async def add_token(self, name: str, role: Role, digest: bytes, *, who: str, lasting: float | None) -> bool:
        # Dead before it: nobody was shown the token.
        values = (digest, rows.text(name), role, rows.text(who), lasting)
        async with self._connections.transaction() as connection:
            return await connection.fetchval(SQL["token_add"], *values) is not None

    async def tokens(self) -> Sequence[Token]:
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["tokens"])
        return [Token(**{**row, "role": Role(row["role"])}) for row in found]

    async def revoke_token(self, name: str) -> bool:
        # Dead before it: it is still valid, and whoever revoked it was not told otherwise.
        async with self._connections.transaction() as connection:
            return await connection.fetchval(SQL["token_revoke"], rows.text(name)) is not None
