"""What somebody who saw the dashboard for the first time could not make out, or was told wrongly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from landfast import Event
from landfast.admin.app import make_app
from landfast.admin.pages.drawn import is_wide
from landfast.admin.pages.reasons import reason, reason_words
from landfast.admin.pages.sources import state_of
from landfast.admin.pages.where import where
from landfast.admin.pages.words import count
from landfast.domain.alerts.alert import Alert, AlertName, Severity
from landfast.domain.ids import BootId, HandlerName
from landfast.domain.switch import SwitchKind
from landfast.operations.flow_status import SourceStatus
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.dependencies import breaker_of
from landfast.testing.clock import ManualClock
from tests.admin.pages.storefront import Storefront

NOW = datetime(2026, 11, 17, 3, 42, tzinfo=UTC)


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[Storefront]:
    made = Storefront(tmp_path)

    @made.shop.inbox.on("stripe", "customer.created", uses=["mailer"])
    async def welcome(event: Event) -> None: ...

    @made.shop.inbox.on("stripe", "charge.failed", writes=False)
    async def give_up(event: Event) -> None:
        raise KeyError(event.key)

    async with made.stocked():
        yield made


@pytest.fixture
async def visitor(front: Storefront) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(front.shop.inbox, is_loopback=True)
    transport, accepted = httpx.ASGITransport(app), {"accept": "text/html"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8421", headers=accepted) as client:
        yield client
    await app.state.desk.close()


async def test_an_open_breaker_is_shown_where_it_stops_something(visitor: httpx.AsyncClient, front: Storefront) -> None:
    breakers = Breakers(ManualClock(NOW))
    breakers.open(breaker_of("mailer"), "smtp refuses connections")
    breakers.open("handler:create_order", "10 of 20 found something away")
    for name in breakers.untold:  # the names that workers tell each other
        await front.stores.inbox.throw(SwitchKind.BREAKER, name, why="it is away", who="a worker", lasting=60)
    drawn = (await visitor.get("/handlers")).text
    assert drawn.count("breaker open since") == drawn.count("it is away") == 2 and "a worker: " not in drawn
    assert "waits for mailer" in drawn, "welcome stands still, and is not idle"
    told = (await visitor.get("/handlers.json")).json()["handlers"]
    assert [one["name"] for one in told["handlers"] if one["breaker"]] == [HandlerName("create_order")]
    assert [one["name"] for one in told["dependencies"] if one["breaker"]] == ["mailer"]


async def test_where_it_failed_is_shown_although_the_last_attempt_failed_alike(
    visitor: httpx.AsyncClient, front: Storefront
) -> None:
    """A trace that repeats itself is written down once, and that is the one to show."""
    await front.payment(7, kind="charge.failed")
    for _ in range(3):
        await front.drain()
        front.shift(minutes=20)
    drawn = (await visitor.get("/events/evt_1Nq00007")).text
    assert drawn.count("the same trace as the attempt before") >= 1
    failed = drawn.partition("Where it failed")[2].partition("</section>")[0]
    assert "KeyError" in failed and "the same trace" not in failed


async def test_that_no_worker_is_alive_is_red_while_something_waits(
    visitor: httpx.AsyncClient, front: Storefront
) -> None:
    assert '<span class="bad">0 intakes and 0 workers alive' not in (await visitor.get("/events")).text
    await front.payment(8)
    front.shift(seconds=10)
    assert '<span class="bad">0 intakes and 0 workers alive' in (await visitor.get("/events")).text


async def test_the_most_severe_alert_is_the_first(visitor: httpx.AsyncClient, front: Storefront) -> None:
    duty, store = BootId(b"on duty!"), front.stores.inbox
    assert await store.lead("alerts", who=duty, lasting=60) is not None
    found = [
        Alert(f"{place}" * 32, AlertName.DISK_LOW, severity, severity, "No room.", "Make some.", {}, NOW, NOW)
        for place, severity in enumerate((Severity.WARNING, Severity.CRITICAL, Severity.ERROR))
    ]
    assert await store.save_alerts(found, [], task="alerts", who=duty)
    told = (await visitor.get("/alerts.json")).json()["alerts"]["firing"]
    assert [one["alert"]["severity"] for one in told] == ["critical", "error", "warning"]


async def test_a_try_that_is_overdue_is_not_called_the_next_one(visitor: httpx.AsyncClient, front: Storefront) -> None:
    for number, hours in ((9, 1), (10, -2)):  # pages go by the real time
        front.shift(hours=hours)
        await front.payment(number, kind="charge.failed")
        await front.drain()
    drawn = (await visitor.get("/events")).text
    assert drawn.count("next try <time") == drawn.count("next try was due <time") == 1


async def test_without_a_breaker_nothing_waits(visitor: httpx.AsyncClient) -> None:
    drawn = (await visitor.get("/handlers")).text
    assert "breaker open since" not in drawn and "waits for" not in drawn and "answers" in drawn


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("behind", "waits behind an earlier event of its entity"),
        ("breaker:dependency:mailer", "the breaker of mailer is open"),
        ("handler:create_order", "the handler create_order is paused"),
        ("lifecycle:order:8f89ac75059e537fca4028625dc8f600", "the lifecycle order does not allow it yet"),
        ("a_word_of_tomorrow", "a_word_of_tomorrow"),
        ("nothing:of ours", "nothing:of ours"),
    ],
)
def test_a_reason_is_a_sentence_and_keeps_its_word(word: str, told: str) -> None:
    assert reason_words(word) == told
    assert f'title="reason:{word}"' in reason(word)


def test_a_reason_stays_text() -> None:
    assert "<b>" not in reason("handler:<b>") and "<b>" not in reason("<b>")


def test_an_alert_leads_to_what_it_is_about() -> None:
    def alert(name: AlertName, subject: str) -> Alert:
        return Alert("0" * 32, name, subject, Severity.ERROR, "It is so.", "Mend it.", {}, NOW, NOW)

    assert where(alert(AlertName.FAILING_HANDLER, "create_order"), "/x") == "/x/failures?q=handler%3Acreate_order"
    assert where(alert(AlertName.BREAKER_OPEN, "dependency:mailer"), "") == "/handlers"
    assert {where(alert(name, ""), "").partition("?")[0] for name in AlertName} <= {
        *("/dead", "/failures", "/events", "/sources", "/proof", "/doctor", "/handlers", "/rejected")
    }


def test_a_source_that_refuses_most_is_not_called_flowing() -> None:
    assert state_of(SourceStatus("stripe", received=9, stored=4, rejected=5), None) == ("mostly refused", "warn")
    assert state_of(SourceStatus("stripe", received=9, stored=5, rejected=4), None) == ("flowing", "ok")


def test_a_small_rate_has_two_digits() -> None:
    assert [count(value) for value in (0.0417, 0.217, 0.001, 0, 27.19, 1234.5)] == [
        *("0.04", "0.22", "under 0.01", "0", "27.2", "1,234")
    ]


def test_a_drawing_that_would_be_too_small_is_scrolled() -> None:
    assert is_wide('<svg width="901" height="9">') and not is_wide('<svg width="732" height="9">')
