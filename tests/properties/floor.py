"""The shop floor: the real intake, inbox, ledger and processing, and the hands that a test moves one step at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import msgspec

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.backoff import Backoff
from landfast.domain.delivery import Head, Headers
from landfast.domain.effect import ClaimedEffect
from landfast.domain.errors import UnverifiedError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import BootId, ReceiptDigest, Token, WorkerId, receipt_digest, token
from landfast.domain.outcome import Claim, Settlement
from landfast.domain.verdict import GiveUp
from landfast.intake.answers import answer_to
from landfast.intake.counting.tally import Tally
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.processing.conclude import Conclusion
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.dependencies import Dependencies
from landfast.processing.control.switches import Pauses
from landfast.processing.effects.perform import Performance
from landfast.processing.effects.step import Steps
from landfast.processing.execute import Execution
from landfast.processing.fairness.pace import Pace
from landfast.processing.group import Grouping
from landfast.processing.handlers.registry import EffectHandler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import Watch
from landfast.processing.prepare import Preparation
from landfast.processing.transact import Transactor
from landfast.providers import provider
from landfast.testing.clock import SeededChance
from landfast.testing.factory import DAWN
from landfast.testing.signing import sign
from landfast.wakeups.local import LocalWakeup
from tests.processing.shop import Shop
from tests.properties.expected import ATTEMPTS

MEMORY = 35 * 86_400.0
"""Seconds: an event that happened longer ago is held."""

LEASE = 600.0
"""Seconds: so long that none expires by itself, however slow the machine."""

WRITE = "INSERT INTO done (key, handler, run) VALUES ($1, $2, $3)"


@dataclass
class Hand:
    """One claim of a worker of its own, somewhere between its claim and its settlement."""

    number: int
    claims: list[Claim]
    old: bool = False
    """A worker of the older deploy."""
    settlements: list[Settlement] | None = None
    running: asyncio.Task[list[Settlement]] | None = None
    """Stopped in the middle of its first handler."""

    @property
    def worker(self) -> WorkerId:
        return worker_id(self.number)


@dataclass
class Floor:
    shop: Shop
    secrets: list[str]
    outcomes: dict[tuple[str, str], str] = field(default_factory=dict)
    """By key and handler: ok, fail or give_up. The default is ok."""
    pauses: set[str] = field(default_factory=set)
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    staged: bool = False
    """Some transaction has staged a mail; perhaps it was rolled back."""
    mail_is_away: bool = False
    sent: list[tuple[str, str, int]] = field(default_factory=list)
    """By what the outside world was asked for: the key of the event, the key of the effect, the run."""
    boots: int = 0
    hands: int = 0

    async def open(self) -> None:
        await self.shop.open()
        await self.shop.sql("CREATE TABLE done (key TEXT, handler TEXT, run INTEGER)")
        await self.shop.ledger.bind(self.shop.inbox_id)
        given: dict[str, Any] = {"attempts": ATTEMPTS, "deadline": LEASE}
        self.shop.on("order.*", name="create_order", **given)(self._create_order)
        self.shop.on("order.created", name="tell_crm", **given)(self._tell_crm)
        self.shop.registry.add_effect(
            EffectHandler(name="mail", function=self._mail, attempts=3, backoff=Backoff(), deadline=LEASE)
        )
        self.threads = Threads()
        if self.shop.store == "postgres":
            self.session = await asyncpg.connect(self.shop.place)
            await self.advance(0)
        await self.boot()

    async def close(self) -> None:
        if self.shop.store == "postgres":
            await self.session.close()
        await self.shop.close()
        self.threads.close()

    async def advance(self, seconds: float) -> None:
        """Time passes only here. PostgreSQL's clock stands still, too: nothing is due by itself on a slow machine."""
        self.shop.clock.advance(seconds)
        if self.shop.store == "postgres":
            for name in ("landfast.clock", "landfast_ledger.clock"):
                await self.session.execute(
                    f"CREATE OR REPLACE FUNCTION {name}() RETURNS timestamptz LANGUAGE sql STABLE "
                    f"AS $$ SELECT timestamptz '{self.shop.clock.now().isoformat()}' $$"
                )

    # Intake.

    async def boot(self) -> None:
        """An intake process starts: empty cache, counts at zero, the secrets of now."""
        self.boots += 1
        profile = provider("stripe")
        secrets = tuple(Secret(f"secret-{text}", profile.decode_secret(text)) for text in self.secrets)
        seen = LocalSeen()
        group = GroupCommit(self.shop.inbox, seen=seen, wakeup=LocalWakeup())
        boot, clock = BootId(self.boots.to_bytes(8, "big")), self.shop.clock
        self.shop.inbox.boot = boot  # what is stored is counted under the boot that tells of it
        self.tally = Tally(self.shop.inbox, boot=boot, clock=clock, sources=["stripe"])
        await self.tally.flush()  # as `start` does: an intake is known to run before it takes anything
        source = Source("stripe", profile, secrets, memory=MEMORY)
        self.intake = Intake([source], recorder=group, seen=seen, tally=self.tally, clock=clock)

    async def send(self, body: bytes, *, secret: str, signed: bytes | None = None) -> Answer:
        """A request as it comes in; `signed` is what the signature is for, if it is not for the body."""
        now = self.shop.clock.now().timestamp()
        headers = sign("stripe", body if signed is None else signed, secret, now=now)
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        try:
            admitted = self.intake.admit(Head("POST", "/in/stripe", "", Headers(pairs), len(body)))
        except UnverifiedError as error:
            return answer_to(error)
        return await self.intake.respond(admitted, body)

    # Processing.

    def next_hand(self) -> tuple[int, Token]:
        self.hands += 1
        return self.hands, token(worker_id(self.hands), 1)

    async def execute(self, hand: Hand) -> None:
        hand.settlements = await self._execution(hand).execute(hand.claims, Pace(size=8))

    async def start(self, hand: Hand) -> bool:
        """Run it up to the middle of its first handler; False if that does not run."""
        self.paused.clear()
        self.go_on.clear()
        self.pauses.add(hand.claims[0].key)
        hand.running = asyncio.create_task(self._execution(hand).execute(hand.claims, Pace()))
        reached = asyncio.create_task(self.paused.wait())
        await asyncio.wait([hand.running, reached], return_when=asyncio.FIRST_COMPLETED)
        self.pauses.clear()
        reached.cancel()
        return not hand.running.done()

    async def finish(self, hand: Hand) -> None:
        assert hand.running is not None
        self.go_on.set()
        hand.settlements, hand.running = await hand.running, None

    async def kill(self, hand: Hand) -> int:
        """The worker dies, its connections with it, and its supervisor says so; how many leases ended."""
        if hand.running is not None:
            hand.running.cancel()
            await asyncio.wait([hand.running])
        leases: int = await self.shop.inbox.abandon(worker=hand.worker)
        return leases

    async def perform(self, claimed: list[ClaimedEffect]) -> None:
        chance = SeededChance(self.hands)
        ledger, registry, clock = self.shop.ledger, self.shop.registry, self.shop.clock
        watch = Watch(_hung)
        steps = Steps(ledger, ledger, registry, clock, self.threads, watch)
        dependencies = self._dependencies(Breakers(clock))
        performance = Performance(ledger, registry, clock, chance, self.threads, watch, dependencies, steps)
        async for _ in performance.perform(claimed):
            pass

    def digest(self, key: str) -> ReceiptDigest:
        return receipt_digest(self.shop.inbox_id, "stripe", key)

    async def written(self) -> dict[tuple[str, str, int], int]:
        """By key, handler and run: how often the handler's write is there."""
        fetch = self.session.fetch if self.shop.store == "postgres" else self.shop.sql
        rows = await fetch("SELECT key, handler, run, count(*) FROM done GROUP BY key, handler, run")
        return {(row[0], row[1], row[2]): row[3] for row in rows}

    def _execution(self, hand: Hand) -> Execution:
        registry = Registry() if hand.old else self.shop.registry
        ledger, clock = self.shop.ledger, self.shop.clock
        transactor = Transactor(ledger, registry, clock, self.threads, Watch(_hung))
        conclusion = Conclusion(ledger, clock, SeededChance(hand.number))
        grouping = Grouping(transactor, ledger, lambda: False, self._dependencies(Breakers(clock)))
        return Execution(Preparation(self.shop.inbox_id, registry, clock), grouping, conclusion)

    def _dependencies(self, breakers: Breakers) -> Dependencies:
        return Dependencies(breakers, self.shop.inbox, {}, Pauses())

    async def _create_order(self, event: Event, tx: Any) -> None:
        await tx.execute(WRITE, event.key, "create_order", event.run)
        tx.stage("mail", order=event.key)
        self.staged = True
        if event.key in self.pauses:
            self.paused.set()
            await self.go_on.wait()
        self._end_as(event, "create_order")

    async def _tell_crm(self, event: Event, tx: Any) -> None:
        await tx.execute(WRITE, event.key, "tell_crm", event.run)
        self._end_as(event, "tell_crm")

    def _end_as(self, event: Event, handler: str) -> None:
        match self.outcomes.get((event.key, handler), "ok"):
            case "fail":
                raise RuntimeError("asked to fail")
            case "give_up":
                raise GiveUp("asked to give up")

    async def _mail(self, effect: Effect, order: str) -> None:
        if self.mail_is_away:
            raise ConnectionError("mail is away")
        self.sent.append((order, effect.key, effect.run))


def order(key: str, type_: str, *, malformed: bool, late: bool = False) -> bytes:
    """A body that Stripe could have sent; a malformed one says a thing twice, which only strict decoding minds."""
    created = int(DAWN.timestamp() - (MEMORY + 1 if late else 0))
    sent = msgspec.json.encode({"id": key, "object": "event", "type": type_, "created": created})
    return sent[:-1] + b',"amount":1,"amount":2}' if malformed else sent


def worker_id(number: int) -> WorkerId:
    return WorkerId(number.to_bytes(8, "big"))


def _hung() -> None:
    raise AssertionError("no handler hangs here")
