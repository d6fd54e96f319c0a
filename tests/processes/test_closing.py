"""Nobody who has sent a request is left without an answer because we stop."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from landfast.processes.closing import refuse_new
from landfast.web.http.server import listen
from tests.processes.crowd import Crowd, answer_on, connected
from tests.shops import DOOR, ORDER, Shop, postgres_shop, sqlite_shop, until


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "sqlite":
        shop = sqlite_shop(tmp_path)
    else:
        shop = postgres_shop(tmp_path, request.getfixturevalue("database"))
    await shop.create_orders()
    shop.write(ORDER)
    return shop


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as listener:
        yield listener


def test_who_has_connected_can_still_be_accepted_and_who_comes_later_is_refused(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as early, socket.socket() as late:
        early.sendall(b"here before")
        refuse_new(listener)
        late.setblocking(False)
        assert late.connect_ex(("127.0.0.1", port)) == errno.EINPROGRESS
        accepted, _ = listener.accept()
        assert accepted.recv(64) == b"here before"
        with pytest.raises(BlockingIOError):
            listener.accept()
        accepted.close()
        listener.close()
        assert select.select([], [late], [], 10)[1], "it knocks again after a second, and is told"
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


@pytest.mark.req("R3")
async def test_whoever_waits_to_be_accepted_when_the_stop_comes_is_answered(shop: Shop) -> None:
    """The intakes stand still, so that the kernel has taken every connection and every byte, and nobody has read one."""
    async with shop.serving("--intakes", "2") as serve:
        idle = [await connected(serve.port) for _ in range(3)]
        for number, (reader, writer) in enumerate(idle):  # known to an intake by now
            writer.write(shop.sender.delivery(shop.sender.payment(f"evt_first_{number}")))
            assert (await answer_on(reader)).startswith(b"http/1.1 200")
        for pid in serve.pids("intake"):
            os.kill(pid, signal.SIGSTOP)
        waiting = [*idle, *[await connected(serve.port) for _ in range(20)]]
        for number, (_, writer) in enumerate(waiting):
            writer.write(shop.sender.delivery(shop.sender.payment(f"evt_{number}")))
            await writer.drain()
        os.kill(serve.pid, signal.SIGTERM)
        intakes = serve.pids("intake")
        await until(lambda: [_has_pending(pid, signal.SIGTERM) for pid in intakes], [True, True])
        for pid in intakes:
            os.kill(pid, signal.SIGCONT)
        answers = [await answer_on(reader) for reader, _ in waiting]
        assert await serve.wait() == 0
    assert [answer[:12] for answer in answers] == [b"http/1.1 200"] * 23
    assert await shop.count(State.READY) + await shop.count(State.DONE) == 26
    for _, writer in waiting:
        writer.close()


@pytest.mark.req("R3")
async def test_sigterm_under_load_leaves_no_request_unanswered_and_exits_0(shop: Shop) -> None:
    async with shop.serving("--intakes", "2") as serve:
        crowd = Crowd(shop, serve.port)
        async with crowd.sending(24):
            await until(lambda: len(crowd.answered) > 200, True)
            crowd.ended = time.monotonic()
            os.kill(serve.pid, signal.SIGTERM)
            assert await serve.wait() == 0
    assert crowd.in_flight_at_the_end, "void: nothing was in flight"
    assert crowd.unanswered == [], "a request that was sent got no answer"
    assert set(crowd.statuses) == {b"200"}, "a request was answered, and turned away"
    assert time.monotonic() - crowd.ended < 10
    async with shop.archive() as archive:
        states = (await archive.census()).states
    assert sum(states.values()) == len(crowd.answered)


async def test_sigterm_does_not_wait_for_a_database_that_says_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        shop = postgres_shop(tmp_path, f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nowhere")
        shop.write(ORDER)
        async with shop.running("serve", "shop.py", "--port", "0") as process:
            heard, _ = await asyncio.to_thread(silent.accept)
            process.terminate()
            async with asyncio.timeout(10):
                assert await process.wait() == 0
            heard.close()


@pytest.mark.req("R24")
async def test_a_worker_that_is_told_to_stop_finishes_every_handler_in_hand(tmp_path: Path, database: str) -> None:
    shop = postgres_shop(tmp_path, database)
    await shop.create_orders()
    shop.write(ORDER.replace('succeeded")', 'succeeded", group=False)'), DOOR.replace("{os.getpid()}", "{event.key}"))
    shop.settings["LANDFAST_HANDS"] = "4"
    async with shop.serving() as serve:
        for number in range(4):
            assert await shop.send(serve, f"evt_{number}") == 200
        await until(lambda: len(list(tmp_path.glob("inside-*"))), 4)
        assert await shop.send(serve, "evt_later") == 200
        os.kill(serve.pid, signal.SIGTERM)
        (tmp_path / "open").touch()
        assert await serve.wait() == 0
    assert set(await shop.orders()) >= {f"evt_{number}" for number in range(4)}
    assert await shop.count(State.CLAIMED) == 0, "what it has not begun is not left to a lease"


def _has_pending(pid: int, number: int) -> bool:
    """Whether the signal was sent to a process that could not take it yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    shared = next(int(line.split()[1], 16) for line in lines if line.startswith("ShdPnd:"))
    return bool(shared >> (number - 1) & 1)
