"""Effects: staged with the receipt, claimed and settled after it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.domain import ids
from landfast.domain.effect import ALONE, ClaimedEffect, EffectSettlement, EffectSignal, EffectState
from landfast.domain.ids import Token, WorkerId
from landfast.domain.outcome import Tries
from landfast.ports.ledger import EffectStore
from landfast.testing.conformance.ledger.desk import Desk, effect, key, stage, transaction

LEASE = 30.0
WORKER = WorkerId(b"worker-1")


class EffectConformance:
    async def test_an_effect_is_claimed_after_the_commit_as_it_was_staged(self, desk: Desk) -> None:
        staged = effect(arguments=b'{"a":"\xc3\xa9"}', context=b'{"key":"evt_1"}')
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.commit(results=(), effects=[staged])
        assert await claim(desk.ledger, 1) == [ClaimedEffect(staged, token(1), Tries())]

    async def test_an_effect_of_a_rolled_back_transaction_is_never_there(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.handle.execute("INSERT INTO shop_line VALUES ('refused at commit')")
            with pytest.raises(Exception, match="COMMIT"):
                await tx.commit(results=(), effects=[effect()])
        assert await claim(desk.ledger, 1) == []

    async def test_staging_one_again_changes_nothing(self, desk: Desk) -> None:
        await stage(desk.ledger, effect(arguments=b'{"n":1}'))
        await stage(desk.ledger, effect(arguments=b'{"n":2}'))
        (claimed,) = await claim(desk.ledger, 1)
        assert claimed.staged.arguments == b'{"n":1}'

    async def test_another_run_stages_its_own_under_the_same_key(self, desk: Desk) -> None:
        first, second = effect(), effect(of=key(run=2))
        await stage(desk.ledger, first)
        await stage(desk.ledger, second)
        assert first.key == second.key
        assert [each.staged for each in await claim(desk.ledger, 1)] == [first, second]

    async def test_claims_come_oldest_first_and_no_more_than_the_limit(self, desk: Desk) -> None:
        names = [f"effect_{number}" for number in range(9)]
        for name in names:
            await stage(desk.ledger, effect(name, of=key(name)))
        batches = [await claim(desk.ledger, number, limit=4) for number in range(4)]
        assert [[each.staged.name for each in batch] for batch in batches] == [names[:4], names[4:8], names[8:], []]

    async def test_no_effect_is_leased_twice_at_a_time(self, desk: Desk) -> None:
        await stage(desk.ledger, *(effect(f"effect_{number}") for number in range(60)))
        stores = [desk.ledger, await desk.another()]
        batches = await asyncio.gather(*(claim(stores[number % 2], number, limit=7) for number in range(20)))
        rest = await claim(desk.ledger, 99, limit=60)  # a driver may pass over rows that a neighbour is claiming
        keys = [each.staged.key for batch in [*batches, rest] for each in batch]
        assert len(keys) == len(set(keys)) == 60

    async def test_an_expired_lease_makes_a_suspect_and_only_its_next_crash_is_its_own(self, desk: Desk) -> None:
        await stage(desk.ledger, effect())
        await claim(desk.ledger, 1)
        await desk.advance(LEASE - 1)
        assert not await desk.ledger.has_suspects()
        assert await suspect(desk.ledger, 2) is None
        await desk.advance(2)
        assert await desk.ledger.has_suspects()
        first = await suspect(desk.ledger, 3)
        await desk.advance(LEASE + 1)
        second = await suspect(desk.ledger, 4)
        assert first is not None
        assert second is not None
        assert [(each.suspect, each.crashes) for each in (first, second)] == [(True, 0), (True, 1)]

    async def test_suspects_come_one_at_a_time_and_never_among_the_others(self, desk: Desk) -> None:
        await stage(desk.ledger, *(effect(f"effect_{number}") for number in range(3)))
        await claim(desk.ledger, 1, limit=2)
        await desk.ledger.abandon(worker=WORKER)
        assert [each.staged.name for each in await claim(desk.ledger, 2)] == ["effect_2"]
        held = await suspect(desk.ledger, 3)
        assert held is not None
        assert held.staged.name == "effect_0"
        await desk.ledger.settle([settlement(held, EffectSignal.RETRY, due_in=0.0, tries=Tries(1))])
        assert await claim(desk.ledger, 4) == []
        names = {each.staged.name for each in [await suspect(desk.ledger, 5), await suspect(desk.ledger, 6)] if each}
        assert names == {"effect_0", "effect_1"}

    async def test_renewing_extends_the_leases_under_these_tokens_that_have_not_expired(self, desk: Desk) -> None:
        await stage(desk.ledger, *(effect(f"effect_{number}") for number in range(3)))
        await claim(desk.ledger, 1, limit=1)
        await desk.ledger.claim(token=ids.token(WorkerId(b"worker-2"), 1), lease=LEASE, limit=1)
        await desk.ledger.claim(token=token(2), lease=1, limit=1)
        await desk.advance(LEASE / 2)
        await desk.ledger.renew(tokens=[token(1), token(2)], lease=LEASE)
        await desk.advance(LEASE / 2 + 1)
        late = [await suspect(desk.ledger, number) for number in (3, 4, 5)]
        assert {each.staged.name for each in late if each} == {"effect_1", "effect_2"}

    async def test_abandoning_expires_every_lease_of_a_dead_worker(self, desk: Desk) -> None:
        await stage(desk.ledger, *(effect(f"effect_{number}") for number in range(3)))
        await claim(desk.ledger, 1, limit=2)
        await desk.ledger.claim(token=ids.token(WorkerId(b"worker-2"), 1), lease=LEASE, limit=1)
        assert await desk.ledger.abandon(worker=WORKER) == 2
        held = [await suspect(desk.ledger, number) for number in (2, 3, 4)]
        assert [each and each.suspect for each in held] == [True, True, None]

    async def test_a_settled_effect_is_over(self, desk: Desk) -> None:
        for signal, state in ((EffectSignal.FINISH, EffectState.DONE), (EffectSignal.BURY, EffectState.DEAD)):
            await stage(desk.ledger, effect(state))
            (held,) = await claim(desk.ledger, 1)
            assert await desk.ledger.settle([settlement(held, signal, tries=Tries(3, 1.5))]) == [True]
            await desk.advance(LEASE * 10)
            assert await claim(desk.ledger, 2) == []
            (row,) = await desk.ledger.list(state=state, limit=10)
            assert (row["name"], row["attempts"]) == (state, 3)

    async def test_a_retry_comes_again_when_it_is_due_with_its_tries(self, desk: Desk) -> None:
        await stage(desk.ledger, effect())
        (held,) = await claim(desk.ledger, 1)
        later = settlement(held, EffectSignal.RETRY, due_in=60.0, tries=Tries(1, 0.5))
        assert await desk.ledger.settle([later]) == [True]
        await desk.advance(59)
        assert await claim(desk.ledger, 2) == []
        await desk.advance(2)
        (again,) = await claim(desk.ledger, 3)
        assert (again.tries, again.suspect, again.crashes) == (Tries(1, 0.5), False, 0)

    async def test_a_release_gives_it_back_at_once_untried_and_keeps_suspicion(self, desk: Desk) -> None:
        await stage(desk.ledger, effect())
        (held,) = await claim(desk.ledger, 1)
        await desk.ledger.settle([settlement(held, EffectSignal.RETRY, tries=Tries(2, 1.0))])
        await claim(desk.ledger, 2)
        await desk.advance(LEASE + 1)
        first = await suspect(desk.ledger, 3)
        assert first is not None
        await desk.ledger.settle([settlement(first, EffectSignal.RELEASE)])
        again = await suspect(desk.ledger, 4)
        assert again is not None
        assert (again.tries, again.suspect, again.crashes) == (Tries(2, 1.0), True, 0)

    async def test_a_stale_token_settles_nothing(self, desk: Desk) -> None:
        await stage(desk.ledger, effect(), effect("second"))
        stale, other = await claim(desk.ledger, 1)
        await desk.advance(LEASE + 1)
        await suspect(desk.ledger, 2)
        settled = await desk.ledger.settle([settlement(each, EffectSignal.FINISH) for each in (stale, other)])
        assert settled == [False, True]
        assert await desk.ledger.settle([settlement(other, EffectSignal.BURY)]) == [False]
        assert await desk.ledger.settle([]) == []

    async def test_a_settlement_is_for_its_own_run(self, desk: Desk) -> None:
        await stage(desk.ledger, effect())
        await stage(desk.ledger, effect(of=key(run=2)))
        first, second = await claim(desk.ledger, 1)
        assert await desk.ledger.settle([settlement(first, EffectSignal.FINISH)]) == [True]
        assert await desk.ledger.counts() == counts(claimed=1, done=1)
        assert await desk.ledger.settle([settlement(second, EffectSignal.BURY)]) == [True]

    async def test_the_time_for_which_nobody_knew_it_is_kept_apart_from_its_tries_and_a_retry_sets_both_back(
        self, desk: Desk
    ) -> None:
        await stage(desk.ledger, effect())
        (held,) = await claim(desk.ledger, 1)
        assert held.unknown_seconds == 0
        waiting = settlement(held, EffectSignal.RETRY, tries=Tries(2, 30.0), unknown_seconds=600.0)
        await desk.ledger.settle([waiting])
        (held,) = await claim(desk.ledger, 2)
        assert (held.tries.count, held.tries.spent, held.unknown_seconds) == (2, 30.0, 600.0)
        await desk.ledger.settle([settlement(held, EffectSignal.RELEASE, unknown_seconds=7.0)])
        (held,) = await claim(desk.ledger, 3)
        assert held.unknown_seconds == 600.0, "a release changes nothing"
        await desk.ledger.settle([settlement(held, EffectSignal.BURY, tries=held.tries, unknown_seconds=600.0)])
        await desk.ledger.revive([(held.staged.key, held.staged.run)])
        (held,) = await claim(desk.ledger, 4)
        assert (held.tries.count, held.tries.spent, held.unknown_seconds) == (0, 0.0, 0.0)

    async def test_errors_of_any_text_are_kept_for_people_to_read(self, desk: Desk) -> None:
        await stage(desk.ledger, effect())
        (held,) = await claim(desk.ledger, 1)
        error = {"error": "SMTPError", "message": "nul \0 and \ud800", "trace": "Traceback ..."}
        await desk.ledger.settle([settlement(held, EffectSignal.BURY, tries=Tries(8), **error)])
        (row,) = await desk.ledger.list(digest=key().digest, limit=10)
        assert row["created_at"].tzinfo is not None
        del row["created_at"]
        assert row == {
            "key": effect().key,
            "run": 1,
            "handler": "create_order",
            "name": "send_mail",
            "arguments": b'{"order":1}',
            "context": effect().context,
            "state": EffectState.DEAD,
            "attempts": 8,
            "error": "SMTPError",
            "message": "nul \ufffd and ?",
            "trace": "Traceback ...",
            "step": ALONE,
            "result": None,
            "at": None,
        }

    async def test_a_listing_is_newest_first_and_filtered(self, desk: Desk) -> None:
        for name in ("first", "second", "third"):
            await stage(desk.ledger, effect(name, of=key(name)))
        await claim(desk.ledger, 1, limit=1)
        assert [row["name"] for row in await desk.ledger.list(limit=2)] == ["third", "second"]
        assert [row["name"] for row in await desk.ledger.list(state=EffectState.CLAIMED, limit=9)] == ["first"]
        assert [row["name"] for row in await desk.ledger.list(digest=key("second").digest, limit=9)] == ["second"]

    async def test_a_dead_effect_is_retried_with_fresh_tries_and_others_are_not(self, desk: Desk) -> None:
        await stage(desk.ledger, effect("dead"), effect("done"))
        await claim(desk.ledger, 1)
        await desk.advance(LEASE + 1)
        dead, done = await suspect(desk.ledger, 2), await suspect(desk.ledger, 3)
        assert dead is not None
        assert done is not None
        await desk.ledger.settle([settlement(dead, EffectSignal.BURY, tries=Tries(8, 9.0))])
        await desk.ledger.settle([settlement(done, EffectSignal.FINISH, tries=Tries(1, 1.0))])
        keys = [(each.staged.key, each.staged.run) for each in (dead, done)]
        assert await desk.ledger.revive([*keys, ("unknown", 1)]) == 1
        (again,) = await claim(desk.ledger, 3)
        assert again == ClaimedEffect(dead.staged, token(3), Tries())

    async def test_counts_know_every_state(self, desk: Desk) -> None:
        assert await desk.ledger.counts() == counts()
        await stage(desk.ledger, effect(), effect("second"))
        await claim(desk.ledger, 1, limit=1)
        assert await desk.ledger.counts() == counts(ready=1, claimed=1)


async def suspect(store: EffectStore, number: int) -> ClaimedEffect | None:
    return await store.claim_suspect(token=token(number), lease=LEASE)


async def claim(store: EffectStore, number: int, *, limit: int = 100) -> list[ClaimedEffect]:
    return [*await store.claim(token=token(number), lease=LEASE, limit=limit)]


def token(number: int) -> Token:
    return ids.token(WORKER, number)


def settlement(held: ClaimedEffect, signal: EffectSignal, **more: Any) -> EffectSettlement:
    return EffectSettlement(held.staged.key, held.staged.run, held.token, signal, **more)


def counts(**some: int) -> dict[EffectState, int]:
    return {state: some.get(state.value, 0) for state in EffectState}
