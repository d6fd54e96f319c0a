"""Suspects have a process of their own: nobody waits for them, and nobody dies with them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from landfast.app import Inbox
from landfast.demo.servers import Serve
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.filter import Filter
from landfast.domain.ids import WorkerId, token
from landfast.domain.lifecycle import State
from landfast.processes.supervision import child as child_module
from landfast.processes.supervision import lives as lives_module
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.lives import Lives, News, ProcessKind
from landfast.processes.supervision.suspects import LONGEST_DELAY_IN_VAIN_SECONDS, LONGEST_DELAY_SECONDS, SuspectsKeeper
from landfast.testing.clock import SeededChance
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, postgres_shop, until

DEAD = WorkerId(b"deadwork")
READY = "import socket,sys; s=socket.socket(fileno=int(sys.argv[-1])); s.send(b'!'); "
FOREVER = READY + "s.recv(1)"
DIES = READY + "sys.exit(9)"
ENDS = READY + "sys.exit(0)"
SPEAKS = READY + "[s.send(b'?') for _ in range(3)]; s.recv(1)"

LEAVES_A_CHILD = READY + "import os; os.fork() or (s.recv(1), os._exit(0)); os._exit(0)"
SPEAKS_WHEN_ASKED = "import signal; signal.signal(signal.SIGUSR1, lambda *_: s.send(b'?')); " + FOREVER

POISON = """
    if event.key == "evt_117":
        os._exit(9)
"""
SLOW = """
    pathlib.Path(f"{event.key}-{os.getpid()}").touch()
    while event.key.startswith("slow") and not pathlib.Path("open").exists():
        await asyncio.sleep(0.01)
"""


@pytest.fixture
async def shop(tmp_path: Path, migrated_database: str) -> Shop:
    shop = postgres_shop(tmp_path, migrated_database)
    await shop.create_orders()
    return shop


@pytest.mark.req("R24")
async def test_a_poison_event_in_a_group_of_200_is_buried_within_seconds_and_hurts_nobody(shop: Shop) -> None:
    shop.write(ORDER, POISON)
    keys = [f"evt_{n}" for n in range(200)]
    await deliver(shop, *keys)
    async with shop.serving("--role", "worker") as serve:
        worker = await serve.worker()
        # Five processes start one after the other: seconds, and on a busy machine some more.
        await until(lambda: shop.count(State.DONE), 199, within=PATIENCE_SECONDS)
        await until(lambda: shop.count(State.DEAD), 1, within=PATIENCE_SECONDS)
        assert await serve.worker() != worker, "it died once, among its neighbours"
        assert await serve.stop() == 0
    log = (shop.folder / "serve.log").read_text()
    deaths = [line for line in log.splitlines() if "claims_given_back" in line]
    assert len(deaths) == 4, "once among its neighbours, three times alone"
    assert sorted(await shop.orders()) == sorted(set(keys) - {"evt_117"})
    async with shop.archive() as archive:
        [dead] = await archive.find(Filter(state=State.DEAD), limit=10)
        assert (dead.key, dead.reason) == ("evt_117", "crash_loop")


@pytest.mark.req("R24")
async def test_while_a_handler_takes_long_a_suspect_runs_and_nothing_else_waits(shop: Shop) -> None:
    shop.write(ORDER, SLOW)
    await make_suspect(shop, "evt_suspect")
    await deliver(shop, "slow_1")
    async with shop.serving("--role", "worker") as serve:
        worker = await serve.worker()
        await until((shop.folder / f"slow_1-{worker}").exists, True)
        await until(lambda: shop.count(State.DONE), 1)
        assert not (shop.folder / f"evt_suspect-{worker}").exists(), "it ran somewhere else"
        await deliver(shop, "evt_2", "evt_3")
        await until(lambda: shop.count(State.DONE), 3)
        (shop.folder / "open").touch()
        await until(lambda: shop.count(State.DONE), 4)
        assert await serve.stop() == 0


async def test_when_the_supervisor_is_killed_the_process_of_the_suspects_ends_too(shop: Shop) -> None:
    async with at_a_slow_suspect(shop) as (serve, _):
        os.kill(serve.pid, signal.SIGKILL)
        (shop.folder / "open").touch()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await serve.wait()  # its output ends when the last of its processes has
    assert await shop.count(State.DONE) == 1, "it finished what it had in hand"


async def test_a_stop_lets_a_suspect_finish(shop: Shop) -> None:
    async with at_a_slow_suspect(shop) as (serve, _):
        os.kill(serve.pid, signal.SIGTERM)
        await serve.until(lambda: not serve.pids("worker"))
        (shop.folder / "open").touch()
        assert await serve.wait() == 0
    assert await shop.orders() == ["slow_suspect"]


async def test_after_sighup_suspects_run_in_the_new_way(shop: Shop) -> None:
    async with at_a_slow_suspect(shop) as (serve, suspects):
        shop.write(ORDER)
        os.kill(serve.pid, signal.SIGHUP)
        worker = serve.pids("worker")[0]
        await serve.until(lambda: worker not in serve.processes)
        assert suspects in serve.processes, "it finishes what it has in hand"
        (shop.folder / "open").touch()
        await serve.until(lambda: suspects not in serve.processes)
        await make_suspect(shop, "evt_2")
        await until(lambda: shop.count(State.DONE), 2)
        assert not [*shop.folder.glob("evt_2-*")], "with the code as it is now"
        assert await serve.stop() == 0


async def test_a_worker_alone_keeps_a_process_for_suspects_itself(shop: Shop) -> None:
    shop.write(ORDER, SLOW)
    await make_suspect(shop, "slow_suspect")
    async with shop.running("work", "shop.py") as process:
        await until(lambda: len([*shop.folder.glob("slow_suspect-*")]), 1)
        assert not (shop.folder / f"slow_suspect-{process.pid}").exists(), "it runs in another process"
        await deliver(shop, "evt_1")
        await until(lambda: shop.count(State.DONE), 1)
        process.terminate()
        (shop.folder / "open").touch()
        assert await process.wait() == 0
    assert sorted(await shop.orders()) == ["evt_1", "slow_suspect"]


async def test_a_word_of_a_worker_starts_one_process_and_no_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, SPEAKS, FOREVER)
    await stage.lives.begin("worker")
    await stage.until(lambda: stage.told == 3 and len(stage.pids("ready")) == 2)
    assert [news.role for news in stage.news if news.what == "started"] == ["worker", "suspects"]
    await stage.stop()


async def test_a_worker_that_leaves_claims_behind_has_said_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, DIES, FOREVER)
    stage.left_behind = 1
    await stage.lives.begin("worker")
    await stage.until(lambda: len(stage.pids("ready")) == 2)
    assert stage.news[-1].role == "suspects"
    await stage.stop()


async def test_one_that_ends_in_order_comes_back_with_the_next_word_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, ENDS)
    stage.keeper.want()
    await stage.until(lambda: len(stage.pids("ended")) == 1)
    await stage.keeper.wait()
    assert len(stage.pids("started")) == 1
    stage.keeper.want()
    await stage.until(lambda: len(stage.pids("ended")) == 2)
    await stage.stop()


@pytest.mark.parametrize(("left_behind", "longest"), [(1, LONGEST_DELAY_SECONDS), (0, LONGEST_DELAY_IN_VAIN_SECONDS)])
async def test_it_comes_back_soon_while_suspects_kill_it_and_seldom_when_it_dies_by_itself(
    monkeypatch: pytest.MonkeyPatch, left_behind: int, longest: float
) -> None:
    stage = Stage(monkeypatch, "import sys; sys.exit(9)")
    stage.left_behind = left_behind
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 10:
            stage.keeper.stop()

    monkeypatch.setattr(stage.keeper, "_pause", pause)
    stage.keeper.want()
    await stage.keeper.wait()
    assert pauses[:3] == [0.1, 0.2, 0.4]
    assert max(pauses) == pauses[-1] == longest
    assert len(stage.abandoned) == 10, "each time what it had claimed is given back at once"


async def test_a_renewed_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + FOREVER)
    stage.keeper.want()
    await stage.until(lambda: bool(stage.pids("ready")))
    stage.keeper.renew()
    await stage.until(lambda: bool(stage.pids("ended")))
    assert stage.news[-1].code == -signal.SIGKILL
    await stage.keeper.wait()


async def test_one_that_is_being_started_is_renewed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have read the application just before that changed."""
    stage = Stage(monkeypatch, FOREVER)
    stage.may_start.clear()
    stage.keeper.want()
    await asyncio.wait_for(stage.is_starting.wait(), PATIENCE_SECONDS)
    stage.keeper.renew()
    stage.may_start.set()
    await asyncio.wait_for(stage.keeper.wait(), PATIENCE_SECONDS)
    assert len(stage.pids("ended")) == 1
    stage.keeper.want()
    await stage.until(lambda: len(stage.pids("ready")) == 2 or len(stage.pids("started")) == 2)
    await stage.stop()


async def test_a_process_that_leaves_its_lifeline_to_another_costs_the_next_one_no_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Descriptors are numbers, and the next lifeline takes the lowest that is free."""
    monkeypatch.setattr(lives_module, "LAST_WORD_SECONDS", 0.1, raising=False)
    stage = Stage(monkeypatch, LEAVES_A_CHILD, SPEAKS_WHEN_ASKED, FOREVER)
    first = await stage.lives.begin("worker")
    assert first is not None
    await first.child.wait()
    for _ in range(5):
        await asyncio.sleep(0)  # whoever sees it off knows it too
    second = await stage.lives.begin("worker")
    assert second is not None
    await first.ended
    await stage.until(lambda: second.child.is_ready)
    os.kill(second.child.pid, signal.SIGUSR1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stage.until(lambda: stage.told == 1)
    await stage.stop()


class Stage:
    """Processes that are real but not ours: the n-th start runs the n-th script, and the last one for ever after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
        monkeypatch.setattr(child_module, "INTERPRETER", (sys.executable, "-c"))
        self.scripts = list(scripts)
        self.news: list[News] = []
        self.abandoned: list[WorkerId] = []
        self.left_behind = 0
        self.told = 0
        self.is_starting, self.may_start = asyncio.Event(), asyncio.Event()
        self.may_start.set()
        self._heard = asyncio.Event()
        self.lives = Lives(start=self._start, abandon=self._abandon, chance=SeededChance(), tell=self._tell)
        self.keeper = SuspectsKeeper(self.lives, grace=0.2)
        self.lives.on_suspects = self._want

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self._heard.wait()
                self._heard.clear()

    def pids(self, what: str) -> list[int]:
        return [news.pid for news in self.news if news.what == what]

    async def stop(self) -> None:
        self.keeper.stop()
        self.lives.kill()
        await self.keeper.wait()
        await self.until(lambda: not len(self.lives))

    def _want(self) -> None:
        self.told += 1
        self.keeper.want()
        self._heard.set()

    async def _start(self, _kind: ProcessKind, _worker: WorkerId) -> Child:
        self.is_starting.set()
        await self.may_start.wait()
        return await Child.start([self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]])

    async def _abandon(self, worker: WorkerId) -> int:
        self.abandoned.append(worker)
        return self.left_behind

    def _tell(self, news: News) -> None:
        self.news.append(news)
        self._heard.set()


@asynccontextmanager
async def at_a_slow_suspect(shop: Shop) -> AsyncIterator[tuple[Serve, int]]:
    """A server whose suspects' process, of that pid, is inside a handler until the file `open` is there."""
    shop.take_time()  # or it is killed where another process needs longer to start than it has to finish
    shop.write(ORDER, SLOW)
    await make_suspect(shop, "slow_suspect")
    async with shop.serving("--role", "worker") as serve:
        await serve.until(lambda: bool(serve.pids("suspects")))
        [suspects] = serve.pids("suspects")
        await until((shop.folder / f"slow_suspect-{suspects}").exists, True)
        yield serve, suspects


async def make_suspect(shop: Shop, key: str) -> None:
    await deliver(shop, key)
    async with inbox_of(shop).stores() as stores:
        assert await stores.inbox.claim(token=token(DEAD, 1), lease=30, limit=1)
        assert await stores.inbox.abandon(worker=DEAD) == 1


async def deliver(shop: Shop, *keys: str) -> None:
    inbox = inbox_of(shop)
    await inbox.migrate()
    deliveries = [
        Delivery.of(
            "stripe",
            Identity(key, "payment_intent.succeeded"),
            received_at=inbox.clock.now() + timedelta(microseconds=number),
            headers=b"[]",
            body=shop.sender.payment(key),
        )
        for number, key in enumerate(keys)
    ]
    async with inbox.archive() as archive:
        await archive.record(sorted(deliveries, key=lambda delivery: delivery.event_id))


def inbox_of(shop: Shop) -> Inbox:
    (shop.folder / "none.toml").touch()
    return Inbox(shop.folder / "none.toml", store=shop.store, ledger=shop.ledger)
