"""People sign in at an identity provider in a real browser: there and back over two sites, with the cookies that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from landfast.admin.access.sessions import COOKIE
from landfast.config.oidc import OidcSettings
from landfast.domain.access import Role
from landfast.domain.switch import SwitchKind
from landfast.operations import sessions
from tests.admin.identity_provider import CLIENT, SECRET, IdentityProvider, identity_provider
from tests.admin.pages.storefront import Storefront
from tests.free_port import free_port

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from tests.admin.pages.browser import Browser

ADA = {"sub": "7", "email": "ada@example.com", "email_verified": True, "groups": ["sre"]}


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with identity_provider("localhost") as made:
        yield made


@pytest.fixture
def front(tmp_path: Path, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storefront]:
    monkeypatch.setenv("OIDC_SECRET", SECRET)
    made = Storefront(tmp_path)
    made.port = free_port()
    oidc = OidcSettings(
        issuer=provider.issuer,
        client_id=CLIENT,
        client_secret="env:OIDC_SECRET",
        public_url=made.url,
        roles={"sre": Role.ADMIN},
    )
    made.shop.inbox.settings = replace(made.shop.inbox.settings, oidc=oidc)

    def claims() -> dict[str, Any]:
        at = made.clock.now().timestamp()
        return {**ADA, "iat": at, "exp": at + 300}

    provider.claims = claims
    with made.open():
        yield made


@pytest.fixture
def browser(chrome: Chrome, front: Storefront) -> Iterator[Browser]:
    from tests.admin.pages.browser import Browser

    chrome.get("about:blank")
    chrome.delete_all_cookies()
    at_door = Browser(chrome, front.url)
    at_door.complaints()
    yield at_door
    found = at_door.complaints()
    chrome.get("about:blank")
    assert not found


def _sign_in(browser: Browser, path: str) -> None:
    browser.go(path)
    browser.follow("Sign in with localhost")
    browser.follow("Sign in as Ada")
    browser.says("oidc ada@example.com, admin")


def _place(browser: Browser) -> str:
    parts = urlsplit(browser.driver.current_url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def test_there_and_back_and_a_button_that_changes_something(browser: Browser, front: Storefront) -> None:
    _sign_in(browser, "/events?q=state%3Adead")
    assert _place(browser) == "/events?q=state%3Adead", "where she wanted to go"
    cookie = browser.driver.get_cookie(COOKIE)
    assert cookie is not None
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    browser.until(lambda: browser.one("[data-live-state]").get_attribute("data-state") == "live")
    browser.go("/handlers")
    browser.click("tr[data-row=create_order] button")
    browser.says("handler create_order is paused")
    switches = front.run(front.stores.inbox.switches())
    assert [(one.kind, one.name) for one in switches] == [(SwitchKind.HANDLER, "create_order")]
    browser.press("Sign out")
    browser.says("Sign in with localhost")
    browser.go("/events")
    browser.says("Sign in with localhost")
    assert front.run(_open(front)) == []


def test_a_page_that_stays_open_is_signed_in_again_by_itself(
    browser: Browser, front: Storefront, provider: IdentityProvider
) -> None:
    """After its hour: nobody clicks, and the identity provider has been asked what role counts now."""
    _sign_in(browser, "/alerts")
    (first,) = front.run(_open(front))
    provider.is_known = True
    front.shift(minutes=61)
    browser.until(lambda: provider.visits == 2)
    browser.until(lambda: [one.id for one in front.run(_open(front))] not in ([], [first.id]))
    browser.until(lambda: _place(browser) == "/alerts")
    browser.says("oidc ada@example.com, admin")
    browser.until(lambda: browser.one("[data-live-state]").get_attribute("data-state") == "live")


def test_a_session_that_is_ended_on_the_page_is_over_in_its_browser(
    browser: Browser, front: Storefront, provider: IdentityProvider
) -> None:
    _sign_in(browser, "/audit")
    provider.is_known = True
    browser.says("Who is signed in")
    browser.run("window.confirm = () => true")
    browser.press("End")
    browser.says("is over within two seconds")  # a browser that is sent elsewhere meanwhile may wait for both for ever
    front.shift(seconds=10)  # every process has read the log by then

    def is_out() -> bool:
        browser.go("/audit")
        return "Sign in with localhost" in browser.text

    browser.until(is_out)
    assert provider.visits == 1, "who was put out is not signed in again without a word"


async def _open(front: Storefront) -> list[sessions.Session]:
    return await sessions.open_sessions(front.stores.inbox, now=front.clock.now())
