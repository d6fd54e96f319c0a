"""Sentry, and whoever else collects tracebacks, is given what handlers raise: once each, and never a flood."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.transport import Transport

from landfast import RetryLater
from landfast.app import Inbox
from landfast.telemetry import raised
from landfast.testing import TestInbox
from tests.patience import PATIENCE_SECONDS

CARD = "4242424242424242"


class InMemory(Transport):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        if (event := envelope.get_event()) is not None:
            self.events.append(event)


@pytest.fixture
def sentry() -> Iterator[InMemory]:
    transport = InMemory()
    raised._told.clear()
    # Of what it does by itself only this: the rest would change other libraries for all tests of this process.
    options: dict[str, Any] = {"default_integrations": False, "auto_enabling_integrations": False}
    dsn = "https://key@sentry.invalid/1"
    sentry_sdk.init(dsn=dsn, transport=transport, integrations=[LoggingIntegration()], **options)
    yield transport
    sentry_sdk.init(**options)


def shop() -> Inbox:
    inbox = Inbox()
    inbox.source("shop", provider="stripe", secrets=["env:NONE"])
    return inbox


async def test_sentry_gets_the_exception_of_an_attempt_once_with_the_event(
    sentry: InMemory, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = shop()

    @inbox.on("shop", "*")
    async def charge(event: Any, tx: Any) -> None:
        raise ValueError(f"cannot charge {CARD}")

    async with TestInbox(inbox) as test:
        await test.deliver("shop", type="payment_intent.succeeded", id="evt_1")
        await test.drain(raises=False)
    [event] = sentry.events
    [error] = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("ValueError", f"cannot charge {CARD}")
    assert error["stacktrace"]["frames"][-1]["function"] == "charge"
    assert (event["logger"], event["level"]) == ("landfast.errors", "error")
    assert event["extra"]["landfast"]["key"] == "evt_1" and event["extra"]["landfast"]["handler"] == "charge"
    told = [record.getMessage() for record in caplog.records if record.name == "landfast"]
    assert told and CARD not in "".join(told), "and the log does not have it"


async def test_a_storm_of_one_error_is_thinned_and_a_verdict_is_none(
    sentry: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = shop()

    @inbox.on("shop", "*", name="storm", attempts=1)
    async def storm(event: Any, tx: Any) -> None:
        raise (KeyError if event.key == "evt_other" else ValueError)(event.key)

    @inbox.on("shop", "*", name="later")
    async def later(event: Any, tx: Any) -> None:
        raise RetryLater(after=60)

    async with TestInbox(inbox) as test:
        for number in range(50):
            await test.deliver("shop", type="payment_intent.succeeded", id=f"evt_{number}")
        await test.deliver("shop", type="payment_intent.succeeded", id="evt_other")
        await test.drain(raises=False)
        kinds = [event["exception"]["values"][-1]["type"] for event in sentry.events]
        assert sorted(kinds) == ["KeyError", "ValueError"]
        monkeypatch.setattr(raised, "REPEATED_SECONDS", 0.0)
        await test.deliver("shop", type="payment_intent.succeeded", id="evt_last")
        await test.drain(raises=False)
    assert sentry.events[-1]["extra"]["landfast"]["others"] == 49


async def test_a_handler_of_logging_may_read_them_too_and_one_that_fails_stops_nobody() -> None:
    seen: list[logging.LogRecord] = []

    class Reader(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            seen.append(record)
            raise RuntimeError("the collector is broken")

    reader = Reader()
    raised.log.addHandler(reader)
    try:
        raised.raised("handler_failed", "pay", "ValueError at shop.py:1", ValueError("x"), {})
    finally:
        raised.log.removeHandler(reader)
    assert seen[0].exc_info is not None and isinstance(seen[0].exc_info[1], ValueError)


SENTRY_IN_A_HOST = """
import sentry_sdk
sentry_sdk.init(dsn="https://key@sentry.invalid/1", transport=lambda _: None)
from fastapi import FastAPI
from fastapi.testclient import TestClient
from landfast import Inbox
inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["whsec_of_a_test_that_is_long_enough"])
app = FastAPI()
app.add_middleware(inbox.middleware({"/webhooks": "stripe"}).asgi)

@app.get("/")
async def home():
    return "home"

assert TestClient(app).get("/").json() == "home"
assert TestClient(app).post("/webhooks").status_code == 401
"""


def test_an_application_with_sentry_takes_the_middleware(tmp_path: Path) -> None:
    """Its SDK changes what is given to `add_middleware`, by itself, for every FastAPI application."""
    command = [sys.executable, "-c", SENTRY_IN_A_HOST]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert ended.returncode == 0, ended.stderr
