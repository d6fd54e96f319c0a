"""A worker: a few hands that claim, execute and settle, and the small loops that keep them honest."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import Any

from landfast import telemetry
from landfast.domain.effect import ClaimedEffect
from landfast.domain.errors import StoreError
from landfast.domain.ids import InboxId, Token, WorkerId, token
from landfast.domain.outcome import Claim
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import EffectStore, ReceiptStore
from landfast.ports.wakeup import Wakeup
from landfast.processing.claiming import Claiming
from landfast.processing.conclude import Conclusion
from landfast.processing.crew import ENOUGH, Crew
from landfast.processing.effect_loop import EffectLoop
from landfast.processing.execute import Execution
from landfast.processing.gate import Gate
from landfast.processing.group import Grouping
from landfast.processing.invoke import GRACE, Watch, kill_this_process
from landfast.processing.leases import Leases
from landfast.processing.loops import Loops
from landfast.processing.outages import Outages
from landfast.processing.pace import Pace
from landfast.processing.perform import Performance
from landfast.processing.registry import Registry
from landfast.processing.relief import Relief
from landfast.processing.requeue import Requeue
from landfast.processing.settle import Settler
from landfast.processing.shares import Hold, Shares
from landfast.processing.stopping import Stopping
from landfast.processing.suspects import Suspects
from landfast.processing.switches import LOOK_EVERY, Bench, Pauses, Switches
from landfast.processing.threads import Threads
from landfast.processing.transact import Transactor

POLL = 1.0
"""Seconds between looks at the inbox when nobody nudges us: what a lost wakeup costs at most."""

LAST_SETTLEMENTS_SECONDS = 5.0
"""For what is not settled yet when a worker stops. An inbox that says nothing must not use up the grace of ten seconds;
what is left is found by its receipt."""

Loop = Callable[[], Coroutine[Any, Any, None]]


class Took(IntEnum):
    """What a claim came to."""

    NOTHING = 0
    ALL_THERE_WAS = 1
    ALL_IT_ASKED_FOR = 2
    """There may be more."""


class Worker:
    def __init__(
        self,
        *,
        registry: Registry,
        bench: Bench,
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
        """`tell_suspects` is called once a second while there are suspects, for whoever runs them. Without it they run
        here, between the others."""
        self._bench = bench
        self._effects = effects
        self._wakeup = wakeup
        self._clock = clock
        self._worker = worker
        self._hands = hands
        self._lease = lease
        self._claims = 0
        self._stopping = Stopping(clock)
        self._crew = Crew(hands, clock)
        self._shares = Shares(hands, registry.handlers, registry.source_limits)
        self._staged = asyncio.Event()
        self._gate = Gate(clock, lambda: registry.longest_deadline() + GRACE)
        self._tell_suspects = tell_suspects
        self._threads = Threads()
        self._leases, self._effect_leases = Leases(), Leases()
        self.outages = Outages(clock, has_handler=lambda name: any(name == one.name for one in registry.handlers))
        pauses = Pauses()
        self._switches = Switches(bench, self.outages, pauses, clock, worker.hex(), self._crew.call)
        self._requeue = Requeue(bench, registry)
        self._settler = Settler(bench, clock, self._leases)
        watch = Watch(hung)
        self._switches.recall = lambda: watch.recall(pauses.taken_back(registry.handlers))
        transactor = Transactor(ledger, registry, clock, self._threads, watch, self._staged)
        grouping = Grouping(transactor, ledger, self._stopping.is_set, self.outages, pauses)
        concluding = Conclusion(ledger, clock, chance)
        self._execution = Execution(inbox, registry, grouping, self.outages, concluding, clock, pauses, self._shares)
        self._claiming = Claiming(bench, self._shares, self._execution, lease)
        self._relief = Relief(self._execution, self._shares, self._crew, self._settler)
        self._suspects = self._running_suspects()
        self._effect_loop = self._performing(Performance(effects, registry, clock, chance, self._threads, watch))

    async def run(self) -> None:
        """Work until `stop`. What is in hand then is finished; nothing new is claimed."""
        # By this line the worker is found that `events show` names.
        telemetry.info("worker_started", worker=self._worker, host=socket.gethostname(), pid=os.getpid())
        suspects, tell = self._suspects, self._tell_suspects
        work: dict[str, Loop] = {f"hand {number}": partial(self._hand, number) for number in range(self._hands)}
        work["suspects"] = suspects.run_between if tell is None else partial(suspects.report, tell)
        work["effects"] = self._effect_loop.run
        await self._work(work)

    async def run_suspects(self) -> None:
        """Run suspects and nothing else, one at a time, until `stop`, or until there were none for a while."""

        async def run_all() -> None:
            await self._suspects.run_all()
            self.stop()

        await self._work({"suspects": run_all})

    async def _work(self, work: Mapping[str, Loop]) -> None:
        """Until all of them have ended. A loop that ends without being told to, by a bug or by a stray cancellation,
        ends all of it with an error."""
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
        self._crew.dismiss()
        self._settler.stop()

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
            await self._requeue.look()
            pace = Pace()
            while await self._take(pace) or await self._suspects.take() or await self._effect_loop.take():
                await self._settler.flush()
                if self.outages.untold:
                    await self._switches.look()
        finally:
            self._settler.close()
            await settling

    def _chores(self) -> Mapping[str, Loop]:
        # The two databases are renewed apart: a slow handler that holds a SQLite ledger costs no lease in the inbox.
        return {
            "wakeup": self._listen,
            "relief of slow hands": self._relief.run,
            "look at the switches": self._agree,
            "requeue": partial(self._requeue.look_for_ever, self._clock),
            "renewal of leases": partial(self._leases.renew_for_ever, self._bench, self._clock, self._lease),
            "renewal of effects' leases": partial(
                self._effect_leases.renew_for_ever, self._effects, self._clock, self._lease
            ),
        }

    async def _hear_first(self, loops: Loops) -> None:
        """Nothing is claimed before it is known what operators have paused."""
        while not (self._stopping.is_set() or self._switches.heard.is_set()):
            await self._stopping.pause(LOOK_EVERY, self._switches.heard)
            loops.check()

    async def _hand(self, number: int) -> None:
        pace = Pace()
        if number >= ENOUGH:
            await self._crew.rest()  # all at once they would open as many connections, to take one event each
        while not self._stopping.is_set():
            try:
                with self.outages.turn() as may_start:
                    if may_start:
                        async with self._gate.shared():
                            took = await self._take(pace)
            except StoreError as error:
                self.outages.trip(str(error))
                continue
            if not may_start:
                await self._stopping.pause(max(0.05, self.outages.wait()))
            elif took is not Took.ALL_IT_ASKED_FOR or self._crew.is_crowded():
                # Whatever comes from now on rings for us. To look at once would find little, and pay a whole round of
                # statements for it.
                await self._crew.rest()

    async def _take(self, pace: Pace) -> Took:
        """Claim, execute, settle."""
        hold = self._shares.open()
        try:
            is_probe = self.outages.infrastructure.is_open
            taken = await self._claiming.claim(hold, pace, token=self._token(), is_probe=is_probe)
            if taken.is_more or self._shares.is_waited_for(hold):
                self._crew.call()
            await self._process(taken.claims, taken.pace, hold)
        finally:
            self._shares.close(hold)
            if self._shares.is_waited_for(hold):
                self._crew.call()
        if taken.is_more:
            return Took.ALL_IT_ASKED_FOR
        return Took.ALL_THERE_WAS if taken.claims else Took.NOTHING

    async def _process(self, claims: Sequence[Claim], pace: Pace, hold: Hold | None = None) -> bool:
        if not claims:
            return False
        token, count, hold = claims[0].token, len(claims), hold or Hold()
        self._leases.took(token, count)
        try:
            with self._relief.of(hold):
                settlements = await self._execution.execute(claims, pace, hold)
        except BaseException:
            self._leases.gave_back(token, count - hold.let_go)
            raise
        await self._settler.submit(settlements)
        return True

    def _performing(self, performance: Performance) -> EffectLoop:
        return EffectLoop(
            store=self._effects,
            performance=performance,
            leases=self._effect_leases,
            gate=self._gate,
            lease=self._lease,
            new_token=self._token,
            staged=self._staged,
            stopping=self._stopping,
            is_safe=lambda: not self.outages.unsafe,
        )

    def _running_suspects(self) -> Suspects:
        return Suspects(
            bench=self._bench,
            effects=self._effects,
            lease=self._lease,
            new_token=self._token,
            run=self._run_suspect,
            stopping=self._stopping,
            outages=self.outages,
            threads=self._threads,
            gate=self._gate,
            clock=self._clock,
        )

    async def _run_suspect(self, claim: Claim | ClaimedEffect) -> None:
        if isinstance(claim, Claim):
            await self._process([claim], Pace())
        else:
            await self._effect_loop.perform(claim)
        await self._settler.flush()

    async def _listen(self) -> None:
        """Wake one hand per hint, and one a second without any: a hand that finds much wakes the next."""
        while True:
            await self._wakeup.wait(POLL)
            self._crew.call()

    async def _agree(self) -> None:
        """With all other workers, on what is to be left alone: once a second, and at once when we know better."""
        while not self._stopping.is_set():
            await self._switches.look()
            await self._stopping.pause(LOOK_EVERY, self.outages.changed)

    def _token(self) -> Token:
        self._claims += 1
        return token(self._worker, self._claims)
