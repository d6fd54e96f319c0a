"""Stops under load, beside processes that leave the machine no rest. `make stops` makes many.

python -m tests.processes.stops --stops 200                  new stops
python -m tests.processes.stops --stops 200 --seed 7         the stops of one seed again
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import trustme

from landfast.demo.servers import Serve
from landfast.processes.children.lifeline import GRACE_SECONDS
from tests.patience import Stopwatch
from tests.processes.crowd import Crowd
from tests.servers import Postgres, _fast_folder
from tests.shops import ORDER, Shop, postgres_shop, sqlite_shop, until

SENDERS = 24
PATIENCE = 240.0
"""Seconds for the first answers, and for a renewal, on a machine that starts a process in ten."""
WARM = 100
"""Answers before the signal comes."""


@dataclass(frozen=True, slots=True)
class Stop:
    intakes: int
    has_tls: bool
    renews: bool
    """SIGHUP first: each intake is replaced while the others go on."""
    busy: int
    """Processes that compute without end."""
    role: Literal["intake", "all"] = "intake"
    answers: int = WARM

    @classmethod
    def drawn(cls, chance: random.Random) -> Stop:
        renews = chance.random() < 0.25
        return cls(
            intakes=chance.choice((1, 2, 4)),
            has_tls=chance.random() < 0.5,
            renews=renews,
            busy=2 if renews else chance.randint(4, 6),  # a renewal starts its processes one after the other
            role=chance.choice(("intake", "all")),
            answers=chance.randint(WARM, 2 * WARM),
        )

    def __str__(self) -> str:
        how = f"{'tls' if self.has_tls else 'plain'}, {self.intakes} intakes, role {self.role}, {self.busy} busy"
        return how + (", SIGHUP and SIGTERM" if self.renews else ", SIGTERM")


async def play(stop: Stop, shop: Shop, *, within: float = GRACE_SECONDS) -> Crowd:
    """Stop a server under load; AssertionError if one that was connected got no answer, or if it took longer."""
    await shop.create_orders()
    shop.write(ORDER)
    async with serving(shop, "--role", stop.role, intakes=stop.intakes, has_tls=stop.has_tls) as (serve, tls):
        crowd = Crowd(shop, serve.port, tls)
        with busy(stop.busy):
            async with crowd.sending(SENDERS):
                await until(lambda: len(crowd.answered) > stop.answers, True, within=PATIENCE)
                crowd.signalled = time.monotonic()
                if stop.renews:
                    await renew(serve)
                    assert crowd.refused == 0, "the listener lives on"
                with Stopwatch() as watch:
                    crowd.ended = time.monotonic()
                    os.kill(serve.pid, signal.SIGTERM)
                    ends = asyncio.create_task(watch_ends(serve))
                    assert await serve.wait() == 0
                crowd.took = watch.seconds
                crowd.ends = await ends
    assert crowd.in_flight_at_the_end, "void: nothing was in flight"
    log = (shop.folder / "serve.log").read_text()[-2000:]
    left = crowd.left_by_the_stop()
    assert left == [], f"connected, and not answered: {left} {crowd.statuses} {crowd.ends} {log}"
    assert set(crowd.statuses) == {b"200"}, "a request was answered, and turned away"
    # The longest were seen at a load of 20 on two cores: up to 5 s passed between the last child's end and the moment at
    # which this harness saw the supervisor's.
    assert crowd.took < within, f"it took {crowd.took:.1f} s: {crowd.ends}"
    async with shop.archive() as archive:
        states = (await archive.census()).states
    assert sum(states.values()) == len(crowd.answered), "what is stored is what was answered"
    return crowd


async def watch_ends(serve: Serve) -> list[str]:
    """Which process ended when, after the signal, and how."""
    began, seen = time.monotonic(), len(serve.deaths)
    ends: list[str] = []
    with contextlib.suppress(EOFError):  # it has ended, and there are no more news
        while True:
            await serve.until(partial(_has_more, serve.deaths, seen))
            for role, code in list(serve.deaths.values())[seen:]:
                ends.append(f"{role} {code} after {time.monotonic() - began:.1f} s")
            seen = len(serve.deaths)
    return ends


def _has_more(deaths: dict[int, tuple[str, int | None]], seen: int) -> bool:
    return len(deaths) > seen


async def renew(serve: Serve) -> None:
    before = set(serve.pids("intake"))  # they are replaced after all others
    os.kill(serve.pid, signal.SIGHUP)

    def is_replaced() -> bool:
        now = set(serve.pids("intake"))
        return len(now) == len(before) and not before & now

    await serve.until(is_replaced, within=PATIENCE)


@asynccontextmanager
async def serving(
    shop: Shop, *options: str, intakes: int, has_tls: bool
) -> AsyncIterator[tuple[Serve, ssl.SSLContext | None]]:
    """A server, and what its senders need to trust it."""
    trusting = None
    if has_tls:
        authority, trusting = trustme.CA(), ssl.create_default_context()
        authority.configure_trust(trusting)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(shop.folder / "tls.pem"))
        options += ("--tls-cert", str(shop.folder / "tls.pem"))
    async with shop.serving("--intakes", str(intakes), *options) as serve:
        yield serve, trusting


@contextmanager
def busy(number: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@dataclass(slots=True)
class Tally:
    stops: int = 0
    failures: int = 0
    requests: int = 0
    crossed: int = 0
    cut: int = 0
    longest: float = 0.0

    def add(self, crowd: Crowd) -> None:
        self.requests += len(crowd.answered)
        self.crossed += crowd.crossed
        self.cut += len(crowd.unanswered)
        self.longest = max(self.longest, crowd.took)
        print(
            f"   {len(crowd.answered)} requests, {crowd.crossed} crossed, {crowd.took:.1f} s: {', '.join(crowd.ends)}"
        )
        for each in crowd.unanswered:
            print(f"   cut by a limit: {each.since(crowd.signalled)}")

    def __str__(self) -> str:
        return f"""{self.stops} stops, {self.failures} failed
{self.requests} requests in the others, of which the longest took {self.longest:.1f} s
{self.crossed} met the end of a connection that was idle after an answer, and were sent again
{self.cut} were cut by a limit, before the first signal or because they sent too late"""


async def campaign(stops: int, seed: int) -> Tally:
    print(f"  .venv/bin/python -m tests.processes.stops --stops {stops} --seed {seed}", flush=True)
    chance, server, tally = random.Random(seed), Postgres(), Tally()
    with tempfile.TemporaryDirectory(prefix="landfast-stops-", dir=_fast_folder()) as folder:
        server.create()
        try:
            for number in range(stops):
                stop, place = Stop.drawn(chance), Path(folder) / str(number)
                place.mkdir()
                is_sqlite = chance.random() < 0.5
                shop = sqlite_shop(place) if is_sqlite else postgres_shop(place, server.dsn(server.new_database()))
                print(f"{number + 1}: {'sqlite' if is_sqlite else 'postgres'}, {stop}", flush=True)
                tally.stops += 1
                try:
                    tally.add(await play(stop, shop))
                except AssertionError as error:
                    tally.failures += 1
                    print(f"   FAILED {error}", flush=True)
        finally:
            server.destroy()
            print(tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.processes.stops")
    parser.add_argument("--stops", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    wanted = parser.parse_args()
    sys.exit(asyncio.run(campaign(wanted.stops, wanted.seed)).failures > 0)


if __name__ == "__main__":
    main()
