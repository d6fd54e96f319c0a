"""`landfast serve` in a terminal: what its log shows a person who writes a handler, and what a file never gets."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, sqlite_shop, until


class Screen:
    """What was written to a terminal so far."""

    def __init__(self, terminal: int) -> None:
        self.text = ""
        self._terminal = terminal

    def read(self) -> None:
        try:
            self.text += os.read(self._terminal, 65_536).decode().replace("\r\n", "\n")
        except BlockingIOError:
            return

    async def shows(self, words: str) -> bool:
        self.read()
        return words in self.text


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    return shop


@asynccontextmanager
async def in_a_terminal(shop: Shop) -> AsyncIterator[tuple[Screen, Callable[[str], Awaitable[None]]]]:
    terminal, inner = pty.openpty()
    os.set_blocking(terminal, False)
    try:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            shop.running("serve", "shop.py", "--port", "0", stderr=inner) as process,
        ):
            assert process.stdout is not None
            while b"/in/stripe" not in (line := (await process.stdout.readline())):
                assert line
            port = int(line.partition(b"127.0.0.1:")[2].partition(b"/")[0])

            async def send(key: str) -> None:
                connection = Connection(port)
                await connection.send(shop.sender.delivery(shop.sender.payment(key)))
                connection.close()

            yield Screen(terminal), send
    finally:
        os.close(terminal)
        os.close(inner)


async def test_an_event_that_is_done_is_told_with_its_milliseconds(shop: Shop) -> None:
    shop.write(ORDER)
    async with in_a_terminal(shop) as (screen, send):
        await send("evt_1")
        await until(partial(screen.shows, "handler_done handler=create_order source=stripe"), True)
        line = next(line for line in screen.text.splitlines() if "handler_done" in line)
        assert "type=payment_intent.succeeded key=evt_1 event=" in line
        assert float(line.rpartition(" ms=")[2]) >= 0


async def test_a_handler_that_fails_is_shown_with_the_line_of_its_code_and_not_with_ours(shop: Shop) -> None:
    shop.write(ORDER, '    event.data["customer_email"]\n')
    failing = len(f"{(shop.folder / 'shop.py').read_text()}".rstrip().splitlines())
    async with in_a_terminal(shop) as (screen, send):
        await send("evt_1")
        await until(partial(screen.shows, "KeyError: 'customer_email'"), True)
        assert "handler_failed handler=create_order" in screen.text
        assert f'shop.py", line {failing}, in create_order' in screen.text
        assert "    Traceback (most recent call last):" in screen.text
        assert "processing/invoke.py" not in screen.text


async def test_the_log_in_a_file_has_one_line_for_it_and_no_message(shop: Shop) -> None:
    shop.write(ORDER, '    event.data["customer_email"]\n')
    async with shop.serving() as serve:
        await shop.send(serve, "evt_1")
        await until(lambda: shop.count(State.DELAYED), 1)
        assert await serve.stop() == 0
    log = (shop.folder / "serve.log").read_text()
    assert "KeyError at shop.py:" in log
    assert "customer_email" not in log
    assert "Traceback" not in log
