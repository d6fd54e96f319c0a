"""The loop of alerts, in every worker and every intake: one of them is on duty at a time.

Workers are preferred, so that a look costs no sender a millisecond. An intake takes over when no worker has been on
duty for a while, because then no worker lives; and it hands back when one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from landfast import telemetry
from landfast.alerting.courier import Courier
from landfast.alerting.evaluate import TASK, Evaluator
from landfast.alerting.outage import Outage
from landfast.alerting.plan import Plan
from landfast.alerting.senders import Senders
from landfast.domain.alerts.observation import Observation
from landfast.domain.alerts.states import Step
from landfast.domain.errors import StoreError
from landfast.domain.ids import BootId
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox

LEAD_LOOKS = 4
"""Looks that may be missed until somebody else takes over."""

STANDBY_LOOKS = 2
"""That an intake leaves to workers beyond that."""

LAST_WORD_SECONDS = 2.0
"""For an inbox to hear, at the end, that the duty is free."""


class AlertLoop:
    def __init__(
        self, inbox: Inbox, plan: Plan, clock: Clock, chance: Chance, *, is_standby: bool, store: str = ""
    ) -> None:
        self._inbox = inbox
        self._plan = plan
        self._clock = clock
        self._is_standby = is_standby
        self._who = BootId(chance.bytes(8))
        self._evaluator = Evaluator(inbox, plan, chance, who=self._who)
        self._senders = Senders(plan.sinks)
        self.courier = Courier(inbox, self._senders)
        self._outage = Outage(plan, self._senders, store=store, new_id=lambda: chance.bytes(16).hex())
        self._error = ""
        self._leads = False

    async def run(self) -> None:
        """For ever, whatever happens."""
        await self._clock.sleep(self._plan.every * (LEAD_LOOKS if self._is_standby else 1))
        while True:
            await self.look()
            await self._clock.sleep(self._plan.every)

    async def look(self) -> Step | None:
        """Once; what followed from it, or None where another is on duty, or the inbox is away."""
        try:
            made = await self._look()
        except StoreError as error:
            if self._error != str(error):
                telemetry.warn("alerts_not_evaluated", error=error)
            self._error = str(error)
            if self._is_standby:
                await self._outage.failed(self._clock.now(), error)
            return None
        except Exception as error:  # noqa: BLE001 - a look that fails must not be the last one
            if self._error != str(error):
                telemetry.error("alerts_failed", trace=error)
            self._error = str(error)
            return None
        self._error = ""
        if self._is_standby:
            await self._outage.answered(self._clock.now())
        return made

    async def close(self) -> None:
        await self.courier.close()
        self._senders.close()
        if not self._leads:
            return
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(LAST_WORD_SECONDS):
                await self._inbox.resign(TASK, who=self._who)

    async def _look(self) -> Step | None:
        patience = STANDBY_LOOKS * self._plan.every if self._is_standby else 0.0
        lasting = LEAD_LOOKS * self._plan.every
        now = await self._inbox.lead(TASK, who=self._who, lasting=lasting, patience=patience)
        self._leads = now is not None
        if now is None:
            return None
        seen, made = await self._evaluator.look(now)
        self.courier.start()
        if self._is_standby and _has_worker(seen):
            await self._inbox.resign(TASK, who=self._who)
            self._leads = False
        return made


def _has_worker(seen: Observation) -> bool:
    return any(pulse.role == "worker" and (seen.at - pulse.seen_at).total_seconds() < 10 for pulse in seen.pulses)


@asynccontextmanager
async def alerting(
    inbox: Inbox, plan: Plan, clock: Clock, chance: Chance, *, is_standby: bool, store: str
) -> AsyncIterator[AlertLoop]:
    loop = AlertLoop(inbox, plan, clock, chance, is_standby=is_standby, store=store)
    running = asyncio.create_task(loop.run(), name="landfast alerts")
    try:
        yield loop
    finally:
        running.cancel()
        await asyncio.wait([running])
        await loop.close()
