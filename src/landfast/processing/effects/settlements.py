"""What an effect's try comes to, as the ledger takes it."""

from __future__ import annotations

import msgspec

from landfast import telemetry
from landfast.domain.arrival import Awaits
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectSignal
from landfast.domain.errors import StoreError
from landfast.domain.outcome import ANOTHER_WORKER_SECONDS, NO_MASTER_KEY, Tries
from landfast.processing.handlers.error_text import name_of, text_of
from landfast.processing.handlers.registry import EffectHandler

TIMED_OUT = b'{"timed_out":true}'
"""The result of what stands for an arrival that did not come, and is to be done without."""

STEP_AGAIN_SECONDS = 1.0
"""Until a step whose transaction could not be had, or whose COMMIT was not answered, is looked at again."""


def settled(
    claimed: ClaimedEffect,
    signal: EffectSignal,
    *,
    due_in: float = 0.0,
    tries: Tries | None = None,
    unknown_seconds: float = 0.0,
    error: str = "",
    message: str = "",
    trace: str = "",
    result: bytes | None = None,
) -> EffectSettlement:
    step = claimed.staged.step
    return EffectSettlement(
        key=claimed.staged.key,
        run=claimed.staged.run,
        token=claimed.token,
        signal=signal,
        due_in=due_in,
        tries=claimed.tries if tries is None else tries,
        unknown_seconds=unknown_seconds,
        error=error,
        message=message,
        trace=trace,
        result=result,
        is_step=bool(step.leads or step.after),
    )


def closed(claimed: ClaimedEffect) -> EffectSettlement:
    telemetry.warn("no_master_key", effect=claimed.staged.name, event=event_of(claimed), reason=claimed.closed)
    return settled(
        claimed,
        EffectSignal.POSTPONE,
        due_in=ANOTHER_WORKER_SECONDS,
        unknown_seconds=claimed.unknown_seconds,
        error=NO_MASTER_KEY,
        message=claimed.closed,
    )


def again_soon(claimed: ClaimedEffect, error: StoreError) -> EffectSettlement:
    """The ledger is away, or another transaction holds its receipt, or nobody knows whether it committed: no try."""
    telemetry.warn("step_postponed", effect=claimed.staged.name, event=event_of(claimed), error=error)
    return settled(
        claimed, EffectSignal.POSTPONE, due_in=STEP_AGAIN_SECONDS, error=name_of(error), message=text_of(error)
    )


def over(claimed: ClaimedEffect, wait: Awaits, event: str | None) -> EffectSettlement:
    """Of one that stands for an arrival, at its deadline. The event may have come all the same: it was missed by a
    worker of an earlier version, or an operator has us look again."""
    if event is not None:
        return settled(claimed, EffectSignal.FINISH, result=msgspec.json.encode({"event": event}))
    telemetry.warn("arrival_missed", arrival=claimed.staged.name, event=event_of(claimed))
    if wait.runs:
        return settled(claimed, EffectSignal.FINISH, result=TIMED_OUT)
    return settled(claimed, EffectSignal.BURY, error="timed_out", message=wait.told(claimed.staged.name))


def waits_for(known: EffectHandler) -> str:
    return f"it waits for {', '.join(known.uses)}; no attempt is counted"


def event_of(claimed: ClaimedEffect) -> object:
    return msgspec.json.decode(claimed.staged.context).get("id")
