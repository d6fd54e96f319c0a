"""Where one request ends and the next begins. Sans-I/O: bytes in, a head or a refusal out.

httptools (llhttp) tokenises the head and refuses bare LF, folded headers, NUL, spaces before a colon, two lengths, and
length with chunked. Where it is lenient we are not: a head that two parsers could read differently is how requests are
smuggled past a proxy. After any refusal here the connection ends, because nobody knows where the next request starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import httptools
import msgspec

from landfast.domain import answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import FramingError

HEAD_LIMIT = 16 * 1024
"""Bytes of request line and headers. Senders use 1 to 2 KiB; some put a few KiB of tracing on top."""

TARGET_LIMIT = 8 * 1024
"""Bytes of the request target: what RFC 9110 asks every recipient to support."""

HEADER_LIMIT = 100
"""Headers of one request; senders send 10 to 25."""

LENGTH_DIGITS = 18
"""Of a Content-Length: an exabyte, and still a number that every platform can hold."""

_REQUEST_LINE = re.compile(rb"([A-Z]+) ([!-~]+) HTTP/1\.([01])\r\n")
_BEHIND_THE_HOST = re.compile(rb"[/?#]")
_SLASH = ord("/")
_HEADERS_TOO_LARGE = answer.error(431, "headers too large", close=True)
_TARGET_TOO_LONG = answer.error(414, "request target too long", close=True)


class Start(msgspec.Struct, frozen=True):
    """The head of a request, and how its body is framed."""

    head: Head
    is_chunked: bool
    keeps_alive: bool
    expects_continue: bool


def end_of_head(buffer: bytes) -> int:
    """Where the body begins, or -1 if the head is not complete yet."""
    end = buffer.find(b"\r\n\r\n", 0, HEAD_LIMIT)
    if end >= 0:
        return end + 4
    if len(buffer) >= HEAD_LIMIT:
        raise _too_large(buffer)
    # A head with bare LFs may never show its end: refuse it now, not when its deadline passes.
    if buffer.count(b"\n") != buffer.count(b"\r\n"):
        raise FramingError("a bare LF in the head")
    return -1


def parse_head(block: bytes, peer: str = "", is_secure: bool = False) -> Start:  # noqa: FBT001, FBT002 - on the hot path
    """The head in `block`, which ends with an empty line; `peer` and `is_secure` are the connection's."""
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise FramingError("malformed request line")
    method, target, minor = line.groups()
    if len(target) > TARGET_LIMIT:
        raise FramingError("target too long", status=_TARGET_TOO_LONG)
    headers = Headers(_tokenise(block))
    if len(headers.pairs) > HEADER_LIMIT:
        raise FramingError("too many headers", status=_HEADERS_TOO_LARGE)
    is_newer = minor == b"1"
    get = headers.get
    if is_newer and (get(b"host") is None or headers.is_repeated(b"host")):
        raise FramingError("HTTP/1.1 needs exactly one Host")
    path, _, query = (target if target[0] == _SLASH else _origin_form(target)).decode("ascii").partition("?")
    length, coding = get(b"content-length"), get(b"transfer-encoding")
    connection, expect = get(b"connection"), get(b"expect")
    size = None if length is None else _content_length(length)
    return Start(
        Head(method.decode("ascii"), path, query, headers, size, peer, is_secure, not is_newer),
        coding is not None and _is_chunked(coding, is_newer=is_newer),
        is_newer and not (connection is not None and _has_word(connection, b"close")),
        is_newer and expect is not None and _has_word(expect, b"100-continue"),
    )


ORDINARY_START = Start(Head("POST", "/"), is_chunked=False, keeps_alive=True, expects_continue=False)
"""All that a connection has to know of an ordinary request when it answers."""


def whole_request(data: bytes) -> tuple[dict[bytes, bytes], bytes] | None:
    """The headers of a request as they came, and the rest of one read, which should be its body. None where that is not
    so simple: then `parse_head` has to look at it."""
    end = data.find(b"\r\n\r\n", 0, HEAD_LIMIT) + 4
    fields: dict[bytes, bytes] = {}
    if end < 4:
        return None
    try:
        httptools.HttpRequestParser(_Fields(fields.setdefault)).feed_data(data[:end])
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    if data.count(b"\r\n", 0, end) != len(fields) + 2:  # a header that is repeated
        return None
    return fields, data[end:]


class _Fields:
    """What httptools calls back, without a line of Python."""

    __slots__ = ("on_header",)

    def __init__(self, on_header: Callable[[bytes, bytes], bytes]) -> None:
        self.on_header = on_header


class _Tokens:
    """What httptools calls back."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        self.pairs: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        # llhttp leaves trailing blanks on a value.
        self.pairs.append((name, value.rstrip(b" \t")))


def _tokenise(block: bytes) -> list[tuple[bytes, bytes]]:
    tokens = _Tokens()
    try:
        httptools.HttpRequestParser(tokens).feed_data(block)
    except httptools.HttpParserUpgrade:
        pass  # a server may ignore an offer to upgrade, and we do: the request is an ordinary one
    except httptools.HttpParserError as error:
        raise FramingError(str(error)) from None
    return tokens.pairs


def _origin_form(target: bytes) -> bytes:
    # The absolute form, which a request through a proxy has: RFC 9112 asks every server to accept it.
    scheme, separator, rest = target.partition(b"://")
    if separator and scheme.lower() in {b"http", b"https"}:
        # `http://host?x/in/shop` has the path /, and a slash in its query.
        behind = _BEHIND_THE_HOST.search(rest)
        rest = b"" if behind is None else rest[behind.start() :]
        return rest if rest.startswith(b"/") else b"/" + rest
    if target == b"*":
        return target
    raise FramingError("malformed request target")


def _content_length(value: bytes) -> int:
    if not value.isdigit() or len(value) > LENGTH_DIGITS:
        raise FramingError("malformed Content-Length")
    return int(value)


def _is_chunked(value: bytes, *, is_newer: bool) -> bool:
    if value.lower() != b"chunked" or not is_newer:
        raise FramingError("unknown Transfer-Encoding")
    return True


def _has_word(value: bytes, word: bytes) -> bool:
    return word in [part.strip() for part in value.lower().split(b",")]


def _too_large(buffer: bytes) -> FramingError:
    if buffer.find(b"\r\n", 0, TARGET_LIMIT) < 0:
        return FramingError("target too long", status=_TARGET_TOO_LONG)
    return FramingError("headers too large", status=_HEADERS_TOO_LARGE)
