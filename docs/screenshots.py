"""Pictures of every screen of the dashboard, light and dark, on a desk and on a phone: `make screenshots`.

They are of a real dashboard over a real inbox, whose rates of the last hours are made up.
"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "img"
sys.path.insert(0, str(ROOT))

from landfast.domain.filter import Filter  # noqa: E402 - the tests' own shop is below ROOT
from landfast.domain.lifecycle import State  # noqa: E402
from landfast.domain.rates import LATENCY_BUCKETS, Meter, Rate, Rejection, minute_of  # noqa: E402
from tests.admin.pages.browser import Browser, chromium  # noqa: E402
from tests.admin.pages.storefront import Storefront  # noqa: E402
from tests.demo.terminal import terminal  # noqa: E402

SCREENS = {
    "overview": "/",
    "events": "/events",
    "event": "/events/{event}?q=state%3Adead",
    "dry-run": "/events/{event}/dry-run",
    "failures": "/failures",
    "dead": "/dead",
    "held": "/held",
    "replay-new": "/replays/new?q=state%3Adead+error%3AKeyError",
    "replay": "/replays/{job}",
    "replays": "/replays",
    "sources": "/sources",
    "source": "/sources/stripe?rotate=1",
    "handlers": "/handlers",
    "effects": "/effects",
    "effect-graph": "/events/{done}",
    "lanes": "/lanes",
    "proof": "/proof",
    "alerts": "/alerts",
    "refusals": "/rejected",
    "audit": "/audit",
    "doctor": "/doctor",
}
SMALLER = shutil.which("pngquant")
"""Without it the pictures are as good, and three times as large."""

SIZES = {"desk": (1360, 900), "phone": (390, 844)}
MINUTES = 26 * 60
"""Of rates: a day, and a bit."""


async def fill(front: Storefront) -> dict[str, str]:
    """Two hours of a shop: a deploy that does not know a payment without an e-mail address, and a storm."""
    front.shift(hours=-1.6)
    for number in range(24):
        await front.payment(number)
        if number % 5 == 0:
            await front.payment(number)
        front.shift(minutes=2)
    await front.drain()
    for number in range(30, 47):
        for _ in range(number % 3 + 1):
            await front.payment(number, has_email=False)
        front.shift(seconds=20)
    await front.drain()
    front.shift(minutes=4)
    await front.drain()
    for number in range(4):
        await front.payment(60 + 97 * number, kind="customer.subscription.updated", status="incomplete")
        await front.payment(61 + 97 * number, kind="invoice.paid")
    await front.drain()
    front.clock.offset = timedelta(0)
    await front.payment(80)
    await front.payment(81)
    archive = front.stores.inbox
    await archive.add_rates(_rates(front))
    await archive.add_rejections(_rejections(front))
    dead = await archive.find(Filter(state=State.DEAD), limit=4)
    done = await archive.find(Filter(state=State.DONE, type="payment_intent.succeeded"), limit=1)
    return {"event": dead[-1].event_id.hex(), "done": done[0].event_id.hex()}


def _rates(front: Storefront) -> list[Rate]:
    chance, now, rates = random.Random(7), minute_of(front.clock.now()), []  # noqa: S311 - a picture
    for ago in range(MINUTES):
        at = now - timedelta(minutes=ago)
        base = 610 + 70 * math.sin(ago / 47) + 40 * math.sin(ago / 11) + chance.randint(-25, 25)
        storm = 1850 * math.exp(-(((ago - 34) / 5.5) ** 2))
        took = [0] * LATENCY_BUCKETS
        took[1], took[2], took[3], took[4] = int(base * 0.8), int(base * 0.19), chance.randint(1, 12), int(storm / 50)
        payments = ("stripe", "payment_intent.succeeded")
        rates += [
            Rate(at, Meter.RECEIVED, "stripe", count=int(base + storm)),
            Rate(at, Meter.STORED, *payments, count=int(base + storm * 0.4), histogram=tuple(took)),
            Rate(at, Meter.DUPLICATE, "stripe", detail="memory", count=int(storm * 0.6 + 12)),
            Rate(
                at,
                Meter.DONE,
                *payments,
                "create_order",
                count=int(min(base + storm * 0.4, 900)),
                histogram=tuple(took),
            ),
            Rate(at, Meter.DONE, *payments, "tell_crm", count=int(base / 9), histogram=tuple(took)),
            Rate(at, Meter.RECEIVED, "shopify", count=200 + chance.randint(0, 30)),
            Rate(at, Meter.STORED, "shopify", "orders/create", count=195, histogram=tuple(took)),
            Rate(at, Meter.DONE, "shopify", "orders/create", "import_order", count=190, histogram=tuple(took)),
        ]
        failed = ("stripe", "payment_intent.succeeded", "create_order")
        if ago < 46:
            rates.append(Rate(at, Meter.FAILED, *failed, "KeyError", count=chance.randint(2, 9)))
            rates.append(Rate(at, Meter.DEAD, *failed, "KeyError", count=ago % 3 // 2))
        if ago % 7 == 0:
            rates.append(Rate(at, Meter.FAILED, *failed, "ConnectTimeout", count=chance.randint(1, 8)))
        if ago % 180 < 9:
            rates.append(Rate(at, Meter.FAILED, *failed, "IntegrityError", count=chance.randint(1, 5)))
        if ago < 40:
            rates.append(Rate(at, Meter.REJECTED, "github", detail="unverified", count=chance.randint(2, 9)))
            rates.append(Rate(at, Meter.RECEIVED, "github", count=9))
    return rates


def _rejections(front: Storefront) -> list[Rejection]:
    now = front.clock.now()
    headers = ("content-type", "user-agent", "x-github-event", "x-hub-signature-256")
    alike = {"path": "/in/github", "address": "140.82.115.7", "status": 401, "headers": headers}
    return [
        Rejection(now - timedelta(minutes=number), "github", cause="wrong secret", count=3 + number % 5, **alike)  # type: ignore[arg-type]
        for number in range(6)
    ]


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    chosen = set(sys.argv[1:]) or {*SCREENS, "storm"}
    if "storm" in chosen:
        _shoot_storm()
    if chosen == {"storm"}:
        return
    with tempfile.TemporaryDirectory() as folder, Storefront(Path(folder)).open() as front:
        names = front.run(fill(front))
        with chromium(Path(folder) / "chromium") as driver:
            browser = Browser(driver, front.url)
            browser.until(lambda: list(front.run(front.stores.inbox.firing())))  # its alerts look twice a minute
            browser.go("/replays/new?q=state%3Adead+error%3AKeyError")
            browser.one("#confirm").send_keys(browser.one("label[for=confirm]").text.split()[3])
            browser.one("#why").send_keys("the fix of create_order is deployed")
            browser.one("#rate").send_keys("5")
            browser.one("main form.fields .main-act").click()
            browser.says("has begun")
            names["job"] = driver.current_url.rpartition("/")[2]
            for name, path in SCREENS.items():
                if name in chosen:
                    _shoot(browser, name, path.format(**names))


def _shoot_storm() -> None:
    """Of a demo that was played in a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        (place := Path(folder) / "demo").mkdir()
        with terminal(place, options=("--no-browser", "--deliveries", "11247")) as demo:
            address = demo.expect(r"http://127.0.0.1:[0-9]+/storm").removesuffix("/storm")
            demo.expect("q quit")
            with chromium(Path(folder) / "chromium") as driver:
                _shoot(Browser(driver, address), "storm", "/storm")


def _shoot(browser: Browser, name: str, path: str) -> None:
    driver = browser.driver
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            )
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.go(path)
            browser.until(lambda: browser.one("[data-live-state]").text)
            browser.until(lambda: "being worked out" not in browser.text.lower())  # a busy machine's proof takes longer
            tall = browser.run("return document.documentElement.scrollHeight")
            tall = max(height if size == "phone" else 640, min(tall, 1500))
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**metrics, "height": tall})
            file = IMAGES / f"{name}-{theme}{'-phone' if size == 'phone' else ''}.png"
            driver.save_screenshot(str(file))
            if SMALLER:
                subprocess.run([SMALLER, "--force", "--ext", ".png", "--speed", "1", "64", str(file)], check=True)
            print(file.relative_to(ROOT), f"{file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
