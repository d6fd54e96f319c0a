"""A secret is changed in a real browser, beside a real `landfast serve`: nothing that its sender sends is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from landfast.demo.load import Connection
from landfast.demo.sender import Sender
from landfast.demo.servers import Serve
from tests.admin.pages.browser import Browser
from tests.free_port import free_port
from tests.shops import ORDER, SECRET, sqlite_shop

pytestmark = pytest.mark.long

NEW = "whsec_the_secret_of_tomorrow"
APP = "from landfast import Inbox\ninbox = Inbox()\n"
SOURCE = '[sources.stripe]\nprovider = "stripe"\n'


@pytest.mark.req("R26")
async def test_a_secret_is_rotated_step_by_step(chrome: Chrome, tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    (tmp_path / "old").write_text(SECRET)
    (tmp_path / "shop.py").write_text(APP + ORDER)
    settings = tmp_path / "landfast.toml"
    settings.write_text(f'{SOURCE}secrets = ["file:old"]\n')
    port = free_port()
    async with shop.serving("--admin-port", str(port)) as serve:
        browser = Browser(chrome, f"http://127.0.0.1:{port}")
        page = _Page(browser)
        chrome.delete_all_cookies()
        await page.do(lambda: browser.go("/sources/stripe"))
        await page.do(lambda: browser.follow("Change a secret"))
        await page.do(lambda: browser.one("#new").send_keys("file:new"))
        await page.do(lambda: browser.press("Update the plan"))
        # 1. The new secret is put where it is said to be.
        await page.says("the file new cannot be read")
        (tmp_path / "new").write_text(NEW)
        await page.says("It is there, and has the form of a secret.")
        # 2. The lines that the page shows are written into the settings.
        settings.write_text(SOURCE + await page.lines(2))
        await page.says("The settings name it.")
        assert await _send(serve, "evt_1", NEW) == 401, "nobody has read them yet"
        # 3. Read anew, from the page.
        await page.do(lambda: browser.press("Read the settings anew"))
        await page.says("1 of 1 intakes has it.")
        # 4. and 5. Both count, and what each proved is told.
        assert await _send(serve, "evt_1", SECRET) == 200
        await page.proved("1", 1)
        assert await _send(serve, "evt_2", NEW) == 200
        await page.proved("new", 1)
        await page.says("Since the new one was first used, none came by another.")
        assert await _send(serve, "evt_3", SECRET) == 200
        await page.says("Deliveries still come by 1")
        # 6. The old one is taken away.
        settings.write_text(SOURCE + await page.lines(6))
        await page.says("It is out of the settings; the intakes still have it")
        await page.do(lambda: browser.press("Read the settings anew"))
        await page.says("has the new secret alone")
        assert [await _send(serve, "evt_4", SECRET), await _send(serve, "evt_5", NEW)] == [401, 200]
        await page.do(lambda: browser.go("/audit"))
        await page.says("the secret of stripe is changed")
        assert SECRET not in chrome.page_source
        await page.do(lambda: chrome.get("about:blank"))


class _Page:
    """Looked at in a thread, so that the server beside it is heard meanwhile."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def do(self, act: Callable[[], object]) -> None:
        await asyncio.to_thread(act)

    async def says(self, words: str) -> None:
        await asyncio.to_thread(self._browser.says, words)

    async def lines(self, step: int) -> str:
        found = await asyncio.to_thread(self._browser.one, f"ol.steps li:nth-child({step}) pre")
        return f"{found.text}\n"

    async def proved(self, secret: str, deliveries: int) -> None:
        selector = f'tr[data-secret="{secret}"] td:nth-child(3)'
        await asyncio.to_thread(self._browser.until, lambda: self._browser.one(selector).text == str(deliveries))


async def _send(serve: Serve, event: str, secret: str) -> int | None:
    sender, connection = Sender(secret), Connection(serve.port)
    try:
        return await connection.send(sender.delivery(sender.payment(event)))
    finally:
        connection.close()
