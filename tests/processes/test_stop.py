"""Nobody who has sent a request is left without an answer because we stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.handshakes import begin_to_connect, handshakes, is_connected, let_through
from tests.patience import PATIENCE_SECONDS, Stopwatch
from tests.processes.crowd import Crowd, Streams, answer_on, connect, connected, streams_of
from tests.processes.stops import Stop, play, serving
from tests.shops import DOOR, ORDER, Shop, postgres_shop, sqlite_shop, until

STOPPED = "SIGTERM to the supervisor"
SUPERVISOR_KILLED = "SIGKILL to the supervisor"
ALL_SIGNALLED = "SIGTERM to each process, the intakes first"


@pytest.mark.req("R3")
async def test_whoever_waits_to_be_accepted_when_the_stop_comes_is_answered(tmp_path: Path) -> None:
    """The intakes stand still, so that the kernel has taken every connection and every byte, and nobody has read one."""
    shop = sqlite_shop(tmp_path)
    shop.write()
    shop.take_time()
    async with shop.serving("--role", "intake", "--intakes", "2") as serve:
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
    assert await shop.count(State.READY) == 26
    for _, writer in waiting:
        writer.close()


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    ("end", "intakes", "has_tls"),
    [(STOPPED, 1, False), (SUPERVISOR_KILLED, 2, False), (ALL_SIGNALLED, 2, True)],
)
async def test_who_was_connecting_or_silent_when_the_stop_came_is_answered(
    tmp_path: Path, end: str, intakes: int, has_tls: bool
) -> None:
    """SYN, SYN-ACK, the signal, and only then the ACK, perhaps a TLS handshake, and a signed request."""
    shop = sqlite_shop(tmp_path)
    shop.write()
    shop.take_time()
    async with serving(shop, "--role", "intake", intakes=intakes, has_tls=has_tls) as (serve, tls):
        reader, writer = await streams_of(await connect(serve.port), tls)
        writer.write(shop.sender.delivery(shop.sender.payment("evt_idle")))
        assert (await answer_on(reader)).startswith(b"http/1.1 200")
        silent = [await connect(serve.port) for _ in range(8)]
        slow = begin_to_connect(serve.port)
        await until(lambda: handshakes(serve.port), 1)
        for pid in [*(serve.pids("intake") if end == ALL_SIGNALLED else []), serve.pid]:
            os.kill(pid, signal.SIGKILL if end == SUPERVISOR_KILLED else signal.SIGTERM)
        await until(lambda: _takes_nobody(serve.port), True)
        let_through(slow)
        assert await asyncio.to_thread(is_connected, slow, within=PATIENCE_SECONDS)
        assert await reader.read() == b"", "who is idle after an answer is let go first"
        answers = [await _ask(shop, sender, tls, f"evt_{at}") for at, sender in enumerate([slow, *silent])]
        writer.close()
        assert await serve.wait() == (-signal.SIGKILL if end == SUPERVISOR_KILLED else 0)
    assert [answer[:12] for answer in answers] == [b"http/1.1 200"] * 9
    assert await shop.count(State.READY) == 10


@pytest.mark.req("R3")
async def test_who_is_silent_when_its_intake_leaves_is_answered_by_it_and_who_comes_then_by_the_next(
    tmp_path: Path,
) -> None:
    """The intake gets what SIGHUP gets it, without the time that a renewal takes: the silent have only so much."""
    shop = sqlite_shop(tmp_path)
    shop.write()
    shop.take_time()
    async with serving(shop, "--role", "intake", intakes=1, has_tls=True) as (serve, tls):
        (leaving,) = serve.pids("intake")
        before_tls = await connect(serve.port)
        heard, *after_tls = [await streams_of(await connect(serve.port), tls) for _ in range(2)]
        # It accepts in turn: who is answered was accepted after the silent ones.
        assert (await _ask_on(shop, heard, "evt_heard")).startswith(b"http/1.1 200")
        os.kill(leaving, signal.SIGTERM)
        assert await heard[0].read() == b"", "who is idle after an answer is let go first"
        newcomer = await connect(serve.port)
        silent = [await streams_of(before_tls, tls), *after_tls]
        answers = [await _ask_on(shop, each, f"evt_{number}") for number, each in enumerate(silent)]
        assert leaving in serve.processes and [answer[:12] for answer in answers] == [b"http/1.1 200"] * 2
        assert (await _ask(shop, newcomer, tls, "evt_newcomer")).startswith(b"http/1.1 200")
        assert serve.pids("intake") not in ([leaving], [])


@pytest.mark.req("R3")
async def test_a_renewal_and_a_stop_under_load_leave_nobody_who_was_connected_without_an_answer(tmp_path: Path) -> None:
    assert (await _played(Stop(intakes=2, has_tls=True, renews=True, busy=0), sqlite_shop(tmp_path))).unanswered == []


@pytest.mark.req("R3")
async def test_a_stop_under_load_on_postgresql_leaves_nobody_without_an_answer(tmp_path: Path, database: str) -> None:
    stop = Stop(intakes=2, has_tls=False, renews=False, busy=2, role="all")
    assert (await _played(stop, postgres_shop(tmp_path, database))).unanswered == []


async def test_a_stop_is_quick_where_nobody_is_connected(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write()
    shop.take_time()
    async with shop.serving("--role", "intake", "--intakes", "2") as serve:
        with Stopwatch() as watch:
            assert await serve.stop() == 0
    assert watch.seconds < PATIENCE_SECONDS / 2, "it waits for handshakes that nobody has begun"


async def test_sigterm_does_not_wait_for_a_database_that_says_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_SECONDS)
        shop = postgres_shop(tmp_path, f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nowhere")
        shop.write(ORDER)
        async with shop.running("serve", "shop.py", "--port", "0") as process:
            heard, _ = await asyncio.to_thread(silent.accept)
            process.terminate()
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert await process.wait() == 0
            heard.close()


@pytest.mark.req("R24")
async def test_a_worker_that_is_told_to_stop_finishes_every_handler_in_hand(tmp_path: Path, database: str) -> None:
    shop = postgres_shop(tmp_path, database)
    await shop.create_orders()
    shop.write(ORDER.replace('succeeded")', 'succeeded", group=False)'), DOOR.replace("{os.getpid()}", "{event.key}"))
    shop.settings["LANDFAST_CONCURRENCY"] = "4"
    shop.take_time()
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


async def _ask(shop: Shop, sender: socket.socket, tls: ssl.SSLContext | None, event: str) -> bytes:
    return await _ask_on(shop, await streams_of(sender, tls), event, closes=True)


async def _ask_on(shop: Shop, streams: Streams, event: str, *, closes: bool = False) -> bytes:
    reader, writer = streams
    writer.write(shop.sender.delivery(shop.sender.payment(event)))
    try:
        return await answer_on(reader)
    finally:
        if closes:
            writer.close()


def _takes_nobody(port: int) -> bool:
    """Whether nobody new can connect: neither with success nor, as long as the listener is open, with a refusal."""
    with socket.socket() as newcomer:
        newcomer.settimeout(0.1)
        return newcomer.connect_ex(("127.0.0.1", port)) != 0


def _has_pending(pid: int, number: int) -> bool:
    """Whether the signal was sent to a process that could not take it yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    shared = next(int(line.split()[1], 16) for line in lines if line.startswith("ShdPnd:"))
    return bool(shared >> (number - 1) & 1)


async def _played(stop: Stop, shop: Shop) -> Crowd:
    """Nobody is cut off because the machine stood still; `make stops` stops with the time that there is. Who waits in vain
    waits for most of the grace, so half of it tells the two apart."""
    shop.take_time()
    return await play(stop, shop, within=PATIENCE_SECONDS / 2)
