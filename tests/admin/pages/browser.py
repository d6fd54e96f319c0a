"""A real Chromium, one for each process of pytest: Debian's package, driven by its own driver."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.patience import PATIENCE_SECONDS

T = TypeVar("T")

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "chromium and chromium-driver are not installed"

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class Browser:
    """What a person does with a page: looks for words, types, clicks, presses keys."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def go(self, path: str) -> None:
        self.driver.get(f"{self.url}{path}")

    @property
    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def until(self, look: Callable[[], T]) -> T:
        """What it finds, once that is anything: a page may be replaced while it is looked at."""

        def found(_driver: Any) -> T | None:
            try:
                return look() or None
            except Exception:  # noqa: BLE001 - the next look may find it
                return None

        return WebDriverWait(self.driver, PATIENCE_SECONDS, poll_frequency=0.05).until(found)  # type: ignore[return-value]

    def says(self, words: str) -> None:
        try:
            self.until(lambda: words in self.text)
        except TimeoutException:
            raise AssertionError(f"{self.driver.current_url} never said {words!r}, but:\n{self.text}") from None

    def one(self, selector: str) -> WebElement:
        return self.until(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """Of each, once there is one: what was found may be replaced before it is read, and is then looked for again."""
        return self.until(lambda: [each.text for each in self.all(selector)])

    def follow(self, words: str) -> None:
        self.until(lambda: self._clicked(By.PARTIAL_LINK_TEXT, words))

    def press(self, words: str) -> None:
        """The button with these words."""
        self.until(lambda: self._clicked(By.XPATH, f"//button[normalize-space()={words!r}]"))

    def click(self, selector: str) -> None:
        self.until(lambda: self._clicked(By.CSS_SELECTOR, selector))

    def _clicked(self, by: str, what: str) -> bool:
        next(each for each in self.driver.find_elements(by, what) if each.is_displayed()).click()
        return True

    def key(self, key: str) -> None:
        self.driver.find_element(By.TAG_NAME, "body").send_keys(key)

    def search(self, text: str) -> None:
        self.key("/")
        box = self.driver.switch_to.active_element
        assert box.get_attribute("id") == "filter", "the key / leads to the filter"
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text, Keys.ENTER)

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        """What the console holds since somebody looked last: an answer that is an error is the page's to tell."""
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log if "the server responded with a status of" not in entry["message"]]


@contextmanager
def chromium(profile: Path, *, width: int = 1360, height: int = 1000) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(executable_path=DRIVER))
    driver.set_page_load_timeout(PATIENCE_SECONDS)
    try:
        yield driver
    finally:
        driver.quit()
