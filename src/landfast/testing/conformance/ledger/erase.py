"""Erased events in a ledger: receipts stay, and nothing that a handler said or handed on."""

from __future__ import annotations

from dataclasses import replace

from landfast.domain.effect import EffectSettlement, EffectSignal, EffectState
from landfast.domain.erasure import ERASED, Erased
from landfast.domain.ids import EventId, InboxId, Token
from landfast.domain.outcome import Outcome, Receipt
from landfast.testing.conformance.ledger.desk import DEADLINE, Desk, effect, key, transaction

INBOX = InboxId(b"i" * 16)
EVENT = EventId(b"e" * 16)
TOKEN = Token(b"t" * 16)


class EraseConformance:
    async def test_the_receipt_stays_and_its_result_does_not(self, desk: Desk) -> None:
        await _done(desk)
        await desk.ledger.bury([Receipt(key(handler="other"), Outcome.DEAD, b'{"reason":"canary"}')])
        await desk.ledger.erase(INBOX, [Erased(EVENT, key().digest)], who="ada")
        told = {each.key.handler: (each.outcome, each.result) for each in await desk.ledger.receipts([key().digest])}
        assert told == {key().handler: (Outcome.DONE, None), "other": (Outcome.DEAD, b'{"reason":"erased"}')}

    async def test_a_transaction_is_told_whether_its_effect_was_erased_meanwhile(self, desk: Desk) -> None:
        await _done(desk)
        (held,) = await desk.ledger.claim(token=TOKEN, lease=30, limit=9)
        async with transaction(desk.ledger) as tx:
            assert await tx.tx.holds(held)
            assert not await tx.tx.holds(replace(held, token=Token(b"u" * 16)))
        await desk.ledger.erase(INBOX, [Erased(EVENT, key().digest)], who="ada")
        async with transaction(desk.ledger) as tx:
            assert not await tx.tx.holds(held)

    async def test_an_effect_that_was_not_performed_never_is(self, desk: Desk) -> None:
        await _done(desk)
        await desk.ledger.erase(INBOX, [Erased(EVENT, key().digest)], who="ada")
        assert not await desk.ledger.claim(token=TOKEN, lease=30, limit=9)
        (row,) = await desk.ledger.list(limit=9)
        assert (row["state"], row["error"], row["arguments"]) == (EffectState.DEAD, ERASED, b"{}")
        assert await desk.ledger.revive([(row["key"], row["run"])]) == 0

    async def test_whoever_has_claimed_one_is_told_that_it_is_held_no_longer(self, desk: Desk) -> None:
        await _done(desk)
        (claimed,) = await desk.ledger.claim(token=TOKEN, lease=30, limit=9)
        assert await desk.ledger.holds(claimed)
        assert not await desk.ledger.holds(replace(claimed, token=Token(b"o" * 16)))
        await desk.ledger.erase(INBOX, [Erased(EVENT, key().digest)], who="ada")
        assert not await desk.ledger.holds(claimed)

    async def test_one_that_was_performed_stays_performed(self, desk: Desk) -> None:
        await _done(desk)
        (claimed,) = await desk.ledger.claim(token=TOKEN, lease=30, limit=9)
        settled = EffectSettlement(claimed.staged.key, claimed.staged.run, TOKEN, EffectSignal.FINISH, message="canary")
        assert list(await desk.ledger.settle([settled])) == [True]
        await desk.ledger.erase(INBOX, [Erased(EVENT, key().digest)], who="ada")
        (row,) = await desk.ledger.list(limit=9)
        assert (row["state"], row["error"], row["arguments"], row["message"]) == (EffectState.DONE, "", b"{}", "")

    async def test_what_was_erased_is_remembered_for_each_inbox_and_erasing_again_changes_nothing(
        self, desk: Desk
    ) -> None:
        erased = Erased(EVENT, key().digest)
        for who in ("ada", "eve"):
            await desk.ledger.erase(INBOX, [erased], who=who)
        assert list(await desk.ledger.erased(INBOX)) == [erased]
        assert list(await desk.ledger.erased(InboxId(b"o" * 16))) == []
        assert await desk.ledger.scrub()


async def _done(desk: Desk) -> None:
    transaction = await desk.ledger.begin(deadline=DEADLINE)
    await transaction.reserve([key()])
    await transaction.commit(results=[(key(), b'"canary"')], effects=[effect()])
    await transaction.rollback()
