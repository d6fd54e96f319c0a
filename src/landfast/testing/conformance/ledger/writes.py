"""Writes that need no answer: what a handler queues with `tx.write`, on the port and by whole groups."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from landfast.domain import ids
from landfast.domain.backoff import Backoff
from landfast.domain.errors import HandlerEndedTransactionError, LandfastError, UserError
from landfast.domain.event import Event
from landfast.domain.ids import InboxId, Token
from landfast.domain.outcome import Claim
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.handlers.writes import ApartError
from landfast.processing.invoke import Watch
from landfast.processing.prepare import Preparation
from landfast.processing.transact import StumbledError, Transactor
from landfast.processing.work import Work
from landfast.testing.clock import ManualClock
from landfast.testing.conformance.ledger.desk import (
    DEADLINE,
    HANDLER,
    Desk,
    key,
    order,
    orders,
    receipt_count,
    transaction,
)
from landfast.testing.factory import DAWN

INSERT = "INSERT INTO shop_order (payment) VALUES ($1)"
RENAME = "UPDATE shop_order SET payment = $1 WHERE payment = $2"


class WritesConformance:
    async def test_statements_without_answers_run_in_their_order(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            used = [tx.given.used]
            await tx.handle.send_all([(INSERT, [("pay_1",), ("pay_2",)]), (RENAME, [("pay_3", "pay_1")])])
            assert [*used, tx.given.used] == [False, True]
            assert await tx.handle.fetchval("SELECT count(*) FROM shop_order") == 2
            await tx.handle.send_all([(INSERT, [("pay_1",)]), ("DELETE FROM shop_order WHERE payment = 'pay_2'", [()])])
            await tx.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1", "pay_3"]

    async def test_they_cannot_end_the_transaction(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            with pytest.raises(HandlerEndedTransactionError, match="savepoint"):
                await tx.handle.send_all([("COMMIT", [()])])
            with contextlib.suppress(Exception):  # most drivers take one statement at a time
                await tx.handle.send_all([("INSERT INTO shop_order VALUES ('pay_1'); COMMIT", [()])])
            assert (await orders(desk), await receipt_count(desk)) == ([], 0)
            with contextlib.suppress(Exception):
                await desk.raw(tx.handle.connection, "ROLLBACK")
                with pytest.raises(LandfastError):
                    await tx.handle.send_all([(INSERT, [("pay_2",)])])
            leaked = tx.handle
        with pytest.raises(UserError, match="has ended"):
            await leaked.send_all([(INSERT, [("pay_3",)])])
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_one_that_fails_loses_the_attempt(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            with pytest.raises(Exception):  # noqa: B017, PT011 - each driver has its own
                await tx.handle.send_all([(INSERT, [("pay_2",), ("pay_1",), ("pay_3",)])])
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)

    async def test_the_writes_of_a_group_are_committed_with_its_receipts(self, desk: Desk) -> None:
        def handle(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            tx.write("INSERT INTO shop_line (payment) VALUES ($1)", event.key)

        await transacted(desk, handle, ["pay_1", "pay_2", "pay_3"])
        assert await orders(desk) == ["pay_1", "pay_2", "pay_3"]
        assert len(await desk.look("SELECT payment FROM shop_line")) == await receipt_count(desk) == 3

    async def test_a_write_comes_before_the_statement_after_it(self, desk: Desk) -> None:
        seen: list[int] = []

        def handle(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            if event.key != "pay_1":
                seen.append(tx.fetchval("SELECT count(*) FROM shop_order"))
            tx.write(RENAME, f"{event.key} paid", event.key)

        async def waits(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            if event.key != "pay_1":
                seen.append(await tx.fetchval("SELECT count(*) FROM shop_order"))
            tx.write(RENAME, f"{event.key} paid", event.key)

        await transacted(desk, handle, ["pay_1", "pay_2", "pay_3"], waits)
        assert seen == [2, 3]
        assert await orders(desk) == ["pay_1 paid", "pay_2 paid", "pay_3 paid"]

    async def test_the_error_of_a_write_belongs_to_its_event(self, desk: Desk) -> None:
        """The group runs once more, one event's writes after the other's: then it is known whose it was."""
        await desk.change("INSERT INTO shop_order VALUES ('pay_2')")

        def handle(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)

        with pytest.raises(ApartError):
            await transacted(desk, handle, ["pay_1", "pay_2", "pay_3"])
        assert (await orders(desk), await receipt_count(desk)) == (["pay_2"], 0)
        with pytest.raises(StumbledError) as caught:
            await transacted(desk, handle, ["pay_1", "pay_2", "pay_3"], is_apart=True)
        assert caught.value.work.event.key == "pay_2"
        assert (await orders(desk), await receipt_count(desk)) == (["pay_2"], 0)

    async def test_nothing_is_written_for_a_handler_that_raises_or_hides_an_error(self, desk: Desk) -> None:
        def raises(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            raise ZeroDivisionError

        def hides(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            tx.write(INSERT, event.key)
            tx.write(INSERT, "lost")
            with contextlib.suppress(Exception):
                tx.execute("UPDATE shop_order SET payment = payment")

        async def hides_too(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key)
            tx.write(INSERT, event.key)
            tx.write(INSERT, "lost")
            with contextlib.suppress(Exception):
                await tx.execute("UPDATE shop_order SET payment = payment")

        for handle, waits in ((raises, None), (hides, hides_too)):
            with pytest.raises(StumbledError):
                await transacted(desk, handle, ["pay_1"], waits)
            assert (await orders(desk), await receipt_count(desk)) == ([], 0)


async def transacted(
    desk: Desk,
    blocks: Callable[[Event, Any], None],
    keys: Sequence[str],
    waits: Callable[..., Any] | None = None,
    *,
    is_apart: bool = False,
    deadline: float = DEADLINE,
) -> None:
    """One transaction of a worker, by `blocks` where the ledger has its handlers in a thread, and by `waits` where
    not."""
    begun = await desk.ledger.begin(deadline=DEADLINE)
    await begun.rollback()

    async def waits_for_nothing(event: Event, tx: Any) -> None:
        blocks(event, tx)

    function = blocks if begun.lane is not None else waits or waits_for_nothing
    handler = Handler(
        name=HANDLER,
        source="shop",
        pattern="*",
        function=function,
        attempts=1,
        backoff=Backoff(),
        deadline=deadline,
        isolation=None,
        group=True,
    )
    registry, clock = Registry(), ManualClock()
    registry.add_handler(handler)
    transactor = Transactor(desk.ledger, registry, clock, Threads(), Watch(lambda: None))
    await transactor.transact(handler, [_work(registry, clock, key) for key in keys], is_apart=is_apart)


def _work(registry: Registry, clock: ManualClock, name: str) -> Work:
    claim = Claim(
        event_id=ids.event_id("shop", name),
        run=1,
        token=Token(b""),
        forced=False,
        suspect=False,
        crashes=0,
        tries={},
        source="shop",
        key=name,
        type="order.paid",
        entity=None,
        occurred_at=None,
        received_at=DAWN,
        headers=b"[]",
        body=b"{}",
    )
    (work,) = Preparation(InboxId(b"i" * 16), registry, clock).prepare(claim).works
    return work
