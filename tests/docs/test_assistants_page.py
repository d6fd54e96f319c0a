"""The page on assistants: each of its settings starts a server that answers."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.assistant.session import LEGACY, MODERN
from landfast.assistant.tools import CHANGES
from tests.assistant.talk import talking
from tests.docs.blocks import ROOT, Block, blocks
from tests.shops import ORDER, sqlite_shop

PAGE = ROOT / "docs/howto/assistants.md"


def server_of(block: Block) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(block.text) if block.kind == "json" else tomllib.loads(block.text)
    ((_, servers),) = read.items()
    server: dict[str, Any] = servers["landfast"]
    return server


def test_the_page_has_the_form_of_each_assistant() -> None:
    forms = [next(iter(json.loads(b.text) if b.kind == "json" else tomllib.loads(b.text))) for b in blocks(PAGE)]
    assert forms == ["mcpServers", "servers", "mcp_servers", "mcpServers"]


@pytest.mark.parametrize("block", [*blocks(PAGE)], ids=str)
async def test_the_settings_of_the_page_start_a_server(tmp_path: Path, block: Block) -> None:
    shop, server = sqlite_shop(tmp_path), server_of(block)
    (tmp_path / "none.toml").touch()
    await Inbox(tmp_path / "none.toml", store=shop.store, ledger=shop.ledger).migrate()
    shop.write(ORDER)
    shop.settings |= server.get("env", {})
    assert server["command"] == "landfast"
    async with talking(shop, command=(sys.executable, "-m", "landfast", *server["args"])) as talk:
        await talk.begin()
        offered = {*await talk.tools()}
        assert ({*CHANGES} <= offered) == ("--allow-changes" in server["args"])
        assert (await talk.found("count_events"))["number"] == 0


def test_the_versions_of_the_page_are_those_that_are_spoken() -> None:
    told = PAGE.read_text("utf-8").partition("## What it speaks")[2]
    assert all(version in told for version in (*MODERN, *LEGACY))
