"""Who may see and change what through the admin API: roles, and the tokens that carry them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

TOKEN_START = "lf_"  # noqa: S105 - how a token begins, so that scanners of leaked secrets can know it
TOKEN_BYTES = 32
"""Of chance in a token: nobody guesses it, so that one round of SHA-256 is enough to keep it."""


class Role(StrEnum):
    """Each may do all that those before it may."""

    VIEWER = "viewer"
    """Looks at everything but what is hidden, and changes nothing."""
    OPERATOR = "operator"
    """Decides about events: replays, retries, discards, pauses, silences."""
    ADMIN = "admin"
    """Whatever cannot be taken back, and secrets: erases, expires, rotates, reveals."""

    def may(self, needed: Role) -> bool:
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


@dataclass(frozen=True, slots=True)
class Token:
    """What the inbox keeps of a token. The token itself was shown once, to whoever made it."""

    name: str
    """What the operator log calls whoever uses it."""
    role: Role
    digest: bytes
    """SHA-256."""
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Operator:
    """Who asks, as far as the admin API knows."""

    name: str
    """As the operator log and the history of events have it: `token ci`, or `local`."""
    role: Role
    host: str
    """Where the question came from: for the operator log."""

    @property
    def is_here(self) -> bool:
        """From this very machine."""
        return self.host == "::1" or self.host.startswith("127.")
