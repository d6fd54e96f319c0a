"""Whether a worker processes what comes, as it knows itself: nobody is asked for it, the last look counts."""

from __future__ import annotations

from landfast.domain.readiness import Readiness
from landfast.ports.clock import Clock
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.switches import Switches
from landfast.processing.effects.loop import EffectLoop

HEARD_WITHIN_SECONDS = 15.0
"""The inbox is asked once a second. A failover that takes less than this is nobody's business."""


def readiness(switches: Switches, effects: EffectLoop, breakers: Breakers, clock: Clock) -> Readiness:
    inbox = "ok" if clock.monotonic() - switches.heard_at < HEARD_WITHIN_SECONDS else "away"
    # Not by the breaker: it stays open until an event has shown that the ledger is back, and there may be none.
    ledger = f"unsafe: {breakers.unsafe}" if breakers.unsafe else "away" if effects.is_away else "ok"
    layers = {"inbox": inbox, "ledger": ledger}
    if count := breakers.opened:
        layers["breakers"] = f"{count} open"
    return Readiness(is_ready=inbox == ledger == "ok", layers=layers)
