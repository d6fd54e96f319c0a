"""Two machines take webhooks in, two process them, and two of the four are cut off from the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from tests.crash.history import History
from tests.journals.outages import Load, problems, with_spool
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Proxy
from tests.servers import Postgres
from tests.shops import TABLE, Shop, postgres_shop, until
from tests.valkey import Valkey

pytestmark = pytest.mark.long
CALM, CUT, TAIL = 40, 60, 40
"""Events before, during and after."""
ORDER = """
@inbox.on("stripe", "payment_intent.succeeded", deadline=2.0)
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)
    while pathlib.Path("hold").exists():
        pathlib.Path("inside").touch()
        await asyncio.sleep(0.01)
"""


@dataclass(slots=True)
class Machine:
    """A folder of its own, a cable of its own to the one database, and a `landfast serve` that knows nothing else."""

    shop: Shop
    cable: Proxy
    serve: Serve


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    server = Valkey()
    try:
        server.start()
        yield server
    finally:
        server.destroy()


@asynccontextmanager
async def machine(
    folder: Path, role: str, postgres: Postgres, database: str, settings: dict[str, str]
) -> AsyncIterator[Machine]:
    async with Proxy(postgres.port).running() as cable:
        shop = postgres_shop(folder, database.replace(f":{postgres.port}/", f":{cable.port}/"))
        shop.write(ORDER)
        with_spool(shop, **settings)
        if role == "worker":
            del shop.settings["LANDFAST_SPOOL"]
        else:
            shop.take_time()
        async with shop.serving("--role", role) as serve:
            yield Machine(shop, cable, serve)


@pytest.mark.req("R53", "R55", "R24")
async def test_one_intake_and_one_worker_are_cut_off_from_the_database_and_the_others_go_on(
    tmp_path: Path, postgres: Postgres, database: str, valkey: Valkey
) -> None:
    whole = postgres_shop(tmp_path, database)
    await whole._query(TABLE)
    history = History(tmp_path / "history")
    settings = {"LANDFAST_REDIS": valkey.address}
    async with AsyncExitStack() as stack:
        near, far, steady, lonely = [
            await stack.enter_async_context(machine(folder_of(tmp_path, name), role, postgres, database, settings))
            for name, role in (("near", "intake"), ("far", "intake"), ("steady", "worker"), ("lonely", "worker"))
        ]
        doors = [Load(whole, each.serve.port, history) for each in (near, far)]
        await _deliver(doors, "calm", CALM)
        await until(lambda: whole.count(State.DONE), CALM)

        held = await _cut_off_in_the_middle(lonely, doors)
        far.cable.cut()
        await _deliver(doors, "cut", CUT)
        assert far.cable.held and lonely.cable.held, "void: nobody spoke into a cable that was cut"
        spooled = list((far.shop.folder / "spool").glob("*.seg"))
        assert spooled, "void: the intake that was cut off had nothing to keep"
        # Those of the near door, and those that the lonely worker took with it: its claims expire, and the other one
        # takes over, while it is still away.
        stored = CALM + held + CUT // 2
        await until(lambda: whole.count(State.DONE), stored)
        assert await whole.count(State.CLAIMED) == 0

        for each in (far, lonely):
            each.cable.mend()
        await until(lambda: whole.count(State.DONE), CALM + held + CUT)
        assert await steady.serve.stop() == 0
        await _deliver(doors, "tail", TAIL)
        await until(lambda: whole.count(State.DONE), CALM + held + CUT + TAIL)  # by the one that was away
        for each in (near, far, lonely):
            assert await each.serve.stop() == 0

    assert {status for door in doors for status in door.statuses} == {200}
    assert await problems(whole, history) == []
    print(f"{CALM + held + CUT + TAIL} events, {held} in the hands of the worker that was cut off")
    history.close()


def folder_of(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


async def _cut_off_in_the_middle(worker: Machine, doors: list[Load]) -> int:
    """Cut the cable when it has written an order and not committed it; how many events that took."""
    (worker.shop.folder / "hold").touch()
    sent = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (worker.shop.folder / "inside").exists():
            await _deliver(doors, f"held_{sent}", 2)
            sent += 2
    worker.cable.cut()
    (worker.shop.folder / "hold").unlink()
    return sent


async def _deliver(doors: list[Load], name: str, count: int) -> None:
    """By turns through each door, as a load balancer does; each sender comes again until it is told 200."""

    async def send(number: int) -> None:
        door = doors[number % len(doors)]
        connection = Connection(door.port)
        try:
            while await door.send(connection, f"evt_{name}_{number}") != 200:
                await asyncio.sleep(0.05)
        finally:
            connection.close()

    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as senders:
        for number in range(count):
            senders.create_task(send(number))
