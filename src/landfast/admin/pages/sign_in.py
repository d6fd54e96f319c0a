"""The page where one shows a token. Whoever has shown it has a cookie from then on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from landfast.admin.access.guard import LOCAL
from landfast.admin.pages.commands import safe_path
from landfast.admin.pages.frame import TEMPLATE, theme_of

SENTENCES = {
    "401": "This token is not valid: it is mistyped, has expired, or was revoked.",
    "429": "Too many tokens from your address that are not valid. Come again in a minute.",
    "503": "The inbox does not answer, so nobody can be let in now.",
}
"""By the status of what went wrong. A sentence in an address would be anybody's."""

FAILED = "That did not work. Show the token once more."


async def sign_in(request: Request) -> Response:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    after = safe_path(request.query_params.get("next", "/"))
    operator = getattr(request.state, "operator", None)
    if operator is not None and operator.name == LOCAL:  # nobody needs a token here
        return RedirectResponse(f"{root}{after}", 303)
    failed = request.query_params.get("failed", "")
    text = TEMPLATE.get_template("sign_in.html").render(
        root=root, theme=theme_of(request), next=after, error=SENTENCES.get(failed, FAILED) if failed else ""
    )
    return HTMLResponse(text, 200 if not failed else 401)
