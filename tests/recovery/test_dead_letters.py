from __future__ import annotations

import pytest

from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Attempt
from landfast.inboxes.sqlite import SqliteInbox
from landfast.recovery.dead_letters import dead_letter
from landfast.testing.clock import ManualClock
from landfast.testing.factory import delivery, failure, settlement, token


@pytest.mark.req("R25")
async def test_a_dead_letter_has_everything_that_somebody_who_decides_needs(
    inbox: SqliteInbox, clock: ManualClock
) -> None:
    event = delivery(body=b'{"id":"evt_1","amount":1}')
    await inbox.record([event])
    began = clock.now()
    for number in (1, 2):
        (claim,) = await inbox.claim(token=token(number), lease=30, limit=1)
        signal = Signal.RETRY if number == 1 else Signal.BURY
        attempt = Attempt("create_order", number, signal.value, 5, "IntegrityError", f"no. {number}", f"Trace {number}")
        details = failure() | {"attempts": (attempt,), "reason": "attempts_exhausted", "message": "no. 2"}
        await inbox.settle([settlement(claim, signal, due_in=10, **details)])
        clock.advance(10)
    record = await inbox.show(event.event_id)
    assert record is not None

    letter = dead_letter(record)

    assert letter is not None
    assert (letter.key, letter.source, letter.type) == (event.key, "shop", "order.created")
    assert letter.body == event.body
    assert (letter.error, letter.message, letter.trace) == ("IntegrityError", "no. 2", "Trace 2")
    assert (letter.handler, letter.reason, letter.attempts, letter.run) == ("create_order", "attempts_exhausted", 2, 1)
    assert letter.received_at == event.received_at
    assert (letter.first_failed_at, letter.died_at) == (began, clock.now().replace(second=began.second + 10))
    assert letter.replay_policy == "manual"


async def test_only_the_run_that_died_counts(inbox: SqliteInbox, clock: ManualClock) -> None:
    event = delivery()
    await inbox.record([event])
    for number, tries in ((1, 12), (2, 1)):
        (claim,) = await inbox.claim(token=token(number), lease=30, limit=1)
        attempt = Attempt("create_order", tries, "dead", 5, "IntegrityError", "", f"Trace of run {number}")
        await inbox.settle([settlement(claim, Signal.BURY, **failure() | {"attempts": (attempt,)})])
        clock.advance(10)
        if number == 1:
            await inbox.replay([event.event_id], forced=False, who="selma")
    record = await inbox.show(event.event_id)
    assert record is not None
    letter = dead_letter(record)
    assert letter is not None
    assert (letter.run, letter.attempts, letter.trace) == (2, 1, "Trace of run 2")


async def test_one_that_was_refused_unread_has_a_reason_and_no_attempt(inbox: SqliteInbox) -> None:
    event = delivery(body=b"\xff")
    await inbox.record([event])
    (claim,) = await inbox.claim(token=token(1), lease=30, limit=1)
    await inbox.settle([settlement(claim, Signal.REFUSE, reason="malformed_body", message="not UTF-8")])
    record = await inbox.show(event.event_id)
    assert record is not None
    letter = dead_letter(record)
    assert letter is not None
    assert (letter.reason, letter.attempts, letter.trace, letter.first_failed_at) == ("malformed_body", 0, "", None)
    assert letter.died_at is not None


async def test_an_event_that_is_not_dead_is_no_dead_letter(inbox: SqliteInbox) -> None:
    event = delivery()
    await inbox.record([event])
    record = await inbox.show(event.event_id)
    assert record is not None
    assert dead_letter(record) is None
