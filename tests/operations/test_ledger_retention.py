"""Two databases, and the order in which they forget: a receipt outlives its event, also in a copy that is restored."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from landfast.domain.expiry import LedgerAges
from landfast.domain.ids import HandlerName, InboxId, receipt_digest
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.retention import BACKUP_HORIZON_SECONDS, DAY_SECONDS, Ages, Retention
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.operations.ledger_retention import LedgerPass, expire_ledger, is_due
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import delivery, settlement, token
from tests.inboxes.sqlite_passes import one_pass
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R43")

HANDLER = HandlerName("create_order")
RETENTION = Retention(Ages(dead=60 * DAY_SECONDS, bodies=20 * DAY_SECONDS, unhandled=20 * DAY_SECONDS))
AGES = LedgerAges(receipts=RETENTION.receipts)


class Both:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "inbox.db"
        self.clock = ManualClock()
        self.inbox = SqliteInbox(self.path, clock=self.clock, chance=SeededChance(1))
        self.ledger = SqliteLedger(folder / "ledger.db", clock=self.clock, chance=SeededChance(2))
        self.identity = InboxId(b"")
        self._claims = 0

    async def open(self) -> None:
        for store in (self.inbox, self.ledger):
            await store.open()
            await store.migrate()
        self.identity = await self.inbox.identity()
        await self.ledger.bind(self.identity)

    async def close(self) -> None:
        await self.inbox.close()
        await self.ledger.close()

    async def process(self, key: str, signal: Signal) -> None:
        """Its handler is done; what becomes of the event, others decide."""
        transaction = await self.ledger.begin(deadline=PATIENCE_SECONDS)
        await transaction.reserve([self.key_of(key)])
        await transaction.commit(results=(), effects=())
        await transaction.rollback()
        await self.inbox.record([delivery(key, received_at=self.clock.now())])
        self._claims += 1
        (claim,) = await self.inbox.claim(token=token(self._claims), lease=30, limit=1)
        await self.inbox.settle([settlement(claim, signal)])

    async def days(self, count: float) -> LedgerPass:
        """Pass so many, and then a pass of both."""
        self.clock.advance(count * DAY_SECONDS)
        await one_pass(self.inbox, RETENTION)
        return await self.ledger_pass()

    async def ledger_pass(self) -> LedgerPass:
        return await expire_ledger(
            self.inbox, self.ledger, identity=self.identity, ages=AGES, now=self.clock.now(), rest=_at_once
        )

    async def receipts(self, key: str) -> Sequence[Receipt]:
        return await self.ledger.receipts([self.key_of(key).digest])

    def key_of(self, key: str) -> ReceiptKey:
        return ReceiptKey(receipt_digest(self.identity, "shop", key), HANDLER, 1)


async def _at_once() -> None: ...


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Both]:
    both = Both(tmp_path)
    await both.open()
    yield both
    await both.close()


async def test_a_receipt_goes_after_its_event_and_the_horizon_of_backups(both: Both) -> None:
    await both.process("done", Signal.FINISH)
    await both.days(36)
    assert await both.inbox.show(delivery("done").event_id) is None
    assert (await both.days(58)).receipts == 0, "the longest age of a row is 60 days, and a copy may be 35 days old"
    assert (await both.days(3)).receipts == 1
    assert not await both.receipts("done")


async def test_what_lives_keeps_its_receipts_and_a_replay_finds_what_is_done(both: Both) -> None:
    await both.process("held back", Signal.RETRY)
    for _ in range(3):
        passed = await both.days(200)
        assert (passed.named, passed.receipts) == (1, 0)
    (receipt,) = await both.receipts("held back")
    assert receipt.outcome is Outcome.DONE


async def test_a_forgotten_event_that_comes_again_finds_its_receipt_however_long_it_waits(both: Both) -> None:
    await both.process("comes again", Signal.FINISH)
    await both.days(90)
    assert await both.inbox.show(delivery("comes again").event_id) is None
    await both.inbox.record([delivery("comes again", received_at=both.clock.now(), hold="late")])
    for _ in range(4):
        assert (await both.days(3)).receipts == 0
    assert await both.receipts("comes again"), "it is admitted now, and what it wrote must not be written twice"


async def test_a_receipt_that_was_found_again_outlives_the_event_that_found_it(both: Both) -> None:
    await both.process("comes again", Signal.FINISH)
    await both.days(90)
    await both.process("comes again", Signal.FINISH)
    for _ in range(2):
        assert (await both.days(17)).receipts == 0
        assert await both.inbox.show(delivery("comes again").event_id) is not None
        assert await both.receipts("comes again"), "a proof asks for it"
    await both.days(10)
    assert (await both.days(60)).receipts == 1


async def test_an_inbox_that_is_restored_finds_the_receipts_of_what_lives_again(both: Both, tmp_path: Path) -> None:
    await both.process("paused for a year", Signal.PAUSE)
    assert (await both.days(365)).named == 1
    await both.inbox.resume(limit=9)
    (claim,) = await both.inbox.claim(token=token(99), lease=30, limit=1)
    await both.inbox.settle([settlement(claim, Signal.BURY)])
    await both.days(59)  # the last pass that sees it
    await both.inbox.close()
    shutil.copy(both.path, tmp_path / "copy.db")
    await both.inbox.open()
    await both.days(2)
    assert await both.inbox.show(claim.event_id) is None
    await both.days(BACKUP_HORIZON_SECONDS / DAY_SECONDS - 3)
    await both.inbox.close()
    shutil.copy(tmp_path / "copy.db", both.path)
    await both.inbox.open()
    record = await both.inbox.show(claim.event_id)
    assert record is not None
    assert record.summary.state is State.DEAD
    assert await both.receipts("paused for a year"), "a replay must find it"


async def test_dead_before_the_ledger_is_told_nothing_is_deleted(both: Both) -> None:
    await both.process("done", Signal.FINISH)
    await both.process("tried again", Signal.RETRY)
    both.clock.advance(200 * DAY_SECONDS)
    await one_pass(both.inbox, RETENTION)

    class DiedError(Exception):
        pass

    async def die() -> None:
        raise DiedError

    with pytest.raises(DiedError):  # once the living are named
        await expire_ledger(both.inbox, both.ledger, identity=both.identity, ages=AGES, now=both.clock.now(), rest=die)
    assert (await both.ledger.expire(AGES)).receipts == 0
    assert (await both.ledger_pass()).receipts == 1


async def test_once_a_day_is_enough(both: Both) -> None:
    due = partial(is_due, both.ledger, identity=both.identity, older_than=AGES.receipts)
    assert await due(now=both.clock.now())
    await both.ledger_pass()
    assert not await due(now=both.clock.now())
    both.clock.advance(DAY_SECONDS)
    assert await due(now=both.clock.now())


async def test_a_clock_that_was_ahead_puts_off_no_walk_through_the_ledger(both: Both) -> None:
    due = partial(is_due, both.ledger, identity=both.identity, older_than=AGES.receipts)
    both.clock.advance(365 * DAY_SECONDS)
    await both.ledger_pass()
    both.clock.advance(-365 * DAY_SECONDS)
    assert await due(now=both.clock.now())
    await both.ledger_pass()
    assert not await due(now=both.clock.now())


async def test_an_inbox_that_says_nothing_is_named_and_can_be_let_go_of(both: Both) -> None:
    stranger = InboxId(b"s" * 16)
    await both.ledger.bind(stranger)
    await both.process("done", Signal.FINISH)
    passed = await both.days(200)
    assert (passed.receipts, passed.silent) == (0, (stranger,))
    await both.ledger.unbind(stranger)
    passed = await both.days(0)
    assert (passed.receipts, passed.silent) == (1, ())
