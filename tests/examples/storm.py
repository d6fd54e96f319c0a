"""What the tests of `examples/` share: its real processes, a sender that will not stop, and kill -9 at bad moments.

shop = Example("plain", tmp_path, store=str(tmp_path / "landfast.db"))
async with shop.running(["-m", "landfast", "serve", "shop.py", "--port", "{port}"]):
    await shop.storm(orders)
async with shop.failing_twice().running(...):
    await shop.pay_once(orders)
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import random
import shutil
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Self

import asyncpg

from landfast.app import Inbox
from landfast.demo.load import Connection, post
from landfast.demo.sender import Sender
from landfast.domain.lifecycle import State
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import sign
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS
from tests.shops import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECRET = "whsec_of_the_examples_and_nobody_else"
LEASE = "1"
"""Seconds that events stay with a worker that was killed: as short as it may be, because the test waits for it."""
PATIENCE = PATIENCE_SECONDS
"""Seconds for everything that other processes have to do, on a machine that is busy with all other tests."""

ANSWER_SECONDS = 5.0
"""For one answer, and then it is sent again: who connects while the server is dead waits at a socket that the test holds
open, and only who gives up looks whether somebody has to be started."""

RAISES_TWICE = '''
"""Every handler raises after its writes, at its first two attempts. Loaded by Python itself, before the example is."""
import functools, inspect, os, pathlib
from landfast import Inbox

def raising(function):
    def judge(event):
        if event.attempt <= 2:
            with pathlib.Path(os.environ["RAISED"]).open("a") as raised:
                raised.write(f"{event.key} {event.attempt}\\n")
            raise RuntimeError("the card network hung up")

    @functools.wraps(function)
    async def on_the_loop(event, *given, **named):
        result = await function(event, *given, **named)
        judge(event)
        return result

    @functools.wraps(function)
    def in_a_thread(event, *given, **named):
        result = function(event, *given, **named)
        judge(event)
        return result

    return on_the_loop if inspect.iscoroutinefunction(function) else in_a_thread

def on(self, *given, on=Inbox.on, **named):
    register = on(self, *given, **named)
    return lambda function: register(raising(function)) and function

Inbox.on = on
'''

Orders = Callable[[], "Sequence[str] | Awaitable[Sequence[str]]"]
"""What the shop's own table has: the payment of each order."""


class Example:
    """A copy of a folder of `examples/`, in a folder of its own."""

    def __init__(
        self, name: str, folder: Path, *, store: str, path: str = "/in/stripe", env: Mapping[str, str] | None = None
    ) -> None:
        """`store` is the inbox's address, `path` where it is mounted, `env` what the example reads besides."""
        self.folder = folder / name
        shutil.copytree(EXAMPLES / name, self.folder, ignore=shutil.ignore_patterns("__pycache__", "*.db*"))
        self.raised = folder / "raised.txt"
        self.log = folder / "processes.log"
        self._store = store
        self._path = path
        self._sender = Sender(SECRET)
        self._processes: list[Running] = []
        self.env = {**os.environ, "LANDFAST_STORE": store, "LANDFAST_LEASE": LEASE, "STRIPE_WEBHOOK_SECRET": SECRET}
        self.env |= {"PYTHONUNBUFFERED": "1", "RAISED": str(self.raised), **(env or {})}

    def failing_twice(self) -> Self:
        """From its next start, each handler raises after its writes at its first two attempts. Nobody kills a worker then,
        and no attempt is taken from one that stands still."""
        patches = self.folder.parent / "patches"
        patches.mkdir()
        (patches / "sitecustomize.py").write_text(RAISES_TWICE)
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(patches), self.env.get("PYTHONPATH")]))
        self.env["LANDFAST_LEASE"] = str(PATIENCE_SECONDS)
        return self

    async def run(self, *arguments: str) -> str:
        """Python with these arguments, such as `manage.py migrate`; what it printed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments), cwd=self.folder, env=self.env, stdout=-1, stderr=-2
        )
        async with asyncio.timeout(PATIENCE):
            out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        return out.decode()

    @asynccontextmanager
    async def running(self, *commands: Sequence[str]) -> AsyncIterator[None]:
        """Python with the arguments of each command, one process each. The first one listens: at `{fd}`, a socket that
        stays open over its kills (`uvicorn --fd {fd}`, `gunicorn --bind fd://{fd}`), or else at `{port}`."""
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.port = free_port()
            listener.bind(("127.0.0.1", self.port))
            by_socket = any("{fd}" in part for part in commands[0])
            if by_socket:
                listener.listen(256)
            else:
                listener.close()
            filled = [
                [part.format(fd=listener.fileno() if by_socket else "", port=self.port) for part in command]
                for command in commands
            ]
            self._processes = [Running(self, command, [listener.fileno()] if by_socket else []) for command in filled]
            try:
                for each in self._processes:
                    await each.start()
                yield
            finally:
                for each in self._processes:
                    await each.kill_all()

    async def storm(self, orders: Orders, *, payments: int = 2, times: int = 40) -> None:
        """Each payment is delivered `times` times, eight at a time, each until it is acknowledged. Meanwhile processes
        are killed. In the end there is one order for each, and the inbox has nothing left to do."""
        seed = int(os.environ.get("STORM_SEED", random.randrange(2**32)))
        print(f"to kill the same again: STORM_SEED={seed} make test TESTS=examples/{self.folder.name}")
        chance = random.Random(seed)
        wanted = []
        for number in range(payments):
            event = f"evt_storm{number}"
            wanted.append(f"pi_storm{number}")
            left = iter(range(times))
            # Early, while the first one is being processed, and of the next at any moment.
            moment = chance.randrange(2, times) if number else 1
            answered = 0

            async def deliver(event: str = event, left: Any = left, moment: int = moment) -> None:
                nonlocal answered
                for _ in left:
                    await self.deliver(event)
                    answered += 1
                    if answered == moment:
                        await chance.choice(self._processes).kill()

            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as senders:
                for _ in range(8):
                    senders.create_task(deliver())
        await self.settled(payments)
        assert sorted(await _looked(orders)) == wanted, self.told()

    async def pay_once(self, orders: Orders) -> None:
        """After `failing_twice`: one payment, which the handler fails twice, and one order."""
        await self.deliver("evt_once")
        await self.settled(1)
        assert self.raised.read_text().split() == ["evt_once", "1", "evt_once", "2"], self.told()
        assert await _looked(orders) == ["pi_once"], self.told()

    async def deliver(self, event: str) -> None:
        """Signed anew and sent again until it is acknowledged, as Stripe does."""
        connection = Connection(self.port, patience=ANSWER_SECONDS)
        try:
            async with asyncio.timeout(PATIENCE):
                while await connection.send(self._request(event)) != 200:
                    await self.revive()
                    await asyncio.sleep(0.05)
        finally:
            connection.close()

    async def settled(self, events: int) -> None:
        """Wait until so many events are done, and no other is there."""

        async def states() -> dict[str, int]:
            await self.revive()
            (self.folder / "none.toml").touch()
            async with Inbox(self.folder / "none.toml", store=self._store).archive() as archive:
                return {state: count for state, count in (await archive.census()).states.items() if count}

        try:
            await until(states, {State.DONE: events}, within=PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{await states()}\n{self.told()}") from None

    async def revive(self) -> None:
        """Start again what was killed, as systemd would."""
        for each in self._processes:
            await each.start()

    def told(self) -> str:
        """The last lines of what the processes wrote."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-60:])

    def _request(self, event: str) -> bytes:
        profile, body = provider("stripe"), self._sender.payment(event)
        key = Secret("test", profile.decode_secret(SECRET))
        return post(self._path, sign(profile, body, key, now=time.time()), body)


class Running:
    """One command in a session of its own, with all the processes that it starts."""

    def __init__(self, example: Example, arguments: Sequence[str], fds: Sequence[int]) -> None:
        self._example = example
        self._arguments = arguments
        self._fds = fds
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Unless it runs."""
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                return
            with self._example.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, *self._arguments),
                    cwd=self._example.folder,
                    env=self._example.env,
                    stdin=-3,
                    stdout=log,
                    stderr=log,
                    pass_fds=self._fds,
                    start_new_session=True,
                )

    async def kill(self) -> None:
        """One of its processes at random, or all of them at once, which is what a power cut does."""
        assert self._process is not None
        family = family_of(self._process.pid)
        if len(family) > 1 and random.random() < 0.6:
            _kill(random.choice(family[1:]))
        else:
            await self.kill_all()

    async def kill_all(self) -> None:
        if self._process is not None and self._process.returncode is None:
            for pid in family_of(self._process.pid):
                _kill(pid)
            await self._process.wait()


def family_of(pid: int) -> list[int]:
    """A process and all that descend from it, itself first."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            after_name = stat.read_text().rpartition(")")[2].split()
            parents.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found.extend(parents.get(one, []))
    return found


def sqlite_orders(file: Path, query: str = "SELECT payment_id FROM orders") -> Orders:
    def orders() -> list[str]:
        with closing(sqlite3.connect(file)) as db:
            return [row[0] for row in db.execute(query)]

    return orders


def postgres_orders(dsn: str, query: str = "SELECT payment_id FROM orders") -> Orders:
    async def orders() -> list[str]:
        connection = await asyncpg.connect(dsn)
        try:
            return [row[0] for row in await connection.fetch(query)]
        finally:
            await connection.close()

    return orders


async def _looked(orders: Orders) -> Sequence[str]:
    found = orders()
    return await found if inspect.isawaitable(found) else found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
