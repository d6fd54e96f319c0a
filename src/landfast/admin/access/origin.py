"""Whether a request comes from where it may: what a foreign page makes a browser send is refused.

A browser says where a request comes from (`Origin`, `Sec-Fetch-Site`), and a page cannot change what it says. A program
says nothing, and needs no such check: what it sends, its user had it send.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from landfast.admin.problems import AdminError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
PROXY_START = "x-forwarded-"
"""Most proxies add one of these."""

PROXY_VERSION = "1.0"
"""Of HTTP. nginx adds none of those headers unless it is told to, and says `Host: 127.0.0.1` by itself; but it asks in
this version, which no browser has used for twenty years."""

OWN_SITES = frozenset({"same-origin", "none"})
"""What a browser says of a page of this address, and of what its user typed."""


class ForeignOriginError(AdminError):
    """A page of another origin had a browser send it."""

    status, title = 403, "Refused"


class NotLocalError(AdminError):
    """Without a token only this machine may ask, under its own name."""

    status, title = 403, "Refused"


def check_origin(request: Request, *, must_say: bool) -> None:
    """`must_say`: it counts by a cookie, which a browser adds by itself, so that it has to say where it is from."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if request.method in SAFE_METHODS:
        # A link may lead here from anywhere; what a script reads must be of this origin.
        if is_led_here(request) and path_of(request).startswith("/api/"):
            raise ForeignOriginError("a page of another site may not read this; open it in the browser yourself")
        return
    if site is not None and site != "same-origin":
        raise ForeignOriginError(f"Sec-Fetch-Site is {site}: a change has to come from a page of this very address")
    if origin is not None and _place_of(origin) != request.headers.get("host", ""):
        raise ForeignOriginError("Origin is another one than Host: a change has to come from a page of this address")
    if must_say and site is None and origin is None:
        raise ForeignOriginError("neither Origin nor Sec-Fetch-Site: a program uses a token, as a bearer")


def is_led_here(request: Request) -> bool:
    """Whether a page of another address had a browser ask, as far as that browser says so."""
    site = request.headers.get("sec-fetch-site")
    return site is not None and site not in OWN_SITES


def _place_of(origin: str) -> str | None:
    """None for what is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def path_of(request: Request) -> str:
    """Below wherever it is mounted."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


def own_path(text: str) -> str:
    """A path of this dashboard: a form or a link that was made elsewhere leads nobody away from it."""
    is_ours = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_ours else "/"


def check_local(request: Request) -> None:
    """Before anybody is let in without a token. A name that is not ours, and yet leads here, belongs to a page that had
    its name point to this machine (DNS rebinding); and through a proxy anybody may come."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    if name.lower() not in LOOPBACK_NAMES:
        raise NotLocalError(
            f"without a token this is answered under localhost, 127.0.0.1 and [::1] alone, and not under {name!r};"
            " make one with: landfast tokens create NAME --role viewer"
        )
    passed = [name for name in request.headers if name in PROXY_HEADERS or name.startswith(PROXY_START)]
    passed += ["HTTP/1.0"] if request.scope.get("http_version") == PROXY_VERSION else []
    if passed:
        raise NotLocalError(
            f"it came through a proxy ({passed[0]}), and so from anybody; make a token: landfast tokens create NAME"
        )
