"""`inbox.metrics()`: the page of metrics in an application that mounts the inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from landfast.app import Inbox
from landfast.domain.errors import ConfigError


@pytest.fixture
async def inbox(tmp_path: Path) -> Inbox:
    inbox = Inbox(store=str(tmp_path / "inbox.db"), ledger=str(tmp_path / "ledger.db"))
    await inbox.migrate()
    return inbox


async def test_it_answers_under_asgi_wherever_it_is_mounted(inbox: Inbox) -> None:
    transport = httpx.ASGITransport(app=inbox.metrics().asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        answer = await client.get("/anything")
        assert (await client.head("/")).content == b""
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"landfast_deliveries", "landfast_events", "landfast_breaker_state"} <= names


def test_it_answers_under_wsgi(tmp_path: Path) -> None:
    inbox = Inbox(store=str(tmp_path / "none.db"), ledger=str(tmp_path / "ledger.db"))
    started: list[Any] = []
    body = b"".join(inbox.metrics().wsgi({"REQUEST_METHOD": "GET"}, lambda *given: started.append(given)))
    assert started[0][0] == "200 OK" and ("content-length", str(len(body))) in started[0][1]
    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert "landfast_deliveries" in names and "landfast_events" not in names, "there is no inbox yet"


def test_a_folder_that_cannot_be_used_is_one_sentence(inbox: Inbox, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"metrics: the folder .*file cannot be used \(.*\); name one"):
        inbox.metrics(folder=tmp_path / "file")
