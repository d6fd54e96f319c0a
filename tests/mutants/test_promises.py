"""Promises that only a mutant would break: no other test looked at them closely enough."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.errors import CommitUnknownError, LedgerUnavailableError
from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.domain.outcome import ReceiptKey
from landfast.intake.source import Source
from landfast.ports.provider import NO_KEYS, Found, Greeting, Hidden, Proven, Secret, Signature
from landfast.providers import Profile, provider
from landfast.testing.factory import deliveries
from tests.inboxes.postgres_bench import PostgresBench
from tests.intake.desk import SECRET, Desk, body
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert, receipt_key


@dataclass
class Watched:
    """A provider that remembers what it was asked."""

    profile: Profile = field(default_factory=lambda: provider("stripe"))
    asked: list[str] = field(default_factory=list)

    name = "stripe"
    body_limit = 1_000_000
    tolerance = 300.0
    refusal = 401
    thanks = None
    greets = False

    def takes(self, method: str) -> bool:
        return self.profile.takes(method)

    def greet(self, head: Head, secrets: Sequence[Secret], *, url: str = "") -> Greeting | None:
        return self.profile.greet(head, secrets, url=url)

    def present(self, head: Head) -> Signature:
        self.asked.append("present")
        return self.profile.present(head)

    def verify(
        self,
        signature: Signature,
        head: Head,
        body: bytes,
        secrets: Sequence[Secret],
        *,
        url: str = "",
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> Proven:
        self.asked.append("verify")
        return self.profile.verify(signature, head, body, secrets, url=url, keys=keys)

    def signed_at(self, proven: Proven) -> float | None:
        return self.profile.signed_at(proven)

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return self.profile.hidden_headers

    @property
    def fixed_keys(self) -> str | None:
        return self.profile.fixed_keys

    @property
    def signs_once(self) -> bool:
        return self.profile.signs_once

    def proof(self, signature: Signature, proven: Proven) -> bytes | None:
        return self.profile.proof(signature, proven)

    def ordinary(self, secrets: Sequence[Secret], *, tolerance: float) -> None:
        """None of its requests is: each step is watched."""

    def find(self, proven: Proven, received_at: datetime) -> Sequence[Found]:
        self.asked.append("find")
        return self.profile.find(proven, received_at)

    def handshake(self, proven: Proven) -> Greeting | None:
        self.asked.append("handshake")
        return self.profile.handshake(proven)


@pytest.mark.req("R1")
async def test_nothing_of_a_forged_request_is_read_but_its_signature() -> None:
    watched = Watched()
    desk = Desk(sources=(Source("stripe", watched, (Secret("first", SECRET.encode()),)),))
    forged = await desk.intake.respond(desk.intake.admit(desk.head(body(1))), body(2))
    assert forged.status == 401
    assert watched.asked[:2] == ["present", "verify"]
    desk.intake.reports.guesser.finish()  # the operator's diagnosis comes after that, and reads no event either
    assert not {"find", "handshake"} & set(watched.asked)
    watched.asked.clear()
    assert (await desk.deliver(body(1))).status == 200
    assert watched.asked == ["present", "verify", "handshake", "find"]


@pytest.mark.req("R3", "R5")
async def test_a_twin_that_comes_during_the_commit_is_not_answered_before_it() -> None:
    desk = Desk()
    desk.recorder.gate.clear()
    first = desk.receive(body())
    await desk.recorder.entered.wait()
    twin = desk.receive(body())
    assert not isinstance(twin, Answer), "the cache knew an event that is not durable yet"
    desk.recorder.bug = ZeroDivisionError("the COMMIT fails")
    desk.recorder.gate.set()
    assert not isinstance(first, Answer) and [(await first).status, (await twin).status] == [500, 500]
    assert len(desk.seen) == 0
    desk.recorder.bug = None
    assert b"stored" in (await desk.deliver(body())).body


@pytest.mark.req("R24")
async def test_a_commit_without_an_answer_is_never_judged_a_failure(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it happened or not: no attempt is counted, and in the end its writes are there once."""
    shop.on(attempts=1, name="create_order")(insert)
    begin = shop.ledger.begin
    for key, happened in (("evt_kept", True), ("evt_lost", False)):

        async def unanswered(happened: bool = happened, **options: Any) -> Any:
            tx = await begin(**options)
            commit = tx.commit

            async def cut(**what: Any) -> None:
                await (commit(**what) if happened else tx.rollback())
                raise CommitUnknownError("ledger: no answer to COMMIT")

            tx.commit = cut
            return tx

        await shop.deliver(key)
        with monkeypatch.context() as patch:
            patch.setattr(shop.ledger, "begin", unanswered)
            await shop.drain()
        assert await shop.state(key) is State.DELAYED
        await shop.settle_down()
        history = (await shop.show(key)).history
        assert await shop.state(key) is State.DONE
        assert {attempt.outcome for line in history for attempt in line.attempts} <= {"done", "skipped"}
    assert await shop.orders() == ["evt_kept", "evt_lost"]


@pytest.mark.req("R24")
async def test_a_receipt_is_synced_before_its_commit_is_believed(shop: Shop) -> None:
    """Whatever the server's sessions are set to."""
    setting, safe = ("SHOW synchronous_commit", "on") if shop.store == "postgres" else ("PRAGMA synchronous", 2)
    if shop.store == "postgres":
        await _commit_lazily_from_now_on(shop)
    tx = await _reserved(shop, receipt_key(shop, "evt_1"))
    handle = (await tx.scope()).handle
    assert await handle.fetchval(setting) == safe
    await tx.scope()  # as between two events of a group
    assert await handle.fetchval(setting) == safe
    await tx.commit(results=[], effects=[])


@pytest.mark.req("R24")
async def test_a_handler_that_commits_lazily_does_not_make_its_receipt_lazy(postgres_shop: Shop) -> None:
    """The event would be done in the inbox, and a crash of the server could still take its receipt and its writes."""
    shop = postgres_shop
    for statement in (
        "CREATE TABLE noted (setting text)",
        """CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$""",
        """CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON landfast_ledger.receipt DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note()""",
    ):
        await shop.sql(statement)

    @shop.on(name="create_order")
    async def create_order(event: Event, tx: Any) -> None:
        # Not by its name, which is seen and put back before COMMIT.
        await tx.execute("SELECT set_config(concat('synchronous', '_commit'), 'off', true)")
        await insert(event, tx)

    await shop.deliver("evt_1")
    await shop.drain()
    assert [row["setting"] for row in await shop.sql("SELECT setting FROM noted")] == ["on"]


async def _commit_lazily_from_now_on(shop: Shop) -> None:
    """Behind the back of a ledger that is open: one that opens now would refuse such a server."""
    name = (await shop.sql("SELECT current_database()"))[0][0]
    await shop.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    await shop.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()", name
    )


async def _reserved(shop: Shop, key: ReceiptKey) -> Any:
    """A transaction with its receipt, on a connection that lives: each old one is found dead once, at its first
    statement."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
            try:
                await tx.reserve([key])
            except LedgerUnavailableError:
                await tx.rollback()
                await asyncio.sleep(0.01)
            else:
                return tx


async def test_batches_in_opposite_orders_do_not_deadlock(database: str) -> None:
    low, middle, high = sorted(deliveries(3), key=lambda each: each.event_id)
    async with PostgresBench(database).migrated() as bench:
        holder = await asyncpg.connect(database)
        holding = holder.transaction()
        await holding.start()
        await holder.execute("INSERT INTO landfast.identity VALUES ($1, $2)", middle.event_id, middle.received_at)
        # Each goes as far as it can before the middle one: taken in the order given, that would be too far.
        waiting = [
            asyncio.create_task(inbox.record(batch))
            for inbox, batch in (
                (await bench.another(), [low, middle, high]),
                (await bench.another(), [high, middle, low]),
            )
        ]
        waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        await bench.until(waits, 2)
        await holding.rollback()
        await holder.close()
        recorded = await asyncio.gather(*waiting)
        assert sum(row.is_new for batch in recorded for row in batch) == 3
