"""The identity provider over HTTP: where its pages are, which keys it has, whom a code stands for."""

from __future__ import annotations

import asyncio
import base64
from typing import Any
from urllib.parse import quote, urlencode

from landfast.admin.desk import Desk
from landfast.admin.oidc.fetch import FetchFailedError, fetch, raw
from landfast.admin.oidc.id_token import UnknownKeyError, claims_of, token_in
from landfast.app.oidc_checkup import oidc_secret
from landfast.config.oidc import OidcSettings, is_safe
from landfast.domain.errors import UnverifiedError
from landfast.domain.json_limits import read_json

KNOWN_SECONDS = 3600.0
"""For which its document and its keys are believed."""

FAILED_SECONDS = 5.0
"""For which it is not asked again, where it did not say who it is: anybody can have us ask."""

KEYS_AGAIN_SECONDS = 60.0
"""Before which a token that names an unknown key does not have the keys fetched again: anybody can bring one."""


class IdentityProvider:
    def __init__(self, desk: Desk, settings: OidcSettings) -> None:
        self._desk = desk
        self._settings = settings
        self._document: dict[str, Any] = {}
        self._keys = b""
        self._document_at = self._keys_at = self._not_before = 0.0
        self._looking = asyncio.Lock()

    async def page(self, asked: dict[str, str]) -> str:
        """The address that a browser is led to."""
        start = await self._endpoint("authorization_endpoint")
        return f"{start}{'&' if '?' in start else '?'}{urlencode(asked)}"

    async def claims(self, code: str, *, verifier: str, nonce: str, redirect: str) -> dict[str, Any]:
        """What it says of whom the code stands for. UnverifiedError, FetchFailedError."""
        asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        answer = await self._exchange(asked)
        token = token_in(answer.get("id_token"))
        keys = await self._key_set()
        now = self._desk.now().timestamp()
        try:
            return claims_of(token, keys, self._settings, nonce=nonce, now=now)
        except UnknownKeyError:
            keys = await self._key_set(older_than=KEYS_AGAIN_SECONDS)
        try:
            return claims_of(token, keys, self._settings, nonce=nonce, now=now)
        except UnknownKeyError:
            raise UnverifiedError("it names a key that the identity provider does not publish") from None

    async def _exchange(self, asked: dict[str, str]) -> dict[str, Any]:
        url = await self._endpoint("token_endpoint")
        secret, settings = oidc_secret(self._desk.inbox.settings), self._settings
        ways = self._document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if "client_secret_basic" in ways:
            pair = f"{quote(settings.client_id, safe='')}:{quote(secret, safe='')}"
            headers = {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
            return await fetch(url, urlencode(asked).encode(), headers)
        asked = asked | {"client_id": settings.client_id, "client_secret": secret}
        return await fetch(url, urlencode(asked).encode())

    async def _endpoint(self, name: str) -> str:
        url = (await self._discovered()).get(name)
        # Plain http is for a provider on this machine: none elsewhere sends us, or our secret, to a port of it.
        scheme = "https:" if self._settings.issuer.startswith("https:") else "http"
        if not isinstance(url, str) or not is_safe(url) or not url.startswith(scheme):
            raise FetchFailedError(f"the identity provider's document has no {name} with https")
        return url

    async def _discovered(self) -> dict[str, Any]:
        async with self._looking:
            now = self._desk.inbox.clock.monotonic()
            if not self._document or now - self._document_at > KNOWN_SECONDS:
                if now < self._not_before:
                    raise FetchFailedError("the identity provider did not answer just now")
                self._not_before, issuer = now + FAILED_SECONDS, self._settings.issuer
                found = await fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != issuer:
                    raise FetchFailedError(f"its document names another issuer than {issuer}; copy it to the setting")
                self._document, self._document_at = found, now
        return self._document

    async def _key_set(self, *, older_than: float = KNOWN_SECONDS) -> bytes:
        url = await self._endpoint("jwks_uri")
        async with self._looking:
            now = self._desk.inbox.clock.monotonic()
            if not self._keys or now - self._keys_at > older_than:
                found = await raw(url)
                _must_be_keys(found)
                self._keys, self._keys_at = found, now
        return self._keys


def _must_be_keys(document: bytes) -> None:
    """A set, and no lone key or certificate, of which a token without a name would take whichever is there."""
    try:
        read = read_json(document)
    except ValueError:
        read = None
    if not isinstance(read, dict) or not isinstance(read.get("keys"), list):
        raise FetchFailedError("what is at its jwks_uri is no set of keys")
