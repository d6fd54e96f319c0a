"""The page where one shows a token, or goes to the identity provider. Whoever has done so has a cookie from then on."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from landfast.admin.access.guard import LOCAL
from landfast.admin.access.origin import own_path
from landfast.admin.pages.frame import TEMPLATE, theme_of

SENTENCES = {
    "401": "This token is not valid: it is mistyped, has expired, or was revoked.",
    "429": "Too many attempts from your address. Come again in a minute.",
    "503": "The inbox does not answer, so nobody can be let in now.",
    "oidc-state": "This sign-in was not begun in this browser, took longer than ten minutes, or was used already. Begin"
    " again.",
    "oidc-token": "What the identity provider said could not be proved, so you were not let in. The log says why.",
    "oidc-provider": "The identity provider did not let you in, or did not answer. The log says why.",
    "oidc-role": "The identity provider knows you, but nothing that it says of you gives you a role here. Ask whoever"
    " runs Landfast to add your group to [admin.oidc] roles.",
}
"""By the status of what went wrong. A sentence in an address would be anybody's."""

FAILED = "That did not work. Show the token once more."


async def sign_in(request: Request) -> Response:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    after = own_path(request.query_params.get("next", "/"))
    operator = getattr(request.state, "operator", None)
    if operator is not None and operator.name == LOCAL:  # nobody needs a token here
        return RedirectResponse(f"{root}{after}", 303)
    failed = request.query_params.get("failed", "")
    oidc = request.app.state.desk.inbox.settings.oidc
    text = TEMPLATE.get_template("sign_in.html").render(
        root=root,
        theme=theme_of(request),
        next=after,
        error=SENTENCES.get(failed, FAILED) if failed else "",
        provider=urlsplit(oidc.issuer).hostname if oidc else "",
    )
    return HTMLResponse(text, 200 if not failed else 401)
