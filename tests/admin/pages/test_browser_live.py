"""Pages that stay open in a real browser: they heal, say when they are old, and leave a reader where he was."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from landfast.admin import pulse as pulses
from landfast.admin.pages import ask, looks
from landfast.admin.pages.watch import VERIFIED_SECONDS
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.filter import Filter
from tests.admin.pages.browser import Browser
from tests.admin.pages.storefront import Storefront

pytestmark = pytest.mark.long

STATE = "return document.querySelector('[data-live-state]').dataset.state"

LOOK = (
    "const done = arguments[0], go = () => { if (isFetching) setTimeout(go, 20); else look().then(done); };"
    "go()  // after one that the page has begun itself"
)


async def _dead(front: Storefront) -> str:
    assert await front.payment(1, has_email=False, note=["a line of a long body"] * 400) == 200
    await front.drain()
    front.shift(minutes=10)
    await front.drain()
    (event,) = await front.stores.inbox.find(Filter(), limit=1)
    return event.event_id.hex()


def _look(browser: Browser, front: Storefront) -> None:
    """At what is new, and not at what was drawn for the look before."""
    front.shift(seconds=20)
    browser.driver.execute_async_script(LOOK)


def _opened(browser: Browser, path: str) -> None:
    browser.go(path)
    browser.until(lambda: browser.run(STATE) == "live")


def test_a_page_that_was_opened_while_the_inbox_was_away_heals(
    browser: Browser, storefront: Storefront, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = storefront.run(_dead(storefront))

    async def away(*_: object) -> None:
        raise InboxUnavailableError("the inbox did not answer")

    for path, words in ((f"/events/{event}", "What happened"), ("/", "Where events are")):
        with monkeypatch.context() as broken:
            broken.setattr(ask, "call", away)
            browser.go(path)
            browser.says("the question failed")
        storefront.shift(seconds=20)
        browser.run("later(0)")
        browser.says(words)
        assert "the question failed" not in browser.text


def test_a_look_without_an_answer_is_given_up_and_the_page_says_that_it_is_old(
    browser: Browser, storefront: Storefront, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = asyncio.Event()
    _opened(browser, "/events")

    async def hang(*_: Any) -> None:
        await is_over.wait()
        raise InboxUnavailableError("it was away")

    monkeypatch.setattr(looks.Looks, "get", hang)
    browser.run("const wait = AbortSignal.timeout; AbortSignal.timeout = () => wait.call(AbortSignal, 300)")
    try:
        browser.run("later(0)")
        browser.until(lambda: browser.run(STATE) == "stale")
        assert browser.run("return isFetching") is False
    finally:
        storefront._loop.call_soon_threadsafe(is_over.set)


def test_a_stream_that_is_refused_is_asked_for_again(
    browser: Browser, storefront: Storefront, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(pulses, "SUBSCRIBERS_AT_MOST", 0)
        browser.go("/events")
        browser.until(lambda: browser.run("return source.readyState === EventSource.CLOSED"))
        assert browser.run(STATE) == "stale"
        browser.driver.execute_async_script(LOOK)
        assert browser.run(STATE) == "stale", "a page that nobody tells of changes is not live"
    browser.until(lambda: browser.run(STATE) == "live")


def test_the_verdict_on_the_log_changes_on_an_open_page(browser: Browser, storefront: Storefront) -> None:
    browser.go("/handlers")
    browser.click("tr[data-row=create_order] button")
    browser.says("handler create_order is paused")
    _opened(browser, "/audit")
    browser.says("intact, 2 lines")
    with closing(sqlite3.connect(storefront.shop.folder / "landfast.db")) as db, db:
        db.execute("UPDATE operator_log SET why = 'y' WHERE seq = 1")
    storefront.shift(seconds=VERIFIED_SECONDS)
    _look(browser, storefront)
    browser.says("tampered with")
    browser.says("line 1 was changed")


def test_a_page_that_is_drawn_again_leaves_its_reader_where_he_was(browser: Browser, storefront: Storefront) -> None:
    event = storefront.run(_dead(storefront))
    _opened(browser, f"/events/{event}")
    browser.click("#exact summary")
    browser.run("document.querySelector('#exact pre').scrollTop = 300")
    browser.run("document.querySelector('#exact').previousElementSibling.scrollTop = 400")
    where = (
        "return [document.querySelector('#exact').open, document.querySelector('#exact pre').scrollTop,"
        "document.querySelector('#exact').previousElementSibling.scrollTop,"
        "document.activeElement === document.querySelector('#exact summary'), window.part?.isConnected]"
    )
    browser.run("window.part = document.querySelector('#exact')")
    # Nothing has changed: what is unfolded is no change, so nothing is drawn.
    browser.driver.execute_async_script(LOOK)
    assert browser.run(where) == [True, 300, 400, True, True]
    # Something has.
    assert storefront.run(storefront.payment(1, has_email=False, note=["a line of a long body"] * 400)) == 200
    _look(browser, storefront)
    browser.says("came 2 times")
    assert browser.run(where) == [True, 300, 400, True, False]


def test_what_its_reader_folds_stays_folded(browser: Browser, storefront: Storefront) -> None:
    assert storefront.run(storefront.payment(1)) == 200
    (event,) = storefront.run(storefront.stores.inbox.find(Filter(), limit=1))
    browser.go(f"/events/{event.event_id.hex()}")
    browser.click("#act-hold summary")
    browser.one("#hold-why").send_keys("ask ada", Keys.ENTER)
    is_open = "return document.querySelector('#act-held').open"
    browser.until(lambda: browser.run(is_open))
    browser.click("#act-held summary")
    browser.run("sent.set(document.querySelector('[data-live=event]'), '')")  # as if something else had changed
    _look(browser, storefront)
    assert browser.run(is_open) is False
    assert browser.run("return document.activeElement === document.querySelector('#act-held summary')")


def test_the_focus_follows_its_button_and_not_its_place(browser: Browser, storefront: Storefront) -> None:
    """Whoever presses Enter after rows have moved means the button that he chose."""
    _opened(browser, "/handlers")
    browser.run(
        "const row = document.querySelector('tr[data-row=tell_crm]'); row.parentNode.prepend(row);"
        "row.querySelector('button').focus(); sent.set(row.closest('[data-live]'), '')"
    )
    _look(browser, storefront)
    rows = "return [...document.querySelectorAll('tr[data-row]')].map((row) => row.dataset.row)"
    assert browser.run(rows)[0] != "tell_crm", "it was drawn again, in another order"
    assert browser.run("return document.activeElement.closest('tr').dataset.row") == "tell_crm"
    assert browser.run("return document.activeElement.tagName") == "BUTTON"
