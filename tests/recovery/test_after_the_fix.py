"""The whole story: a bug killed everything, it is fixed, and every dead letter is replayed once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from landfast import Event, Inbox, Transaction
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName, receipt_digest
from landfast.domain.job import JobState, Plan
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.operations.replay_jobs import begin, carry_out
from landfast.recovery.proof import prove
from landfast.testing import TestInbox
from tests.recovery.scenes import settle_all

DEAD = Filter(state=State.DEAD)
CROWD = 2400


@pytest.mark.req("R26", "R61")
async def test_2400_dead_letters_become_2400_orders_after_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = Inbox()
    inbox.source("stripe", provider="stripe", secrets=["whsec_x"])

    @inbox.on("stripe", "*")
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders VALUES ($1)", event.key)

    async with TestInbox(inbox) as t, t.stores() as stores:
        t.ledger.execute("CREATE TABLE orders (event TEXT)")
        await asyncio.gather(*(t.deliver("stripe", type="payment", id=f"evt_{number}") for number in range(CROWD)))
        claims = await settle_all(stores.inbox, Signal.BURY)
        digests = [receipt_digest(stores.identity, claim.source, claim.key) for claim in claims]
        keys = [ReceiptKey(digest, HandlerName("create_order"), 1) for digest in digests]
        await stores.ledger.bury([Receipt(key, Outcome.DEAD) for key in keys])
        await t.drain()
        assert t.ledger.execute("SELECT count(*) FROM orders").fetchone()[0] == 0

        job = await begin(t.archive, DEAD, Plan("", "selma"), chance=inbox.chance, now=inbox.clock.now())
        ended = await carry_out(t.archive, job.id, clock=inbox.clock, chance=inbox.chance)
        await t.drain()

        assert ended is not None
        assert (ended.replayed, ended.state) == (CROWD, JobState.FINISHED)
        orders = t.ledger.execute("SELECT count(*), count(DISTINCT event) FROM orders").fetchone()
        assert tuple(orders) == (CROWD, CROWD)
        proof = await prove(stores.inbox, stores.ledger, clock=inbox.clock, chance=inbox.chance)
        assert (proof.lost, proof.doubled, proof.unproven) == (0, 0, ())
