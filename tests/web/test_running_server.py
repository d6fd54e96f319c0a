"""Every hostile case against `landfast serve` as it runs in production: a process of its own, on a real store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from landfast.demo.servers import Serve
from landfast.domain.errors import UnverifiedError
from tests.shops import SECRET, sqlite_shop
from tests.shops import Shop as ServedShop
from tests.web.client import Client, signature
from tests.web.conversations import BODY as TALKED_ABOUT
from tests.web.conversations import CONVERSATIONS
from tests.web.hostile import BODY, CLOSED, FINE, KEPT, ODD_BODIES, Build, count

AT_ONCE = 8
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
ENOUGH = 180
"""Cases; the number that the documentation quotes must not shrink unnoticed."""


class RealSigner:
    """Signs with the served secret and the machine's own clock."""

    def post(
        self,
        body: bytes,
        *extra: str,
        path: str = "/in/stripe",
        length: int | None = None,
        ago: float = 0,
        secret: str | None = None,
        signed: bytes | None = None,
    ) -> bytes:
        key = SECRET if secret is None else secret
        headers = signature(body if signed is None else signed, key, now=time.time() - ago)
        size = f"Content-Length: {len(body) if length is None else length}"
        return _request(path, headers, size, *extra) + body

    def chunked(self, body: bytes, chunks: bytes, *extra: str) -> bytes:
        headers = signature(body, SECRET, now=time.time())
        return _request("/in/stripe", headers, "Transfer-Encoding: chunked", *extra) + chunks


def _request(path: str, headers: dict[str, str], *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: shop.example", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, *more]).encode() + b"\r\n\r\n"


@dataclass
class Served:
    shop: ServedShop
    serve: Serve
    signer: RealSigner

    async def connect(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.serve.port))

    async def stored(self) -> int:
        async with self.shop.archive() as archive:
            census = await archive.census()
        return int(census.events)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    shop = sqlite_shop(tmp_path)
    shop.write()
    async with shop.serving() as serve:
        yield Served(shop, serve, RealSigner())


@pytest.mark.req("R1", "R3")
async def test_every_hostile_request_is_answered_as_the_table_says(served: Served) -> None:
    refused = {**CLOSED, **KEPT}
    wrong = await _all(served, {name: (build, status) for name, (build, status) in refused.items()})
    assert wrong == {} and await served.stored() == 0, "none is stored"
    wrong = await _all(served, {name: (build, 200) for name, build in FINE.items()})
    assert wrong == {} and await served.stored() == 1, "they are one and the same event"
    bodies: dict[str, tuple[Build, int]] = {
        name: (lambda signer, content=content: signer.post(content), 200)  # type: ignore[misc]
        for name, content in ODD_BODIES.items()
    }
    wrong = await _all(served, bodies)
    assert wrong == {} and await served.stored() == 1 + len(ODD_BODIES)
    client = await served.connect()
    assert (await client.ask(HEALTH)).status == 200
    client.abort()


@pytest.mark.req("R3")
async def test_every_hostile_conversation_ends_as_the_table_says(served: Served) -> None:
    wrong = {}
    for name, (talk, expected) in CONVERSATIONS.items():
        client = await served.connect()
        answers = await talk(client, served.signer)
        if answers != expected:
            wrong[name] = answers
        client.abort()
    assert wrong == {}
    assert await served.stored() == 1, "of all that was said, one event was whole and signed"
    assert TALKED_ABOUT != BODY


def test_the_number_of_cases_does_not_shrink() -> None:
    print(count())
    assert sum(count().values()) >= ENOUGH


async def _all(served: Served, cases: dict[str, tuple[Build, int]]) -> dict[str, object]:
    """Those that were answered otherwise, and how. A case that hangs fails by the client's patience."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(build: Build, status: int) -> object:
        async with room:
            client = await served.connect()
            try:
                reply = await client.ask(build(served.signer))
            except (TimeoutError, asyncio.IncompleteReadError, OSError) as error:
                return repr(error)
            finally:
                client.abort()
            if status == 401 and reply.body != UnverifiedError.answer.body:
                return reply.body
            return None if reply.status == status else reply.status

    answers = await asyncio.gather(*(one(build, status) for build, status in cases.values()))
    return {name: answer for name, answer in zip(cases, answers, strict=True) if answer is not None}
