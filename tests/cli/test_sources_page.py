"""`landfast sources page`: all that somebody wants to know who is called at night."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from landfast.app import Inbox
from landfast.domain.rates import Meter, Rate, minute_of
from tests.cli.conftest import Run

SETTINGS = """
app = "handlers:inbox"
[sources.stripe]
provider = "stripe"
secrets = ["env:STRIPE_WEBHOOK_SECRET"]
owner = "#payments on Slack"
"""
APP = """
from landfast import Inbox
inbox = Inbox()

@inbox.on("stripe", "payment_intent.*", attempts=4)
async def create_order(event, tx): ...
"""


@pytest.fixture
def app(folder: Path) -> None:
    (folder / "landfast.toml").write_text(SETTINGS)
    (folder / "handlers.py").write_text(APP)


def fill() -> None:
    async def work() -> None:
        inbox = Inbox()
        await inbox.migrate()
        at = minute_of(datetime.now(UTC))
        async with inbox.archive() as archive:
            await archive.add_rates(
                [
                    Rate(at, Meter.RECEIVED, "stripe", count=9),
                    Rate(at, Meter.STORED, "stripe", "payment_intent.succeeded", count=5),
                    Rate(at, Meter.STORED, "stripe", "evil|`<b>\n# x", count=1),
                    Rate(at, Meter.REJECTED, "stripe", detail="unverified", count=3),
                    Rate(at, Meter.DONE, "stripe", "payment_intent.succeeded", "create_order", count=4),
                    Rate(at, Meter.FAILED, "stripe", "payment_intent.succeeded", "create_order", "KeyError", count=2),
                ]
            )

    asyncio.run(work())


@pytest.mark.req("R46")
@pytest.mark.usefixtures("app")
def test_the_page_of_a_source_says_who_what_and_how_to_replay(landfast: Run, folder: Path) -> None:
    fill()
    page = landfast("sources", "page", "stripe").out
    for part in (
        "# Source stripe",
        "Stripe (`stripe`)",
        "#payments on Slack",
        "| What is signed | the whole body |",
        "`1` active, env:STRIPE_WEBHOOK_SECRET",
        "| `create_order` | `payment_intent.*` | `handlers.create_order` |",
        "4 times at most",
        "| `payment_intent.succeeded` | 5 |",
        "9 received, 6 stored, 0 duplicate, 3 rejected (unverified 3)",
        "`create_order`: 4 done, 2 attempts failed",
        "landfast replay source:stripe --dry-run",
    ):
        assert part in page, part
    assert "| `evil\\|'&lt;b> # x` | 1 |" in page, "what a sender made up ends neither the cell nor the line"
    written = landfast("sources", "page", "stripe", "--out", "stripe.md")
    assert (written.code, written.out) == (0, "wrote stripe.md\n")
    assert (folder / "stripe.md").read_text().startswith("# Source stripe\n")


@pytest.mark.usefixtures("app")
def test_a_source_that_is_not_there_and_a_file_that_cannot_be_written_are_one_sentence(landfast: Run) -> None:
    fill()
    assert "there is no source 'strip'; did you mean 'stripe'?" in landfast("sources", "page", "strip").err
    assert "cannot be written" in landfast("sources", "page", "stripe", "--out", "nowhere/stripe.md").err
