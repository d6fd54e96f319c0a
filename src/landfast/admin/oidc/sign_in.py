"""The two addresses of a sign-in at an identity provider: the way there, and the way back."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import OrderedDict
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from landfast import telemetry
from landfast.admin.access.guard import OIDC_BACK, OIDC_START, SIGN_IN, Access, address_of
from landfast.admin.access.origin import own_path
from landfast.admin.access.sessions import set_cookie
from landfast.admin.desk import Desk
from landfast.admin.oidc.fetch import FetchFailedError
from landfast.admin.oidc.identity_provider import IdentityProvider
from landfast.admin.oidc.person import name_of, role_of
from landfast.admin.oidc.sessions import Asked, PeopleSessions
from landfast.admin.problems import problem_of
from landfast.config.oidc import OidcSettings
from landfast.domain.access import Role
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited

ASKED_COOKIE = "landfast_sign_in"
OF_THIS_HOST = "__Host-"
"""Before the name of a cookie that browsers take from this very host alone, over https. Otherwise another host of the
same domain could plant one, and have somebody sign in as somebody else."""

ASKED_SECONDS = 600
"""For a password, and whatever the identity provider wants besides."""

USED_AT_MOST = 10_000
"""States that were used, of the last minutes: each counts once. The code that comes with one is the identity provider's
to refuse a second time."""

CHANCE_BYTES = 32

NEXT_BYTES = 1000
"""Of where somebody goes on: a longer one does not fit into the cookie, and a part of it leads nowhere."""


class RefusedError(Exception):
    """Nobody is let in. `code` is what the page has a sentence for."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


def oidc_routes(desk: Desk, access: Access, settings: OidcSettings) -> list[BaseRoute]:
    assert access.people is not None  # noqa: S101 - where there are such settings there are such sessions
    visit = _Visits(desk, access.people, settings)

    async def start(request: Request) -> Response:
        try:
            return await visit.begun(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page says so
            return _refused(request, error)

    async def back(request: Request) -> Response:
        try:
            asked = await visit.asked(request)
            access.visits(request)
            return await visit.ended(request, asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody is let in, and the page says so
            return _refused(request, error)

    return [Route(OIDC_START, start, methods=["GET"]), Route(OIDC_BACK, back, methods=["GET"])]


class _Visits:
    def __init__(self, desk: Desk, people: PeopleSessions, settings: OidcSettings) -> None:
        self._desk = desk
        self._people = people
        self._settings = settings
        self._provider = IdentityProvider(desk, settings)
        self._cookie = f"{OF_THIS_HOST if settings.is_secure else ''}{ASKED_COOKIE}"
        self._used: OrderedDict[str, None] = OrderedDict()

    async def begun(self, request: Request) -> Response:
        state, nonce, verifier = (self._chance() for _ in range(3))
        until = int(self._desk.now().timestamp()) + ASKED_SECONDS
        after = own_path(request.query_params.get("next", "/"))
        after = after if len(msgspec.json.encode(after)) <= NEXT_BYTES else "/"
        asked = Asked(state, nonce, verifier, after, until)
        scopes = dict.fromkeys(("openid", "email", "profile", *self._settings.scopes))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect,
            "scope": " ".join(scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        response = RedirectResponse(await self._provider.page(query), 303)
        self._keep(response, await self._people.sealed(asked, b"sign-in"), ASKED_SECONDS)
        return response

    async def ended(self, request: Request, asked: Asked) -> Response:
        if "error" in request.query_params:
            raise RefusedError("oidc-provider", f"it said: {request.query_params['error'][:200]}")
        code = request.query_params.get("code", "")
        if not code:
            raise RefusedError("oidc-provider", "it sent no code")
        claims = await self._provider.claims(code, verifier=asked.verifier, nonce=asked.nonce, redirect=self._redirect)
        name, role = name_of(claims), role_of(claims, self._settings)
        if not name:
            raise UnverifiedError("its sub is missing")
        if role is None:
            raise RefusedError("oidc-role", f"{name} has no role")
        return await self._let_in(request, asked, name, role)

    async def asked(self, request: Request) -> Asked:
        kept = await self._people.opened(request.cookies.get(self._cookie, ""), Asked, b"sign-in")
        given = request.query_params.get("state", "")
        if kept is None or not hmac.compare_digest(kept.state.encode(), given.encode("utf-8", "replace")):
            raise RefusedError("oidc-state", "this browser did not begin it, or more than ten minutes ago")
        if kept.state in self._used:
            raise RefusedError("oidc-state", "its state was used already")
        self._used[kept.state] = None
        if len(self._used) > USED_AT_MOST:
            self._used.popitem(last=False)
        return kept

    async def _let_in(self, request: Request, asked: Asked, name: str, role: Role) -> Response:
        person, who = self._people.new(name, role), f"oidc {name}"
        what = {"role": role, "issuer": self._settings.issuer, "session": person.session, "until": person.until}
        # Dead before it: nobody is signed in. After it: the log has a sign-in whose cookie never came.
        async with audited(self._desk.archive, Action.SIGN_IN, who=who, what=what, host=address_of(request)):
            session = await self._people.cookie(person)
        response = RedirectResponse(f"{request.scope.get('root_path', '')}{own_path(asked.next)}", 303)
        self._keep(response, "", 0)
        cookie = set_cookie(session, is_secure=self._settings.is_secure, same_site="Lax")
        response.headers.append("set-cookie", cookie)
        return response

    def _keep(self, response: Response, value: str, seconds: int) -> None:
        response.set_cookie(
            self._cookie,
            value,
            max_age=seconds,
            path="/",
            httponly=True,
            secure=self._settings.is_secure,
            samesite="lax",  # it comes back with a link from the identity provider's page
        )

    def _chance(self) -> str:
        return base64.urlsafe_b64encode(self._desk.inbox.chance.bytes(CHANCE_BYTES)).decode().rstrip("=")

    @property
    def _redirect(self) -> str:
        return f"{self._settings.public_url}{OIDC_BACK}"


def _refused(request: Request, error: Exception) -> Response:
    match error:
        case RefusedError(code=code):
            pass
        case UnverifiedError():
            code = "oidc-token"
        case FetchFailedError() | ConfigError():
            code = "oidc-provider"
        case _:
            code = str(problem_of(error).status)
    telemetry.warn("oidc_refused", reason=str(error) or type(error).__name__)
    return RedirectResponse(f"{request.scope.get('root_path', '')}{SIGN_IN}?{urlencode({'failed': code})}", 303)
