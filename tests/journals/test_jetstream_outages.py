"""Whole intakes and drainers over a broker that goes away, with a spool behind it and without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox
from landfast.app import wiring
from landfast.app.broker import Draining, open_drainer
from landfast.app.system_clock import SystemClock
from landfast.domain.census import Census, SourceTally, TallyReport
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.ids import BootId
from landfast.intake.receive import Intake
from landfast.journals import spool
from landfast.testing.signing import sample, sign
from tests.inboxes.sqlite_bench import by_hand
from tests.journals.jetstream_bench import Bench, until
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, sqlite_shop

SECRET = "whsec_of_a_shop_with_a_broker"


@pytest.fixture(autouse=True)
def time_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the machine stands still, the spool takes what it is given, and the last counts are heard."""
    monkeypatch.setattr(spool, "BATCH_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(wiring, "LAST_REPORT_SECONDS", PATIENCE_SECONDS)


def shop(folder: Path, journal: str, **settings: Any) -> Inbox:
    (folder / "none.toml").touch()
    usual = {"store": str(folder / "inbox.db"), "journal": journal}
    inbox = Inbox(folder / "none.toml", **usual | settings)
    inbox.source("stripe", provider="stripe", secrets=[SECRET])
    return inbox


async def send(intake: Intake, key: str) -> tuple[int, bytes]:
    body = sample("stripe", id=key)
    signed = sign("stripe", body, SECRET, now=SystemClock().now().timestamp())
    head = Head("POST", "/in/stripe", "", Headers((n.encode(), v.encode()) for n, v in signed.items()), len(body))
    answer = await intake.respond(intake.admit(head), body)
    return answer.status, answer.body


@asynccontextmanager
async def draining(inbox: Inbox) -> AsyncIterator[Draining]:
    async with open_drainer(inbox.settings, inbox.clock, inbox.chance) as found:
        running = asyncio.create_task(found.run())
        try:
            yield found
        finally:
            found.stop()
            await running


async def census(inbox: Inbox) -> Census:
    async with inbox.archive() as archive:
        return await archive.census()


@pytest.mark.req("R7", "R53")
async def test_without_a_spool_a_broker_that_is_away_means_503_and_the_retry_is_stored(
    mortal: Bench, tmp_path: Path
) -> None:
    mortal.server.start()
    inbox = shop(tmp_path, mortal.target)
    async with inbox.intake() as intake:
        assert (await send(intake, "evt_1"))[0] == 200
        mortal.server.kill()
        assert (await send(intake, "evt_2"))[0] == 503
        assert (await census(inbox)).events == 0  # it waits in the stream, which is away
        mortal.server.start()

        async def is_taken() -> bool:
            return (await send(intake, "evt_2"))[0] == 200

        await until(is_taken)
        status, body = await send(intake, "evt_1")
        assert status == 200 and b"duplicate" in body
        async with draining(inbox):
            await until(lambda: _has(inbox, 2))
    await _balanced(inbox, events=2)


@pytest.mark.req("R7", "R53")
async def test_with_a_spool_a_broker_that_is_away_costs_no_sender_anything(mortal: Bench, tmp_path: Path) -> None:
    """The spool drains into the stream, and the stream into the inbox; what is in both is one event."""
    mortal.server.start()
    inbox = shop(tmp_path, mortal.target, spool=str(tmp_path / "spool"), spool_anywhere=True)
    async with inbox.intake() as intake:
        await send(intake, "evt_0")
        mortal.server.kill()
        assert [(await send(intake, f"evt_{number}"))[0] for number in range(1, 20)] == [200] * 19
        mortal.server.start()
        async with draining(inbox) as drainer:
            await until(lambda: _has(inbox, 20))
            assert drainer.meters()["journal_drained"] == 20
    await _balanced(inbox, events=20)


@pytest.mark.req("R53")
async def test_an_inbox_that_is_away_delays_no_answer_and_loses_nothing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = shop(tmp_path, bench.target)
    refused: list[int] = []

    async def away(_self: object, batch: Sequence[object]) -> Any:
        refused.append(len(batch))
        raise InboxUnavailableError("inbox: away")

    async with inbox.intake() as intake:
        with monkeypatch.context() as outage:
            outage.setattr("landfast.inboxes.sqlite.SqliteInbox.record_drained", away)
            async with draining(inbox):
                assert [(await send(intake, f"evt_{number}"))[0] for number in range(30)] == [200] * 30
                await until(lambda: _is(bool(refused)))
        assert await bench.messages() == 30
        async with draining(inbox):
            await until(lambda: _has(inbox, 30))
    await _balanced(inbox, events=30)


@pytest.mark.req("R7", "R53")
async def test_what_the_window_has_forgotten_is_one_event_and_nothing_is_missing(bench: Bench, tmp_path: Path) -> None:
    """Two intakes that have not heard of each other both answer "stored"; in the end the inbox has one event, and both
    deliveries have come."""
    await bench.make_stream(duplicate_window=100_000_000)
    inbox = shop(tmp_path, bench.target)
    async with inbox.intake() as one:
        assert b"stored" in (await send(one, "evt_1"))[1]

        async def is_forgotten() -> bool:
            async with inbox.intake() as other:
                return b"stored" in (await send(other, "evt_1"))[1]

        await until(is_forgotten)
        async with draining(inbox):
            await until(lambda: _empty(bench))
    counted = await census(inbox)
    assert (counted.events, counted.tallies["stripe"].stored, counted.stored.deliveries_drained) == (1, 2, 2)
    assert counted.meters["journal_drained"] == 1


@pytest.mark.req("R55")
async def test_two_drainer_processes_share_a_stream_and_stop_in_order(bench: Bench, tmp_path: Path) -> None:
    processes = sqlite_shop(tmp_path)
    processes.settings["LANDFAST_JOURNAL"] = bench.target
    processes.write(ORDER)
    inbox = shop(tmp_path, bench.target, store=processes.store, ledger=processes.ledger)
    sent = 0
    async with (
        inbox.intake() as intake,
        processes.running("drain", "shop.py", "--json") as one,
        processes.running("drain", "shop.py") as other,
    ):
        for process in (one, other):
            assert process.stdout is not None and b"ready" in await process.stdout.readline()
        while min(await _drained(processes.store), default=0) == 0 or sent < 200:
            for _ in range(50):
                assert (await send(intake, f"evt_{sent}"))[0] == 200
                sent += 1
        for process in (one, other):
            process.terminate()
            assert await process.wait() == 0
        async with draining(inbox):  # what came after they had stopped
            await until(lambda: _has(inbox, sent))
    found = await _balanced(inbox, events=sent)
    assert found.meters["journal_drained"] == sent


@pytest.mark.req("R55")
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_two_drainers_that_see_one_backlog_do_not_report_it_twice(
    bench: Bench, tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    own = {"store": request.getfixturevalue("database")} if store == "postgres" else {}
    inbox = shop(tmp_path, bench.target, **own)
    async with inbox.intake() as intake:
        for number in range(7):
            await send(intake, f"evt_{number}")
    async with open_drainer(inbox.settings, inbox.clock, inbox.chance) as one, inbox.archive() as archive:
        for boot in (b"drainer1", b"drainer2"):
            await one._backlog.take(1)
            sources: dict[str, SourceTally] = {}
            await archive.tally(TallyReport(BootId(boot), sources, {}, meters={**one.meters(), "journal_drained": 3}))
        meters = (await archive.census()).meters
    assert (meters["journal_backlog"], meters["journal_drained"]) == (7, 6)


async def test_a_drainer_says_that_it_is_alive_and_how_much_waits(bench: Bench, tmp_path: Path) -> None:
    inbox = shop(tmp_path, bench.target)
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        open_drainer(inbox.settings, inbox.clock, inbox.chance),
        inbox.archive() as archive,
    ):
        while not (alive := await archive.heartbeats()):
            await asyncio.sleep(0.02)
    ((role, doing),) = [(one.role, one.doing) for one in alive]
    assert (role, doing["journal_backlog"]) == ("drainer", 0)


async def _drained(store: str) -> list[int]:
    rows = by_hand(Path(store), "SELECT value FROM meter WHERE name = 'journal_drained'")
    return [row[0] for row in rows] if len(rows) >= 2 else []


async def _balanced(inbox: Inbox, *, events: int) -> Census:
    """Everyone has stopped in order, so every count must be right to the last one."""
    found = await census(inbox)
    tally = found.tallies["stripe"]
    assert found.events == tally.stored == events
    assert tally.received == tally.stored + tally.duplicate + tally.rejected
    assert (found.running_boots, found.unclean_boots) == (0, 0)
    return found


async def _has(inbox: Inbox, events: int) -> bool:
    return (await census(inbox)).events == events


async def _empty(bench: Bench) -> bool:
    return await bench.messages() == 0


async def _is(value: bool) -> bool:
    return value
