"""A request that needs a key which is not to be had: whenever that is known, the sender is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers.profile import Profile
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.signing import signed_request
from tests.intake.desk import Desk
from tests.patience import PATIENCE_SECONDS
from tests.providers.keypairs import pair

# Not https, so that nothing is ever fetched from there: each try fails by itself.
SCHEME = JwtScheme(header="X-Jwt", algorithms=("ES256",), body_claim="sha", keys="https://keys.invalid/")
PROFILE = Profile(name="made-up", scheme=SCHEME, key="body", type="body:type")
BODY = b'{"type":"made"}'


def request(now: float) -> bytes:
    draft = signed_request(PROFILE, BODY, pair("ecdsa")[0], now=now, url="https://hooks.example.com/in/made-up")
    lines = [f"{name}: {value}" for name, value in draft.headers.items()]
    head = ["POST /in/made-up HTTP/1.1", "Host: a", f"Content-Length: {len(BODY)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + BODY


@pytest.mark.req("R1")
async def test_every_sender_is_answered_while_a_key_is_known_not_to_be_there(open_shop: Callable[..., Any]) -> None:
    desk = Desk(sources=(Source("made-up", PROFILE, (Secret("whom", b"sender"),)),))
    post = request(desk.clock.now().timestamp())
    client = await (await open_shop(desk=desk)).connect()
    async with asyncio.timeout(PATIENCE_SECONDS):  # the first waits for the fetch; to all others it is refused at once
        assert [(await client.ask(post)).status for _ in range(3)] == [503] * 3
        await client.send(post * 3)
        assert [(await client.reply()).status for _ in range(3)] == [503] * 3
    assert desk.count("made-up").rejected == 6
