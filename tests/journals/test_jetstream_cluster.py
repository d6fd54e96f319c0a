"""Three brokers, of which the leader is killed while real intakes append and a real drainer drains."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from nats.errors import Error as NatsError

from landfast.demo.load import Connection
from landfast.domain.errors import JournalUnavailableError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.journals import jetstream_link
from landfast.journals.jetstream import JetStreamJournal
from landfast.testing.factory import DAWN, delivery
from tests.crash.history import History, Line, Phase
from tests.journals.jetstream_bench import ANSWER_SECONDS, INBOX, MAC_KEY, Bench, Elsewhere
from tests.nats import Cluster, Nats
from tests.patience import PATIENCE_SECONDS
from tests.powerloss.checker import Books, Cut, Stored, after_the_drain
from tests.shops import ORDER, Shop, sqlite_shop

EVENTS = 1000
BEFORE_THE_KILL = 300
SENDERS = 16
NAME = "landfast"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.destroy()


@pytest.fixture
async def shop(cluster: Cluster, tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    shop.settings["LANDFAST_JOURNAL"] = cluster.url  # says nothing of syncing: three have each message
    return shop


class Senders:
    """Each event is sent until it is acknowledged, as providers do. The history says what they saw."""

    def __init__(self, shop: Shop, history: History) -> None:
        self._sender = shop.sender
        self._history = history
        self.bodies = {f"evt_{number}": shop.sender.payment(f"evt_{number}") for number in range(EVENTS)}
        self.acknowledged: set[str] = set()
        self.refused = 0
        self.changed = asyncio.Event()

    async def send_all(self, port: int) -> None:
        queue = iter(self.bodies)
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as senders:
            for _ in range(SENDERS):
                senders.create_task(self._send(port, queue))

    async def _send(self, port: int, queue: Iterator[str]) -> None:
        connection = Connection(port)
        for key in queue:
            while not await self._deliver(connection, key):
                await asyncio.sleep(0.05)
        connection.close()

    async def _deliver(self, connection: Connection, key: str) -> bool:
        body, number = self.bodies[key], self._history.new_id()
        sha = hashlib.sha256(body).hexdigest()
        self._history.write(Line("deliver", "invoke", key, 0, number, sha=sha))
        status = await connection.send(self._sender.delivery(body))
        phase: Phase = "ok" if status == 200 else "unknown" if status is None else "fail"
        self._history.write(Line("deliver", phase, key, 0, number))
        if status == 200:
            self.acknowledged.add(key)
        else:
            self.refused += 1
        self.changed.set()
        self.changed = asyncio.Event()
        return status == 200

    async def until(self, count: int) -> None:
        while len(self.acknowledged) < count:
            await self.changed.wait()


@pytest.mark.req("R53", "R55")
async def test_the_leader_of_three_dies_under_load_and_nothing_is_lost_or_doubled(
    cluster: Cluster, shop: Shop, tmp_path: Path
) -> None:
    history = History(tmp_path / "history.jsonl")
    senders = Senders(shop, history)
    async with shop.serving("--intakes", "2", "--workers", "1", "--drainers", "1") as serve:
        sending = asyncio.create_task(senders.send_all(serve.port))
        await senders.until(BEFORE_THE_KILL)
        leader = await _leader(cluster.nodes[0])
        cluster.node(leader).kill()
        at_the_kill = len(senders.acknowledged)
        await sending
        assert at_the_kill < EVENTS == len(senders.acknowledged)
        survivor = next(node for node in cluster.nodes if node.name != leader)
        assert await _leader(survivor, other_than=leader) != leader
        await _until_done(shop)
        assert await serve.stop() == 0
    history.close()
    ok = {line.key for line in history.read() if line.phase == "ok"}
    cut = Cut(sent={key: hashlib.sha256(body).digest() for key, body in senders.bodies.items()}, acknowledged=ok)
    assert after_the_drain(cut, await _books(shop)) == []
    print(f"{at_the_kill} acknowledged before the kill, {senders.refused} refused or unknown in all")


@pytest.mark.req("R8", "R53")
async def test_twins_that_arrive_together_are_all_answered_and_one_is_new(
    cluster: Cluster, budget: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the servers agree on a message, its leader refuses a copy of it. That is no answer yet, to nobody."""
    refused: list[int] = []

    def noting(ack: jetstream_link.Ack) -> bool:
        is_early = ack.error is not None and ack.error.err_code == jetstream_link.IN_PROCESS
        refused.extend([ack.error.err_code] if ack.error is not None else [])
        return is_early

    monkeypatch.setattr(jetstream_link.Ack, "is_early", property(noting))
    async with AsyncExitStack() as stack:
        journals = [
            JetStreamJournal(cluster.url, inbox=INBOX, mac_key=MAC_KEY, otherwise=Elsewhere()) for _ in range(3)
        ]
        with monkeypatch.context() as electing:  # while there is no leader, what it was asked is never answered
            electing.setattr(jetstream_link, "ANSWER_SECONDS", budget)
            for journal in journals:
                stack.push_async_callback(journal.close)
                await journal.open()
            await _answers(journals[0])
        for number in range(20):
            first = delivery(f"evt_{number}")
            twins = [
                msgspec.structs.replace(first, received_at=DAWN + timedelta(milliseconds=each)) for each in range(12)
            ]
            batches = [journals[each % 3].record(twins[4 * each : 4 * each + 4]) for each in range(3)]
            rows = itertools.chain.from_iterable(await asyncio.gather(*batches))
            assert sorted([row.is_new for row in rows]) == [False] * 11 + [True]
    assert set(refused) == {jetstream_link.IN_PROCESS}, "void: no twin came too early"


async def _answers(journal: JetStreamJournal) -> None:
    """Wait until its stream has a leader."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(JournalUnavailableError):
                await journal.record([delivery("evt_first")])
                return


async def _leader(node: Nats, *, other_than: str = "") -> str:
    """Of the stream, as this node knows it, once there is one."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(NatsError):
                found = await Bench(node).api(f"STREAM.INFO.{NAME}", patience=ANSWER_SECONDS)
                leader: str = found.get("cluster", {}).get("leader", "")
                if leader not in ("", other_than):
                    assert found["config"]["num_replicas"] == 3
                    return leader
            await asyncio.sleep(0.05)


async def _until_done(shop: Shop) -> None:
    """Or until it is clear that it never will be: the checker says what is missing then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS), shop.archive() as archive:
            while (await archive.census()).states.get(State.DONE) != EVENTS:
                await asyncio.sleep(0.05)


async def _books(shop: Shop) -> Books:
    async with shop.archive() as archive:
        events = await archive.find(Filter(), limit=2 * EVENTS)
        shown = [await archive.show(event.event_id) for event in events]
    stored = [Stored(each.summary.key, hashlib.sha256(each.body).digest(), str(each.summary.state)) for each in shown]
    with closing(sqlite3.connect(shop.ledger)) as ledger:
        (receipts,) = ledger.execute("SELECT count(*) FROM landfast_receipt").fetchone()
    return Books(stored, await shop.orders(), receipts)
