"""Somebody who has signed in at the identity provider: a cookie says who, until when, and with which role.

Nothing is kept of it but its line in the operator log. The MAC is also over what `[admin.oidc]` says: whoever changes
that, roles or `session_minutes` for instance, ends every session. One alone is ended by a line of the log. One that has
ended by itself sends its browser to the identity provider, so that a role which was taken away there counts for
`session_minutes` at most.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TypeVar

import msgspec
from starlette.requests import Request

from landfast.admin.access.sessions import COOKIE
from landfast.admin.desk import Desk
from landfast.admin.oidc.ended import EndedSessions
from landfast.admin.oidc.person import Person
from landfast.config.oidc import OidcSettings
from landfast.domain.access import Role
from landfast.domain.mac import Mac

START = "oidc."
"""How such a cookie begins; one of a token begins with its digest."""

COOKIE_CHARACTERS = 2000
SESSION_BYTES = 8
"""Of a session's name. It opens nothing: the MAC does."""


class Asked(msgspec.Struct, frozen=True):
    """What a browser keeps while somebody is at the identity provider."""

    state: str
    nonce: str
    verifier: str
    next: str
    until: int


T = TypeVar("T", Person, Asked)


class PeopleSessions:
    def __init__(self, desk: Desk, settings: OidcSettings) -> None:
        self._desk = desk
        self._mac: Mac | None = None
        self._seconds = settings.session_minutes * 60
        who = settings.issuer, settings.client_id, settings.claim, settings.domains, dict(settings.roles)
        said = (*who, self._seconds)
        self.ended = EndedSessions(desk)
        self._settings = hashlib.sha256(repr(said).encode()).digest()

    def new(self, name: str, role: Role) -> Person:
        until = int(self._desk.now().timestamp()) + self._seconds
        return Person(name, role, until, self._desk.inbox.chance.bytes(SESSION_BYTES).hex())

    async def cookie(self, person: Person) -> str:
        """Its value."""
        return START + await self.sealed(person, b"session")

    async def person_of(self, request: Request) -> Person | None:
        found = await self._shown(request)
        is_over = found is None or found.until <= self._desk.now().timestamp()
        return None if found is None or is_over or await self.ended.has(found.session) else found

    async def was_here(self, request: Request) -> bool:
        """Whether a session has ended by itself, and nobody has ended it before."""
        found = await self._shown(request)
        return found is not None and not await self.ended.has(found.session)

    async def _shown(self, request: Request) -> Person | None:
        value = request.cookies.get(COOKIE, "")
        return await self._read(value.removeprefix(START), Person, b"session") if value.startswith(START) else None

    async def sealed(self, what: Person | Asked, purpose: bytes) -> str:
        text = base64.urlsafe_b64encode(msgspec.json.encode(what)).decode().rstrip("=")
        return f"{text}.{await self._tag(text, purpose)}"

    async def opened(self, value: str, kind: type[T], purpose: bytes) -> T | None:
        """None for what we did not write, or what has ended."""
        found = await self._read(value, kind, purpose)
        return found if found is not None and found.until > self._desk.now().timestamp() else None

    async def _read(self, value: str, kind: type[T], purpose: bytes) -> T | None:
        text, _, tag = value.partition(".")
        if not value.isascii() or len(value) > COOKIE_CHARACTERS:
            return None
        if not hmac.compare_digest(await self._tag(text, purpose), tag):
            return None
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=kind)
        except (ValueError, msgspec.MsgspecError):
            return None

    async def _tag(self, text: str, purpose: bytes) -> str:
        if self._mac is None:
            await self._desk.open()
            self._mac = Mac(await self._desk.archive.mac_key(), purpose=b"admin oidc")
        return self._mac.tag(purpose, self._settings, text.encode()).hex()
