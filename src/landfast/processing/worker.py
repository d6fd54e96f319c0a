"""A worker: a few hands that claim, execute and settle, and the small loops that keep them honest."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from landfast import telemetry
from landfast.domain.effect import ClaimedEffect
from landfast.domain.errors import StoreError
from landfast.domain.ids import InboxId, Token, WorkerId, token
from landfast.domain.metering import Meters
from landfast.domain.outcome import Claim
from landfast.domain.readiness import Readiness
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import EffectStore, ReceiptStore
from landfast.ports.wakeup import Wakeup
from landfast.processing.claim import Claiming
from landfast.processing.conclude import Conclusion
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.dependencies import Dependencies
from landfast.processing.control.gate import Gate
from landfast.processing.control.leases import Leases
from landfast.processing.control.loops import Loops
from landfast.processing.control.readiness import readiness
from landfast.processing.control.requeue import Requeue
from landfast.processing.control.stopping import Stopping
from landfast.processing.control.suspects import Suspects
from landfast.processing.control.switches import SWITCH_POLL_SECONDS, Pauses, Switches
from landfast.processing.effects.loop import EffectLoop
from landfast.processing.effects.perform import Performance
from landfast.processing.effects.step import Steps
from landfast.processing.execute import Execution
from landfast.processing.fairness.hand_pool import HandPool
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.relief import Relief
from landfast.processing.fairness.shares import Shares
from landfast.processing.group import Grouping
from landfast.processing.handlers.registry import Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.hands import Hands
from landfast.processing.invoke import CANCEL_GRACE_SECONDS, Watch, kill_this_process
from landfast.processing.parking import Parking
from landfast.processing.prepare import Preparation
from landfast.processing.settle import Settler
from landfast.processing.transact import Transactor

WAKEUP_POLL_SECONDS = 1.0
"""Between looks at the inbox when nobody nudges us: what a lost wakeup costs at most."""

LAST_SETTLEMENTS_SECONDS = 5.0
"""For what is not settled yet when a worker stops. An inbox that says nothing must not use up the grace of ten seconds;
what is left is found by its receipt."""

Loop = Callable[[], Coroutine[Any, Any, None]]


class Worker:
    _is_for_suspects = False

    def __init__(
        self,
        *,
        registry: Registry,
        bench: Inbox,
        ledger: ReceiptStore,
        effects: EffectStore,
        wakeup: Wakeup,
        clock: Clock,
        chance: Chance,
        inbox: InboxId,
        worker: WorkerId,
        hands: int,
        lease: float = 30.0,
        hung: Callable[[], None] = kill_this_process,
        tell_suspects: Callable[[], None] | None = None,
    ) -> None:
        """`tell_suspects` is called once a second while there are suspects: another process runs them. Without it they
        run here, between the others."""
        self._bench, self._effects, self._wakeup = bench, effects, wakeup
        self._clock, self._worker, self._lease = clock, worker, lease
        self._count, self._claims = hands, 0
        self._stopping, self._pool = Stopping(clock), HandPool(hands, clock)
        self._shares = Shares(hands, registry.handlers, registry.source_limits)
        self._gate = Gate(clock, lambda: registry.longest_deadline() + CANCEL_GRACE_SECONDS)
        self._tell_suspects = tell_suspects
        self._threads, self._staged = Threads(), asyncio.Event()
        self._leases, self._effect_leases = Leases(), Leases()
        self.breakers = Breakers(clock, is_ours=lambda name: name in registry.breakers())
        pauses = Pauses()
        self._dependencies = Dependencies(self.breakers, bench, registry.dependencies, pauses)
        self._switches = Switches(bench, self.breakers, pauses, clock, worker.hex(), self._pool.call)
        self._requeue = Requeue(bench, registry)
        self._parking = Parking(bench, ledger)
        self._settler = Settler(bench, clock, self._leases, self._parking, self._pool.call)
        watch = Watch(hung)
        self._switches.recall = lambda: watch.recall(pauses.taken_back(registry.handlers))
        transactor = Transactor(ledger, registry, clock, self._threads, watch, self._staged, wakeup.nudge, inbox)
        preparation = Preparation(inbox, registry, clock, pauses)
        grouping = Grouping(transactor, ledger, self._stopping.is_set, self._dependencies, pauses, self._shares)
        self._execution = Execution(preparation, grouping, Conclusion(ledger, clock, chance), self._shares)
        self._relief = Relief(self._execution, self._shares, self._pool, self._settler)
        self._hands = self._working(Claiming(bench, self._shares, preparation, lease))
        self._suspects = self._running_suspects()
        steps = Steps(ledger, effects, registry, clock, self._threads, watch, self._staged, inbox=inbox)
        self._effect_loop = self._performing(registry, chance, watch, steps)

    async def run(self) -> None:
        """Work until `stop`. What is in hand then is finished; nothing new is claimed."""
        # By this line the worker is found that `events show` names.
        telemetry.info("worker_started", worker=self._worker, host=socket.gethostname(), pid=os.getpid())
        suspects, tell = self._suspects, self._tell_suspects
        work: dict[str, Loop] = {f"hand {number}": partial(self._hands.work, number) for number in range(self._count)}
        work["suspects"] = suspects.run_between if tell is None else partial(suspects.report, tell)
        work["effects"] = self._effect_loop.run
        await self._work(work)

    async def run_suspects(self) -> None:
        """Run suspects and nothing else, one at a time, until `stop`, or until there were none for a while."""

        self._is_for_suspects = True

        async def run_all() -> None:
            await self._suspects.run_all()
            self.stop()

        await self._work({"suspects": run_all})

    async def _work(self, work: Mapping[str, Loop]) -> None:
        """Until all of them have ended. A loop that ends although nobody stopped it, by a bug or by a stray
        cancellation, ends the worker with an error."""
        loops = Loops(self._stopping.is_set)
        try:
            settling = loops.start("settler", self._settler.run())
            chores = [loops.start(name, chore()) for name, chore in self._chores().items()]
            await self._hear_first(loops)
            await loops.wait(*[loops.start(name, loop()) for name, loop in work.items()])
            await loops.cancel(*chores)
            self._settler.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SETTLEMENTS_SECONDS):
                    await loops.wait(settling)
        finally:
            try:
                await loops.cancel()
            finally:
                self._threads.close()

    def stop(self) -> None:
        self._stopping.set()
        self._staged.set()
        self._pool.dismiss()
        self._settler.stop()

    def take_turns_with_replays(self, *, is_replaying: bool) -> None:
        """While an operator replays many events, they do not wait for a backlog of live ones, nor the reverse."""
        self._shares.is_replaying = is_replaying

    def readiness(self) -> Readiness:
        """Whether it processes what comes, for whoever probes it."""
        return readiness(self._switches, self._effect_loop, self.breakers, self._clock)

    @property
    def meters(self) -> Meters:
        """What its handlers came to, since somebody took it."""
        return self._execution.conclusion.meters

    def doing(self) -> dict[str, Any]:
        """What it has in hand, for its heartbeat."""
        in_hand = self._shares.in_hand(now=self._clock.now().timestamp())
        only = {"suspects_only": True} if self._is_for_suspects else {}
        return {"hands": self._count, "in_hand": in_hand, **only}

    async def let_go(self) -> None:
        """Expire what this worker still holds, once `run` has failed: nobody works on it any more, so nobody needs to
        wait for the end of its leases. A suspect in hand did not bring that about, so it is released first."""
        await self._suspects.give_back()
        for store in (self._bench, self._effects):
            await store.abandon(worker=self._worker)

    async def drain(self) -> None:
        """Process everything that is runnable now, effects too, then return: for tests and one-off runs."""
        settling = asyncio.create_task(self._settler.run())
        try:
            await self._switches.look()
            await self._bench.order(self._execution.preparation.registry.ordered_sources)
            await self._requeue.look()
            pace = Pace()
            while await self._hands.take(pace) or await self._suspects.take() or await self._effect_loop.take():
                await self._settler.flush()
                if self.breakers.untold:
                    await self._switches.look()
        finally:
            self._threads.close()
            self._settler.close()
            await settling

    def _chores(self) -> Mapping[str, Loop]:
        # The two databases are renewed apart: a slow handler that holds a SQLite ledger costs no lease in the inbox.
        return {
            "wakeup": self._listen,
            "relief of slow hands": self._relief.run,
            "look at the switches": self._agree,
            "requeue": partial(self._requeue.look_for_ever, self._clock),
            "look at what is parked": partial(self._parking.look_again_for_ever, self._clock),
            "renewal of leases": partial(self._leases.renew_for_ever, self._bench, self._clock, self._lease),
            "renewal of effects' leases": partial(
                self._effect_leases.renew_for_ever, self._effects, self._clock, self._lease
            ),
        }

    async def _hear_first(self, loops: Loops) -> None:
        """Nothing is claimed before it is known what operators have paused."""
        while not (self._stopping.is_set() or (self._switches.heard.is_set() and await self._has_ordered())):
            await self._stopping.pause(SWITCH_POLL_SECONDS, self._switches.heard)
            loops.check()

    async def _has_ordered(self) -> bool:
        """Nor before the inbox knows which sources have an ordered handler here."""
        try:
            await self._bench.order(self._execution.preparation.registry.ordered_sources)
        except StoreError:
            return False
        return True

    def _working(self, claiming: Claiming) -> Hands:
        return Hands(
            claiming=claiming,
            execution=self._execution,
            settler=self._settler,
            shares=self._shares,
            relief=self._relief,
            leases=self._leases,
            pool=self._pool,
            breakers=self.breakers,
            gate=self._gate,
            stopping=self._stopping,
            new_token=self._token,
        )

    def _performing(self, registry: Registry, chance: Chance, watch: Watch, steps: Steps) -> EffectLoop:
        given = self._effects, registry, self._clock, chance, self._threads, watch, self._dependencies, steps
        return EffectLoop(
            store=self._effects,
            performance=Performance(*given),
            leases=self._effect_leases,
            gate=self._gate,
            lease=self._lease,
            new_token=self._token,
            staged=self._staged,
            stopping=self._stopping,
            is_safe=lambda: not self.breakers.unsafe,
            look_seconds=self._dependencies.look_seconds,
        )

    def _running_suspects(self) -> Suspects:
        return Suspects(
            bench=self._bench,
            effects=self._effects,
            lease=self._lease,
            new_token=self._token,
            run=self._run_suspect,
            stopping=self._stopping,
            breakers=self.breakers,
            threads=self._threads,
            gate=self._gate,
            clock=self._clock,
        )

    async def _run_suspect(self, claim: Claim | ClaimedEffect) -> None:
        if isinstance(claim, Claim):
            await self._hands.run_alone(claim)
        else:
            await self._effect_loop.perform(claim)
        await self._settler.flush()

    async def _listen(self) -> None:
        """Wake one hand per hint, and one a second without any: a hand that finds much wakes the next."""
        while True:
            await self._wakeup.wait(self._dependencies.look_seconds(WAKEUP_POLL_SECONDS))
            self._pool.call()

    async def _agree(self) -> None:
        """Agree with all other workers on what is left alone: once a second, and at once when a breaker moves here."""
        while not self._stopping.is_set():
            await self._switches.look()
            await self._stopping.pause(SWITCH_POLL_SECONDS, self.breakers.changed)

    def _token(self) -> Token:
        self._claims += 1
        return token(self._worker, self._claims)
