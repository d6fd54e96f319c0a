"""What all rows share: how long they may take, where, with which generator, and how a run is measured."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from bench import deliveries, load, machine
from bench.deliveries import SECRET, Requests
from bench.load import Answered, Generator, Load
from bench.stores import DiskPostgres, Store
from landfast.demo.servers import Serve

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
SATURATED = 0.9
"""Of a processor: a generator that uses more, before a server that uses less, measures itself."""

STOLEN = 0.03
"""Of the machine: a run during which the host gave more of it to others is repeated. A quiet host takes less."""

SLOWED = 0.25
"""Of its speed, likewise: below that it may be a matter of temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    seconds: float = 5.0
    """Of one run at full speed."""
    rounds: int = 3
    """Runs of each kind, in turn with the others, so that a slow minute of the machine hits all of them."""
    tries: int = 4
    """Of one run, until one is left alone by the host."""
    warm: int = 500
    requests: int = 150_000
    """New events for one run: enough for 30,000 a second."""
    naive_requests: int = 30_000
    backlog: int = 40_000
    """Events of one end-to-end run."""
    paced_seconds: float = 10.0
    attack_seconds: float = 2.0
    """Of one run beside an attack: a thousand good requests, of which the ten slowest make the p99. With 22 attacks in
    each round, ten seconds each took a quarter of an hour."""
    attackers: tuple[int, ...] = (1, 16)
    """Connections of those who attack, in turn."""
    idle_events: int = 200
    finished: int = 1_000_000
    claims: int = 60
    herd: int = 10_000
    """Events that wait for a dependency."""
    repeats: int = 20_000


QUICK = Sizes(
    seconds=0.2,
    rounds=1,
    tries=1,
    warm=20,
    requests=1_500,
    naive_requests=500,
    backlog=100,
    paced_seconds=0.2,
    attack_seconds=0.2,
    attackers=(16,),
    idle_events=3,
    finished=500,
    claims=5,
    herd=600,
    repeats=100,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: what was answered, and who used which processor time for it."""

    answered: Answered
    server: float
    """Seconds of processor of the server's processes; the next two likewise."""
    store: float
    others: float
    """Everything else on this machine that is not part of the benchmark."""

    @property
    def is_void(self) -> bool:
        """The generator was the bottleneck."""
        seconds = self.answered.seconds
        return self.answered.cpu > SATURATED * seconds and self.server < SATURATED * seconds

    @property
    def disturbance(self) -> float:
        """The share of the machine that others used meanwhile."""
        return self.others / self.answered.seconds / (os.cpu_count() or 1) if self.answered.seconds else 0.0


class Kept(NamedTuple, Generic[T]):
    """The run that was disturbed least, and the share of the machine that the host gave to others meanwhile: of its
    time, or of its speed if that is more."""

    found: T
    stolen: float


@dataclass(frozen=True, slots=True)
class Stage:
    sizes: Sizes
    folder: Path
    generator: Generator
    postgres: DiskPostgres
    say: Callable[[str], None]
    pace: machine.Pace = field(default_factory=machine.Pace)

    def requests(self, count: int, name: str) -> Requests:
        return deliveries.write(self.folder / "requests.bin", count, name=name)

    async def undisturbed(self, run: Callable[[], Awaitable[T]]) -> Kept[T]:
        """A virtual machine's host takes its processors away as it likes, for seconds, or gives half of one to
        somebody else. What is measured then is the host, so it is measured again, a few times."""
        kept: Kept[T] | None = None
        for number in range(self.sizes.tries):
            pace, began, taken = self.pace.now(), time.monotonic(), machine.stolen_seconds()
            found = await run()
            share = (machine.stolen_seconds() - taken) / (time.monotonic() - began) / (os.cpu_count() or 1)
            slowed = 1.0 - min(pace, self.pace.now())
            share = max(share, slowed if slowed > SLOWED else 0.0)
            if kept is None or share < kept.stolen:
                kept = Kept(found, share)
            if share <= STOLEN:
                break
            is_last = number + 1 == self.sizes.tries
            self.say(f"the host took {share:.0%} of the machine away{'' if is_last else ': once more'}")
        assert kept is not None
        return kept

    async def measure(self, what: Load, server: Callable[[], list[int]], store: Callable[[], list[int]]) -> Measured:
        used, kept = server(), store()
        before = (machine.cpu_seconds(used), machine.cpu_seconds(kept), machine.busy_seconds(), _own_seconds())
        answered = await load.apply(what, self.generator)
        after = (machine.cpu_seconds(used), machine.cpu_seconds(kept), machine.busy_seconds(), _own_seconds())
        by_server, by_store, busy, ours = (late - early for early, late in zip(before, after, strict=True))
        others = max(0.0, busy - by_server - by_store - ours - answered.cpu)
        return Measured(answered, by_server, by_store, others)

    async def at_full_speed(
        self, requests: Requests, port: int, server: Callable[[], list[int]], store: Callable[[], list[int]]
    ) -> Measured:
        """Warmed up first: connections are open, statements prepared, files as large as they get."""
        warm = self.sizes.warm
        await load.apply(load.load(replace(requests, count=warm), port, 2.0), "own")
        return await self.measure(load.load(requests, port, self.sizes.seconds, skip=warm), server, store)

    @asynccontextmanager
    async def serving(
        self,
        store: Store,
        *,
        workers: int,
        intakes: int = 1,
        settings: Mapping[str, str] = MappingProxyType({}),
        app: str = "shop.py",
    ) -> AsyncIterator[Serve]:
        """The real command, with its log in a file."""
        env = os.environ | {
            "LANDFAST_STORE": store.inbox,
            "LANDFAST_LEDGER": store.ledger,
            "BENCH_SECRET": SECRET,
            "PYTHONPATH": str(ROOT),
            "LANDFAST_ADMIN_PORT": "0",
            **settings,
        }
        serve = await Serve.start(
            str(ROOT / "bench" / app),
            self.folder,
            env=env,
            options=["--workers", str(workers), "--intakes", str(intakes)],
        )
        try:
            yield serve
            await serve.stop()
        finally:
            await serve.kill()


def _own_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system
