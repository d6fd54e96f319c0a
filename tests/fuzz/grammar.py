"""Requests as a sender would write them, and the many ways to get one wrong. Everything is drawn from one Random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from random import Random

from landfast.providers.catalogue import PROFILES
from landfast.testing.signing import sample, sign

TOKENS = (
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b",",
        b";",
        b"%",
        b"\xff",
        b"\x7f",
        b"\r\n\r\n",
        b"\n\n",
        b"0\r\n\r\n",
    ),
    *(
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"POST ",
        b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n",
        b"chunked",
        b"Content-Length: 1\r\n",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"/in/stripe",
        b"\r\n ",
        b"-1",
        b"0x10",
        b"9" * 25,
        b"\xc3\xa9",
        b"v1=",
        b"t=",
    ),
)
METHODS = (b"GET", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"PRI", b"post", b"P\0ST", b"", b"POST\t", b"X" * 40)
TARGETS = (
    *(
        b"/health",
        b"/in/nobody",
        b"/in/slack",
        b"/in/github",
        b"*",
        b"/",
        b"",
        b"in/stripe",
        b"//in/stripe",
        b"/in/stripe/",
    ),
    *(
        b"http://a/in/stripe",
        b"http://",
        b"ftp://a/in/stripe",
        b"/in/str%69pe",
        b"/in/\xff",
        b"/in/stripe?a=b",
        b"/" + b"x" * 9000,
    ),
)
VERSIONS = (b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"", b"HTTP/1.1 ", b"HTTP/11")
HEADERS = (
    *((b"Expect", b"100-continue"), (b"Connection", b"close"), (b"Connection", b"Upgrade"), (b"Upgrade", b"h2c")),
    *((b"Content-Encoding", b"gzip"), (b"Content-Encoding", b"identity"), (b"Host", b"b"), (b"X-Fold", b"a\r\n b")),
    *(
        (b"X-Nul", b"a\0b"),
        (b"X-Cr", b"a\rb"),
        (b"X-Long", b"y" * 17_000),
        (b"", b"nameless"),
        (b"X Y", b"z"),
        (b"X\t", b"z"),
    ),
    *(
        (b"Transfer-Encoding", b"chunked"),
        (b"Transfer-Encoding", b"gzip, chunked"),
        (b"Transfer-Encoding", b"\x0bchunked"),
    ),
    *(
        (b"Content-Length", b"0"),
        (b"Content-Length", b"5, 5"),
        (b"Content-Length", b"+5"),
        (b"Content-Length", b"1" * 19),
    ),
    *((b"Content-Length", b"2000000"), (b"Content-Type", b"application/x-www-form-urlencoded"), (b"X-Latin", b"\xe4")),
    *(
        (b"Stripe-Signature", b"t=1,v1=00"),
        (b"Stripe-Signature", b"," * 5000),
        (b"Trailer", b"X"),
        (b"Connection", b"keep-alive, CLOSE"),
    ),
)
SOURCES = ("stripe", "slack", "github", "shopify", "standard-webhooks")
SECRETS = {name: f"secret of {name}" for name in SOURCES} | {
    "standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
}


@dataclass
class Request:
    """One request on its way to be broken."""

    source: str
    body: bytes
    method: bytes = b"POST"
    target: bytes = b""
    version: bytes = b"HTTP/1.1"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: list[bytes] | None = None
    """The body as chunks on the wire; None for a body with its length."""

    def wire(self) -> bytes:
        framing = (
            (b"Transfer-Encoding", b"chunked")
            if self.chunks is not None
            else (b"Content-Length", b"%d" % len(self.body))
        )
        lines = [b" ".join([self.method, self.target, self.version])]
        lines += [b"%s: %s" % pair for pair in [*self.headers, framing]]
        return b"\r\n".join(lines) + b"\r\n\r\n" + (b"".join(self.chunks) if self.chunks is not None else self.body)


def genuine(draw: Random, *, now: float) -> Request:
    source = draw.choice(SOURCES) if draw.random() < 0.4 else "stripe"
    body = _sample(source, draw.randrange(5))
    if draw.random() < 0.1:
        body = draw.randbytes(draw.choice((0, 1, 30, 3000)))
    headers = sign(
        PROFILES[source], body, SECRETS[source], now=now - draw.choice((0, 0, 0, 0, 299)), id=f"msg_{draw.randrange(5)}"
    )
    request = Request(source, body, target=b"/in/" + source.encode())
    request.headers = [
        (b"Host", b"shop.example"),
        *((name.encode(), value.encode()) for name, value in headers.items()),
    ]
    if draw.random() < 0.3:
        request.chunks = list(_in_chunks(draw, body))
    return request


@cache
def _sample(source: str, number: int) -> bytes:
    return sample(source, id=f"evt_{number}")


def stream(draw: Random, *, now: float) -> tuple[bytes, set[bytes]]:
    """The bytes of one connection, and every body in them that was signed."""
    parts, signed = [], set()
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        request = genuine(draw, now=now)
        signed.add(request.body)
        for _ in range(draw.choice((0, 0, 1, 1, 1, 2, 3))):
            draw.choice(MUTATIONS)(draw, request)
        wire = request.wire()
        if draw.random() < 0.25:
            wire = scribble(draw, wire)
        parts.append(wire)
    return b"".join(parts), signed


def pieces(draw: Random, data: bytes) -> list[bytes]:
    """The same bytes as they may come from a network."""
    match draw.randrange(5):
        case 0:
            return [data]
        case 1 if len(data) < 2000:
            return [data[at : at + 1] for at in range(len(data))]
        case 2:  # a cut right at what a parser looks for
            places = _places(data, draw.choice((b"\r\n", b"\r\n\r\n", b"{", b"\n")))
            cuts = sorted({at + draw.randrange(-2, 5) for at in islice(places, 100)})
        case _:
            cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.randrange(1, 12)))
    edges = [0, *(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    return [data[start:end] for start, end in pairwise(edges) if start < end]


def scribble(draw: Random, data: bytes) -> bytes:
    """Errors that no grammar knows of: bytes lost, doubled, changed, put in."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(data) + 1)
        size = draw.choice((1, 1, 2, 10, 200))
        match draw.randrange(5):
            case 0:
                data = data[:at] + data[at + size :]
            case 1:
                data = data[:at] + data[at : at + size] * 2 + data[at + size :]
            case 2:
                data = data[:at] + draw.randbytes(size) + data[at + size :]
            case 3:
                data = data[:at] + draw.choice(TOKENS) + data[at:]
            case _:
                data = (
                    data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
                    if at < len(data)
                    else data
                )
    return data


def _other_method(draw: Random, request: Request) -> None:
    request.method = draw.choice(METHODS)


def _other_target(draw: Random, request: Request) -> None:
    request.target = draw.choice(TARGETS)


def _other_version(draw: Random, request: Request) -> None:
    request.version = draw.choice(VERSIONS)


def _one_more_header(draw: Random, request: Request) -> None:
    request.headers.insert(draw.randrange(len(request.headers) + 1), draw.choice(HEADERS))


def _many_headers(draw: Random, request: Request) -> None:
    request.headers += [(b"X-%d" % number, b"1") for number in range(draw.choice((50, 95, 96, 120)))]


def _one_header_less(draw: Random, request: Request) -> None:
    if request.headers:
        request.headers.pop(draw.randrange(len(request.headers)))


def _a_header_twice(draw: Random, request: Request) -> None:
    if request.headers:
        request.headers.append(draw.choice(request.headers))


def _a_header_scribbled(draw: Random, request: Request) -> None:
    if request.headers:
        at = draw.randrange(len(request.headers))
        name, value = request.headers[at]
        request.headers[at] = (scribble(draw, name), value) if draw.random() < 0.3 else (name, scribble(draw, value))


def _blanks_around_a_value(draw: Random, request: Request) -> None:
    request.headers = [(name, b" \t" + value + b" ") for name, value in request.headers]


def _another_body(draw: Random, request: Request) -> None:
    """What was signed is not what comes."""
    request.body = scribble(draw, request.body)
    if request.chunks is not None:
        request.chunks = list(_in_chunks(draw, request.body))


def _a_smuggled_request(draw: Random, request: Request) -> None:
    request.body += b"POST /in/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"


def _broken_chunks(draw: Random, request: Request) -> None:
    chunks = request.chunks if request.chunks is not None else list(_in_chunks(draw, request.body))
    odd = (
        *(b"0\r\n", b"\r\n", b"fffffffff\r\n", b"-1\r\n", b"0x1\r\nx\r\n", b'5;a="b\r\n"\r\nhello\r\n', b"1\nx\r\n"),
        *(
            b"1;" + b"e" * 1100 + b"\r\nx\r\n",
            b"200000\r\n",
            b"1\r\nxy\r\n",
            b"X-Trailer: y\r\n",
            b"1\r\nx\r\n" * draw.choice((10, 10, 12_000)),
        ),
    )
    chunks.insert(draw.randrange(len(chunks) + 1), draw.choice(odd))
    if draw.random() < 0.3:
        chunks.pop(draw.randrange(len(chunks)))
    request.chunks = chunks


def _another_length(draw: Random, request: Request) -> None:
    if request.chunks is None:
        request.chunks = [request.body]  # with both framings, or with one that lies
        request.headers.append((b"Content-Length", b"%d" % max(0, len(request.body) + draw.choice((-5, -1, 0, 1, 5)))))


MUTATIONS: tuple[Callable[[Random, Request], None], ...] = (
    _other_method,
    _other_target,
    _other_version,
    _one_more_header,
    _one_more_header,
    _many_headers,
    _one_header_less,
    _a_header_twice,
    _a_header_scribbled,
    _a_header_scribbled,
    _blanks_around_a_value,
    _another_body,
    _a_smuggled_request,
    _broken_chunks,
    _another_length,
)


def _in_chunks(draw: Random, body: bytes) -> Iterator[bytes]:
    size = draw.choice((1, 7, 100, 10_000)) if len(body) < 500 else draw.choice((100, 10_000))
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        yield b"%x%s\r\n%s\r\n" % (len(piece), draw.choice((b"", b"", b";ext", b" ;a=b")), piece)
    yield b"0\r\n" + draw.choice((b"", b"", b"X-Check: sum\r\n")) + b"\r\n"


def _places(data: bytes, what: bytes) -> Iterator[int]:
    at = data.find(what)
    while at >= 0:
        yield at
        at = data.find(what, at + 1)
