"""How a browser signs in and out: it shows a token once, and has a cookie from then on."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from landfast.admin.access.guard import Access
from landfast.admin.access.origin import check_origin
from landfast.admin.access.sessions import set_cookie
from landfast.admin.problems import AdminError, answer_of, problem_of
from landfast.domain.errors import LandfastError

FORM = "application/x-www-form-urlencoded"
BODY_BYTES = 4096


class SignIn(msgspec.Struct, forbid_unknown_fields=True):
    token: str
    next: str = "/"
    """Where a form leads when it has worked."""


class SignedIn(msgspec.Struct):
    name: str
    role: str


def session_routes(access: Access) -> list[BaseRoute]:
    async def sign_in(request: Request) -> Response:
        """As JSON or as a form; a form is led on to where it wanted to go."""
        asked = SignIn("")
        try:
            asked = await _read(request)
            token = await access.shown(request, asked.token.strip())
            answer = _answer(request, asked, SignedIn(name=token.name, role=token.role))
            answer.headers["set-cookie"] = set_cookie(await access.sessions.begin(token), is_secure=_is_secure(request))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered as a problem
            return _try_again(request, asked, error) if _is_form(request) else answer_of(access.told(request, error))
        return answer

    async def sign_out(request: Request) -> Response:
        try:
            check_origin(request, must_say=False)
            await access.end_session(request)
        except (AdminError, LandfastError) as error:
            return answer_of(error)
        answer = RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in", 303)
        answer.headers["set-cookie"] = set_cookie("", is_secure=_is_secure(request))
        return answer

    return [
        Route("/api/session", sign_in, methods=["POST"]),
        Route("/api/session/end", sign_out, methods=["POST"]),
    ]


async def _read(request: Request) -> SignIn:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_BYTES:
            raise AdminError("token: no token is that long")
    if _is_form(request):
        fields = {name: values[0] for name, values in parse_qs(read.decode("utf-8", "replace")).items()}
        return msgspec.convert(fields, SignIn)
    return msgspec.json.decode(bytes(read), type=SignIn)


def _try_again(request: Request, asked: SignIn, error: Exception) -> Response:
    """A person is led back to the page, which has a sentence for each status."""
    query = urlencode({"next": asked.next, "failed": problem_of(error).status})
    return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in?{query}", 303)


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


def _is_secure(request: Request) -> bool:
    """Whether the browser came by HTTPS, as far as we or a proxy can tell; a lie would only lose the liar's cookie."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))


def _answer(request: Request, asked: SignIn, signed_in: SignedIn) -> Response:
    if not _is_form(request):
        return Response(msgspec.json.encode(signed_in), media_type="application/json")
    # Only to a path of ours: `//elsewhere` and `/\\elsewhere` are other hosts to a browser.
    is_ours = asked.next.startswith("/") and asked.next[1:2] not in {"/", "\\"}
    return RedirectResponse(f"{request.scope.get('root_path', '')}{asked.next if is_ours else '/'}", 303)
