"""Where the answers of endpoints are found: in the ledger, with the receipts, and nowhere else.

A `done` receipt of the endpoint's handler has the answer, whether or not anybody has settled its event yet. Where there
is none, the inbox says what became of the event: it may have failed, or still be on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Difference
from landfast.domain.endpoint import Endpoint, OnFailure
from landfast.domain.ids import EventId, InboxId, ReceiptDigest, receipt_digest
from landfast.domain.lifecycle import Signal, from_states
from landfast.domain.outcome import DISCARDED, Outcome, Receipt
from landfast.domain.response import StoredResponse, fingerprint_of, read_result
from landfast.domain.summary import EventRecord
from landfast.intake.endpoints import problems

REPLAYED = (b"idempotent-replayed", b"true")
"""On an answer that was stored before this request came."""


FAILED = from_states(Signal.CLOSE)
"""States of what an operator could close: it has failed for good, and runs again only if somebody says so."""

DONE = from_states(Signal.RECOVER)
"""States of what would be recovered if its receipt were lost."""


class Receipts(Protocol):
    """A ledger, as far as it is needed here."""

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]: ...


class Events(Protocol):
    """An inbox, as far as it is needed here."""

    async def identity(self) -> InboxId: ...

    async def differing(self, deliveries: Sequence[Delivery]) -> Sequence[Difference | None]: ...

    async def show(self, event: EventId) -> EventRecord | None: ...

    async def replay(self, events: Sequence[EventId], *, forced: bool, who: str) -> int: ...


@dataclass(slots=True, eq=False)
class Caller:
    """Somebody who waits for the answer to one call."""

    endpoint: Endpoint
    source: str
    event: EventId
    asked: str
    """The path of its request."""
    deadline: float
    tell: Callable[[Answer], None]
    key: str | None = None
    """None for one who asks by a link: then the inbox knows it."""
    came_again: Delivery | None = None
    """A call whose key is known, until it was compared with the first one. It holds the body, so it is let go soon."""
    fingerprint: str | None = None
    is_replayed: bool = False
    is_last_look: bool = False
    was_failed: bool = False
    """There is a tombstone: the inbox knows whether a replay goes on."""
    retry_after: float | None = None
    """Seconds until it is tried again, where that is known."""


def call_of(
    endpoint: Endpoint, delivery: Delivery, *, is_new: bool, deadline: float, tell: Callable[[Answer], None]
) -> Caller:
    return Caller(
        endpoint,
        delivery.source,
        delivery.event_id,
        endpoint.path,
        deadline,
        tell,
        key=delivery.key,
        came_again=None if is_new else delivery,
        fingerprint=fingerprint_of(delivery.body),
        is_replayed=not is_new,
    )


class StoredAnswers:
    def __init__(self, inbox: Events, ledger: Receipts) -> None:
        self._inbox = inbox
        self._ledger = ledger
        self._identity: InboxId | None = None

    async def look(self, callers: Sequence[Caller], answer: Callable[[Caller, Answer], None]) -> None:
        """Answer those for whom there is an answer now. LandfastError where a database cannot say; whoever could be
        answered without it was."""
        waiting = await self._answer_done([caller for caller in callers if caller.key is not None], answer)
        asking = [caller for caller in callers if caller.key is None]
        for caller in asking:
            await self._know(caller, answer)
        waiting += await self._answer_done([caller for caller in asking if caller.key is not None], answer)
        for caller in waiting:
            await self._look_at_inbox(caller, answer)

    async def _answer_done(self, callers: Sequence[Caller], answer: Callable[[Caller, Answer], None]) -> list[Caller]:
        """Those that have no answer yet."""
        receipts = await self._receipts(callers)
        waiting = []
        for caller in callers:
            found = receipts.get(self._digest(caller), [])
            done = _newest_done(caller, found)
            if done is not None:
                answer(caller, answer_in(done, caller))
            else:
                caller.was_failed = any(each.key.handler == caller.endpoint.handler for each in found)
                waiting.append(caller)
        return waiting

    async def _know(self, caller: Caller, answer: Callable[[Caller, Answer], None]) -> None:
        record = await self._inbox.show(caller.event)
        if record is None or record.summary.source != caller.source:
            answer(caller, problems.UNKNOWN_CALL)
        else:
            caller.key = record.summary.key

    async def _receipts(self, callers: Sequence[Caller]) -> dict[ReceiptDigest, list[Receipt]]:
        self._identity = self._identity or await self._inbox.identity()
        found: dict[ReceiptDigest, list[Receipt]] = {}
        for receipt in await self._ledger.receipts(list({self._digest(caller) for caller in callers})):
            found.setdefault(receipt.key.digest, []).append(receipt)
        return found

    async def _look_at_inbox(self, caller: Caller, answer: Callable[[Caller, Answer], None]) -> None:
        """At a call that comes again, at one that may have failed, and once more before it is sent away. The others
        wait for their receipt: to look at each of them each time would cost more than their answers."""
        again = caller.came_again
        if again is not None:
            [difference] = await self._inbox.differing([again])
            if difference is not None and difference.body:
                answer(caller, problems.OTHER_BODY)
                return
        elif not (caller.was_failed or caller.is_last_look):
            return
        record = await self._inbox.show(caller.event)
        caller.came_again = None
        if record is not None:
            await self._judge(caller, record, answer, may_run=again is not None)

    async def _judge(
        self, caller: Caller, record: EventRecord, answer: Callable[[Caller, Answer], None], *, may_run: bool
    ) -> None:
        event = record.summary
        may_run = may_run and caller.endpoint.failed is OnFailure.RUN_AGAIN
        # Somebody decided that a discarded call is not processed: its caller does not overrule them.
        if event.state in FAILED and may_run and event.reason != DISCARDED:
            # Of several who come at once, one starts the run: it is not dead any more when the others ask. Crash after
            # the COMMIT: the run goes on, and the caller finds it when it comes again.
            await self._inbox.replay([caller.event], forced=False, who=f"a caller of {caller.endpoint.path}")
            caller.is_replayed = False
        elif event.state in FAILED:
            answer(caller, problems.failed(caller.event.hex(), event.reason))
        elif event.state in DONE:
            answer(caller, await self._gone(caller, event.reason))
        if event.due_at is not None and event.since is not None:
            caller.retry_after = (event.due_at - event.since).total_seconds()

    async def _gone(self, caller: Caller, reason: str) -> Answer:
        """Done, and no receipt was there: it may have been committed since, an operator may have closed what had
        failed, or it is gone."""
        found = (await self._receipts([caller])).get(self._digest(caller), [])
        done = _newest_done(caller, found)
        if done is not None:
            return answer_in(done, caller)
        was_failed = caller.was_failed or reason == DISCARDED  # one that never ran has no tombstone
        return problems.failed(caller.event.hex(), reason) if was_failed else problems.ANSWER_GONE

    def _digest(self, caller: Caller) -> ReceiptDigest:
        assert self._identity is not None and caller.key is not None  # noqa: S101, PT018 - both were asked for before
        return receipt_digest(self._identity, caller.source, caller.key)


def answer_in(receipt: Receipt, caller: Caller) -> Answer:
    """What a `done` receipt tells this caller."""
    stored = read_result(receipt.result)
    if stored is None:
        return problems.ANSWER_GONE
    if caller.fingerprint is not None and caller.fingerprint != stored.fingerprint:
        return problems.OTHER_BODY
    return _told(stored, is_replayed=caller.is_replayed)


def _told(stored: StoredResponse, *, is_replayed: bool) -> Answer:
    headers = [(name.encode(), value.encode()) for name, value in stored.headers]
    kind = next((value for name, value in headers if name == b"content-type"), b"application/json")
    others = [pair for pair in headers if pair[0] != b"content-type"] + [REPLAYED] * is_replayed
    return Answer(stored.status, stored.content, kind, tuple(others))


def _newest_done(caller: Caller, receipts: Sequence[Receipt]) -> Receipt | None:
    """A forced replay makes a second answer: then that one counts."""
    done = [each for each in receipts if each.outcome is Outcome.DONE and each.key.handler == caller.endpoint.handler]
    return max(done, key=lambda receipt: receipt.key.run, default=None)
