"""After the storm: one key, one thing that can happen to a webhook, and what Landfast made of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import termios
import time
import tty
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count

from rich.console import Console

from landfast.demo.load import Connection
from landfast.demo.screen import Screen, orders, summary
from landfast.demo.sender import EVENT
from landfast.demo.stage import Stage
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord

HELP = (
    "  s send  d send it again  f forge one  c crash the handler  k kill -9 the worker  r replay"
    "  p play the storm again  ? help  q quit"
)
EXPLAINED = """\
  s  send a new payment, signed as Stripe signs it: its handler makes one order
  d  deliver the last event again: a duplicate, answered 200, and no second order
  f  forge it: another amount under the old signature, answered 401 and never stored
  c  send one whose handler raises after it wrote the order: undone, tried again, one order
  k  kill -9 the worker: another takes its place, and its claims
  p  play the storm again, with another event; the dashboard's page shows it
  r  replay the last event: a new run, in which no handler with a receipt runs again
  q  quit, and throw the folder away; Ctrl-D does the same"""
QUIT = ("q", "\x04")
DONE_WITHIN = 120.0


class Keys:
    def __init__(self, stage: Stage, console: Console) -> None:
        self._stage = stage
        self._theatre = theatre = stage.theatre
        self._console = console
        self._connection = Connection(theatre.shop.port)
        self._numbers = count(1)
        self._event = EVENT
        self._body = theatre.sender.payment()

    async def run(self) -> None:
        """Until `q`, Ctrl-D, or the end of the input."""
        actions: dict[str, Callable[[], Awaitable[str]]] = {
            "s": self.send,
            "d": self.send_again,
            "f": self.forge,
            "c": self.crash,
            "k": self.kill,
            "r": self.replay,
        }
        async with _keys() as pressed:
            self._say(HELP)
            async for key in pressed:
                if key in QUIT:
                    break
                if key == "?":
                    self._say(EXPLAINED)
                elif key == "p":
                    self._say(await self.play_again())
                elif key in actions:
                    async with self._stage.turn:
                        self._say(f"  {await actions[key]()}")
                else:
                    self._say(f"  no such key: {key!r}; ? explains them")
        self._connection.close()

    async def play_again(self) -> str:
        with Screen(self._console, self._stage.deliveries) as screen:
            score, proof = await self._stage.storm(screen.show)
        return summary(score, proof)

    async def send(self) -> str:
        self._event = f"evt_demo_{next(self._numbers)}"
        self._body = self._theatre.sender.payment(self._event)
        answer = await self._deliver(self._theatre.sender.delivery(self._body))
        record = await self._ended()
        return f"sent {self._event}: {answer}; then {_told(record)}: {self._orders()}"

    async def send_again(self) -> str:
        answer = await self._deliver(self._theatre.sender.delivery(self._body))
        return f"sent {self._event} again: {answer}: {self._orders()}"

    async def forge(self) -> str:
        genuine = self._theatre.sender.delivery(self._body)
        answer = await self._deliver(genuine.replace(b"8999", b"0001"))
        return f"sent {self._event} with another amount under the old signature: {answer}: {self._orders()}"

    async def crash(self) -> str:
        self._event = f"evt_demo_{next(self._numbers)}"
        self._body = self._theatre.sender.payment(self._event, crash="yes")
        answer = await self._deliver(self._theatre.sender.delivery(self._body))
        self._say(f"  sent {self._event}: {answer}; its handler raises after it wrote the order ...")
        record = await self._ended()
        return f"{_told(record)}: {self._orders()}"

    async def kill(self) -> str:
        victim = await self._theatre.shop.worker()
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        heir = await self._theatre.shop.worker(other_than=victim)
        return (
            f"killed worker {victim}; worker {heir} is ready {time.monotonic() - began:.1f} s later: {self._orders()}"
        )

    async def replay(self) -> str:
        async with self._theatre.inbox.archive() as archive:
            await archive.replay([event_id("stripe", self._event)], forced=False, who="the demo")
        record = await self._ended()
        return f"replayed {self._event} as run {record.summary.run}: {_told(record)}: {self._orders()}"

    async def _deliver(self, request: bytes) -> str:
        """What the sender was answered."""
        began = time.perf_counter()
        status = await self._connection.send(request)
        milliseconds = (time.perf_counter() - began) * 1000
        if status is None:
            return "no answer"
        self._theatre.sent.append(1)
        answer = json.loads(self._connection.body)
        return f"{status} {answer.get('status') or answer.get('error')} in {milliseconds:.1f} ms"

    async def _ended(self) -> EventRecord:
        async with asyncio.timeout(DONE_WITHIN), self._theatre.inbox.archive() as archive:
            while True:
                record = await archive.show(event_id("stripe", self._event))
                if record is not None and record.summary.state in (State.DONE, State.DEAD):
                    return record
                await asyncio.sleep(0.02)

    def _orders(self) -> str:
        return orders(self._theatre.our_orders())

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False)


def _told(record: EventRecord) -> str:
    """What its handlers made of it, in its latest run."""
    attempts = [attempt for line in record.history if line.run == record.summary.run for attempt in line.attempts]
    ran = [attempt for attempt in attempts if attempt.outcome != "skipped"]
    told = ", ".join(f"{a.handler} {a.outcome}{f' after {a.error}' if a.error else ''}" for a in ran)
    return told or "no handler ran, each has its receipt"


@asynccontextmanager
async def _keys() -> AsyncIterator[AsyncIterator[str]]:
    """Single keys, without Enter; what an arrow key sends is one. Ctrl-C still interrupts."""
    loop = asyncio.get_running_loop()
    pressed: asyncio.Queue[str] = asyncio.Queue()

    async def each() -> AsyncIterator[str]:
        while key := await pressed.get():
            yield key

    def read(fd: int) -> None:
        text = os.read(fd, 64).decode("latin-1")
        for key in [text] if text.startswith("\x1b") or not text else text:
            pressed.put_nowait(key)

    with _unbuffered(sys.stdin.fileno()) as fd:
        loop.add_reader(fd, read, fd)
        try:
            yield each()
        finally:
            loop.remove_reader(fd)


@contextmanager
def _unbuffered(fd: int) -> Iterator[int]:
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
