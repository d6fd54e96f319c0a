from __future__ import annotations

from datetime import timedelta

from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery.recover_ledger import Recovered, recover_ledger
from landfast.testing.factory import DAWN, settlement, token
from tests.recovery.scenes import HANDLER, bury, receive, settle_all, store


async def test_done_events_without_a_receipt_run_again_in_the_same_run(
    inbox: SqliteInbox, ledger: SqliteLedger
) -> None:
    events = await store(inbox, 10)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, events[:7])
    seen: list[Recovered] = []

    found = await recover_ledger(inbox, ledger, since=DAWN, who="selma", report=seen.append)

    assert found == Recovered(looked_at=10, without_receipt=3, recovered=3)
    assert seen[-1] == found
    claims = await settle_all(inbox, Signal.FINISH)
    assert {(claim.key, claim.run) for claim in claims} == {(event.key, 1) for event in events[7:]}


async def test_an_event_that_kept_one_handlers_receipt_and_lost_anothers_runs_again(
    inbox: SqliteInbox, ledger: SqliteLedger
) -> None:
    events = await store(inbox, 2)
    claims = await inbox.claim(token=token(1), lease=30, limit=2)
    both = (HANDLER, HandlerName("update_crm"))
    one = (HANDLER,)
    handlers = {events[0].event_id: both, events[1].event_id: one}
    await inbox.settle(
        [settlement(claim, Signal.FINISH, handlers=handlers[claim.event_id]) for claim in claims],
    )
    await receive(inbox, ledger, events)  # of HANDLER alone
    found = await recover_ledger(inbox, ledger, since=DAWN, who="selma")
    assert found == Recovered(looked_at=2, without_receipt=1, recovered=1)
    (claim,) = await inbox.claim(token=token(2), lease=30, limit=2)
    assert claim.event_id == events[0].event_id


async def test_a_tombstone_is_no_proof_that_it_was_done(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await bury(inbox, ledger, event)
    assert (await recover_ledger(inbox, ledger, since=DAWN, who="selma")).recovered == 1


async def test_a_dry_run_changes_nothing(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    await store(inbox, 3)
    await settle_all(inbox, Signal.FINISH)
    found = await recover_ledger(inbox, ledger, since=DAWN, who="selma", dry=True)
    assert found == Recovered(looked_at=3, without_receipt=3, recovered=0)
    assert await inbox.count(Filter(state=State.DONE), at_most=10) == 3


async def test_older_events_are_left_alone(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    await store(inbox, 3)
    await settle_all(inbox, Signal.FINISH)
    found = await recover_ledger(inbox, ledger, since=DAWN + timedelta(hours=1), who="selma")
    assert found == Recovered(0, 0, 0)
