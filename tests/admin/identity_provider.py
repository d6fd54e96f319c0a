"""An identity provider over real HTTP, which says of people what a test wants it to say."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from landfast.providers.schemes.algorithms import encode
from landfast.providers.schemes.compact_token import compact

CLIENT, SECRET = "landfast", "of_the_dashboard"


class IdentityProvider:
    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.issuer = f"http://{host}:{port}"
        self.named = self.issuer
        """As its document calls it."""
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.codes: dict[str, tuple[str, str]] = {}
        """Each with its challenge, and the token that it stands for."""
        self.asked = 0
        self.claims: Callable[[], dict[str, Any]] = dict
        """Of who sits before the browser that comes to its page."""
        self.is_known = False
        """Whether that browser has signed in there before, and is sent back at once."""
        self.visits = 0

    def page(self, url: str) -> tuple[int, str]:
        """For a browser: the status, and what it is shown or where it is sent."""
        self.visits += 1
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = self.grants(url, self.claims())
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        if self.is_known:
            return 303, back
        return 200, f'<!doctype html><title>Identity</title><a href="{escape(back)}">Sign in as Ada</a>'

    def grants(
        self, page: str, claims: dict[str, Any], *, header: dict[str, Any] | None = None, key: Any = None
    ) -> str:
        """Somebody signs in on the page that their browser was led to: the code that they come back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
        assert asked["code_challenge_method"] == "S256"
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        whole = {"iss": self.issuer, "aud": CLIENT, "nonce": asked["nonce"], **claims}
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked["code_challenge"], _signed(whole, header or {}, key or self.key)
        return code

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        self.asked += 1
        if path == "/.well-known/openid-configuration":
            places = {"authorization_endpoint": "page", "token_endpoint": "token", "jwks_uri": "keys"}
            return 200, {"issuer": self.named} | {name: f"{self.issuer}/{at}" for name, at in places.items()}
        if path == "/keys":
            numbers = self.key.public_key().public_numbers()
            x, y = (encode(number.to_bytes(32), "base64url") for number in (numbers.x, numbers.y))
            return 200, {"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "x": x, "y": y}]}
        challenge, token = self.codes.pop(form.get("code", ""), ("", ""))
        made = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        expected = f"Basic {base64.b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        if (made.decode().rstrip("="), authorization) != (challenge, expected):
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": token, "access_token": "unused", "token_type": "Bearer"}


def _signed(claims: dict[str, Any], header: dict[str, Any], key: Any) -> str:
    header = {"alg": "ES256", "kid": "1", **header}
    payload = json.dumps(claims).encode()
    if header["alg"] == "none":
        return f"{encode(json.dumps(header).encode(), 'base64url')}.{encode(payload, 'base64url')}."
    pem = key if isinstance(key, bytes) else _pem(key)
    return compact(header, payload, pem)


def _pem(key: Any) -> bytes:
    kind = serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()))


@contextmanager
def identity_provider(host: str = "127.0.0.1") -> Iterator[IdentityProvider]:
    """`host` is what it calls itself: to a browser `localhost` is another site than 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if urlsplit(self.path).path == "/page":
                self._show(*made.page(self.path))
            else:
                self._answer({})

        def _show(self, status: int, what: str) -> None:
            self.send_response(status)
            body = what.encode() if status == 200 else b""
            self.send_header(*(("content-type", "text/html") if body else ("location", what)))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            status, answer = made.answer(urlsplit(self.path).path, form, self.headers.get("authorization", ""))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = IdentityProvider(server.server_address[1], host)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
