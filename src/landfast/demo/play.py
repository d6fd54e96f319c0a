"""The storm: the same event, thousands of times, at both shops, while one of them has its worker killed.

Everything that is shown is measured: the orders are counted in each shop's own database.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from landfast.app import Inbox
from landfast.demo.load import Answers, send_all
from landfast.demo.sender import EVENT, Sender
from landfast.demo.servers import NaiveServer, Serve
from landfast.domain.lifecycle import State
from landfast.recovery.proof import Proof, prove

KILLS = 3
"""Inside the handler. The first makes the event a suspect, the next two are counted against it; one more would make
it a dead letter, because an event that kills every worker must not do so for ever."""
SETTLES_WITHIN = 120.0
"""Seconds for the counters' last flush and the handler's last run; both take about one."""


class Kill(NamedTuple):
    pid: int
    at_delivery: int
    """How many were answered when it was killed."""
    by_hand: bool
    """Somebody asked for it, on the page."""


@dataclass(slots=True)
class Score:
    """Of one storm. Orders are those that it made."""

    deliveries: int
    event: str = EVENT
    naive: Answers = field(default_factory=Answers)
    ours: Answers = field(default_factory=Answers)
    naive_orders: int = 0
    our_orders: int = 0
    killed: list[Kill] = field(default_factory=list)
    orders_before: tuple[int, int] = (0, 0)
    """Of the naive shop and of ours, by earlier storms and keys."""

    @property
    def is_won(self) -> bool:
        return self.our_orders == 1 and self.ours.statuses == {200: self.deliveries} and len(self.killed) == KILLS


@dataclass(frozen=True, slots=True)
class Theatre:
    folder: Path
    sender: Sender
    shop: Serve
    naive: NaiveServer
    inbox: Inbox
    """The shop as the dashboard sees it; its own processes run the handlers."""
    sent: list[int] = field(default_factory=list)
    """How many deliveries were answered, storm by storm and key by key."""

    def close_the_door(self) -> None:
        """No worker is inside, and whoever comes waits there."""
        for file in [*self.folder.glob("inside-*"), *self.folder.glob("open")]:
            file.unlink()

    def our_orders(self) -> int:
        return count_orders(self.folder / "shop.db")

    def naive_orders(self) -> int:
        return count_orders(self.folder / "naive.db")

    async def prove(self) -> Proof:
        async with self.inbox.stores() as stores:
            return await prove(stores.inbox, stores.ledger, clock=self.inbox.clock, chance=self.inbox.chance)


Cue = Callable[[asyncio.Event], Awaitable[bool]]
"""Waits until the next worker may be killed, which is when the event is set, or earlier if somebody asks for it, or
later if somebody is to ask; whether somebody did."""


async def play(theatre: Theatre, score: Score, *, show: Callable[[Score], None], cue: Cue) -> None:
    """One storm, until each of its deliveries is answered and its event is done."""
    deliveries = score.deliveries
    score.orders_before = theatre.naive_orders(), theatre.our_orders()
    theatre.close_the_door()
    checkpoints = Checkpoints(deliveries)
    watching = asyncio.create_task(_watch(theatre, score, show))
    body = theatre.sender.payment(score.event)
    try:
        async with asyncio.TaskGroup() as storm:
            ours, naive = (theatre.sender.deliveries(body, deliveries) for _ in range(2))
            storm.create_task(send_all(theatre.naive.port, naive, answers=score.naive))
            storm.create_task(send_all(theatre.shop.port, ours, answers=score.ours, hold=checkpoints.pass_one))
            storm.create_task(_kill_workers(theatre, score, checkpoints, cue))
        theatre.sent.append(score.ours.total)
        await _settled(theatre)
    finally:
        watching.cancel()
    _count(theatre, score)
    show(score)


class Checkpoints:
    """Holds the storm at each quarter until the worker was killed there: each kill is in the midst of it."""

    def __init__(self, deliveries: int) -> None:
        self._deliveries = deliveries
        self._passed = 0
        self._allowed = 0
        self._more = asyncio.Event()
        self.reached = asyncio.Event()
        self.move_on(0)

    async def pass_one(self) -> None:
        while self._passed >= self._allowed:
            self.reached.set()
            await self._more.wait()
        self._passed += 1

    def move_on(self, kills: int) -> None:
        last = kills >= KILLS
        self._allowed = self._deliveries if last else max(kills + 1, self._deliveries * (kills + 1) // (KILLS + 1))
        self.reached.clear()
        self._more.set()
        self._more = asyncio.Event()


async def _kill_workers(theatre: Theatre, score: Score, checkpoints: Checkpoints, cue: Cue) -> None:
    victim = 0
    while len(score.killed) < KILLS:
        by_hand = await cue(checkpoints.reached)
        victim = await theatre.shop.worker(other_than=victim)
        await _exists(theatre.folder / f"inside-{victim}")
        os.kill(victim, signal.SIGKILL)
        score.killed.append(Kill(victim, score.ours.total, by_hand))
        checkpoints.move_on(len(score.killed))
    (theatre.folder / "open").touch()


async def _settled(theatre: Theatre) -> None:
    """Wait until all is done and the intake has flushed its counters, which it does once a second."""
    sent = sum(theatre.sent)
    async with asyncio.timeout(SETTLES_WITHIN), theatre.inbox.archive() as archive:
        while True:
            census = await archive.census()
            received = sum(tally.received for tally in census.tallies.values())
            if received >= sent and census.states.get(State.DONE, 0) == census.events:
                return
            await asyncio.sleep(0.1)


async def _watch(theatre: Theatre, score: Score, show: Callable[[Score], None]) -> None:
    while True:
        _count(theatre, score)
        show(score)
        await asyncio.sleep(0.1)


def _count(theatre: Theatre, score: Score) -> None:
    naive, ours = score.orders_before
    score.naive_orders, score.our_orders = theatre.naive_orders() - naive, theatre.our_orders() - ours


async def _exists(path: Path) -> None:
    async with asyncio.timeout(SETTLES_WITHIN):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)


def count_orders(database: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            count: int = db.execute("SELECT count(*) FROM orders").fetchone()[0]
            return count
    except sqlite3.OperationalError:
        return 0  # the shop has not made its table yet
