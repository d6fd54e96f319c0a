"""Senders as providers are: they sign, send again until they are told 2xx, send twice, and hang up when they like."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from landfast.demo.load import Connection, post
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import sign
from tests.crash.history import History, Line, Phase
from tests.journals.outages import last

KINDS = {
    "plain": 700,
    "slow": 20,
    "raises": 12,
    "retries": 12,
    "waits": 12,
    "swallows": 8,
    "doomed": 8,
    "cancels": 4,
    "hangs": 3,
    "crashes": 1,
}
"""Of so many events, how many are of each kind: most go well, and what costs a second or a process is rare."""

PATIENCE = 8.0
"""Seconds that a sender waits for its answer: about what Stripe and GitHub give."""

STALLED = 90.0
"""Seconds in which not one delivery is acknowledged, anywhere: something hangs. The slowest machine needs a tenth."""

LARGE_BYTES = 40_000
"""Of some bodies: more than one read of a socket."""


class StuckError(AssertionError):
    """Nothing moves any more."""


@dataclass(slots=True)
class Senders:
    """Several, which do not stop before they are told to."""

    ports: Callable[[], Sequence[int]]
    """Where the intakes listen."""
    secret: str
    history: History
    seed: int
    pace: float
    """Seconds between two events of one sender."""
    count: int
    """How many senders."""
    answers: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    """Events."""
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared while so much waits to be processed that more would only make the end longer."""
    _moved: float = field(default_factory=time.monotonic)

    async def run(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as senders:
            for number in range(self.count):
                senders.create_task(self._send_on(number, stop))

    async def more(self, events: int) -> None:
        """Until so many more events were acknowledged."""
        wanted = self.acknowledged + events
        while self.acknowledged < wanted:
            self.must_move()
            await asyncio.sleep(0.02)

    def must_move(self) -> None:
        if time.monotonic() - self._moved > STALLED:
            raise StuckError(f"no delivery was acknowledged for {STALLED:g} s: {dict(self.answers)}")

    async def tail(self, events: int) -> float:
        """In calm weather: the share of deliveries that were acknowledged at once."""
        chance = random.Random(f"{self.seed} tail")
        connection = Connection(self.ports()[0], patience=PATIENCE)
        at_once = 0
        for number in range(events):
            key, body = self._event(chance, f"tail-{number}")
            told = await self._deliver(connection, key, body)
            at_once += told
            if not told:
                await self._insist(chance, key, body)
            self._ended()
            connection.close()
            connection = Connection(chance.choice(self.ports()), patience=PATIENCE)
        connection.close()
        return at_once / events

    async def _send_on(self, number: int, stop: asyncio.Event) -> None:
        chance, count = random.Random(f"{self.seed} {number}"), 0
        while not stop.is_set():
            await self.may_go_on.wait()
            count += 1
            key, body = self._event(chance, f"{number}-{count}")
            twin = self._insist(chance, key, body) if chance.random() < 0.05 else asyncio.sleep(0)
            await asyncio.gather(self._insist(chance, key, body), twin)
            self._ended()
            if chance.random() < 0.1:  # it comes again, although it was acknowledged
                await self._insist(chance, key, body)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.pace * chance.uniform(0.5, 1.5)):
                    await stop.wait()

    def _ended(self) -> None:
        self.acknowledged += 1
        self._moved = time.monotonic()

    def _event(self, chance: random.Random, name: str) -> tuple[str, bytes]:
        (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
        self.kinds[kind] += 1
        key = f"evt_{name}-{kind}"
        padding = "x" * (LARGE_BYTES if chance.random() < 0.02 else chance.randrange(800))
        data = {"id": key, "type": f"order.{kind}", "created": int(time.time()), "data": {"padding": padding}}
        return key, msgspec.json.encode(data)

    async def _insist(self, chance: random.Random, key: str, body: bytes) -> None:
        """Until it is acknowledged: over new connections and old ones, by any of the machines."""
        connection = Connection(chance.choice(self.ports()), patience=PATIENCE)
        try:
            while True:
                rude = chance.random() < 0.03
                if await (self._hang_up(chance, key, body) if rude else self._deliver(connection, key, body)):
                    return
                await last(chance.uniform(0.1, 0.5))  # as providers wait, if not as long
                if chance.random() < 0.5:
                    connection.close()
                    connection = Connection(chance.choice(self.ports()), patience=PATIENCE)
        finally:
            connection.close()

    async def _deliver(self, connection: Connection, key: str, body: bytes) -> bool:
        line = self._begin(key, body)
        status = await connection.send(self._request(body))
        phase: Phase = "unknown" if status is None else "ok" if 200 <= status < 300 else "fail"
        self.answers["unknown" if status is None else str(status)] += 1
        self.history.write(msgspec.structs.replace(line, phase=phase, sha=""))
        return phase == "ok"

    async def _hang_up(self, chance: random.Random, key: str, body: bytes) -> bool:
        """In the middle of a request, or before its answer: whether it arrived is unknown to the sender."""
        line, request = self._begin(key, body), self._request(body)
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", chance.choice(self.ports()))
            writer.write(request[: chance.choice([len(request) - 1, len(request) // 2, len(request)])])
            with suppress(OSError):
                await writer.drain()
            writer.close()
        self.answers["hung up"] += 1
        self.history.write(msgspec.structs.replace(line, phase="unknown", sha=""))
        return False

    def _begin(self, key: str, body: bytes) -> Line:
        sha = hashlib.sha256(body).hexdigest()
        line = Line("deliver", "invoke", key, 0, id=self.history.new_id(), sha=sha)
        self.history.write(line)
        return line

    def _request(self, body: bytes) -> bytes:
        profile = provider("stripe")
        secret = Secret("first", profile.decode_secret(self.secret))
        return post("/in/stripe", sign(profile, body, secret, now=time.time()), body)
