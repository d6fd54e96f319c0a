"""Every single request of the table "bad input and its answer", in one place, so that their number can be quoted:
`python -m tests.web.hostile`. What takes more than one write is in `conversations`.

CLOSED are those after which nobody knows where the next request begins; KEPT are refused and the connection goes on;
FINE are odd and genuine; ODD_BODIES are signed, so they are stored, whatever a worker will make of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from typing import Protocol

from landfast.web.http.bodies import LINE_LIMIT, SMALL_CHUNKS
from tests.intake.desk import body
from tests.web.client import in_chunks

BODY = body()
HOST = b"Host: shop.example\r\n"
FIRST = b"POST /in/stripe HTTP/1.1\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


class Signer(Protocol):
    """Somebody who knows the secret and the time of the server."""

    def post(
        self,
        body: bytes,
        *extra: str,
        path: str = "/in/stripe",
        length: int | None = None,
        ago: float = 0,
        secret: str | None = None,
        signed: bytes | None = None,
    ) -> bytes: ...

    def chunked(self, body: bytes, chunks: bytes, *extra: str) -> bytes: ...


Build = Callable[[Signer], bytes]


def raw(text: bytes) -> Build:
    return lambda _: text


def swap(old: bytes, new: bytes) -> Build:
    """A genuine request with one thing changed."""

    def build(signer: Signer) -> bytes:
        whole = signer.post(BODY)
        assert old in whole
        return whole.replace(old, new, 1)

    return build


def header(line: str) -> Build:
    return lambda signer: signer.post(BODY, line)


def chunks(text: bytes) -> Build:
    return lambda signer: signer.chunked(BODY, text)


def unsigned(line: bytes) -> Build:
    """Another signature header than the genuine one."""

    def build(signer: Signer) -> bytes:
        first, *lines = signer.post(BODY).split(b"\r\n")
        rest = [each for each in lines if not each.startswith(b"Stripe-Signature")]
        return first + b"\r\n" + line + b"\r\n".join(rest)

    return build


CLOSED: dict[str, tuple[Build, int]] = {
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
    "two empty lines before the request": (lambda signer: b"\r\n\r\n" + signer.post(BODY), 400),
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
    "a body of single-byte chunks": (chunks(b"1\r\nx\r\n" * SMALL_CHUNKS * 2), 400),
    "a compressed body": (header("Content-Encoding: gzip"), 415),
    "chunked, chunked": (swap(LENGTH, b"Transfer-Encoding: chunked, chunked\r\n"), 400),
    "identity as a transfer encoding": (swap(LENGTH, b"Transfer-Encoding: identity\r\n"), 400),
    "chunked after a vertical tab": (swap(LENGTH, b"Transfer-Encoding: \x0bchunked\r\n"), 400),
    "an empty transfer encoding": (swap(LENGTH, b"Transfer-Encoding:\r\n"), 400),
    "a length in words": (swap(LENGTH, b"Content-Length: many\r\n"), 400),
    "a length with a point": (swap(LENGTH, b"Content-Length: 5.0\r\n"), 400),
    "a length in Arabic digits": (swap(LENGTH, "Content-Length: \u0665\r\n".encode()), 400),
    "NUL in a length": (swap(LENGTH, b"Content-Length: 5\0\r\n"), 400),
    "a line of blanks among the headers": (header(" "), 400),
    "a control character in the target": (swap(b"/in/stripe", b"/in/str\x7fipe"), 400),
    "a blank before the request line": (lambda signer: b" " + signer.post(BODY), 400),
    "no method": (swap(b"POST /in", b" /in"), 400),
    "no target": (swap(b"POST /in/stripe HTTP", b"POST HTTP"), 400),
    "a method without an end": (raw(b"P" * 20_000), 414),
    "a lower-case protocol": (swap(b"HTTP/1.1", b"http/1.1"), 400),
    "a version with three numbers": (swap(b"HTTP/1.1", b"HTTP/1.1.1"), 400),
    "a carriage return too many": (swap(FIRST, b"POST /in/stripe HTTP/1.1\r\r\n"), 400),
    "another scheme": (swap(b"/in/stripe", b"ftp://shop.example/in/stripe"), 400),
    "a chunk shorter than its size": (chunks(b"5\r\nabc\r\n0\r\n\r\n"), 400),
    "a chunk that ends with a bare LF": (chunks(b"1\r\nx\n0\r\n\r\n"), 400),
    "bare CR in a chunk size": (chunks(b"1\rx\r\n0\r\n\r\n"), 400),
    "a blank before a chunk size": (chunks(b" 1\r\nx\r\n0\r\n\r\n"), 400),
    "an underscore in a chunk size": (chunks(b"1_0\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n"), 400),
    "a trailer that is folded": (chunks(b"0\r\nX-A: b\r\n c\r\n\r\n"), 400),
    "a trailer without an end": (chunks(b"0\r\nX-A: " + b"b" * LINE_LIMIT), 400),
    "a body compressed twice": (header("Content-Encoding: identity\r\nContent-Encoding: gzip"), 415),
    "a body compressed in a list": (header("Content-Encoding: identity, br"), 415),
    "10,000 whole signatures": (unsigned(b"Stripe-Signature: t=1" + b",v1=a" * 10_000 + b"\r\n"), 431),
}

KEPT: dict[str, tuple[Build, int]] = {
    "an unknown source": (swap(b"/in/stripe", b"/in/nobody"), 404),
    "no path of ours": (raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 404),
    "a percent-encoded source": (swap(b"/in/stripe", b"/in/str%69pe"), 404),
    "an asterisk": (raw(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 404),
    "GET": (swap(b"POST", b"GET"), 405),
    "OPTIONS": (swap(b"POST", b"OPTIONS"), 405),
    "PUT": (swap(b"POST", b"PUT"), 405),
    "POST to the health page": (swap(b"/in/stripe", b"/health"), 404),
    "no signature": (swap(b"Stripe-Signature", b"X-Nothing"), 401),
    "an empty signature": (unsigned(b"Stripe-Signature: \r\n"), 401),
    "a malformed signature": (swap(b"Stripe-Signature: ", b"Stripe-Signature: ?"), 401),
    "a repeated signature": (swap(HOST, HOST + b"Stripe-Signature: t=1,v1=00\r\n"), 401),
    "a signature outside ASCII": (unsigned(b"Stripe-Signature: \xff\r\n"), 401),
    "10,000 signatures": (unsigned(b"Stripe-Signature: t=1" + b"," * 10_000 + b"v1=a\r\n"), 401),
    "one bit changed": (lambda signer: signer.post(BODY)[:-1] + b"|", 401),
    "no body": (lambda signer: signer.post(BODY, length=0)[: -len(BODY)], 401),
    "a timestamp out of tolerance": (lambda signer: signer.post(BODY, ago=3600), 401),
    "the same source in capitals": (swap(b"/in/stripe", b"/in/STRIPE"), 404),
    "a slash too many": (swap(b"/in/stripe", b"/in/stripe/"), 404),
    "a path in the query of the absolute form": (swap(b"/in/stripe", b"http://shop.example?x/in/stripe"), 404),
    "two slashes": (swap(b"/in/stripe", b"//in/stripe"), 404),
    "a way around": (swap(b"/in/stripe", b"/in/../in/stripe"), 404),
    "a fragment": (swap(b"/in/stripe", b"/in/stripe#top"), 404),
    "DELETE": (swap(b"POST", b"DELETE"), 405),
    "TRACE": (swap(b"POST", b"TRACE"), 405),
    "PATCH": (swap(b"POST", b"PATCH"), 405),
    "a truncated signature": (lambda signer: re.sub(rb"v1=([0-9a-f]{20})[0-9a-f]*", rb"v1=\1", signer.post(BODY)), 401),
    "a signature and a digit more": (lambda signer: re.sub(rb"(v1=[0-9a-f]+)", rb"\g<1>0", signer.post(BODY)), 401),
    "only the prefix of a signature": (unsigned(b"Stripe-Signature: t=1,v1=\r\n"), 401),
    "only a timestamp": (unsigned(b"Stripe-Signature: t=1767225600\r\n"), 401),
    "no timestamp": (lambda signer: re.sub(rb"t=\d+,", b"", signer.post(BODY)), 401),
    "two timestamps": (lambda signer: re.sub(rb"(t=\d+,)", rb"\1\1", signer.post(BODY)), 401),
    "a timestamp from 1970": (lambda signer: re.sub(rb"t=\d+", b"t=0", signer.post(BODY)), 401),
    "a timestamp of 30 digits": (lambda signer: re.sub(rb"t=\d+", b"t=1" + b"0" * 30, signer.post(BODY)), 401),
    "a timestamp that is not a number": (lambda signer: re.sub(rb"t=\d+", b"t=NaN", signer.post(BODY)), 401),
    "a timestamp below zero": (lambda signer: re.sub(rb"t=", b"t=-", signer.post(BODY)), 401),
    "another timestamp than the signed one": (
        lambda signer: re.sub(rb"t=(\d+)\d", rb"t=\g<1>x", signer.post(BODY)),
        401,
    ),
    "a timestamp from an hour ahead": (lambda signer: signer.post(BODY, ago=-3600), 401),
    "a signature of another version": (swap(b",v1=", b",v0="), 401),
    "another secret": (lambda signer: signer.post(BODY, secret="whsec_another"), 401),
    "an empty secret": (lambda signer: signer.post(BODY, secret=""), 401),
    "a body of another event": (lambda signer: signer.post(BODY).replace(b"evt_1", b"evt_2"), 401),
    "a blank more in the body": (lambda signer: signer.post(BODY + b" ", signed=BODY), 401),
    "an offer of a password": (swap(b"Stripe-Signature", b"Authorization"), 401),
}

FINE: dict[str, Build] = {
    "a plain request": lambda signer: signer.post(BODY),
    "an empty line before the request": lambda signer: b"\r\n" + signer.post(BODY),
    "100 headers": lambda signer: signer.post(BODY, *(f"X-{n}: 1" for n in range(95))),
    "header names in any case": swap(HOST, b"hOsT: shop.example\r\n"),
    "blanks around a value": swap(LENGTH, b"Content-Length: \t %d \t\r\n" % len(BODY)),
    "a query": swap(b"/in/stripe", b"/in/stripe?from=stripe"),
    "the absolute form": swap(b"/in/stripe", b"http://shop.example/in/stripe"),
    "the absolute form with a query": swap(b"/in/stripe", b"http://shop.example/in/stripe?from=http://a/b"),
    "identity encoding": header("Content-Encoding: identity"),
    "an offer to upgrade": header("Connection: Upgrade\r\nUpgrade: h2c"),
    "bytes outside ASCII in a value": header("X-Name: \xe4"),
    "chunks": chunks(in_chunks(BODY)),
    "chunks with extensions and trailers": chunks(
        b"%x;name=value\r\n%s\r\n0;last\r\nX-Check: sum\r\n\r\n" % (len(BODY), BODY)
    ),
    "an empty line of trailers only": chunks(b"%X \r\n%s\r\n000\r\n\r\n" % (len(BODY), BODY)),
    "an expectation nobody knows": header("Expect: applause"),
    "a length with zeros before it": swap(LENGTH, b"Content-Length: 000%d\r\n" % len(BODY)),
    "chunked in capitals": lambda signer: signer.chunked(BODY, in_chunks(BODY)).replace(b": chunked", b": CHUNKED"),
    "a signature in capitals": lambda signer: re.sub(
        rb"v1=[0-9a-f]+", lambda found: b"v1=" + found[0][3:].upper(), signer.post(BODY)
    ),
    "a second signature of a new version": swap(b",v1=", b",v2=ab,v1="),
    "no Content-Type": swap(b"Content-Type: application/json\r\n", b""),
    "a wrong Content-Type": swap(b"application/json", b"image/png"),
}

ODD_BODIES: dict[str, bytes] = {
    "no bytes at all": b"",
    "not UTF-8": b'{"id":"evt_a","type":"\xff\xfe"}',
    "not JSON": b"id=evt_b",
    "half of a JSON": b'{"id":"evt_c","type":',
    "too deep": b'{"id":"evt_d","a":' + b"[" * 500 + b"]" * 500 + b"}",
    "brackets without an end": b"[" * 100_000,
    "NaN": b'{"id":"evt_e","amount":NaN}',
    "Infinity": b'{"id":"evt_f","amount":-Infinity}',
    "a number out of range": b'{"id":"evt_g","amount":1e999}',
    "the same key twice": b'{"id":"evt_h","id":"evt_i"}',
    "an integer of 5,000 digits": b'{"id":"evt_j","amount":' + b"9" * 5_000 + b"}",
    "half of a surrogate pair": b'{"id":"evt_k","type":"\\ud800"}',
    "NUL in a string": b'{"id":"evt_l","type":"a\\u0000b"}',
    "NUL between": b'{"id":"evt_m"}\0',
    "an id of 10,000 letters": b'{"id":"' + b"e" * 10_000 + b'"}',
    "an id that is NUL": b'{"id":"\\u0000"}',
    "an id that is half of a surrogate pair": b'{"id":"\\udfff"}',
    "an id that is an object": b'{"id":{"evt":1}}',
    "an id that is a number": b'{"id":12345678901234567890}',
    "a list": b'[{"id":"evt_n"}]',
    "a byte order mark": b'\xef\xbb\xbf{"id":"evt_o"}',
    "a request as a body": b"POST /in/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "chunks as a body": b"5\r\nhello\r\n0\r\n\r\n",
    "a time in the year 9999": b'{"id":"evt_p","created":253402300799}',
    "a time that is no time": b'{"id":"evt_q","created":1e300}',
}


def count() -> dict[str, int]:
    from tests.web.conversations import CONVERSATIONS

    tables: dict[str, Sized] = {
        "closed": CLOSED,
        "kept": KEPT,
        "fine": FINE,
        "odd bodies": ODD_BODIES,
        "conversations": CONVERSATIONS,
    }
    return {name: len(table) for name, table in tables.items()}


if __name__ == "__main__":
    print(", ".join(f"{number} {name}" for name, number in count().items()), f"= {sum(count().values())} cases")
