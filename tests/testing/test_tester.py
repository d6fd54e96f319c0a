"""What the fixtures of the pytest plugin give to a test."""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from landfast import Event, Inbox
from landfast.domain.errors import UserError
from landfast.providers.catalogue import PROFILES
from landfast.testing import BlockingInboxTester, sign
from landfast.testing.crash_places import PLACES
from landfast.testing.tester import InboxTester
from tests.testing.conftest import PAID, orders
from tests.testing.test_every_provider import inbox_for


async def test_a_delivery_is_signed_taken_in_and_handled_once(tester: InboxTester, tmp_path: Path) -> None:
    first = await tester.deliver("stripe", PAID, amount=8999)
    again = await tester.deliver("stripe", PAID, amount=8999)
    other = await tester.deliver("stripe", PAID, amount=9000)
    assert (first.status, first.is_new, again.status, again.is_new, other.is_new) == (200, True, 200, False, True)
    await tester.drain()
    await tester.assert_handled_once("create_order")
    await tester.assert_handled_once()
    assert sorted(amount for _, amount in orders(tester)) == [8999, 9000]
    one, two = await tester.events()
    assert (one.id, one.state, one.redelivered, two.state) == (first.event, "done", 1, "done")
    assert not (tmp_path / "real.db").exists() and not (tmp_path / "real-ledger.db").exists()


async def test_a_field_is_set_by_its_name_or_by_its_path(tester: InboxTester) -> None:
    def sent(**data: Any) -> Any:
        return json.loads(tester.request("stripe", PAID, **data).body)

    assert sent(amount=5)["data"]["object"]["amount"] == 5
    assert sent(data__object__metadata={"cart": 7})["data"]["object"]["metadata"] == {"cart": 7}
    assert sent(**{"data.object.amount": 6})["data"]["object"]["amount"] == 6
    with pytest.raises(UserError, match=r"has id in several places|has object in several places"):
        sent(object="event")
    with pytest.raises(UserError, match="has no field 'colour'; write where it belongs, such as data__object__colour"):
        sent(colour="red")
    with pytest.raises(UserError, match="no object"):
        sent(id__x=1, **{"type.x": 1})


async def test_a_wrong_name_is_told_with_the_right_one(tester: InboxTester) -> None:
    with pytest.raises(UserError, match=r"there is no source 'strip'.*did you mean 'stripe'"):
        await tester.deliver("strip", PAID)
    with pytest.raises(UserError, match="there is no source 'shopify'; there are stripe, hub"):
        await tester.deliver("shopify")
    with pytest.raises(UserError, match="no handler 'create_ordr'"):
        await tester.assert_handled_once("create_ordr")
    assert (await tester.deliver("github", "push")).is_new, "the provider that only one source has"
    with pytest.raises(UserError, match="there is no place 'in the handler'; the places are before handler, "):
        tester.crash_at("in the handler")


async def test_what_a_handler_raises_fails_the_test_with_its_own_traceback(tester: InboxTester) -> None:
    await tester.deliver("stripe", PAID, amount=-1)
    await tester.deliver("stripe", PAID, amount=-2)
    await tester.deliver("stripe", PAID, amount=1)
    with pytest.raises(ValueError, match="less than nothing") as raised:
        await tester.drain()
    assert traceback.extract_tb(raised.tb)[-1].name == "create_order"
    assert "landfast: raised by create_order for " in raised.value.__notes__[0]
    assert "attempt 1): ValueError" in raised.value.__notes__[1]
    assert [amount for _, amount in orders(tester)] == [1], "the others go on"
    assert [(failure.name, failure.attempt) for failure in tester.errors] == [("create_order", 1)] * 2
    assert {event.state for event in await tester.events()} == {"delayed", "done"}
    tester.travel(hours=1)
    await tester.drain(raises=False)
    assert [failure.attempt for failure in tester.errors] == [1, 1, 2, 2]
    with pytest.raises(AssertionError, match=r"create_order has not handled .*, which is delayed: ValueError"):
        await tester.assert_handled_once()


async def test_a_missing_table_is_raised_as_what_it_is(async_inbox: InboxTester) -> None:
    """Its handler's breaker opens, so no attempt is counted."""
    await async_inbox.deliver("stripe", PAID)
    with pytest.raises(Exception, match="no such table: orders"):
        await async_inbox.drain()


async def test_an_attempt_that_fails_at_commit_is_raised_too(tester: InboxTester, shop: Inbox) -> None:
    @shop.on("stripe", "charge.refunded")
    async def returns_what_is_no_json(event: Event, tx: Any) -> object:
        return object()

    await tester.deliver("stripe", "charge.refunded")
    with pytest.raises(Exception, match="must be JSON"):
        await tester.drain()


async def test_what_nobody_handles_is_no_error_and_is_not_handled(tester: InboxTester) -> None:
    await tester.deliver("stripe", "charge.refunded")
    await tester.drain()
    assert [event.state for event in await tester.events()] == ["unhandled"]
    with pytest.raises(AssertionError, match="no event was delivered that a handler takes"):
        await tester.assert_handled_once()


async def test_effects_are_staged_and_performed_only_if_asked_for(tester: InboxTester, performed: list[str]) -> None:
    await tester.deliver("stripe", PAID)
    await tester.drain()
    (effect,) = await tester.effects("confirm")
    assert (effect.arguments, effect.state, effect.event["type"]) == ({"order": 1}, "ready", PAID)
    await tester.drain(effects=["another"])
    assert not performed and not await tester.effects("another")
    with pytest.raises(ConnectionError, match="mail service"):
        await tester.drain(effects=True)
    assert performed == [effect.key]
    await tester.drain(effects=True)
    assert performed == [effect.key], "it is not due yet"
    tester.travel(hours=1)
    await tester.drain(effects=["confirm"])
    assert performed == [effect.key] * 2
    assert [(each.state, each.attempts) for each in await tester.effects()] == [("done", 2)]


@pytest.mark.parametrize("place", PLACES)
async def test_a_worker_that_is_killed_anywhere_is_followed_by_another(
    tester: InboxTester, performed: list[str], place: str
) -> None:
    performed.append("the first one fails")
    tester.crash_at(place)
    await tester.deliver("stripe", PAID)
    await tester.drain(effects=True)
    await tester.assert_handled_once("create_order")
    assert len(orders(tester)) == 1
    assert len(performed) == (3 if place == "after effect" else 2)
    assert len(set(performed[1:])) == 1, "always under the same key"


async def test_a_crash_shows_what_is_written_outside_of_the_transaction(tester: InboxTester, shop: Inbox) -> None:
    """The test of the test kit: without a receipt, a killed worker leaves two."""

    @shop.on("hub", "push")
    def naive(event: Event, tx: Any) -> None:
        written.append(event.key)

    written: list[str] = []
    tester.crash_at("before commit")
    await tester.deliver("hub", "push")
    await tester.drain()
    assert len(written) == 2 and len(set(written)) == 1


async def test_a_crash_that_is_never_reached_is_told(tester: InboxTester) -> None:
    tester.crash_at("after effect")
    tester.crash_at("before answer", nth=2)
    await tester.deliver("stripe", PAID)
    await tester.drain()
    with pytest.raises(AssertionError, match=r"crash_at\('after effect'\): nothing came to this place"):
        tester.close()
    tester._crashes.clear()
    assert (await tester.deliver("stripe", PAID)).status == 0
    tester.close()


@pytest.mark.req("R51")
async def test_three_days_of_a_sender_that_hears_nothing_make_one_order(tester: InboxTester) -> None:
    story = await tester.redeliver("stripe", PAID, amount=8999)
    assert story.hours == pytest.approx(72, abs=0.1) and len(story.attempts) > 10 and not story.was_heard
    assert {heard.status for _, heard in story.attempts} == {0}
    await tester.assert_handled_once("create_order")
    assert len(orders(tester)) == 1
    (event,) = await tester.events()
    assert event.redelivered == len(story.attempts) - 1


@pytest.mark.req("R51")
async def test_a_sender_that_finds_nobody_is_heard_in_the_end_and_ends(tester: InboxTester) -> None:
    story = await tester.redeliver("stripe", PAID, down=3, lost=2)
    assert [heard.status for _, heard in story.attempts] == [503, 503, 503, 0, 0, 200]
    assert story.was_heard
    await tester.assert_handled_once()
    once = await tester.redeliver("hub", "push", down=1, delays=(10.0, 20.0))
    assert [(at - once.attempts[0][0]).total_seconds() for at, _ in once.attempts] == pytest.approx([0, 10, 30], abs=2)


@pytest.mark.req("R51")
async def test_three_days_of_a_handler_that_fails_are_lived_through_in_virtual_time(tester: InboxTester) -> None:
    await tester.deliver("stripe", PAID, amount=-1)
    began = tester.now
    failed = await tester.run_for(hours=80)
    assert tester.now - began >= timedelta(hours=80)
    assert len(failed) > 50 and [failure.attempt for failure in failed] == list(range(1, len(failed) + 1))
    (event,) = await tester.events(state="dead")
    assert (event.handler, event.error) == ("create_order", "ValueError")


async def test_a_sender_that_does_not_publish_its_schedule_needs_one(tester: InboxTester, shop: Inbox) -> None:
    silent = next(name for name, each in PROFILES.items() if each.redelivery.window is None and not each.settings)
    shop.source(silent, provider=silent, secrets=["whsec_x"], public_url="https://hooks.example.com/x")
    with pytest.raises(UserError, match=f"{silent} does not publish when it sends again; give delays="):
        await tester.redeliver(silent)


@pytest.mark.req("R51")
async def test_what_was_recorded_counts_with_its_own_signature_at_its_own_time(
    shop: Inbox, async_inbox: InboxTester
) -> None:
    secret, at = "whsec_of_the_recording", datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
    # Where the source's own secret is there, it counts beside the test's.
    shop.source("till", provider="stripe", secrets=[secret])
    body = b'{"id":"evt_9","type":"charge.refunded"}'
    headers = sign("stripe", body, secret, now=at.timestamp())
    inbox = InboxTester(shop, Path(shop.settings.store.target).parent, ledger=None)
    assert (await inbox.deliver_body("till", body, headers=headers)).status == 401, "its time is long past"
    another = InboxTester(shop, Path(shop.settings.store.target).parent, ledger=None)
    another.travel(to=at)
    assert (await another.deliver_body("till", body, headers=headers)).is_new
    assert not (await another.deliver_body("till", body, headers=headers)).is_new, "the same signature, the same key"
    with pytest.raises(UserError, match="time goes back only before the first delivery"):
        another.travel(to=at)


async def test_a_body_of_ones_own_is_signed(tester: InboxTester) -> None:
    assert (await tester.deliver_body("stripe", {"id": "evt_7", "type": "charge.refunded"})).is_new
    assert not (await tester.deliver_body("stripe", b'{"id": "evt_7", "type": "charge.refunded"}')).is_new
    with pytest.raises(UserError, match="the body must be the bytes"):
        await tester.deliver_body("stripe", {"id": "evt_8"}, headers={})


@pytest.mark.req("R52")
async def test_a_storm_over_parallel_workers_that_die_makes_each_order_once(tester: InboxTester) -> None:
    report = await tester.storm("stripe", PAID, times=20, events=25, workers=4, crashes=12)
    assert (report.delivered, report.stored, report.duplicates, report.crashes) == (500, 25, 475, 12)
    assert len(orders(tester)) == len(set(orders(tester))) == 25
    await tester.assert_handled_once("create_order")


async def test_a_storm_raises_what_a_handler_raised(tester: InboxTester) -> None:
    with pytest.raises(ValueError, match="less than nothing"):
        await tester.storm("stripe", PAID, times=3, amount=-1)
    with pytest.raises(UserError, match="3 crashes are too many for 1 events; take 2 at most"):
        await tester.storm("stripe", PAID, crashes=3)
    with pytest.raises(UserError, match="there is no state 'ded'; it is one of ready, "):
        await tester.events(state="ded")


async def test_whoever_opens_the_inbox_during_a_test_gets_its_stores(tester: InboxTester, shop: Inbox) -> None:
    """As an application does that mounts it."""
    assert shop.settings is tester.app.settings and "real" not in str(shop.settings)
    async with shop.worker() as worker:
        await tester.deliver("stripe", PAID)
        await worker.drain()
    await tester.assert_handled_once()


@pytest.fixture
def host(shop: Inbox, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    """Made before the test, as at import: with the settings of the real shop."""
    monkeypatch.setenv("NOT_SET_IN_TESTS", "whsec_any_text_at_all_will_do")
    mounted = shop.asgi(workers="apart")
    host = FastAPI(lifespan=mounted.lifespan)
    host.mount("/hooks", mounted)
    return host


def test_an_application_that_mounts_it_is_called_with_its_test_client(
    host: FastAPI, inbox: BlockingInboxTester, tmp_path: Path
) -> None:
    inbox.ledger.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, event TEXT, amount INTEGER)")
    request = inbox.request("stripe", PAID, amount=5)
    with TestClient(host) as client:
        for _ in range(2):
            answer = client.post(f"/hooks{request.path}", content=request.body, headers=request.headers)
            assert answer.status_code == 200, answer.text
    inbox.drain()
    inbox.assert_handled_once("create_order")
    assert not (tmp_path / "real.db").exists()


async def test_lifespans_run_only_if_asked_for(tester: InboxTester, shop: Inbox, tmp_path: Path) -> None:
    await tester.deliver("stripe", PAID)
    await tester.drain()
    async with shop.worker():
        pass
    assert not (tmp_path / "lifespan").exists()


class TestWithLifespans:
    @pytest.fixture
    def landfast_lifespan(self) -> bool:
        return True

    async def test_then_they_run_around_each_drain(self, tester: InboxTester, tmp_path: Path) -> None:
        await tester.drain()
        assert (tmp_path / "lifespan").exists()


@pytest.mark.req("R54")
@pytest.mark.parametrize("name", PROFILES)
async def test_every_provider_delivers_its_sample_under_an_id_of_its_own(name: str, tmp_path: Path) -> None:
    tester = InboxTester(inbox_for(name), tmp_path)
    for each in PROFILES[name].samples:
        assert (await tester.deliver(name, each.type)).status in {200, 204}
