"""A dashboard and a browser for the tests of this folder that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from tests.admin.pages.browser import Browser
    from tests.admin.pages.storefront import Storefront


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    from tests.admin.pages.browser import MISSING, chromium

    if MISSING:
        pytest.skip(MISSING)
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def storefront(tmp_path: Path) -> Iterator[Storefront]:
    from tests.admin.pages.storefront import Storefront

    with Storefront(tmp_path).open() as front:
        yield front


@pytest.fixture
def browser(chrome: Chrome, storefront: Storefront) -> Iterator[Browser]:
    """At the dashboard's door. Whatever the test did, the console has no complaint."""
    from tests.admin.pages.browser import Browser

    chrome.delete_all_cookies()
    at_door = Browser(chrome, storefront.url)
    at_door.complaints()
    yield at_door
    found = at_door.complaints()
    chrome.get("about:blank")  # its stream ends before the server does
    assert not found
