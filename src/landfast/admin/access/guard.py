"""In front of everything: who asks, may it be from there, and not too often?"""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from landfast.admin.access import limits
from landfast.admin.access.limits import Buckets, TooOftenError
from landfast.admin.access.origin import NotLocalError, check_local, check_origin, path_of
from landfast.admin.access.sessions import COOKIE, Sessions
from landfast.admin.access.token_book import TokenBook
from landfast.admin.desk import Desk
from landfast.admin.oidc.person import Person
from landfast.admin.oidc.sessions import PeopleSessions
from landfast.admin.problems import AdminError, answer_of
from landfast.domain.access import Operator, Role, Token
from landfast.domain.errors import InboxUnavailableError, LandfastError, StoreError
from landfast.operations import sessions
from landfast.operations.operator_log import asked_from

SIGN_IN = "/sign-in"

OIDC_START, OIDC_BACK = f"{SIGN_IN}/oidc", f"{SIGN_IN}/oidc/callback"

OPEN_PATHS = (SIGN_IN, OIDC_START, OIDC_BACK, "/api/session", "/api/session/end")
OPEN_FOLDER = "/static/"
"""What is there before anybody has signed in: how to do so, and what that page looks like."""

LOOK_HEADER = "landfast-look"
"""Of a script that looks at its page again; its value says how often, in milliseconds."""

LOCAL = "local"
"""What the operator log calls whoever is on this machine, while there is no token."""

NEEDED = "a token is needed: landfast tokens create NAME --role viewer makes one; send it as Authorization: Bearer"


class NotSignedInError(AdminError):
    """No token, or none that is valid."""

    status, title = 401, "Sign in"

    def headers(self) -> dict[str, str]:
        return {"www-authenticate": "Bearer"}


class NotAllowedError(AdminError):
    """The token's role does not do."""

    status, title = 403, "Not allowed"


class Access:
    """`is_loopback`: whether the listener can be reached from this machine alone."""

    def __init__(self, desk: Desk, *, is_loopback: bool) -> None:
        clock = desk.inbox.clock
        self._desk = desk
        self.book = TokenBook(desk)
        self.sessions = Sessions(desk, self.book)
        oidc = desk.inbox.settings.oidc
        self.people = PeopleSessions(desk, oidc) if oidc is not None else None
        self._is_loopback = is_loopback
        self._requests = Buckets(clock, rate=limits.REQUESTS_PER_SECOND, burst=limits.REQUESTS_AT_ONCE)
        self._attempts = Buckets(clock, rate=limits.ATTEMPTS_PER_SECOND, burst=limits.ATTEMPTS_AT_ONCE)
        self._visits = Buckets(clock, rate=limits.VISITS_PER_SECOND, burst=limits.VISITS_AT_ONCE)

    async def operator(self, request: Request) -> Operator | None:
        """Who asks; None for nobody. AdminError for whoever may not even ask."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        has_cookie = COOKIE in request.cookies
        check_origin(request, must_say=has_cookie and not given)
        if scheme.lower() == "bearer":
            return self._counted(await self.shown(request, given.strip()), request)
        token = await self.sessions.token_of(request) if has_cookie else None
        if token is not None:
            return self._counted(token, request)
        person = await self.people.person_of(request) if has_cookie and self.people is not None else None
        if person is not None:
            return self._person(person, request)
        if self._is_loopback and self.people is None and not await self.book.has_any():
            check_local(request)
            return Operator(LOCAL, Role.ADMIN, address_of(request))
        return None

    async def shown(self, request: Request, given: str) -> Token:
        """The token that somebody shows."""
        token = await self.book.find(given)
        if token is None:
            if wait := self._attempts.take(address_of(request)):
                raise TooOftenError("too many tokens from your address that are not valid", wait)
            raise NotSignedInError("this token is not valid: it is mistyped, has expired, or was revoked")
        return token

    def told(self, request: Request, error: Exception) -> Exception:
        """What is told to whoever has shown no token yet. Where the inbox is, and what its server said, is for people
        at this machine alone."""
        if not isinstance(error, StoreError):
            return error
        try:
            check_local(request)
        except NotLocalError:
            is_here = False
        else:
            is_here = self._is_loopback
        hidden = "the inbox does not answer, so nobody can be let in now; landfast doctor says why"
        return error if is_here else InboxUnavailableError(hidden)

    def visits(self, request: Request) -> None:
        """Somebody comes from the identity provider, which we have to ask then. Whoever goes there costs it nothing,
        and is not counted: a stranger behind the same proxy would keep everybody from signing in."""
        if wait := self._visits.take(address_of(request)):
            raise TooOftenError("too many sign-ins from your address", wait)

    async def end_session(self, request: Request) -> None:
        """Of somebody who signs out: whoever else has the cookie is out, too."""
        person = await self.people.person_of(request) if self.people is not None else None
        if person is not None and self.people is not None:
            archive, who = self._desk.archive, f"oidc {person.name}"
            with asked_from(address_of(request)):
                await sessions.end(archive, person.session, who=who, why="", now=self._desk.now())
            self.people.ended.look_again()

    def _person(self, person: Person, request: Request) -> Operator:
        name = f"oidc {person.name}"
        if wait := self._requests.take(name):
            raise TooOftenError(f"{person.name} asks too often", wait)
        return Operator(name, person.role, address_of(request))

    def _counted(self, token: Token, request: Request) -> Operator:
        if wait := self._requests.take(token.name):
            raise TooOftenError(f"the token {token.name} asks too often", wait)
        return Operator(f"token {token.name}", token.role, address_of(request))


class Guard:
    """`has_pages`: whether a browser can be led to a page where one signs in."""

    def __init__(self, app: ASGIApp, *, access: Access, has_pages: bool) -> None:
        self._app = app
        self._access = access
        self._has_pages = has_pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            request.state.operator = await self._access.operator(request)
            if request.state.operator is None and not _is_open(path_of(request)):
                await (await self._turned_away(request))(scope, receive, send)
                return
        except (AdminError, LandfastError) as error:
            await answer_of(self._access.told(request, error))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _turned_away(self, request: Request) -> Response:
        is_page = request.method == "GET" and not path_of(request).startswith("/api/")
        # A page that looks again is told so, and opens itself anew: its script cannot follow to where one signs in.
        is_look = LOOK_HEADER in request.headers
        if self._has_pages and is_page and not is_look and "text/html" in request.headers.get("accept", ""):
            asked = path_of(request) + (f"?{request.url.query}" if request.url.query else "")
            people = self._access.people
            door = OIDC_START if people is not None and await people.was_here(request) else SIGN_IN
            return RedirectResponse(f"{request.scope.get('root_path', '')}{door}?next={quote(asked, safe='')}", 303)
        return answer_of(NotSignedInError(NEEDED))


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def operator_of(request: Request) -> Operator:
    operator: Operator | None = getattr(request.state, "operator", None)
    if operator is None:
        raise NotSignedInError(NEEDED)
    return operator


def require(request: Request, role: Role) -> Operator:
    """Whoever asks, if the role does."""
    operator = operator_of(request)
    if not operator.role.may(role):
        raise NotAllowedError(f"the role {role} is needed, and {operator.name} has {operator.role}")
    return operator


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""
