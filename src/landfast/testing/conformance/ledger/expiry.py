"""ExpiringLedger: what is old goes in small steps, and never what an inbox still needs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from landfast.domain.effect import EffectSettlement, EffectSignal, EffectState
from landfast.domain.erasure import Erased
from landfast.domain.expiry import Expired, LedgerAges
from landfast.domain.ids import EventId, InboxId, Token
from landfast.domain.retention import DAY_SECONDS
from landfast.testing.conformance.ledger.desk import Desk, bury, effect, key, reserve, stage

OURS, THEIRS = InboxId(b"i" * 16), InboxId(b"j" * 16)
TOKEN = Token(b"t" * 16)
AGES = LedgerAges(receipts=70 * DAY_SECONDS)
NEVER = datetime(2200, 1, 1, tzinfo=UTC)
"""Whatever is there came before it."""
HORIZON = 35 * DAY_SECONDS


class ExpiryConformance:
    async def test_what_is_old_goes_and_what_is_young_stays(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        await reserve(desk.ledger, key("old"))
        await bury(desk.ledger, key("given up"))
        await desk.advance(69 * DAY_SECONDS)
        await reserve(desk.ledger, key("young"))
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0, "none is 70 days old"
        await desk.advance(2 * DAY_SECONDS)
        assert (await _walk(desk)).receipts == 2
        assert [len(await desk.ledger.receipts([key(name).digest])) for name in ("old", "young")] == [0, 1]

    async def test_a_receipt_whose_event_lives_is_kept_until_no_copy_of_the_inbox_has_it(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        await reserve(desk.ledger, key("dead letter"))
        await desk.advance(80 * DAY_SECONDS)
        for _ in range(2):  # named twice: that is once
            await desk.ledger.keep(OURS, [key("dead letter").digest])
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0
        await desk.advance(HORIZON)
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0, "a copy of the inbox may have it still"
        await desk.advance(2 * DAY_SECONDS)
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 1

    async def test_a_receipt_that_is_found_again_is_as_young_as_its_finding(self, desk: Desk) -> None:
        """Its event was forgotten and came again: with that it lives on."""
        await desk.ledger.bind(OURS)
        await reserve(desk.ledger, key("again"), key("again", handler="tell_crm"), key("once"))
        await desk.advance(69 * DAY_SECONDS)
        assert await reserve(desk.ledger, key("again")) != [None]
        await desk.advance(2 * DAY_SECONDS)
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 1
        assert len(await desk.ledger.receipts([key("again").digest])) == 2
        assert await reserve(desk.ledger, key("once")) == [None]

    async def test_nothing_goes_that_an_inbox_has_not_spoken_for(self, desk: Desk) -> None:
        """Crash after `keep` and before `set_kept_to`; or another inbox shares the ledger and never said a word."""
        await desk.ledger.bind(OURS)
        await reserve(desk.ledger, key("old"))
        await desk.advance(80 * DAY_SECONDS)
        assert (await _walk(desk)).receipts == 0
        await desk.ledger.bind(THEIRS)
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0
        assert await desk.ledger.kept_to() == {OURS: NEVER, THEIRS: None}
        await desk.ledger.set_kept_to(THEIRS, datetime(2020, 1, 1, tzinfo=UTC), forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0, "it came after what they spoke for"
        assert await desk.ledger.unbind(THEIRS)
        assert not await desk.ledger.unbind(THEIRS)
        assert (await _walk(desk)).receipts == 1

    async def test_clocks_may_differ_by_a_day(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        await stage(desk.ledger, effect())
        (staged,) = await desk.ledger.list(limit=1)
        at = staged["created_at"]  # as its receipt
        await desk.advance(80 * DAY_SECONDS)
        await desk.ledger.set_kept_to(OURS, at + timedelta(hours=23), forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 0
        await desk.ledger.set_kept_to(OURS, at + timedelta(hours=25), forget_after=HORIZON)
        assert (await _walk(desk)).receipts == 1

    async def test_an_effect_goes_when_it_is_over_for_long_enough_and_never_before(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        await stage(desk.ledger, *(effect(name, of=key(name)) for name in ("done", "dead", "waiting")))
        claimed = await desk.ledger.claim(token=TOKEN, lease=30, limit=9)
        signals = {"done": EffectSignal.FINISH, "dead": EffectSignal.BURY, "waiting": EffectSignal.RELEASE}
        await desk.ledger.settle(
            [EffectSettlement(each.staged.key, each.staged.run, TOKEN, signals[each.staged.name]) for each in claimed]
        )
        await desk.advance(36 * DAY_SECONDS)
        assert (await _walk(desk)).effects == 1
        await desk.advance(330 * DAY_SECONDS)
        assert (await _walk(desk)).effects == 1
        (left,) = await desk.ledger.list(limit=9)
        assert (left["name"], left["state"]) == ("waiting", EffectState.READY)

    async def test_a_walk_is_made_of_steps_and_each_goes_on_where_the_last_one_ended(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        many = [key(f"evt_{number}", handler="h" * 60) for number in range(5_000)]
        for first in range(0, len(many), 1_000):
            await reserve(desk.ledger, *many[first : first + 1_000])
        other = await desk.another()
        await desk.advance(80 * DAY_SECONDS)
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        step = await desk.ledger.expire(AGES)
        assert 0 < step.receipts < len(many)
        assert step.rest is not None
        later = step
        while later.rest is not None:
            later = await other.expire(AGES, at=later.rest)
            step += later
        assert step.receipts == len(many)
        assert not await desk.ledger.receipts([each.digest for each in many])

    async def test_what_was_erased_is_known_for_as_long_as_its_receipts_would_be(self, desk: Desk) -> None:
        await desk.ledger.bind(OURS)
        erased = [Erased(EventId(bytes([number]) * 16), key(f"evt_{number}").digest) for number in range(2)]
        await desk.ledger.erase(OURS, erased, who="ada")
        await desk.advance(80 * DAY_SECONDS)
        await desk.ledger.keep(OURS, [erased[0].digest])
        assert list(await desk.ledger.erased(OURS)) == erased
        await desk.ledger.set_kept_to(OURS, NEVER, forget_after=HORIZON)
        await _walk(desk)
        assert list(await desk.ledger.erased(OURS)) == erased[:1]


async def _walk(desk: Desk) -> Expired:
    total = step = await desk.ledger.expire(AGES)
    while step.rest is not None:
        step = await desk.ledger.expire(AGES, at=step.rest)
        total += step
    return total
