"""Strangers: `python -m bench.load.attack '{...}'` attacks a server in one way until it is killed.

Nobody here has a secret. Whoever is cut off connects again at once, and sends as fast as the server reads.

Strangers bring machines of their own: what they cost the server is to be measured, and not what it costs to play them
here. So they run in the kernel's idle class, which takes only what the server and the good sender leave of the
processors, and makes room for them at once. In any other class, also a nice one, a stranger that has just begun its
slice keeps whoever wakes up waiting for milliseconds: that is the length of the slice, and says nothing about a server.
The price is that they may be starved. They tell all the time how much they have done, which stands beside each row: an
attack that hardly took place is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import time
from collections.abc import Callable

import msgspec
import uvloop

SILENT_SECONDS = 3_600.0
TOLD_SECONDS = 0.1
NICENESS = 19
"""Where there is no idle class."""


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    kind: str
    connections: int


class Done(msgspec.Struct):
    """What came of an attack."""

    connections: int = 0
    bytes: int = 0
    cpu: float = 0.0
    """Seconds of processor that the strangers themselves used."""


class Way(msgspec.Struct, frozen=True):
    """One way to attack: what a connection sends, and whether it then falls silent."""

    opening: Callable[[], bytes]
    goes_on: Callable[[], bytes] = bytes
    """Sent again and again after the opening; nothing, where the connection ends with it."""
    is_silent: bool = False


def _head(source: str, *lines: bytes) -> bytes:
    forged = b"Stripe-Signature: t=%d,v1=%s" % (time.time(), b"0" * 64)
    signed = [forged, b"X-Hub-Signature-256: sha256=" + b"0" * 64, b"X-GitHub-Event: push"]
    return b"\r\n".join([b"POST /in/%s HTTP/1.1" % source.encode(), b"Host: a", *signed, *lines]) + b"\r\n\r\n"


def _sized(source: str, body: bytes) -> bytes:
    return _head(source, b"Content-Type: application/json", b"Content-Length: %d" % len(body)) + body


def _naming_a_key(key: str) -> bytes:
    """A request whose signature cannot be checked before the key at that address is fetched."""
    lines = [
        b"PAYPAL-TRANSMISSION-ID: 1",
        b"PAYPAL-TRANSMISSION-TIME: " + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()).encode(),
        b"PAYPAL-TRANSMISSION-SIG: " + b"A" * 344,
        b"PAYPAL-AUTH-ALGO: SHA256withRSA",
        b"PAYPAL-CERT-URL: https://api.paypal.com/v1/notifications/certs/" + key.encode(),
        b"Content-Length: %d" % len(LARGE),
    ]
    return _head("paypal", *lines) + LARGE


LARGE = b"x" * 200_000
NOBODY = b"POST /x HTTP/1.1\r\nHost: a\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
WIDE = b'{"signature":[' + b"[]," * 300_000 + b"[]]}"
DEEP = b"[" * 500_000 + b"]" * 500_000
WAYS = {
    "pipelined refusals": Way(lambda: NOBODY * 9_000),
    "pipelined health checks": Way(lambda: HEALTH * 100, lambda: HEALTH * 2_000),
    "tiny chunks": Way(lambda: _head("stripe", b"Transfer-Encoding: chunked"), lambda: b"5\r\nxxxxx\r\n" * 20_000),
    "wide lists": Way(lambda: _sized("mailgun", WIDE)),
    "deep lists": Way(lambda: _sized("mailgun", DEEP)),
    "large bodies": Way(lambda: _sized("github", b"x" * (24 << 20))),
    "banked bodies": Way(
        lambda: _head("github", b"Content-Length: %d" % (25 << 20)) + b"x" * (20 << 20), is_silent=True
    ),
    "a connection flood": Way(bytes),
    "waiting keys": Way(lambda: _naming_a_key("CERT-awaited")),
    "invented key ids": Way(lambda: _naming_a_key(f"CERT-{secrets.token_hex(8)}")),
    "a log flood": Way(lambda: _sized("stripe", b"{}")),
}


async def _attack(port: int, way: Way, done: Done) -> None:
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            done.connections += 1
            try:
                await _send(reader, writer, way, done)
            finally:
                writer.transport.abort()
        await asyncio.sleep(0)


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way, done: Done) -> None:
    opening = way.opening()
    writer.write(opening)
    await writer.drain()
    done.bytes += len(opening)
    if way.is_silent:
        await asyncio.wait_for(reader.read(), SILENT_SECONDS)
        return
    while (more := way.goes_on()) and not reader.at_eof():
        writer.write(more)
        await writer.drain()
        done.bytes += len(more)
        await asyncio.sleep(0)
    if opening:
        await reader.read(1)  # an answer: whoever waited for the end of the connection would attack once a minute


async def _main() -> None:
    asked = msgspec.json.decode(sys.argv[1], type=Attack)
    done = Done()
    _say(done)
    _step_back()
    await asyncio.gather(_tell(done), *(_attack(asked.port, WAYS[asked.kind], done) for _ in range(asked.connections)))


async def _tell(done: Done) -> None:
    while True:
        await asyncio.sleep(TOLD_SECONDS)
        done.cpu = time.process_time()
        _say(done)


def _step_back() -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (AttributeError, OSError):  # not Linux, or not allowed
        os.nice(NICENESS)


def _say(done: Done) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(_main())
