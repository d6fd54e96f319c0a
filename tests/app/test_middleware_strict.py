"""What a strict source holds never reaches a route, however often it comes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.app import route_desk
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.domain.standard_webhooks import key_of, signature
from landfast.web.asgi import Message, Receive, Scope, Send
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_dGVzdCBzZWNyZXQgb2YgdGhpcnR5IHR3byBieXRlcyE="
FIRST, ANOTHER = b'{"type":"paid","amount":1}', b'{"type":"paid","amount":999}'


@pytest.mark.req("R13")
async def test_another_body_under_a_known_key_never_reaches_the_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml", store=f"sqlite:{tmp_path}/inbox.db", ledger=f"sqlite:{tmp_path}/ledger.db")
    inbox.source("bank", provider="standard-webhooks", secrets=[SECRET], same_key="hold")
    middleware = inbox.middleware({"/hook": "bank"})
    given: list[bytes] = []
    status = 500

    async def route(_scope: Scope, receive: Receive, send: Send) -> None:
        given.append((await receive())["body"])
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def sent(body: bytes) -> int:
        at = str(int(time.time()))
        headers = {
            b"webhook-id": b"evt_1",
            b"webhook-timestamp": at.encode(),
            b"webhook-signature": signature(key_of(SECRET), "evt_1", at, body).encode(),
            b"content-length": str(len(body)).encode(),
        }
        came: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        said: list[Message] = []

        async def receive() -> Message:
            return came.pop() if came else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            said.append(message)

        scope = {"type": "http", "method": "POST", "path": "/hook", "query_string": b"", "headers": [*headers.items()]}
        await middleware.asgi(route)(scope, receive, send)
        return int(said[0]["status"])

    try:
        monkeypatch.setattr(route_desk, "TWIN_SECONDS", PATIENCE_SECONDS)
        assert await sent(FIRST) == 500
        status = 200
        monkeypatch.setattr(route_desk, "TWIN_SECONDS", 0.1)
        assert [await sent(ANOTHER) for _ in range(3)] == [503] * 3
        monkeypatch.setattr(route_desk, "TWIN_SECONDS", PATIENCE_SECONDS)
        assert [await sent(FIRST) for _ in range(2)] == [200] * 2
    finally:
        middleware.close()
    assert given == [FIRST, FIRST], "the second time because the first one failed"
    async with inbox.archive() as archive:
        states = sorted(found.state for found in await archive.find(Filter(), limit=9))
    assert states == [State.DONE, State.HELD]
