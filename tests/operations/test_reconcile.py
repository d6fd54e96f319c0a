"""What never arrived is found in the provider's own list and taken in, once, under the key of its delivery."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import asyncpg
import pytest

from landfast.app import Inbox
from landfast.app.reconcile_schedule import Schedule
from landfast.app.reconciling import asked_of
from landfast.demo.load import Answers, send_all
from landfast.demo.sender import Sender
from landfast.domain.errors import ConfigError, UserError
from landfast.domain.lifecycle import State
from landfast.domain.reconciliation import is_reconciled
from landfast.operations.reconcile import Result, reconcile
from landfast.operations.reconcile.client import TRIES_AT_MOST
from landfast.recovery.proof import prove
from landfast.sealing.master import new_master
from landfast.testing.temporary import ShiftedClock
from landfast.web.http.listener import listen
from landfast.web.http.server import HttpServer
from tests.operations.provider import CREDENTIAL, Provider, own_settings, running

SECRET = "whsec_test_of_reconcile"
SINCE = timedelta(hours=72)
CREATED = int(time.time()) - 7_200


class QuickClock(ShiftedClock):
    """Real time, but for those who wait: a rate limit's minute is over at once, and was waited for all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        await asyncio.sleep(0)


class Shop:
    """An inbox with a handler, behind a real server, and the provider's API beside it."""

    def __init__(
        self,
        store: str,
        ledger: str,
        folder: Path,
        provider: Provider,
        *,
        settings: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        (folder / "none.toml").touch()
        self.provider, self._ledger = provider, ledger
        self.inbox = Inbox(folder / "none.toml", store=store, ledger=ledger, **settings)
        self.clock = QuickClock()
        listing = {"url": f"{provider.url}/v1/events?limit=100&created[gte]={{since_unix}}", "credential": CREDENTIAL}
        self.inbox.source("stripe", provider="stripe", secrets=[SECRET], listing=listing, **options)
        self.sender = Sender(SECRET)

        @self.inbox.on("stripe", "payment_intent.succeeded")
        async def create_order(event: Any, tx: Any) -> None:
            await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)

    async def open(self) -> None:
        await self.inbox.migrate()
        await self.sql("CREATE TABLE orders (event_key TEXT NOT NULL)")

    async def deliver(self, bodies: list[bytes]) -> Answers:
        """Over real HTTP, by an intake that has just come up, and goes again."""
        async with self.inbox.intake() as intake:
            listener = listen("127.0.0.1", 0)
            server = HttpServer(intake)
            await server.start(listener)
            try:
                port = listener.getsockname()[1]
                return await send_all(port, map(self.sender.delivery, bodies), answers=Answers(), connections=16)
            finally:
                await server.stop()

    async def work(self) -> None:
        async with self.inbox.worker() as worker:
            await worker.drain()

    async def reconcile(self, *, dry: bool = False) -> Result | None:
        async with self.inbox.archive() as archive:
            return await reconcile(archive, self.asked(dry=dry), clock=self.clock, chance=self.inbox.chance)

    def asked(self, *, dry: bool = False) -> Any:
        now = self.clock.now()
        source = next(iter(self.inbox.sources.values()))
        return asked_of(source, self.inbox.settings, self.inbox.registry, since=now - SINCE, now=now, dry=dry)

    async def sql(self, statement: str) -> list[Any]:
        if self._ledger.startswith("postgresql:"):
            connection = await asyncpg.connect(self._ledger)
            try:
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close()
        with closing(sqlite3.connect(self._ledger)) as db, db:
            return db.execute(statement).fetchall()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running(Provider()) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path, provider: Provider) -> Shop:
    if request.param == "sqlite":
        store, ledger = f"sqlite:{tmp_path / 'inbox.db'}", str(tmp_path / "ledger.db")
    else:
        store = ledger = request.getfixturevalue("migrated_database")
    made = Shop(store, ledger, tmp_path, provider)
    await made.open()
    return made


def event(number: int, *, type_: str = "payment_intent.succeeded", **more: Any) -> dict[str, Any]:
    data = {"object": {"id": f"pi_{number}", "amount": 8999}}
    return {
        "id": f"evt_{number:04}",
        "object": "event",
        "created": CREATED + number,
        "type": type_,
        "data": data,
        **more,
    }


def as_sent(one: dict[str, Any]) -> bytes:
    """The same content in other bytes, as Stripe does: another order of fields, other white space."""
    return json.dumps(dict(sorted(one.items(), reverse=True)) | {"pending_webhooks": 1}, indent=2).encode()


@pytest.mark.long
@pytest.mark.req("R60")
async def test_of_a_thousand_37_never_arrive_5_of_them_come_late_and_there_are_a_thousand_orders(shop: Shop) -> None:
    events = [event(number, pending_webhooks=0) for number in range(1_000)]
    lost = events[3::27][:37]
    assert len(lost) == 37
    shop.provider.events = events[::-1]
    arrived = [as_sent(one) for one in events if one not in lost]
    assert (await shop.deliver(arrived)).statuses == {200: 963}
    await shop.work()
    assert await shop.sql("SELECT count(*) FROM orders") == [(963,)]

    shop.provider.troubles = [(429, {"Retry-After": "17"}), (500, {})]
    dry = await shop.reconcile(dry=True)
    assert dry is not None
    assert (dry.listed, dry.known, dry.missing, dry.taken) == (1_009, 963, 37, 0)  # nine were listed twice
    assert shop.clock.waited[0] == 17.0
    assert sorted(one.key for one in dry.named) == [one["id"] for one in lost]

    shop.provider.troubles = [(503, {}), (429, {})]
    result = await shop.reconcile()
    assert result is not None
    assert (result.missing, result.taken, result.refused) == (37, 37, 0)
    assert (await shop.deliver([as_sent(one) for one in lost[:5]])).statuses == {200: 5}
    await shop.work()
    again = await shop.reconcile()
    assert again is not None
    assert (again.known, again.missing) == (1_000, 0)

    orders = await shop.sql("SELECT event_key FROM orders")
    assert sorted(key for (key,) in orders) == [one["id"] for one in events]
    async with shop.inbox.stores() as stores:
        proof = await prove(stores.inbox, stores.ledger, clock=shop.clock, chance=shop.inbox.chance, full=True)
        assert proof.holds, proof
        census = await stores.inbox.census()
        assert (census.tallies["stripe"].received, census.tallies["stripe"].duplicate) == (1_005, 5)
        record = await stores.inbox.show(result.new[0])
        assert record is not None
        assert is_reconciled(record.headers)
        assert json.loads(record.body)["pending_webhooks"] == 0  # as the list has it
        assert (await stores.inbox.reconciliations())[0].ended_at is not None


@pytest.mark.req("R60")
@pytest.mark.parametrize("is_sealed", [False, True])
async def test_a_late_delivery_with_other_bytes_is_a_duplicate_also_where_other_bytes_are_held(
    tmp_path: Path, provider: Provider, is_sealed: bool
) -> None:
    (tmp_path / "master").write_text(new_master())
    settings = {"seal": f"file:{tmp_path / 'master'}"} if is_sealed else {}
    places = (f"sqlite:{tmp_path / 'inbox.db'}", str(tmp_path / "ledger.db"))
    shop = Shop(*places, tmp_path, provider, settings=settings, same_key="hold")
    await shop.open()
    first, second = event(1), event(2)
    provider.events = [second]
    await shop.deliver([as_sent(first)])
    await shop.reconcile()
    # Of the one that was delivered other bytes are held as ever; of the one that was read from the list they are not.
    await shop.deliver([as_sent(second), as_sent(first | {"livemode": True})])
    await shop.work()
    async with shop.inbox.archive() as archive:
        states = (await archive.census()).states
        assert (states.get(State.DONE), states.get(State.HELD)) == (2, 1)
    assert sorted(await shop.sql("SELECT event_key FROM orders")) == [("evt_0001",), ("evt_0002",)]


async def test_what_was_interrupted_goes_on_at_its_page_and_nobody_else_begins_meanwhile(shop: Shop) -> None:
    shop.provider.events = [event(number) for number in range(500)][::-1]
    answer = shop.provider.answer

    def broken(path: str, credential: str | None) -> Any:
        is_third = sum("/v1/events" in one for one in shop.provider.asked) >= 2
        return (418, {}, {}) if is_third else answer(path, credential)

    shop.provider.answer = broken  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"reconcile stripe: of 127\.0\.0\.1: it answers 418"):
        await shop.reconcile()
    async with shop.inbox.archive() as archive:
        (left,) = await archive.reconciliations()
        assert (left.listed, left.taken, left.ended_at, left.is_running) == (201, 200, None, False)
        assert left.place is not None
        assert "starting_after=evt_0300" in left.place
        assert CREDENTIAL not in left.place
        async with AsyncExitStack() as stack:
            held = await archive.begin_reconciliation("stripe", token=b"other", lease=60, since=left.since)
            assert held is not None
            stack.push_async_callback(archive.end_reconciliation, "stripe", token=b"other", error="stopped")
            assert await shop.reconcile() is None

    shop.provider.answer = answer  # type: ignore[method-assign]
    shop.provider.asked.clear()
    result = await shop.reconcile()
    assert result is not None
    assert (result.resumed, result.taken, len(shop.provider.asked)) == (True, 500, 3)
    await shop.work()
    assert await shop.sql("SELECT count(*) FROM orders") == [(500,)]


@asynccontextmanager
async def lite_shop(tmp_path: Path, provider: Provider, **options: Any) -> AsyncIterator[Shop]:
    shop = Shop(f"sqlite:{tmp_path / 'inbox.db'}", str(tmp_path / "ledger.db"), tmp_path, provider, **options)
    await shop.open()
    yield shop


async def test_only_what_a_handler_takes_and_is_neither_too_old_nor_too_young_is_missed(
    tmp_path: Path, provider: Provider
) -> None:
    young = event(7) | {"created": int(time.time()) - 10}
    provider.events = [young, event(6), event(5, type_="charge.updated"), event(4, type_="payout.paid")]
    async with lite_shop(tmp_path, provider) as shop:
        result = await shop.reconcile(dry=True)
        assert result is not None
        assert [one.key for one in result.named] == ["evt_0006"]
        assert dict(result.left_out) == {
            "of a type that no handler takes": 2,
            "so young that they may be on their way": 1,
        }


async def test_a_provider_that_will_not_answer_is_given_up_and_no_credential_is_told(
    tmp_path: Path, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with lite_shop(tmp_path, provider) as shop:
        provider.troubles = [(429, {})] * TRIES_AT_MOST
        with pytest.raises(UserError, match="429, 7 times in a row; the next run goes on from here"):
            await shop.reconcile()
        assert shop.clock.waited[-1] > shop.clock.waited[0]
        provider.troubles = [(429, {"Retry-After": "86400"})]
        with pytest.raises(UserError, match="left alone for 86,400 s"):
            await shop.reconcile()
        assert CREDENTIAL not in repr(shop.asked())
        source = shop.inbox.sources["stripe"]
        assert source.listing is not None
        source.listing["credential"] = "sk_wrong"  # type: ignore[index]
        with pytest.raises(UserError, match="it answers 401; check the credential") as told:
            await shop.reconcile()
        assert "sk_wrong" not in str(told.value)
    assert CREDENTIAL not in caplog.text


async def test_a_list_that_leads_elsewhere_or_in_a_circle_is_not_followed(tmp_path: Path, provider: Provider) -> None:
    own = {"url": f"{provider.url}/own", "credential": CREDENTIAL, "items": "result.events"}
    own |= {"next": "url:links.next", "more": ""}
    provider.events = [event(number) for number in range(3)]
    async with lite_shop(tmp_path, provider) as shop:
        source = shop.inbox.sources["stripe"]
        object.__setattr__(source, "listing", own)
        for link, problem in (
            ("https://elsewhere.example/x", "leads to another host"),
            ("/own", "leads back to a page"),
            ("https://[oops/x", "leads to an address that is none; check next of its listing"),
            (f"{provider.url}9999/x", "leads to an address that is none; check url and next of its listing"),
            ("/own?é", "leads to an address that is none"),
            ("/own with a gap", "leads to an address that is none"),
        ):
            provider.answer = lambda *_, link=link: (200, {}, {"result": {"events": []}, "links": {"next": link}})  # type: ignore[method-assign]
            with pytest.raises(UserError, match=problem):
                await shop.reconcile(dry=True)


@pytest.mark.parametrize("credential", ["sk_“quoted”", "sk_of\ntwo_lines"])
async def test_a_credential_that_no_header_can_hold_is_told_and_not_quoted(
    tmp_path: Path, provider: Provider, credential: str
) -> None:
    async with lite_shop(tmp_path, provider) as shop:
        source = shop.inbox.sources["stripe"]
        assert source.listing is not None
        source.listing["credential"] = credential  # type: ignore[index]
        with pytest.raises(UserError, match="its header cannot be sent; look for line breaks") as told:
            await shop.reconcile()
        async with shop.inbox.archive() as archive:
            (left,) = await archive.reconciliations()
        assert "sk_" not in f"{told.value} {left}"
        assert (provider.asked, shop.clock.waited) == ([], [])  # nor is it tried again: it would be the same


@pytest.mark.parametrize("page", [b"<html>Please sign in</html>", b"null", b'{"data": {}}', b"[]"])
async def test_an_answer_that_is_no_list_is_not_taken_for_an_empty_one(
    tmp_path: Path, provider: Provider, page: bytes
) -> None:
    provider.answer = lambda *_: (200, {}, page)  # type: ignore[method-assign]
    async with lite_shop(tmp_path, provider) as shop:
        with pytest.raises(UserError, match=r"the list cannot be read .*; check items = 'data' of its listing"):
            await shop.reconcile()
        provider.answer = lambda *_: (200, {}, b'{"has_more": false}')  # type: ignore[method-assign]
        result = await shop.reconcile()
        assert result is not None
        assert result.listed == 0


async def test_an_item_that_cannot_be_read_is_told_and_the_others_are_taken_in(
    tmp_path: Path, provider: Provider
) -> None:
    odd = b'{"id": "a", "created": "\xff"}, {"id": "b", "created": 1e999}, 5, null, {}'
    provider.events = [event(1), event(2)]
    answer = provider.answer

    def mixed(path: str, credential: str | None) -> Any:
        status, headers, found = answer(path, credential)
        listed = json.dumps(found).encode().replace(b'"data": [', b'"data": [' + odd + b", ", 1)
        return status, headers, listed

    provider.answer = mixed  # type: ignore[method-assign]
    async with lite_shop(tmp_path, provider) as shop:
        result = await shop.reconcile()
        assert result is not None
        assert (result.listed, result.taken) == (7, 2)
        assert result.refused == result.missing - 2
        told = [one.why_not for one in result.named]
        assert told.count("the provider tells it in bytes that are no JSON") == 2


@pytest.mark.req("R60")
@pytest.mark.parametrize(
    ("style", "way"), [("cursor", "cursor={next}"), ("page", "page={page}"), ("url", "url:links.next")]
)
async def test_a_sender_of_ones_own_is_described_in_the_settings(
    tmp_path: Path, provider: Provider, style: str, way: str
) -> None:
    provider.style = style
    provider.events = [{"created": CREATED, "id": f"own_{number}", "event": {"total": 7.50}} for number in range(5)]
    (tmp_path / "landfast.toml").write_text(own_settings(provider, way))
    inbox = Inbox(tmp_path / "landfast.toml", store=f"sqlite:{tmp_path / 'inbox.db'}")
    await inbox.migrate()
    inbox.clock = QuickClock()
    schedule = Schedule(inbox.sources.values(), inbox.settings, inbox.registry, inbox.clock, inbox.chance)
    await schedule.look()
    async with inbox.archive() as archive:
        found = [await archive.show(one) for one in await archive.expand("")] or []
        (done,) = await archive.reconciliations()
        assert (done.listed, done.taken, done.ended_at is not None) == (5, 5, True)
        census = await archive.census()
        assert census.events == 5
        records = [one for one in found if one is not None]
        assert all(one.body == b'{\n     "total": 7.5\n    }' for one in records)
    # It is not due again before six hours are over, and then goes back to where it began.
    asked = len(provider.asked)
    await schedule.look()
    assert len(provider.asked) == asked
    inbox.clock.offset += timedelta(hours=6, minutes=1)
    await schedule.look()
    assert len(provider.asked) > asked
    async with inbox.archive() as archive:
        (again,) = await archive.reconciliations()
        assert (again.missing, again.since > done.since) == (0, True)


async def test_where_the_key_is_made_of_the_bytes_a_list_cannot_help_and_says_what_would(
    tmp_path: Path, provider: Provider
) -> None:
    """Shopify: it has no list of what it sent, and orders are listed in other bytes."""
    provider.events = [{"id": 7, "updated_at": f"2026-01-0{day}T00:00:00Z", "total": "42.00"} for day in (1, 2)]
    listing = {
        "url": f"{provider.url}/own",
        "credential": CREDENTIAL,
        "items": "result.events",
        "next": "url:links.next",
        "headers": {"X-Shopify-Topic": "orders/updated"},
    }
    for dedup, refused, missing in ((None, 2, 2), ("fields:id,updated_at", 0, 2)):
        (tmp_path / "none.toml").touch()
        inbox = Inbox(tmp_path / "none.toml", store=f"sqlite:{tmp_path / 'inbox.db'}")
        inbox.source("shopify", provider="shopify", secrets=[SECRET], dedup=dedup, listing=listing)
        await inbox.migrate()
        now = datetime.now(UTC)
        source = inbox.sources["shopify"]
        asked = asked_of(source, inbox.settings, inbox.registry, since=now - SINCE, now=now, dry=False)
        async with inbox.archive() as archive:
            result = await reconcile(archive, asked, clock=QuickClock(), chance=inbox.chance)
        assert result is not None
        assert (result.missing, result.refused, result.taken) == (missing, refused, missing - refused)
        if refused:
            assert "set dedup to fields" in result.named[0].why_not


@pytest.mark.req("R60")
async def test_of_githubs_deliveries_the_bytes_are_put_together_again_until_the_signature_fits(
    tmp_path: Path, provider: Provider
) -> None:
    payloads = [{"ref": f"refs/heads/{number}", "n": 1.5, "who": "Zoë"} for number in range(6)]
    ascii_only = [json.dumps(one, separators=(",", ":")).encode() for one in payloads]
    compact = [json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode() for one in payloads]
    at = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    bodies = [compact[0], compact[1], ascii_only[2], compact[3], b'{"something":"else"}', compact[5]]
    provider.events = [
        {"guid": f"guid-{number}", "at": at, "payload": payload, "bytes": body}
        for number, (payload, body) in enumerate(zip(payloads, bodies, strict=True))
    ]
    provider.events.insert(3, provider.events[2])  # a second attempt to deliver it
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml", store=f"sqlite:{tmp_path / 'inbox.db'}")
    listing = {
        "url": f"{provider.url}/{{hook}}/deliveries",
        "detail": f"{provider.url}/{{hook}}/deliveries/{{id}}",
        "hook": "repos/o/r/hooks/1",
        "credential": CREDENTIAL,
    }
    inbox.source("github", provider="github", secrets=[provider.secret.decode()], listing=listing)
    await inbox.migrate()
    now = datetime.now(UTC)
    asked = asked_of(inbox.sources["github"], inbox.settings, inbox.registry, since=now - SINCE, now=now, dry=False)
    async with inbox.archive() as archive:
        result = await reconcile(archive, asked, clock=QuickClock(), chance=inbox.chance)
        assert result is not None
        assert (result.listed, result.missing, result.taken, result.refused) == (7, 6, 5, 1)
        refused = next(one for one in result.named if one.why_not)
        assert refused.key == "guid-4"
        assert "have the provider send it again" in refused.why_not
        first = await archive.show(result.new[0])
        assert first is not None
        assert first.body == compact[0]
        assert (first.summary.type, provider.secret.decode() in str(first.headers)) == ("push", False)
        again = await reconcile(archive, asked, clock=QuickClock(), chance=inbox.chance)
        assert again is not None
        assert (again.known, again.missing) == (5, 1)


@pytest.mark.parametrize(
    ("provider", "listing", "problem"),
    [
        ("stripe", {}, "credential is missing"),
        ("stripe", {"credential": "x", "itmes": "data"}, "there is no key 'itmes'; did you mean 'items'"),
        ("stripe", {"credential": "x", "url": "http://api.example.com/x"}, "url must be an address with https"),
        ("stripe", {"credential": "x", "url": "https://[oops/x"}, "url must be an address with https"),
        ("stripe", {"credential": "x", "url": "https://a.example:port/"}, "url must be an address with https"),
        ("stripe", {"credential": "x", "url": "https://a.example/?k={credential}"}, "must not hold the credential"),
        ("stripe", {"credential": "x", "next": "somewhere"}, "next is 'somewhere'; it is link"),
        ("stripe", {"credential": "x", "header": "Authorization: Bearer"}, "header must hold the credential"),
        ("stripe", {"credential": "x", "types": "invoice.*"}, "types must be a list"),
        ("github", {"credential": "x"}, "hook is missing; write hook"),
        ("shopify", {"credential": "x"}, "url is missing; write where shopify lists its events"),
    ],
)
def test_a_listing_that_is_wrong_is_told_in_one_sentence(
    tmp_path: Path, provider: str, listing: dict[str, Any], problem: str
) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")
    inbox.source("it", provider=provider, secrets=[SECRET], listing=listing)
    now = datetime.now(UTC)
    with pytest.raises(ConfigError, match=problem):
        asked_of(inbox.sources["it"], inbox.settings, inbox.registry, since=now - SINCE, now=now, dry=True)


def test_how_often_is_told_in_minutes_hours_or_days(tmp_path: Path) -> None:
    (tmp_path / "none.toml").touch()
    inbox = Inbox(tmp_path / "none.toml")
    given: dict[str, Any] = {"provider": "stripe", "secrets": [SECRET]}
    inbox.source("a", **given, listing={"credential": "x"}, reconcile="6h")
    assert inbox.sources["a"].reconcile == 21_600
    for text in ("1m", "6", "soon", "15d"):
        with pytest.raises(ConfigError, match="it is from 5m to 14d"):
            inbox.source("b", **given, listing={"credential": "x"}, reconcile=text)
    with pytest.raises(ConfigError, match="reconcile needs a listing"):
        inbox.source("c", **given, reconcile="6h")
    now = datetime.now(UTC)
    source = inbox.sources["a"]
    with pytest.raises(UserError, match="surely known again for 35 days"):
        asked_of(source, inbox.settings, inbox.registry, since=now - timedelta(days=36), now=now, dry=True)
