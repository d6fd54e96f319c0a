"""A browser that has shown a token once: a cookie stands for it from then on.

The cookie names the token by its digest, says when it ends, and carries a MAC under the inbox's own key. So nothing is
kept for a session, every process of every machine knows it, and it ends with its token. A cookie cannot be taken back
by itself: whoever wants to end one early revokes the token.
"""

from __future__ import annotations

import hmac
from http.cookies import SimpleCookie

from starlette.requests import Request

from landfast.admin.access.token_book import TokenBook
from landfast.admin.desk import Desk
from landfast.domain.access import Token
from landfast.domain.mac import Mac

COOKIE = "landfast_session"

SESSION_SECONDS = 12 * 3600
"""A working day: whoever comes back tomorrow shows the token again."""


class Sessions:
    def __init__(self, desk: Desk, book: TokenBook) -> None:
        self._desk = desk
        self._book = book
        self._mac: Mac | None = None

    async def begin(self, token: Token) -> str:
        """The value of the cookie."""
        digest, until = token.digest.hex(), int(self._desk.now().timestamp()) + SESSION_SECONDS
        return f"{digest}.{until}.{(await self._tag(digest, until)).hex()}"

    async def token_of(self, request: Request) -> Token | None:
        digest, _, rest = request.cookies.get(COOKIE, "").partition(".")
        until, _, tag = rest.partition(".")
        if not (len(digest) == 64 and until.isascii() and until.isdigit() and len(until) < 13):
            return None
        expected = (await self._tag(digest, int(until))).hex()
        if not hmac.compare_digest(expected, tag.encode("ascii", "replace").decode()):
            return None
        if int(until) <= self._desk.now().timestamp():
            return None
        return await self._book.by_digest(bytes.fromhex(digest))

    async def _tag(self, digest: str, until: int) -> bytes:
        if self._mac is None:
            await self._desk.open()
            self._mac = Mac(await self._desk.archive.mac_key(), purpose=b"admin session")
        return self._mac.tag(digest.encode("ascii", "replace"), until.to_bytes(8, "big"))


def set_cookie(value: str, *, is_secure: bool, same_site: str = "Strict") -> str:
    """The header that sets it. For requests of our own pages alone, and out of reach of every script. `same_site` is
    Lax for whoever comes from the page of an identity provider, whose way back would show no other; a change still has
    to say that it is from here."""
    cookie: SimpleCookie = SimpleCookie({COOKIE: value})
    held = cookie[COOKIE]
    held["path"], held["samesite"], held["httponly"] = "/", same_site, True
    held["max-age"] = SESSION_SECONDS if value else 0
    if is_secure:
        held["secure"] = True
    return held.OutputString()
