"""The ordinary path and the general one, side by side: the same bytes into two intakes, and everything that comes of it.

One of the two has no ordinary path. Whatever is sent, both must write the same bytes, store the same rows, count the
same, know the same events and leave the connection alike.

    python -m tests.intake.both_paths --cases 1000000 --seed 1
    python -m tests.intake.both_paths --seed 1 --only streams:17
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any

from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import signed_request
from landfast.web.http.channel import Phase
from landfast.web.http.connections import Connections, Limits
from landfast.web.http.protocol import Connection
from tests.fuzz import grammar
from tests.fuzz.parsers import odd_body, odd_json
from tests.fuzz.protocol import Soon, Wire
from tests.intake.desk import Desk
from tests.providers.forgeries import drawn
from tests.providers.keypairs import sender_secret
from tests.providers.oracle import NOW, Sent
from tests.providers.sweep import changes
from tests.providers.victims import NAMES, QUERY, Victim, victim

MINUTE = datetime(2026, 1, 1, tzinfo=UTC)
ODD_VALUES = (
    b'""', b"null", b"0", b"7", b"-1.5", b"1e400", b"true", b"[]", b'{"id":"x"}', b'"evt_9"', b'"a\\u0000b"', b'"\\ud800"',
    b'"\xc3\xa9"', b'"\xff"', b'"%b"' % (b"x" * 300), b'"%b"' % (b"y" * 700), b'"\\u202e"', b'"a b"', b'"\\n"', b"9" * 700,
    b'"%b"' % (b"5" * 700), b"[" * 70 + b"]" * 70, b'"2026-01-02T03:04:05Z"', b'"1767225600"', b"1767225600123", b"99999999999999",
    b'"url_verification"', b'"9999-12-31T00:00:00Z"', b'"1971-01-01"', b"}", b",", b'"a":1', b"1" * 130,
)  # fmt: skip
ODD_HEADERS = (
    b"Connection: keep-alive", b"Connection: Keep-Alive", b"Connection: close", b"connection: keep-alive, close", b"TE: trailers",
    b"Expect: 100-continue", b"Content-Encoding: gzip", b"Content-Encoding: identity", b"Upgrade: h2c", b"X-Odd: \xe4\t1 \t",
    b"Authorization: Bearer x", b"X-Api-Key: y", b"Cookie: a=b", b"traceparent: 00-1-2-3", b"host: b", b"X-Empty:", b"X-A:b",
    b"X-Forwarded-For: 1.2.3.4", b"Content-Type: text/plain", b"Landfast-Reconciled: 1", b"Transfer-Encoding: chunked",
)  # fmt: skip


KINDS = ("streams", "forgeries", "odd")


class Path:
    """An intake behind connections, with or without its ordinary path."""

    def __init__(self, sources: Sequence[Source], *, is_ordinary: bool, **options: Any) -> None:
        self.desk = Desk(sources=tuple(sources), **options)
        self.taken = 0
        """Requests that the ordinary path took."""
        ordinary = self.desk.intake.ordinary
        take = ordinary.take if is_ordinary else lambda *_: None

        def noting(*given: Any) -> Any:
            taken = take(*given)
            self.taken += taken is not None
            return taken

        ordinary.take = noting  # type: ignore[method-assign,assignment]  # to see who took it, and to have one path alone
        self.connections = Connections(self.desk.intake, limits=Limits(), time=lambda: 1000.0)
        self.connections.line = Soon(lambda: 1000.0)

    def open(self) -> Connection:
        wire = Wire()
        wire.connection = connection = Connection(self.connections)
        connection.connection_made(wire)  # type: ignore[arg-type]  # as much of a transport as the protocol uses
        return connection

    async def feed(self, pieces: Sequence[bytes]) -> tuple[Any, ...]:
        """What a client gets and what its connection is in the end, when these pieces come one after the other."""
        connection = self.open()
        wire = connection._transport
        assert isinstance(wire, Wire)
        for piece in pieces:
            await self._rest(connection, wire)
            if wire.is_closed:
                break
            connection.data_received(piece)
        await self._rest(connection, wire)
        state = (connection._phase, connection._is_used, connection._buffer, connection.deadline, wire.is_closed)
        if not wire.is_closed and not connection.eof_received():
            wire.close()
        await asyncio.sleep(0)
        if not wire.is_closed:
            wire.close()
            await asyncio.sleep(0)
        return wire.answers, state, self.counts()

    async def _rest(self, connection: Connection, wire: Wire) -> None:
        await self.desk.group.close()
        for _ in range(2_000):
            waits = wire.is_paused or connection._phase is Phase.ANSWERING or connection._is_in_line
            if wire.is_closed or not waits:
                return
            await asyncio.sleep(0)
            await self.desk.group.close()
        raise AssertionError("it never reads on")

    def counts(self) -> tuple[Any, ...]:
        desk = self.desk
        in_flight = desk.intake.in_flight, desk.unproven.total, len(self.connections.open)
        return desk.tally.totals(), desk.seen.meters(), len(desk.recorder.events), in_flight

    def ends(self) -> tuple[Any, ...]:
        """What is too much to compare each time."""
        intake = self.desk.intake
        intake.meters.take(MINUTE)
        return self.desk.recorder.events, intake.meters.totals(), self.desk.tally._redelivered, intake.reports.uses()


class BothPaths:
    def __init__(self, sources: Sequence[Source], **options: Any) -> None:
        self.ordinary = Path(sources, is_ordinary=True, **options)
        self.general = Path(sources, is_ordinary=False, **options)

    def at(self, now: float) -> None:
        for path in (self.ordinary, self.general):
            path.desk.clock.advance(now - path.desk.clock.now().timestamp())

    async def send(self, *pieces: bytes, what: str) -> bool:
        """Whether the ordinary path took any of it. AssertionError if the two differ."""
        before = self.ordinary.taken
        one, other = await self.ordinary.feed(pieces), await self.general.feed(pieces)
        assert one == other, f"{what}: by the ordinary path, and by the general one\n{one}\n{other}\n{pieces!r}"
        return self.ordinary.taken > before

    def check_ends(self) -> None:
        assert self.ordinary.ends() == self.general.ends()


def wire_of(name: str, sent: Sent) -> bytes:
    """The request as it would come to a source of this name."""
    query = f"?{sent.query}" if sent.query else ""
    lines = [f"{sent.method} /in/{name}{query} HTTP/1.1".encode("latin-1", "replace"), b"Host: shop.example"]
    lines += [b"%b: %b" % pair for pair in sent.headers]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(sent.body), b"", sent.body])


def without_query(target: Victim, sent: Sent) -> Sent:
    """As most senders send it; the victims have a query, where a byte of a body could hide."""
    return sent if target.profile.needs_url or sent.query != QUERY else sent._replace(query="")


def source_of(target: Victim, **given: Any) -> Source:
    siblings = target.profile.siblings if target.profile.unsigned_type else None
    url = target.source.public_url if target.profile.needs_url else ""
    return replace(target.source, name=target.name, siblings=siblings, public_url=url, **given)


@cache
def fuzz_sources() -> tuple[Source, ...]:
    profiles = {name: provider(name) for name in grammar.SOURCES}
    return tuple(
        Source(name, profile, (Secret("first", profile.decode_secret(grammar.SECRETS[name])),))
        for name, profile in profiles.items()
    )


def odd_request(draw: random.Random, target: Victim, now: float) -> bytes:
    """Signed by who may, and odd in any other way: a value of its body, the body, a header, their order, its spelling."""
    body = target.genuine.body
    match draw.randrange(4):
        case 0:
            places = [found.span() for found in re.finditer(rb'"[^"\\\\]*"|[0-9]+', body)]
            start, end = draw.choice(places or [(0, 0)])
            body = body[:start] + draw.choice(ODD_VALUES) + body[end:]
        case 1:
            body = odd_body(draw, odd_json(draw))
        case 2:
            body = body.replace(b"1001", b"%d" % draw.randrange(10**6))
    signed_at = now - draw.choice((0, 0, 0, 0, 299, 301, -299, -301))
    draft = signed_request(target.profile, body, sender_secret(target.name), now=signed_at)
    lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in draft.headers.items()]
    lines += [b"Host: shop.example", b"Content-Length: %d" % len(draft.body)]
    lines += draw.sample(ODD_HEADERS, draw.choice((0, 0, 0, 1, 1, 2)))
    if draw.random() < 0.2:
        draw.shuffle(lines)
    if draw.random() < 0.3:
        at = draw.randrange(len(lines))
        name, _, value = lines[at].partition(b":")
        changed = (
            (name.lower(), value),
            (name, value.upper()),
            (name, value + b" "),
            (name, b" \t" + value),
            (name, value + b","),
        )
        lines[at] = b":".join(draw.choice(changed))
    return b"\r\n".join([f"POST /in/{target.name} HTTP/1.1".encode(), *lines, b"", draft.body])


class Campaign:
    """Random cases of one kind, each from a seed of its own."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.victims = [victim(name) for name in NAMES]
        if kind == "odd":
            self.victims = [each for each in self.victims if each.profile.ordinary(each.source.secrets, tolerance=1.0)]
        self._renew()

    def _renew(self) -> None:
        given = {"memory": 1e6} if self.kind == "odd" else {}
        sources = fuzz_sources() if self.kind == "streams" else [source_of(each, **given) for each in self.victims]
        self.paths = BothPaths(sources)

    async def run(self, cases: int) -> int:
        """How many of so many the ordinary path took."""
        taken = 0
        for number in range(cases):
            taken += await self.case(number)
            if number % 5_000 == 4_999:  # so that memory stays what it is
                self.paths.check_ends()
                self._renew()
        self.paths.check_ends()
        return taken

    async def case(self, number: int) -> bool:
        what = f"again: python -m tests.intake.both_paths --seed {self.seed} --only {self.kind}:{number}"
        if self.kind == "streams":
            draw = random.Random(f"both {self.seed} {number}")
            data, _ = grammar.stream(draw, now=self.paths.ordinary.desk.clock.now().timestamp())
            return await self.paths.send(*(grammar.pieces(draw, data) if draw.random() < 0.3 else [data]), what=what)
        target = self.victims[number % len(self.victims)]
        if self.kind == "odd":
            draw = random.Random(f"odd {self.seed} {number}")
            self.paths.at(NOW)
            return await self.paths.send(odd_request(draw, target, NOW), what=what)
        _, sent = drawn(target, self.seed, number // len(self.victims))
        if sent is None:
            return False
        self.paths.at(sent.now)
        return await self.paths.send(wire_of(target.name, without_query(target, sent)), what=what)


async def sweep(target: Victim, *, step: int = 1, **given: Any) -> bool:
    """The genuine request, new and again, and every change that needs no secret; whether the first was ordinary."""
    paths = BothPaths([source_of(target, **given)])
    paths.at(NOW)
    genuine = wire_of(target.name, without_query(target, target.genuine))
    taken = [await paths.send(genuine, what=f"{target.name}, {which}") for which in ("new", "again")]
    for number, (name, sent) in zip(count(), changes(target), strict=False):
        if number % step == 0:
            paths.at(sent.now)
            await paths.send(wire_of(target.name, without_query(target, sent)), what=f"{target.name}: {name}")
    paths.check_ends()
    return all(taken)


async def _main(options: argparse.Namespace) -> None:
    kind, _, number = (options.only or "").partition(":")
    if number:
        await Campaign(kind, options.seed).case(int(number))
        print("they agree")
        return
    for each in KINDS:
        share = options.cases // len(KINDS)
        taken = await Campaign(each, options.seed).run(share)
        print(f"{each}: {share:,} cases, {taken:,} of them taken by the ordinary path, none differed", flush=True)
    swept = [name for name in NAMES if await sweep(victim(name))]
    print(f"every change of {len(NAMES)} providers, of which {len(swept)} have ordinary requests: none differed")


def main() -> None:
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="KIND:NUMBER for one case")
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
