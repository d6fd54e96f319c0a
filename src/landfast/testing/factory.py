"""Consistent rows: deliveries, settlements, and events brought to a state by the road that leads there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from landfast.domain import ids
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import Token, WorkerId
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NO_TRIES, Attempt, Claim, Settlement
from landfast.ports.inbox import Inbox

DAWN = datetime(2026, 3, 2, 9, 30, 0, 123456, tzinfo=UTC)
"""When test time begins: a Monday, with microseconds, so that lost precision shows."""

WORKER = WorkerId(b"worker-1")
LEASE = 30.0
DELAY = 60.0


def delivery(
    key: str = "evt_1",
    *,
    source: str = "shop",
    type: str = "order.created",  # noqa: A002 - the word that Delivery uses
    entity: str | None = None,
    occurred_at: datetime | None = None,
    received_at: datetime = DAWN,
    headers: bytes = b'[["content-type","application/json"]]',
    body: bytes | None = None,
    hold: str = "",
) -> Delivery:
    identity = Identity(key, type, entity, occurred_at)
    content = b'{"id":"%s"}' % key.encode("utf-8", "replace") if body is None else body
    made = Delivery.of(source, identity, received_at=received_at, headers=headers, body=content)
    return msgspec.structs.replace(made, hold=hold) if hold else made


def deliveries(count: int, *, prefix: str = "evt", **same: Any) -> list[Delivery]:
    """One second apart, oldest first."""
    return [
        delivery(f"{prefix}_{number:04}", received_at=DAWN + timedelta(seconds=number), **same)
        for number in range(count)
    ]


def token(number: int, worker: WorkerId = WORKER) -> Token:
    return ids.token(worker, number)


def settlement(claim: Claim, signal: Signal, **more: Any) -> Settlement:
    return Settlement(claim.event_id, claim.run, claim.token, signal, **more)


def failure(signal: Signal = Signal.RETRY) -> dict[str, Any]:
    """What a settlement that follows a failed attempt carries besides its signal."""
    attempt = Attempt("create_order", 1, signal.value, 12.5, "IntegrityError", "duplicate order", "Traceback ...")
    return {
        "attempts": (attempt,),
        "handler": "create_order",
        "reason": "permanent",
        "error": "IntegrityError",
        "message": "duplicate order",
    }


_ROADS: dict[State, Signal] = {
    State.READY: Signal.RELEASE,
    State.DELAYED: Signal.RETRY,
    State.UNHANDLED: Signal.NO_HANDLER,
    State.PAUSED: Signal.PAUSE,
    State.QUEUED: Signal.QUEUE,
    State.PARKED: Signal.PARK,
    State.DONE: Signal.FINISH,
    State.DEAD: Signal.BURY,
}


async def event_in(inbox: Inbox, state: State, what: Delivery | None = None, *, number: int = 1) -> Claim:
    """Record an event and bring it to the state; the claim that it went through. It must be the oldest ready one."""
    what = what or delivery()
    if state is State.HELD:
        await inbox.record([msgspec.structs.replace(what, hold="late")])
        return _never_made(what, token(number))
    await inbox.record([what])
    (claim,) = await inbox.claim(token=token(number), lease=LEASE, limit=1)
    assert claim.event_id == what.event_id, "another event was ready before this one"
    if state is not State.CLAIMED:
        details = failure(_ROADS[state]) if state in {State.DELAYED, State.DEAD} else {}
        assert list(await inbox.settle([settlement(claim, _ROADS[state], due_in=DELAY, **details)])) == [True]
    return claim


def _never_made(what: Delivery, claimed: Token) -> Claim:
    """The claim that somebody would have who does not know that the event is held."""
    same = ("event_id", "source", "key", "type", "entity", "occurred_at", "received_at", "headers", "body")
    fields: dict[str, Any] = {name: getattr(what, name) for name in same}
    return Claim(run=1, token=claimed, forced=False, suspect=False, crashes=0, tries=NO_TRIES, **fields)
