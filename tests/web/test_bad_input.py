"""The table "bad input and its answer", byte for byte over a real socket."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from landfast.web.http.bodies import LINE_LIMIT, OVERHEAD
from tests.intake.desk import body
from tests.web.client import Shop, in_chunks

BODY = body()
Build = Callable[[Shop], bytes]


def raw(text: bytes) -> Build:
    return lambda _: text


def swap(old: bytes, new: bytes) -> Build:
    """A genuine request with one thing changed."""

    def build(shop: Shop) -> bytes:
        whole = shop.post(BODY)
        assert old in whole
        return whole.replace(old, new, 1)

    return build


def header(line: str) -> Build:
    return lambda shop: shop.post(BODY, line)


def chunks(text: bytes) -> Build:
    return lambda shop: shop.chunked(BODY, text)


HOST = b"Host: shop.example\r\n"
FIRST = b"POST /in/stripe HTTP/1.1\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)

CLOSED = {
    "two lengths that agree": (header(f"Content-Length: {len(BODY)}"), 400),
    "two lengths that differ": (header("Content-Length: 3"), 400),
    "a list of lengths": (swap(LENGTH, b"Content-Length: %d, %d\r\n" % (len(BODY), len(BODY))), 400),
    "a signed length": (swap(LENGTH, b"Content-Length: +%d\r\n" % len(BODY)), 400),
    "a negative length": (swap(LENGTH, b"Content-Length: -1\r\n"), 400),
    "an empty length": (swap(LENGTH, b"Content-Length:\r\n"), 400),
    "a hexadecimal length": (swap(LENGTH, b"Content-Length: 0x10\r\n"), 400),
    "a length with 30 digits": (swap(LENGTH, b"Content-Length: 1%029d\r\n" % 0), 400),
    "a length with 19 digits": (swap(LENGTH, b"Content-Length: 1%018d\r\n" % 0), 400),
    "length and chunked": (header("Transfer-Encoding: chunked"), 400),
    "two lengths and an offer to upgrade": (header("Content-Length: 3\r\nConnection: Upgrade\r\nUpgrade: h2c"), 400),
    "length, chunked and an offer to upgrade": (
        header("Transfer-Encoding: chunked\r\nConnection: Upgrade\r\nUpgrade: h2c"),
        400,
    ),
    "chunked before length": (swap(LENGTH, b"Transfer-Encoding: chunked\r\n" + LENGTH), 400),
    "an unknown transfer encoding": (swap(LENGTH, b"Transfer-Encoding: gzip\r\n"), 400),
    "gzip, then chunked": (swap(LENGTH, b"Transfer-Encoding: gzip, chunked\r\n"), 400),
    "something like chunked": (swap(LENGTH, b"Transfer-Encoding: xchunked\r\n"), 400),
    "chunked twice": (swap(LENGTH, b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400),
    "chunked on HTTP/1.0": (swap(FIRST, b"POST /in/stripe HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"), 400),
    "chunked without length on HTTP/1.0": (raw(b"POST /in/stripe HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400),
    "a folded header": (header("X-Note: one\r\n two"), 400),
    "a header folded with a tab": (header("X-Note: one\r\n\ttwo"), 400),
    "a folded first header": (swap(FIRST, FIRST + b" X: y\r\n"), 400),
    "bare LF everywhere": (raw(b"POST /in/stripe HTTP/1.1\nHost: a\n\n"), 400),
    "bare LF after a header": (swap(HOST, b"Host: shop.example\n"), 400),
    "bare LF after the request line": (swap(FIRST, b"POST /in/stripe HTTP/1.1\n"), 400),
    "bare CR in a value": (header("X-Note: one\rtwo"), 400),
    "NUL in a value": (header("X-Note: one\0two"), 400),
    "NUL in a name": (header("X-\0Note: one"), 400),
    "NUL in the target": (swap(b"/in/stripe", b"/in/str\0ipe"), 400),
    "a control character in a value": (header("X-Note: \x01"), 400),
    "no Host": (swap(HOST, b""), 400),
    "two Hosts": (swap(HOST, HOST + HOST), 400),
    "a blank before the colon": (swap(HOST, b"Host : shop.example\r\n"), 400),
    "a tab before the colon": (swap(HOST, b"Host\t: shop.example\r\n"), 400),
    "an empty name": (header(": nameless"), 400),
    "no colon": (header("nonsense"), 400),
    "a name that is no token": (header("X(y): z"), 400),
    "a name outside ASCII": (header("X-\xe4: z"), 400),
    "two blanks in the request line": (swap(b"POST /in", b"POST  /in"), 400),
    "a tab in the request line": (swap(b"POST /in", b"POST\t/in"), 400),
    "a blank at the end of the request line": (swap(FIRST, b"POST /in/stripe HTTP/1.1 \r\n"), 400),
    "a lower-case method": (swap(b"POST", b"post"), 400),
    "a method nobody knows": (swap(b"POST", b"FETCH"), 400),
    "no version": (raw(b"GET /health\r\n\r\n"), 400),
    "HTTP/0.9": (swap(b"HTTP/1.1", b"HTTP/0.9"), 400),
    "HTTP/1.2": (swap(b"HTTP/1.1", b"HTTP/1.2"), 400),
    "HTTP/2.0": (swap(b"HTTP/1.1", b"HTTP/2.0"), 400),
    "HTTP/2's preface": (raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400),
    "another protocol": (swap(b"HTTP/1.1", b"ICE/1.0"), 400),
    "a TLS hello on a plain port": (raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400),
    "CONNECT": (raw(b"CONNECT shop.example:443 HTTP/1.1\r\nHost: a\r\n\r\n"), 400),
    "a target that is no path": (raw(b"POST in/stripe HTTP/1.1\r\nHost: a\r\n\r\n"), 400),
    "a target outside ASCII": (swap(b"/in/stripe", b"/in/\xff"), 400),
    "two empty lines before the request": (lambda shop: b"\r\n\r\n" + shop.post(BODY), 400),
    "a header block over 16 KiB": (header("X-Note: " + "x" * 16_384), 431),
    "16 KiB of small headers without an end": (raw(FIRST + b"X-Some: thing\r\n" * 1_200), 431),
    "101 headers": (header("\r\n".join(f"X-{n}: 1" for n in range(101))), 431),
    "a target over 8 KiB": (swap(b"/in/stripe", b"/in/stripe?" + b"q" * 8_192), 414),
    "a target without an end": (raw(b"GET /" + b"x" * 20_000), 414),
    "a body over the limit by header": (swap(LENGTH, b"Content-Length: 1048577\r\n"), 413),
    "a body over the limit by stream": (chunks(b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n2\r\nxx\r\n"), 413),
    "one chunk over the limit": (chunks(b"ffffffff\r\n"), 413),
    "a chunk size that is no number": (chunks(b"xyz\r\n"), 400),
    "a chunk size with 9 digits": (chunks(b"000000001\r\nx\r\n"), 400),
    "a signed chunk size": (chunks(b"+1\r\nx\r\n"), 400),
    "a chunk size with a prefix": (chunks(b"0x1\r\nx\r\n"), 400),
    "an empty chunk size": (chunks(b"\r\nx\r\n"), 400),
    "a chunk longer than its size": (chunks(b"1\r\nxy\r\n0\r\n\r\n"), 400),
    "bare LF after a chunk size": (chunks(b"1\nx\r\n0\r\n\r\n"), 400),
    "a chunk size line without an end": (chunks(b"1;" + b"x" * LINE_LIMIT), 400),
    "NUL in a chunk extension": (chunks(b"1;a=\0\r\nx\r\n"), 400),
    "a trailer that is no header": (chunks(b"0\r\nnonsense\r\n\r\n"), 400),
    "a body of single-byte chunks": (chunks(b"1\r\nx\r\n" * OVERHEAD), 400),
    "a compressed body": (header("Content-Encoding: gzip"), 415),
}


@pytest.mark.parametrize(("build", "status"), CLOSED.values(), ids=CLOSED.keys())
async def test_a_request_that_cannot_be_trusted_is_answered_and_the_connection_closed(
    shop: Shop, build: Build, status: int
) -> None:
    client = await shop.connect()
    reply = await client.ask(build(shop))
    assert (reply.status, reply.closes) == (status, True)
    assert reply.headers["content-type"] == "application/json" and b'"error"' in reply.body
    assert await client.rest() == b""
    assert shop.desk.recorder.batches == []
    assert shop.desk.is_balanced() and sum(t.rejected for t in shop.desk.tally.totals().values()) == 1


def _without_signature(shop: Shop, line: bytes) -> bytes:
    lines = shop.post(BODY).split(b"\r\n")
    rest = [each for each in lines if not each.startswith(b"Stripe-Signature")]
    return rest[0] + b"\r\n" + line + b"\r\n".join(rest[1:])


def _an_hour_old(shop: Shop) -> bytes:
    old = shop.post(BODY)
    shop.desk.clock.advance(3600)
    return old


KEPT = {
    "an unknown source": (swap(b"/in/stripe", b"/in/nobody"), 404),
    "no path of ours": (raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 404),
    "a percent-encoded source": (swap(b"/in/stripe", b"/in/str%69pe"), 404),
    "an asterisk": (raw(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 404),
    "GET": (swap(b"POST", b"GET"), 405),
    "OPTIONS": (swap(b"POST", b"OPTIONS"), 405),
    "PUT": (swap(b"POST", b"PUT"), 405),
    "POST to the health page": (swap(b"/in/stripe", b"/health"), 404),
    "no signature": (swap(b"Stripe-Signature", b"X-Nothing"), 401),
    "an empty signature": (lambda shop: _without_signature(shop, b"Stripe-Signature: \r\n"), 401),
    "a malformed signature": (swap(b"Stripe-Signature: ", b"Stripe-Signature: ?"), 401),
    "a repeated signature": (swap(HOST, HOST + b"Stripe-Signature: t=1,v1=00\r\n"), 401),
    "a signature outside ASCII": (lambda shop: _without_signature(shop, b"Stripe-Signature: \xff\r\n"), 401),
    "10,000 signatures": (
        lambda shop: _without_signature(shop, b"Stripe-Signature: t=1" + b",v1=a" * 2_000 + b"\r\n"),
        401,
    ),
    "one bit changed": (lambda shop: shop.post(BODY)[:-1] + b"|", 401),
    "no body": (lambda shop: shop.post(BODY, length=0)[: -len(BODY)], 401),
    "a timestamp out of tolerance": (_an_hour_old, 401),
}


@pytest.mark.req("R1")
@pytest.mark.parametrize(("build", "status"), KEPT.values(), ids=KEPT.keys())
async def test_a_well_framed_refusal_leaves_the_connection_open(shop: Shop, build: Build, status: int) -> None:
    client = await shop.connect()
    reply = await client.ask(build(shop))
    assert (reply.status, reply.closes) == (status, False)
    assert shop.desk.recorder.batches == []
    assert shop.desk.is_balanced()
    assert (await client.ask(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")).status == 200


FINE = {
    "a plain request": lambda shop: shop.post(BODY),
    "an empty line before the request": lambda shop: b"\r\n" + shop.post(BODY),
    "100 headers": lambda shop: shop.post(BODY, *(f"X-{n}: 1" for n in range(95))),
    "header names in any case": swap(HOST, b"hOsT: shop.example\r\n"),
    "blanks around a value": swap(LENGTH, b"Content-Length: \t %d \t\r\n" % len(BODY)),
    "a query": swap(b"/in/stripe", b"/in/stripe?from=stripe"),
    "the absolute form": swap(b"/in/stripe", b"http://shop.example/in/stripe"),
    "identity encoding": header("Content-Encoding: identity"),
    "an offer to upgrade": header("Connection: Upgrade\r\nUpgrade: h2c"),
    "bytes outside ASCII in a value": header("X-Name: \xe4"),
    "chunks": chunks(in_chunks(BODY)),
    "chunks with extensions and trailers": chunks(
        b"%x;name=value\r\n%s\r\n0;last\r\nX-Check: sum\r\n\r\n" % (len(BODY), BODY)
    ),
    "an empty line of trailers only": chunks(b"%X \r\n%s\r\n000\r\n\r\n" % (len(BODY), BODY)),
    "an expectation nobody knows": header("Expect: applause"),
}


@pytest.mark.req("R3", "R12")
@pytest.mark.parametrize("build", FINE.values(), ids=FINE.keys())
@pytest.mark.parametrize("step", [0, 1, 7], ids=["in one piece", "byte by byte", "in pieces of 7"])
async def test_a_genuine_request_is_stored_byte_for_byte_however_it_arrives(
    shop: Shop, build: Build, step: int
) -> None:
    client = await shop.connect()
    request = build(shop)
    if step:
        # Straight into the protocol, because the kernel would join small pieces again.
        server_side = await shop.server_side()
        for at in range(0, len(request), step):
            server_side.data_received(request[at : at + step])
    else:
        await client.send(request)
    reply = await client.reply()
    assert reply.status == 200 and not reply.closes
    (stored,) = shop.desk.recorder.events.values()
    assert stored.body == BODY
    assert shop.server.front.arriving == 0
