"""What an endpoint answers: a status, headers and a body, stored with the receipt and told again, byte for byte."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec

from landfast.domain.errors import UserError

FINGERPRINT_DIGITS = 32
"""Hexadecimal digits of the body's SHA-256: two calls that meet in 128 bits do not come by accident, or on purpose."""

HEADERS_AT_MOST = 32
"""Names that one answer has: more than any API sends, and they lie in the user's database."""

HOP_BY_HOP = frozenset(
    [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
"""About one connection (RFC 9110, 7.6.1): the next caller has another one."""

FRAMING = frozenset({"content-length", "date", "server", "x-content-type-options"})
"""Whoever sends the answer says these itself."""

FOR_ONE_CALLER = frozenset({"set-cookie", "set-cookie2", "clear-site-data", "alt-svc"})
"""Given to whoever asks again, they would hand one caller's session to another, or lead it elsewhere."""

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")
_NO_CONTENT, _NOT_MODIFIED = 204, 304


@dataclass(frozen=True, slots=True)
class Response:
    """What the function of an endpoint returns when a plain value is not enough: `Response(201, body={"id": 7})`."""

    status: int = 200
    """One of HTTP's, from 200 on."""
    body: Any = field(default=None, kw_only=True)
    """Bytes, text, or anything that is JSON; None for nothing."""
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Those about one connection or one caller, such as Set-Cookie, are left out."""

    def __post_init__(self) -> None:
        known = isinstance(self.status, int) and self.status in set(HTTPStatus) and self.status >= HTTPStatus.OK
        if not known or self.status == _NOT_MODIFIED:
            raise UserError(f"Response: status is {self.status!r}; it is one of HTTP's, from 200 on, and not 304")
        if self.status == _NO_CONTENT and self.body is not None:
            raise UserError("Response: status 204 has no body; leave the body out, or take 200")
        if len(self.headers) > HEADERS_AT_MOST:
            raise UserError(f"Response: it has {len(self.headers)} headers; give {HEADERS_AT_MOST} at most")
        for name, value in self.headers.items():
            if not name or not set(name.lower()) <= _NAME_LETTERS:
                raise UserError(f"Response: {name[:100]!r} is no name of a header")
            if not isinstance(value, str) or not value.isascii() or not value.isprintable():
                raise UserError(f"Response: the header {name} must be printable ASCII text, on one line")


class StoredResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The same as it lies in the ledger, as the result of the receipt."""

    status: int
    fingerprint: str
    """Of the body that it is the answer to. It lives as long as the answer: the inbox may have forgotten that body."""
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    base64: str = ""
    """In place of the body, where that is no text."""

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.base64) if self.base64 else self.body.encode()


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    response: StoredResponse


_read = msgspec.json.Decoder(_Kept).decode


def fingerprint_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:FINGERPRINT_DIGITS]


def kept_result(returned: Any, body: bytes) -> Any:
    """What is stored of that which an endpoint's function returned, for a call with this body. UserError, or msgspec's
    own errors, for what cannot be."""
    response = returned if isinstance(returned, Response) else _plain(returned)
    content, kind = _content(response.body)
    headers = _kept_headers(response.headers)
    if response.status != _NO_CONTENT and not any(name == "content-type" for name, _ in headers):
        headers = (("content-type", kind), *headers)
    try:
        text, encoded = content.decode(), ""
    except UnicodeDecodeError:
        text, encoded = "", base64.b64encode(content).decode()
    return _Kept(StoredResponse(response.status, fingerprint_of(body), headers, text, encoded))


def _plain(returned: Any) -> Response:
    """A value of the function's own is JSON, whatever it is; nothing is no content."""
    if returned is None:
        return Response(_NO_CONTENT)
    return Response(body=msgspec.json.encode(returned), headers={"content-type": "application/json"})


def read_result(result: bytes | None) -> StoredResponse | None:
    """None where it was erased, or is no endpoint's."""
    try:
        return None if result is None else _read(result).response
    except msgspec.DecodeError:
        return None


def _content(body: Any) -> tuple[bytes, str]:
    if body is None:
        return b"", "application/json"
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body), "application/octet-stream"
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return msgspec.json.encode(body), "application/json"


def _kept_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    given = {name.lower(): value for name, value in headers.items()}
    # Connection names further headers that are about one connection.
    named = {each.strip().lower() for each in given.get("connection", "").split(",")}
    left_out = HOP_BY_HOP | FRAMING | FOR_ONE_CALLER | named
    return tuple((name, value) for name, value in given.items() if name not in left_out)
