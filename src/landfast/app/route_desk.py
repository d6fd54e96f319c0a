"""Where a middleware asks whether a route of the host's may have a request, and says what the route answered.

An event for a route is recorded as held, so that no worker sees it. Whoever takes it to the route admits and claims it
in one transaction, so that of all twins, in all processes, one runs. What the route has answered with 2xx is dismissed:
done without a handler. What it has not is unhandled, and claimed again when the sender comes again.

    held --admit, claim--> claimed --dismiss--> done
                             ^  \\--no handler--> unhandled
                             '----requeue, claim----'

Crash while it is claimed: the lease expires, and the sender, who heard nothing, comes again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import msgspec

from landfast import telemetry
from landfast.app.host_log import show_lines
from landfast.app.life import Life
from landfast.app.mount import turned_away
from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.errors import LandfastError, OverloadedError, StoreError
from landfast.domain.ids import EventId, HandlerName, SeenMark, WorkerId, token
from landfast.domain.lifecycle import Signal, from_states
from landfast.domain.outcome import Attempt, Claim, Settlement, Tries
from landfast.intake.receive import Intake
from landfast.ports.clock import Clock
from landfast.ports.inbox import Inbox
from landfast.processing.control.leases import Leases
from landfast.web.asgi import Receive, Scope, head_of, take_in
from landfast.web.http.connections import Limits

ROUTE = "route"
"""What its events are held for, and who has tried, in the words of `landfast events show`."""

TWIN_SECONDS = 3.0
"""That a twin waits for the one that runs. Some senders wait no longer for an answer; it is told to come again then."""

LOOK_AGAIN_SECONDS = 0.05
"""Between two looks at an event that another process has. Those of this process wait for each other."""

OPEN = from_states(Signal.FINISH)
"""States of what is not settled yet."""


class Turn(NamedTuple):
    """A request that its route answers now."""

    claims: Sequence[Claim]
    body: bytes


class OpenDesk(NamedTuple):
    intake: Intake
    inbox: Inbox


class RouteDesk:
    """On one loop, in one process."""

    def __init__(
        self,
        intake: Callable[[], AbstractAsyncContextManager[Intake]],
        inbox: Callable[[], AbstractAsyncContextManager[Inbox]],
        *,
        worker: WorkerId,
        clock: Clock,
        lease: float,
    ) -> None:
        self._intake, self._inbox = intake, inbox
        self._worker, self._clock, self._lease = worker, clock, lease
        self._life: Life[OpenDesk] | None = None
        self._settled = LocalSeen()
        self._running: dict[EventId, asyncio.Future[None]] = {}
        self._turns = 0
        self._leases = Leases()
        self._is_closed = False

    async def enter(self, source: str, scope: Scope, receive: Receive) -> Turn | Answer:
        """The route's turn, with the exact body; or the answer, without it."""
        try:
            desk = await self._opened()
        except LandfastError as error:
            telemetry.error("mount_not_opened", error=error)
            return turned_away()
        head = msgspec.structs.replace(head_of(scope), path=f"/in/{source}")
        answer, body = await take_in(desk.intake, head, receive, Limits())
        try:
            claims = await self._claims(desk, [EventId(event) for event in answer.events])
        except (StoreError, TimeoutError, OverloadedError):
            return turned_away()
        return Turn(claims, body) if claims else answer

    async def leave(self, turn: Turn, *, status: int | None, milliseconds: float) -> None:
        """What became of it; no status where the route raised."""
        try:
            desk = await self._opened()
            settlements = [_settlement(claim, status, milliseconds) for claim in turn.claims]
            took_effect = await desk.inbox.settle(settlements)
            done = [each.event_id for each in settlements if each.signal is Signal.DISMISS]
            if all(took_effect):
                self._settled.remember([SeenMark(event) for event in done])
        except LandfastError as error:
            # What the route did is done, and the sender hears of it. If it comes again, the route runs again.
            telemetry.warn("route_not_settled", count=len(turn.claims), error=error)
        finally:
            self._let_go(turn.claims)

    async def aclose(self) -> None:
        self._is_closed = True
        if self._life is not None:
            await self._life.close()

    async def _claims(self, desk: OpenDesk, events: Sequence[EventId]) -> Sequence[Claim]:
        """Of the events of a request, those that are not settled, all of them ours now."""
        async with asyncio.timeout(TWIN_SECONDS):
            while left := [event for event in events if not self._settled.has(SeenMark(event))]:
                if twin := next((self._running[event] for event in left if event in self._running), None):
                    await asyncio.wait([twin])
                    continue
                claims = await self._claim_all(desk, left)
                if claims is not None:
                    return claims
                await self._clock.sleep(LOOK_AGAIN_SECONDS)
        return ()

    async def _claim_all(self, desk: OpenDesk, events: Sequence[EventId]) -> Sequence[Claim] | None:
        """None where somebody else has one of them."""
        self._turns += 1
        mine = token(self._worker, self._turns)
        over = asyncio.get_running_loop().create_future()
        self._running |= dict.fromkeys(events, over)  # before the first await: a twin finds it
        claims: list[Claim] = []
        try:
            for event in events:
                claim = await desk.inbox.claim_event(event, token=mine, lease=self._lease, held_for=ROUTE)
                if claim is not None:
                    self._leases.took(mine, 1)
                    claims.append(claim)
                elif await self._is_open(desk, event):
                    await self._give_back(desk, claims)
                    return None
        except BaseException:
            await asyncio.shield(self._give_back(desk, claims))
            raise
        else:
            return claims
        finally:
            self._forget(set(events) - {claim.event_id for claim in claims})

    async def _is_open(self, desk: OpenDesk, event: EventId) -> bool:
        record = await desk.inbox.show(event)
        if record is None or record.summary.state in OPEN:  # None: a spool has it, and the inbox not yet
            return True
        self._settled.remember([SeenMark(event)])
        return False

    async def _give_back(self, desk: OpenDesk, claims: list[Claim]) -> None:
        given = [Settlement(each.event_id, each.run, each.token, Signal.NO_HANDLER, reason=ROUTE) for each in claims]
        try:
            if given:
                await desk.inbox.settle(given)
        finally:
            self._let_go(claims)
            claims.clear()

    def _let_go(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._leases.gave_back(claim.token)
        self._forget({claim.event_id for claim in claims})

    def _forget(self, events: set[EventId]) -> None:
        for event in events:
            over = self._running.pop(event, None)
            if over is not None and not over.done():
                over.set_result(None)

    async def _opened(self) -> OpenDesk:
        if self._is_closed:
            raise OverloadedError("the process ends")
        if self._life is None or self._life.is_over:
            show_lines()
            self._life = Life(self._open)
        return await self._life.opened()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[OpenDesk]:
        async with self._intake() as intake, self._inbox() as inbox:
            renewing = asyncio.create_task(self._leases.renew_for_ever(inbox, self._clock, self._lease))
            try:
                yield OpenDesk(intake, inbox)
            finally:
                renewing.cancel()


def _settlement(claim: Claim, status: int | None, milliseconds: float) -> Settlement:
    is_done = status is not None and 200 <= status < 300
    name = HandlerName(ROUTE)
    number = claim.tries.get(name, Tries()).count + 1
    told = "" if is_done else "it raised" if status is None else f"it answered {status}"
    attempt = Attempt(ROUTE, number, "done" if is_done else "retry", milliseconds, message=told)
    return Settlement(
        claim.event_id,
        claim.run,
        claim.token,
        Signal.DISMISS if is_done else Signal.NO_HANDLER,
        tries={**claim.tries, name: Tries(number)},
        attempts=(attempt,),
        handler="" if is_done else ROUTE,
        reason=ROUTE,
        message=told,
    )
