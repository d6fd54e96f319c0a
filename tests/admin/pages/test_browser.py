"""The dashboard in a real browser: what a person on call does with it, from the filter to the proof."""

from __future__ import annotations

import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.domain.switch import SwitchKind
from tests.admin.pages.browser import Browser
from tests.admin.pages.storefront import Storefront
from tests.admin.pages.strangers import STRANGE, strange_event

pytestmark = pytest.mark.long


async def _dead(front: Storefront, count: int) -> None:
    """So many payments without what the handler wants, each tried until it was given up."""
    for number in range(count):
        assert await front.payment(number, has_email=False) == 200
    await front.drain()
    front.shift(minutes=10)
    await front.drain()


async def _count(front: Storefront, state: State) -> int:
    return await front.stores.inbox.count(Filter(state=state), at_most=1000)


@pytest.mark.req("R26", "R61")
def test_somebody_on_call_finds_out_why_mends_it_and_replays(browser: Browser, storefront: Storefront) -> None:
    storefront.run(_dead(storefront, 3))
    # Find it by a filter, read why it failed.
    browser.go("/")
    browser.says("Dead letters")
    browser.search("sate:dead")
    browser.says("did you mean 'state'?")
    assert "^^^^" in browser.texts(".filter-error pre")[0], "the error points at what cannot be read"
    browser.search("state:dead error:KeyError")
    browser.says("3 match")
    browser.key("j")
    browser.key("\ue007")
    browser.says("Where it failed")
    assert 'payment["receipt_email"]' in "".join(browser.texts("pre .mine"))
    assert "came once" in browser.text
    # A dry run: with the code that runs now, and with the fix.
    browser.follow("Dry run")
    browser.says("KeyError")
    storefront.shop.is_mended = True
    browser.driver.refresh()
    browser.says("would succeed")
    browser.says("Rolled back.")
    assert storefront.run(_count(storefront, State.DEAD)) == 3, "nothing was run"
    # Replay all of them: look, confirm the count, watch it.
    browser.go("/dead")
    browser.follow("Replay all")
    browser.says("Type 3 to confirm")
    browser.one("#confirm").send_keys("3")
    browser.one("#why").send_keys("the fix is deployed")
    browser.press("Replay 3")
    browser.says("the replay of 3 events has begun")
    storefront.run(storefront.carry_out_replays())
    browser.says("3 replayed, 3 looked at")  # by itself: the page is live
    browser.says("finished")
    storefront.run(storefront.drain())
    assert storefront.run(_count(storefront, State.DONE)) == 3
    # And the books balance.
    browser.go("/proof")
    browser.says("adds up")
    browser.until(lambda: browser.one(".figure .value").text == "0")
    browser.go("/audit")
    browser.says("the fix is deployed")


def test_a_replay_is_cancelled_and_a_wrong_count_starts_none(browser: Browser, storefront: Storefront) -> None:
    storefront.run(_dead(storefront, 4))
    browser.go("/replays/new?q=state%3Adead")
    browser.one("#confirm").send_keys("40")
    browser.press("Replay 4")
    browser.says("4 match now, and 40 when you looked")
    browser.one("#confirm").send_keys("4")
    browser.one("#rate").send_keys("0.1")
    browser.press("Replay 4")
    browser.says("has begun")
    browser.press("Cancel")
    browser.says("cancelled; what it had replayed runs")
    assert storefront.run(_count(storefront, State.DEAD)) == 4


def test_rows_are_chosen_and_replayed_by_keys(browser: Browser, storefront: Storefront) -> None:
    storefront.run(_dead(storefront, 3))
    browser.go("/dead")
    browser.says("One by one")
    for key in "jxjx":
        browser.key(key)
    browser.key("r")
    browser.says("2 events chosen")
    browser.press("Replay 2")
    browser.says("2 events done")
    assert storefront.run(_count(storefront, State.DEAD)) == 1
    browser.key("?")
    browser.says("to the filter")


def test_the_row_that_keys_are_at_stays_when_the_page_is_drawn_again(browser: Browser, storefront: Storefront) -> None:
    """Also where a group, further up, is named after the event of that row."""
    storefront.run(_dead(storefront, 3))
    browser.go("/dead")
    browser.says("One by one")
    at = "document.querySelector('tr.here')?.dataset.row"
    named = browser.run("return document.querySelector('tr[data-row]').dataset.row")
    for _ in range(3):
        if browser.run(f"return {at}") != named:
            browser.key("j")
    browser.driver.execute_async_script("look().then(arguments[0])")
    browser.key("x")
    chosen = "return [...document.querySelectorAll('input[data-select]:checked')].map((box) => box.value)"
    assert browser.run(f"return {at}") == named and browser.run(chosen) == [named]


def test_a_form_that_is_begun_is_left_alone_and_the_page_says_so(browser: Browser, storefront: Storefront) -> None:
    storefront.run(_dead(storefront, 1))
    (event,) = storefront.run(storefront.stores.inbox.find(Filter(), limit=1))
    browser.go(f"/events/{event.event_id.hex()}")
    browser.click("#act-discard summary")
    browser.one("#discard-why").send_keys("twice paid")
    browser.run("document.activeElement.blur()")
    look, state = "look().then(arguments[0])", "[data-live-state]"
    browser.driver.execute_async_script(look)
    assert browser.one("#discard-why").get_property("value") == "twice paid"
    assert browser.one(state).get_attribute("data-state") == "paused"
    assert "for your input" in browser.one(state).text
    browser.one("#discard-why").clear()
    browser.run("document.activeElement.blur()")
    browser.driver.execute_async_script(look)
    browser.until(lambda: browser.one(state).get_attribute("data-state") == "live")


def test_a_handler_is_paused_and_a_secret_is_changed(browser: Browser, storefront: Storefront) -> None:
    browser.go("/handlers")
    browser.click("tr[data-row=create_order] button")
    browser.says("handler create_order is paused")
    switches = storefront.run(storefront.stores.inbox.switches())
    assert [(one.kind, one.name) for one in switches] == [(SwitchKind.HANDLER, "create_order")]
    browser.click("tr[data-row=create_order] button")
    browser.says("create_order goes on")
    browser.go("/sources")
    browser.follow("shopify")
    browser.says("in the settings themselves")
    browser.follow("Change a secret")
    browser.one("#new").send_keys("shpss_plain")
    browser.press("Update the plan")
    browser.says("must be env:NAME or file:PATH")
    browser.one("#new").clear()
    browser.one("#new").send_keys("env:SHOPIFY_SECRET_2")
    browser.press("Update the plan")
    browser.says("Let Shopify sign with the new one")
    assert "shpss_of_the_shop" not in browser.driver.page_source


def test_what_strangers_send_is_text_on_every_page(browser: Browser, storefront: Storefront) -> None:
    """A corpus of payloads in bodies, headers, types, keys, entities and errors: none of them runs, anywhere."""

    async def bring() -> None:
        for number, payload in enumerate(STRANGE):
            assert await strange_event(storefront, number, payload) == 200
        await storefront.drain()
        storefront.shift(minutes=10)
        await storefront.drain()

    storefront.run(bring())
    ids = [event.event_id.hex() for event in storefront.run(storefront.stores.inbox.find(Filter(), limit=len(STRANGE)))]
    assert len(ids) == len(STRANGE)
    pages = ["/", "/events", "/dead", "/failures", "/sources/stripe", "/handlers", "/lanes", "/audit", "/effects"]
    pages += ["/events?q=type:%22%3Cscript%3Ealert(1)%3C/script%3E%22", "/replays/new?q=state:dead"]
    for page in [*pages, *(f"/events/{each}" for each in ids), f"/events/{ids[0]}/curl", f"/events/{ids[0]}/test"]:
        browser.go(page)
        assert browser.run("return window.ran === undefined"), page
        assert (
            browser.run("return document.querySelectorAll('main script, main iframe, main img, main [style]').length")
            == 0
        )
        assert browser.run(
            "return [...document.querySelectorAll('*')].every(e => e.getAttributeNames().every(n => !n.startsWith('on')))"
        )
        assert not browser.complaints(), page


def test_it_is_honest_about_what_it_does_not_know(browser: Browser, storefront: Storefront) -> None:
    """An inbox that does not answer is never an empty table."""
    browser.go("/events")
    browser.says("No event has come yet")
    browser.until(lambda: browser.one("[data-live-state]").get_attribute("data-state") == "live")
    storefront.break_inbox()
    browser.go("/events")
    browser.says("the question failed")
    assert "No event" not in browser.text
