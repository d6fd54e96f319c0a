"""The storm in a real browser: `landfast demo` in a terminal, its page beside it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest
from selenium.webdriver import Chrome

from tests.admin.pages.browser import Browser
from tests.demo.terminal import terminal

pytestmark = pytest.mark.long


@pytest.mark.req("R50", "R61")
def test_the_storm_is_watched_and_the_worker_killed_from_the_page(chrome: Chrome, tmp_path: Path) -> None:
    with terminal(tmp_path) as demo:
        address = demo.expect(r"http://127.0.0.1:[0-9]+/storm").removesuffix("/storm")
        demo.expect("q quit")
        chrome.delete_all_cookies()
        browser = Browser(chrome, address)
        browser.complaints()
        # The one that was played before anybody looked.
        browser.go("/storm")
        browser.says("over")
        browser.says("500 of 500 deliveries answered")
        assert browser.text.count("the demo") >= 3, "who killed them"
        # Once more: it holds at each quarter until the worker is killed by hand.
        browser.press("Play the storm again")
        for killed in range(3):
            browser.says("The storm holds")
            browser.says("125 of 500" if not killed else f"{125 * (killed + 1)} of 500")
            browser.press("kill -9 the worker")
            browser.until(partial(_has_killed, browser, more_than=killed))
        browser.until(lambda: "over" in browser.one("h1").text)
        assert browser.texts(".half .value") == ["500 orders", "1 order"]
        assert browser.texts("tbody td:nth-child(2)") == ["you"] * 3
        browser.says("adds up")
        browser.says("998 duplicate")
        demo.expect("the storm once more, from the page: evt_storm_2")
        browser.follow("The event's page")
        browser.says("evt_storm_2")
        assert not browser.complaints()
        chrome.get("about:blank")
        _only_from_here(address)
        demo.press("q")
        assert demo.wait() == 0


def _has_killed(browser: Browser, *, more_than: int) -> bool:
    return len(browser.all("tbody th")) > more_than


def _only_from_here(address: str) -> None:
    """A foreign page cannot press the buttons, nor can a name that was made to point here."""
    for act in ("kill", "play"):
        for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"host": "evil.example"}):
            assert httpx.post(f"{address}/storm/{act}", headers=headers).status_code == 403, (act, headers)
