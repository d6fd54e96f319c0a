"""A canary: what a sender proves itself with, and what it sends, is in no line of the log and in no column in clear but
those that are made for it."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from landfast import telemetry
from landfast.app import Inbox
from landfast.domain.event import Event
from landfast.processing.control.breakers import AWAY_EVENTS_TO_OPEN
from landfast.testing import TestInbox

CARD = "4242424242424242"
SETTINGS = """
[sources.acme]
provider = "acme"
secrets = ["env:SIGNED_WITH_A_TEST_SECRET"]

[providers.acme]
scheme = "token"
token = "header:Acme-Auth"
key = "body:id"
type = "body:type"

[sources.shop]
provider = "stripe"
secrets = ["env:SIGNED_WITH_A_TEST_SECRET"]
"""
MAY_HOLD_A_CARD = {("body", "body"), ("history", "attempts"), ("history", "message"), ("shelf", "message")}
"""Where a body and a message are kept, for people and for replays: the columns that sealing and erasure cover."""


class CardError(Exception):
    """What a careless library raises."""


@pytest.mark.req("R12")
async def test_neither_a_token_nor_a_signature_nor_a_card_number_is_told_or_kept_in_clear(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "landfast.toml").write_text(SETTINGS)
    inbox = Inbox(tmp_path / "landfast.toml")

    @inbox.on("acme", "*", attempts=1)
    async def charge(event: Event, tx: Any) -> None:
        raise RuntimeError(f"cannot charge {event.data['card']}") from CardError(event.data["card"])

    @inbox.on("shop", "*", attempts=1)
    async def pay(event: Event, tx: Any) -> None:
        raise ConnectionError(f"{event.data['data']['card']} was refused")

    async with TestInbox(inbox) as test:
        await test.deliver("acme", {"id": "1", "type": "paid", "card": CARD})
        for number in range(AWAY_EVENTS_TO_OPEN + 1):  # so many that the handler's breaker opens
            body = {"id": f"evt_{number}", "type": "paid", "object": "event", "data": {"card": CARD}}
            await test.deliver("shop", body)
        await test.drain(raises=False)
        assert await test.archive.switches(), "void: no breaker is open"
        token, kept = test._pairs["acme"].signing, columns(Path(test._copy.settings.store.target))
    # What handlers raised goes to a logger of its own, for Sentry, and into no file. Pytest alone reads that one.
    told = "\n".join(record.getMessage() for record in caplog.records if record.name == "landfast")
    assert not [record for record in caplog.records if record.name == "landfast" and record.exc_info]
    assert "handler_failed" in told and "RuntimeError at test_nothing_secret_in_the_log.py:" in told
    assert "handler_breaker_opened" in told and "ConnectionError at test_nothing_secret" in told
    for canary in (CARD, token, "v1="):
        assert canary not in told
    assert {where for where, text in kept if CARD in text} <= MAY_HOLD_A_CARD
    assert {where for where, text in kept if CARD in text}, "void: nothing was kept"
    for canary in (token, "v1="):
        assert [where for where, text in kept if canary in text] == []


def columns(file: Path) -> list[tuple[tuple[str, str], str]]:
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = []
        for table in tables:
            rows = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            found += [((table, name), shown(value)) for row in rows for name, value in zip(names, row, strict=True)]
    return found


def shown(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else json.dumps(value, default=str)


def test_a_trace_in_the_log_has_frames_and_classes_and_no_messages(caplog: pytest.LogCaptureFixture) -> None:
    class Loud(Exception):  # noqa: N818
        def __str__(self) -> str:
            return CARD

    def fail() -> None:
        raise KeyError(CARD) from Loud()

    with pytest.raises(KeyError) as caught:
        fail()
    caught.value.add_note(CARD)
    telemetry.error("unexpected", trace=caught.value)
    (record,) = caplog.records
    assert record.exc_info is None
    assert "Loud" in record.message and "KeyError" in record.message and "test_nothing_secret" in record.message
    assert CARD not in record.message.replace("CARD", "")
