"""The life of a child process: it opens the stores, does what its plan says through watched ports, and mostly dies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.effect import EffectState
from landfast.domain.errors import SenderError, StoreError
from landfast.domain.ids import BootId, InboxId, WorkerId, event_id, token
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Settlement
from landfast.inboxes.postgres import PostgresInbox
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.answers import answer_to
from landfast.intake.counting.tally import Tally
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ledgers import limits
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.ports.inbox import Archive, Recorder, Workbench
from landfast.ports.ledger import EffectStore, ReceiptStore
from landfast.ports.provider import Provider, Secret
from landfast.ports.seen import Seen
from landfast.processing.worker import Worker
from landfast.providers import provider
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.crash import Crash, CrashError
from landfast.testing.factory import DAWN
from landfast.testing.signing import sign
from landfast.wakeups.local import LocalWakeup
from tests.crash import records
from tests.crash.checker import check, out_of_order
from tests.crash.handlers import VAIN, registry
from tests.crash.history import History, Line, unknown
from tests.crash.inside import Inside
from tests.crash.plans import Plan, Word

SECRET = "whsec_crash"
LEASE = 30.0
MEMORY = 35 * 86_400.0
"""Seconds: an event that happened longer ago is held."""
ROUNDS = 12
"""Rounds of draining, with a minute between: three crashes, their retries, and the tombstone."""

RUNNING = (State.READY, State.CLAIMED, State.DELAYED)
WAITING = (EffectState.READY, EffectState.CLAIMED, EffectState.DELAYED)


class Life:
    def __init__(self, plan: Plan, say: Callable[[Word], None]) -> None:
        self.plan = plan
        self.clock = ManualClock()
        self.say = say

    async def run(self) -> None:
        chance = SeededChance(self.plan.worker)
        if self.plan.store == "sqlite":
            self.inbox: Any = SqliteInbox(Path(self.plan.folder) / "inbox.db", clock=self.clock, chance=chance)
            self.ledger: Any = SqliteLedger(Path(self.plan.folder) / "ledger.db", clock=self.clock, chance=chance)
        else:
            self.inbox = PostgresInbox(self.plan.dsn, clock=self.clock, chance=chance)
            self.ledger = PostgresLedger(self.plan.dsn, clock=self.clock, chance=chance, pool=4)
        await asyncio.gather(self.inbox.open(), self.ledger.open())
        for plan in (self.plan.before, self.plan):
            if plan is not None:
                await self._live(plan)
        await self.inbox.close()
        await self.ledger.close()
        self.say(Word(calls=dict(self.crash.calls)))

    async def _live(self, plan: Plan) -> None:
        self.plan = plan
        self.history = History(Path(plan.folder) / f"history-{plan.cycle}")
        self.seen = LocalSeen()
        place = plan.place
        self.crash = Crash(None)
        if place is not None:
            self.crash = Crash(place.step, when=place.when, how=place.how, nth=place.nth, report=self._report)
        if "create" not in plan.acts:
            await self._move_time(plan.clock - (self.clock.now() - DAWN).total_seconds())
        for act in plan.acts:
            try:
                await getattr(self, act)()
            except (StoreError, CrashError) as error:
                self.say(Word(error=f"{act}: {type(error).__name__}: {error}"))
        self.history.close()

    async def create(self) -> None:
        await self.inbox.migrate()
        await self.ledger.migrate()
        await records.create(self)

    async def deliver(self) -> None:
        """As senders do: the plain ones at once, in one batch or two; the others one by one; and two come again."""
        intake, tally = self._intake()
        numbers = range(len(self.plan.kinds))
        plain = [number for number in numbers if self.plan.kinds[number] == "plain"]
        await asyncio.gather(*(self._send(intake, number) for number in plain))
        for number in numbers:
            if number not in plain:
                await self._send(intake, number)
        await self._send(intake, 0)
        self.seen.clear()
        await self._send(intake, 0)
        await tally.flush(ended=True)

    async def redeliver(self) -> None:
        """As senders do that got no 2xx."""
        lines = self.history.read()
        told = {line.key for line in lines if line.op == "deliver" and line.phase == "ok"}
        untold = [number for number in range(len(self.plan.kinds)) if self._key(number) not in told]
        if untold:
            intake, tally = self._intake()
            for number in untold:
                await self._send(intake, number)
            await tally.flush(ended=True)

    async def shelve(self) -> None:
        """One event is shelved by a worker of the last deploy, which has no handler for it."""
        old = WorkerId(b"before%02d" % (self.plan.cycle % 100))
        claims = await self.inbox.claim(token=token(old, self.plan.cycle), lease=LEASE, limit=1)
        await self.inbox.settle([Settlement(one.event_id, one.run, one.token, Signal.NO_HANDLER) for one in claims])

    async def ghost(self) -> None:
        """Two events are claimed by a worker that is dead by now: they are suspects."""
        ghost = WorkerId(b"ghost-%02d" % (self.plan.cycle % 100))
        await self.inbox.claim(token=token(ghost, self.plan.cycle), lease=LEASE, limit=2)
        await self.inbox.abandon(worker=ghost)

    async def drain(self) -> None:
        await (await self._worker(self.crash.watch(self.ledger, EffectStore))).drain()

    async def stage(self) -> None:
        """Process the events, and leave their effects."""
        await (await self._worker(_NoEffects())).drain()

    async def ghost_effect(self) -> None:
        """An effect is claimed by a worker that is dead by now: it is a suspect."""
        ghost = WorkerId(b"spirit%02d" % (self.plan.cycle % 100))
        await self.ledger.claim(token=token(ghost, self.plan.cycle), lease=LEASE, limit=1)
        await self.ledger.abandon(worker=ghost)

    async def wait(self) -> None:
        """Past the deadline of what is waited for in vain."""
        await self._move_time(2 * VAIN.total_seconds())

    async def replay(self) -> None:
        """As an operator does: the first by force, the last, and what is dead; and what is held is admitted."""
        archive = self.crash.watch(self.inbox, Archive)
        last = len(self.plan.kinds) - 1
        for number, kind in enumerate(self.plan.kinds):
            if number in (0, last) or kind == "doomed":
                await self._replay(archive, number, forced=number == 0)
            if kind == "late":
                await archive.admit([event_id("stripe", self._key(number))], who="operator")

    async def take_over(self) -> None:
        """What a second worker does when a lease has run out, while the first is not dead."""
        await self.drain()
        await self._move_time(60)
        await self.drain()

    async def recover(self) -> None:
        """What a supervisor, or time, does: leases end, and somebody works until nothing is left."""
        for dead in self.plan.dead:
            for store in (self.inbox, self.ledger):
                await store.abandon(worker=worker_id(dead))
        for _ in range(ROUNDS):
            await self.drain()
            census, effects = await self.inbox.census(), await self.ledger.counts()
            if not any(census.states.get(each) for each in RUNNING) and not any(effects.get(each) for each in WAITING):
                return
            await self._move_time(60)

    async def check(self) -> None:
        for line in unknown(self.history.read()):
            self.history.write(line)
        books = await records.books(self, [self._key(number) for number in range(len(self.plan.kinds))])
        problems = check(self.history.read(), books) + out_of_order(await records.walked(self))
        self.say(Word(problems=problems, checked=True))

    async def _move_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await records.set_time(self)

    def _intake(self) -> tuple[Intake, Tally]:
        profile = provider("stripe")
        watched = self.crash.watch(profile, Provider)
        source = Source("stripe", watched, (Secret("first", profile.decode_secret(SECRET)),), memory=MEMORY)
        seen = self.crash.watch(self.seen, Seen)
        recorder = self.crash.watch(self.inbox, Recorder)
        boot = BootId(b"%08d" % (self.plan.worker % 10**8))
        tally = Tally(recorder, boot=boot, clock=self.clock, sources=["stripe"])
        group = GroupCommit(recorder, seen=seen, wakeup=LocalWakeup())
        return Intake([source], recorder=group, seen=seen, tally=tally, clock=self.clock), tally

    async def _send(self, intake: Intake, number: int) -> None:
        body = self._body(number)
        line = Line("deliver", "invoke", self._key(number), self.plan.cycle, id=self.history.new_id(), sha=sha(body))
        self.history.write(line)
        signed = sign("stripe", body, SECRET, now=self.clock.now().timestamp())
        pairs = Headers((name.encode(), value.encode()) for name, value in signed.items())
        answer = await _answer(intake, Head("POST", "/in/stripe", "", pairs, len(body)), body)
        tell = self.crash.around("answer", self.history.write)
        tell(msgspec.structs.replace(line, phase="ok" if 200 <= answer.status < 300 else "fail"))

    async def _worker(self, effects: Any) -> Worker:
        self.inbox_id: InboxId = await self.inbox.identity()
        ledger = Inside(self.ledger, self.crash)
        return Worker(
            registry=registry(self.crash, self.history, self.clock, self.plan),
            bench=self.crash.watch(self.inbox, Workbench),
            ledger=self.crash.watch(ledger, ReceiptStore),
            effects=effects,
            wakeup=LocalWakeup(),
            clock=self.clock,
            chance=SeededChance(self.plan.worker),
            inbox=self.inbox_id,
            worker=worker_id(self.plan.worker),
            hands=1,
            lease=LEASE,
        )

    async def _replay(self, archive: Any, number: int, *, forced: bool) -> None:
        key = self._key(number)
        line = Line("replay", "invoke", key, self.plan.cycle, id=self.history.new_id(), forced=forced)
        self.history.write(line)
        count = await archive.replay([event_id("stripe", key)], forced=forced, who="operator")
        self.history.write(msgspec.structs.replace(line, phase="ok" if count else "fail"))

    def _key(self, number: int) -> str:
        return f"c{self.plan.cycle}-{number}-{self.plan.kinds[number]}"

    def _body(self, number: int) -> bytes:
        about = f"cycle-{self.plan.cycle}" if self.plan.is_ordered else f"order-{number:02}"
        data = {"object": {"id": about, "number": number, "cycle": self.plan.cycle}}
        kind = self.plan.kinds[number]
        happened = {"created": int(DAWN.timestamp()) - number} if self.plan.is_ordered else {}
        happened = {"created": int(DAWN.timestamp() - MEMORY - 1)} if kind == "late" else happened
        return msgspec.json.encode({"id": self._key(number), "type": f"order.{kind}", "data": data} | happened)

    def _report(self, step: str, when: str, nth: int) -> None:
        place = f"{when} {step} {nth}"
        self.history.write(Line("crash", "ok", place, self.plan.cycle))
        self.say(Word(fired=place))


class _NoEffects:
    """An EffectStore for a worker that is to leave them alone."""

    async def claim(self, **_: Any) -> list[Any]:
        return []

    async def claim_suspect(self, **_: Any) -> None:
        return None


async def _answer(intake: Intake, head: Head, body: bytes) -> Answer:
    try:
        admitted = intake.admit(head)
    except SenderError as error:
        return answer_to(error)
    return await intake.respond(admitted, body)


def worker_id(number: int) -> WorkerId:
    return WorkerId(number.to_bytes(8, "big"))


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def live(plan: Plan, say: Callable[[Word], None]) -> None:
    limits.RECEIPT_WAIT = plan.patience
    asyncio.run(Life(plan, say).run())
