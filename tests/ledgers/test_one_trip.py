"""Ledgers whose transactions live in a thread: a worker runs all of one there in one go, and its loop looks on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from landfast.domain.errors import CommitUnknownError, DeadlineError, LedgerUnavailableError
from landfast.ledgers import lane, limits
from landfast.processing.transact import StumbledError
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders, process, receipt_count
from landfast.testing.conformance.ledger.writes import INSERT, transacted
from tests.django_shop import project
from tests.ledgers.django_desks import DjangoPostgresDesk
from tests.ledgers.loop_time import LoopTime
from tests.ledgers.psycopg_desks import BlockingPsycopgDesk
from tests.ledgers.stacks import StackOnPostgres, StackOnSqlite
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy

EVENTS = ["pay_1", "pay_2", "pay_3"]
STACKS = ("psycopg", "sync psycopg", "sync psycopg2", "Django", "sync sqlite")
SHORT = 0.3
LONG = PATIENCE_SECONDS / 2
NAME: ContextVar[str] = ContextVar("name", default="nobody's")


@pytest.fixture(params=STACKS)
async def desk(request: pytest.FixtureRequest, migrated_database: str, tmp_path: Path) -> AsyncIterator[Any]:
    async for made in opened(request.param, migrated_database, tmp_path):
        yield made


async def opened(stack: str, dsn: str, path: Path) -> AsyncIterator[Any]:
    made: Any
    if stack == "Django":
        with project.database(project.for_postgres(dsn, OPTIONS={"sslmode": "disable"})) as alias:
            made = DjangoPostgresDesk(dsn, alias)
            await made.open()
            yield made
            await made.close()
        return
    if stack == "psycopg":
        made = BlockingPsycopgDesk(dsn)
    else:
        made = StackOnSqlite(stack, path / "shop.db") if "sqlite" in stack else StackOnPostgres(stack, dsn)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the loop has put before the threads."""
    found: list[Any] = []
    put = lane.Lane._put

    def noted(self: Any, function: Callable[[], Any]) -> Any:
        found.append(function)
        return put(self, function)

    monkeypatch.setattr(lane.Lane, "_put", noted)
    return found


@pytest.mark.parametrize("desk", [stack for stack in STACKS if "sqlite" not in stack], indirect=True)
async def test_each_handler_has_the_settings_of_a_transaction_of_ours(desk: Any) -> None:
    """Also the first of a group, whose settings are set by the statement that takes the receipts."""
    wanted = {"synchronous_commit": "on", "client_connection_check_interval": "2s", "lock_timeout": "0"}
    silence = "idle_in_transaction_session_timeout"
    told: list[dict[str, str]] = []

    def handle(_event: Any, tx: Any) -> None:
        told.append({name: tx.fetchval(f"SHOW {name}") for name in (*wanted, silence)})
        tx.execute("SET LOCAL synchronous_commit = off")

    await transacted(desk, handle, EVENTS)
    assert len(told) == len(EVENTS) and all(each == told[0] for each in told)
    assert told[0] == wanted | {silence: told[0][silence]} and told[0][silence] != "0"


async def test_a_group_is_one_trip_to_its_thread(desk: Any, trips: list[Any]) -> None:
    threads: set[int] = set()

    def handle(event: Any, tx: Any) -> None:
        threads.add(threading.get_ident())
        tx.execute(INSERT, event.key)

    await transacted(desk, handle, ["pay_0"])  # connections are made
    trips.clear()
    await transacted(desk, handle, EVENTS)
    assert (await orders(desk), await receipt_count(desk)) == (["pay_0", *EVENTS], 4)
    # `transacted` begins one and gives it back, to learn where handlers run. Where a database has one writer, somebody
    # must hear at once that it is another.
    assert len(trips) == (4 if "sqlite" in str(desk.stack if hasattr(desk, "stack") else "") else 2)
    assert threading.get_ident() not in threads


async def test_what_a_handler_sets_in_its_context_the_next_one_does_not_find(desk: Any) -> None:
    found: list[str] = []

    def handle(event: Any, tx: Any) -> None:
        found.append(NAME.get())
        NAME.set(event.key)
        tx.execute(INSERT, event.key)

    await transacted(desk, handle, EVENTS)
    assert found == ["nobody's"] * 3


async def test_the_deadline_is_each_handlers_own(desk: Any) -> None:
    """A group may take longer than any of its handlers may."""
    time = LoopTime()

    def handle(event: Any, tx: Any) -> None:
        time.move_in_thread(0.6 * DEADLINE)
        tx.execute(INSERT, event.key)

    await transacted(desk, handle, EVENTS, deadline=DEADLINE)
    assert (await orders(desk), await receipt_count(desk)) == (EVENTS, 3)


async def test_a_handler_that_overruns_is_named_and_nothing_of_its_group_is_kept(desk: Any) -> None:
    time = LoopTime()

    class Late(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            time.move(DEADLINE)  # not before: who gives it up looks where it is
            return super().wait(timeout)

    goes_on, ended, begun = Late(), threading.Event(), list[str]()

    def handle(event: Any, tx: Any) -> None:
        begun.append(event.key)
        tx.execute(INSERT, event.key)
        if event.key == "pay_2":
            goes_on.wait(PATIENCE_SECONDS)
            ended.set()

    with pytest.raises(StumbledError) as caught:
        await transacted(desk, handle, EVENTS, deadline=DEADLINE)
    assert caught.value.work.event.key == "pay_2"
    assert isinstance(caught.value.error, DeadlineError)
    assert "goes_on.wait" in "".join(caught.value.error.__notes__)
    goes_on.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
        # It returned well, and would be committed now if nobody had given it up.
        assert await process(desk.ledger, key("evt_9"), "pay_9") is None
    assert await orders(desk) == ["pay_9"]
    assert await receipt_count(desk) == 1
    assert begun == EVENTS[:2], "nobody waits for those after it"


async def test_a_worker_that_is_cancelled_leaves_nothing_of_what_runs_in_the_thread(desk: Any) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def handle(event: Any, tx: Any) -> None:
        tx.execute(INSERT, event.key)
        begun.set()
        goes_on.wait(PATIENCE_SECONDS)

    working = asyncio.create_task(transacted(desk, handle, EVENTS))
    await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    goes_on.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await process(desk.ledger, key("evt_9"), "pay_9") is None
    assert (await orders(desk), await receipt_count(desk)) == (["pay_9"], 1)


async def test_leaving_in_a_hurry_gives_everything_back(desk: Any) -> None:
    """Cancelled at any moment, before the thread has begun, while it reserves, handles, commits, or after."""

    def handle(event: Any, tx: Any) -> None:
        tx.execute(INSERT, event.key)

    for number in range(40):
        working = asyncio.create_task(transacted(desk, handle, [f"evt_{number}"]))
        for _ in range(number):
            await asyncio.sleep(0)
        while not working.done():
            working.cancel()
            await asyncio.wait([working], timeout=1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for number in range(6):  # more than there are connections
            assert await process(desk.ledger, key(f"next_{number}"), f"next_{number}") is None
    kept = await orders(desk)
    assert len(kept) == await receipt_count(desk), "an order has its receipt, and a receipt its order"


@pytest.mark.parametrize("stack", ["psycopg", "sync psycopg", "sync psycopg2", "Django"])
@pytest.mark.parametrize(
    ("silent_at", "expected"), [(b"receipt", LedgerUnavailableError), (b"COMMIT\0", CommitUnknownError)]
)
async def test_a_server_that_falls_silent_is_hung_up_on(
    migrated_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stack: str,
    silent_at: bytes,
    expected: type[Exception],
) -> None:
    address = urlsplit(migrated_database)
    assert address.port
    time = LoopTime()

    def handle(event: Any, tx: Any) -> None:
        tx.execute(INSERT, event.key)

    async def lose_patience() -> None:
        await proxy.struck.wait()
        monkeypatch.setattr(limits, "ANSWER_WAIT", SHORT)
        time.move(LONG)  # the look that was to come so much later

    monkeypatch.setattr(limits, "ANSWER_WAIT", LONG)
    async with Proxy(address.port).running() as proxy:
        dsn = f"postgresql://postgres@127.0.0.1:{proxy.port}{address.path}"
        async for desk in opened(stack, dsn, tmp_path):
            await transacted(desk, handle, ["pay_1"])
            proxy.strike(silent_at, Fate.SILENCE)
            losing_patience = asyncio.create_task(lose_patience())
            # A cable that hangs up ends every wait, also one that would be endless: then this fails, and does not hang.
            asyncio.get_running_loop().call_later(2 * PATIENCE_SECONDS, proxy.hang_up)
            async with asyncio.timeout(PATIENCE_SECONDS):
                with pytest.raises(expected):
                    await transacted(desk, handle, ["pay_2"])
            await losing_patience
            monkeypatch.setattr(limits, "ANSWER_WAIT", LONG)
            await transacted(desk, handle, ["pay_9"])
