"""The operators' side for the tokens of the admin API."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.access import Role, Token
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class KeepingTokens:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def add_token(self, name: str, role: Role, digest: bytes, *, who: str, lasting: float | None) -> bool:
        """Crash before it: nobody was shown the token."""
        now = rows.micros(self._clock.now())
        expires_at = None if lasting is None else now + rows.micros_in(lasting)
        added = {"digest": digest, "name": rows.text(name), "role": role, "who": rows.text(who), "now": now}
        with self._file.writing(durable=True) as connection:
            return bool(ask(connection, "token_add", {**added, "expires_at": expires_at}))

    @in_thread
    def tokens(self) -> Sequence[Token]:
        with self._file.reading() as connection:
            return [
                Token(
                    name=name,
                    role=Role(role),
                    digest=digest,
                    created_at=rows.moment(created_at),
                    created_by=created_by,
                    expires_at=rows.moment_or_none(expires_at),
                    revoked_at=rows.moment_or_none(revoked_at),
                )
                for name, role, digest, created_at, created_by, expires_at, revoked_at in ask(connection, "tokens", {})
            ]

    @in_thread
    def revoke_token(self, name: str) -> bool:
        """Crash before it: it is still valid, and whoever revoked it was not told otherwise."""
        revoked = {"name": rows.text(name), "now": rows.micros(self._clock.now())}
        with self._file.writing(durable=True) as connection:
            return bool(ask(connection, "token_revoke", revoked))
