"""Handshakes of work tools, storage and clouds through the running server: the bytes that they would see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.intake.desk import Desk
from tests.providers.keypairs import TEXT
from tests.providers.senders import source_of
from tests.web.client import Shop

CODE = TEXT.replace(" ", "%20")
VALIDATION = '[{"id":"1","data":{"validationCode":"512d38b6-c7b8"}}]'
PLAIN = b"text/plain; charset=utf-8"

ASKED = {
    "asana": (
        ["POST /in/asana", "X-Hook-Secret: b537207f20cbfa02"],
        "",
        (b"", b"\r\nx-hook-secret: b537207f20cbfa02\r\n"),
    ),
    "dropbox": (["GET /in/dropbox?challenge=abc%3Cb%3E"], "", (b"abc<b>", b"\r\ncontent-type: " + PLAIN)),
    "microsoft-graph": (
        ["POST /in/microsoft-graph?validationToken=Validation%3A+a%2Bb"],
        "",
        (b"Validation: a+b", b"\r\ncontent-type: " + PLAIN),
    ),
    "intercom": (["HEAD /in/intercom"], "", (b"", b"")),
    "azure-event-grid": (
        [f"POST /in/azure-event-grid?code={CODE}", "aeg-event-type: SubscriptionValidation"],
        VALIDATION,
        (b'{"validationResponse":"512d38b6-c7b8"}', b"\r\ncontent-type: application/json"),
    ),
}


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop(desk=Desk(sources=tuple(replace(source_of(name), name=name) for name in ASKED)))
    await shop.open()
    yield shop
    await shop.close()


async def asked(shop: Shop, lines: list[str], body: str) -> tuple[bytes, bytes]:
    line, *headers = lines
    client = await shop.connect()
    head = [f"{line} HTTP/1.1", "Host: shop.example", "Connection: close", f"Content-Length: {len(body)}", *headers]
    await client.send(("\r\n".join(head) + "\r\n\r\n" + body).encode())
    answered, _, said = (await client.rest()).partition(b"\r\n\r\n")
    return answered + b"\r\n", said


@pytest.mark.parametrize("name", ASKED)
async def test_a_handshake_is_answered_to_the_byte_and_leaves_no_event(shop: Shop, name: str) -> None:
    lines, body, (said, header) = ASKED[name]
    head, answer = await asked(shop, lines, body)
    assert head.startswith(b"HTTP/1.1 200 ") and head.count(b"nosniff") == 1
    assert answer == said and header in head
    assert not shop.desk.recorder.events and shop.desk.is_balanced()


async def test_event_grid_with_a_wrong_code_is_asked_to_come_again(shop: Shop) -> None:
    lines = ["POST /in/azure-event-grid?code=wrong", "aeg-event-type: SubscriptionValidation"]
    head, answer = await asked(shop, lines, VALIDATION)
    assert head.startswith(b"HTTP/1.1 503 ") and b"\r\nretry-after: " in head
    assert b"512d38b6" not in answer
