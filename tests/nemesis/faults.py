"""Everything that goes wrong, one function each. A fault returns when it has surely happened and is over.

They wait for progress, not for time: so many more events acknowledged while a server is away. Only where the fault is
time itself, such as a worker that sleeps through its lease, is time waited for.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from nats.errors import Error as NatsError

from tests.journals.jetstream_bench import ANSWER_SECONDS, Bench
from tests.journals.outages import last
from tests.nats import Nats
from tests.nemesis.world import LEASE_SECONDS, Machine, World
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy

MEANWHILE = 25
"""Events acknowledged while something is away: several batches of each intake."""

CUT_SECONDS = 2.0
"""Of a cable: longer than a moment of grace, and shorter than a statement's time."""

STREAM = "landfast"
RECORDING = b'{"id":"evt_'
"""Only who records says this to the inbox's database: it is how a body begins."""

Fault = Callable[[World, random.Random], Awaitable[None]]


async def kill_intake(world: World, chance: random.Random) -> None:
    await _kill(world, chance.choice(world.machines), "intake")


async def kill_worker(world: World, chance: random.Random) -> None:
    await _kill(world, chance.choice(world.machines), "worker")


async def kill_drainer(world: World, _chance: random.Random) -> None:
    await _kill(world, world.machines[1], "drainer")


async def kill_machine(world: World, chance: random.Random) -> None:
    """Its supervisor and everything below it, and it comes up again."""
    machine = chance.choice(world.machines)
    world.killed |= set((await machine.running()).processes)
    await machine.kill()
    await machine.start()


async def stop_worker(world: World, chance: random.Random) -> None:
    """It sleeps through its lease, with what it has in hand, and goes on as if nothing were."""
    while not await _slept(await _signal(chance.choice(world.machines), "worker", signal.SIGSTOP)):
        pass  # another strand killed it in its sleep: the next one


async def _slept(pid: int) -> bool:
    """Whether it is still there, and asleep, when its lease is over."""
    try:
        await last(2 * LEASE_SECONDS)
        return _is_stopped(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def restart_postgres(world: World, _chance: random.Random) -> None:
    await asyncio.to_thread(world.postgres.stop)
    try:
        await world.senders.more(MEANWHILE)  # into spool and stream
    finally:
        await asyncio.to_thread(world.postgres.start)


async def terminate_backends(world: World, _chance: random.Random) -> None:
    terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname IN ('inbox', 'ledger')"
    while not int(await asyncio.to_thread(world.postgres.execute, terminate)):
        await world.senders.more(1)  # another strand has just cut everybody off


async def flush_valkey(world: World, _chance: random.Random) -> None:
    while not await asyncio.to_thread(world.valkey.ask, "DBSIZE"):
        await world.senders.more(1)
    await asyncio.to_thread(world.valkey.ask, "FLUSHALL")


async def kill_leader(world: World, _chance: random.Random) -> None:
    """Of the stream's three; it comes back, and not as the leader of that moment."""
    old = await _leader(world.brokers.nodes)
    node = world.brokers.node(old)
    await asyncio.to_thread(node.kill)
    try:
        rest = [each for each in world.brokers.nodes if each is not node]
        assert await _leader(rest, other_than=old) != old
        await world.senders.more(MEANWHILE)
    finally:
        await asyncio.to_thread(node.start)


async def cut_cable(world: World, chance: random.Random) -> None:
    """Nothing passes and nobody is told, for a while."""
    machine = chance.choice(world.machines)
    cable = chance.choice([machine.inbox_cable, machine.ledger_cable])
    before = cable.held
    cable.cut()
    try:
        await last(CUT_SECONDS)
        while cable.held == before:
            await world.senders.more(1)
    finally:
        cable.mend()


async def cut_after_commit(world: World, chance: random.Random) -> None:
    """The ledger has committed, and who asked does not hear of it."""
    await _strike(world, chance.choice(world.machines).ledger_cable, b"COMMIT", Fate.CUT_AFTER)


async def cut_before_commit(world: World, chance: random.Random) -> None:
    await _strike(world, chance.choice(world.machines).ledger_cable, b"COMMIT", Fate.CUT_BEFORE)


async def silence_after_commit(world: World, chance: random.Random) -> None:
    await _strike(world, chance.choice(world.machines).ledger_cable, b"COMMIT", Fate.SILENCE)


async def cut_after_record(world: World, chance: random.Random) -> None:
    """The inbox has recorded, and the intake or the drainer does not hear of it."""
    await _strike(world, chance.choice(world.machines).inbox_cable, RECORDING, Fate.CUT_AFTER)


async def cut_before_record(world: World, chance: random.Random) -> None:
    await _strike(world, chance.choice(world.machines).inbox_cable, RECORDING, Fate.CUT_BEFORE)


async def kill_intake_in_doubt(world: World, chance: random.Random) -> None:
    """It waits for the inbox to answer, and its senders wait for it."""
    machine = world.machines[0]
    await _kill_in_doubt(world, chance, machine, machine.inbox_cable, RECORDING, "intake")


async def kill_worker_in_doubt(world: World, chance: random.Random) -> None:
    """It waits for an answer to its COMMIT."""
    machine = chance.choice(world.machines)
    await _kill_in_doubt(world, chance, machine, machine.ledger_cable, b"COMMIT", "worker")


TO_PROCESSES: tuple[Fault, ...] = (kill_intake, kill_worker, stop_worker, kill_drainer, kill_machine, kill_worker)
TO_SERVERS: tuple[Fault, ...] = (restart_postgres, kill_leader, flush_valkey, terminate_backends)
TO_CABLES: tuple[Fault, ...] = (
    cut_cable,
    cut_after_commit,
    cut_after_record,
    cut_before_commit,
    cut_before_record,
    silence_after_commit,
    kill_intake_in_doubt,
    kill_worker_in_doubt,
)
STRANDS = (TO_PROCESSES, TO_SERVERS, TO_CABLES)
"""Each goes through its faults one by one; the strands do not wait for each other, and so their faults meet."""


KILLS_INTAKES = frozenset({"kill_intake", "kill_machine", "kill_intake_in_doubt"})


async def _kill(world: World, machine: Machine, role: str) -> None:
    serve = await machine.running()
    pid = await _signal(machine, role, signal.SIGKILL)
    world.killed.add(pid)
    await serve.until(lambda: pid not in serve.processes)
    # Who is killed again before it was up is told so by a longer pause: that is tested elsewhere.
    await machine.process(role)


async def _kill_in_doubt(
    world: World, chance: random.Random, machine: Machine, cable: Proxy, words: bytes, role: str
) -> None:
    """All of them: one has said the words, and whether they reached the database is up to chance."""
    await _strike(world, cable, words, chance.choice([Fate.SWALLOW, Fate.SILENCE]))
    serve = machine.serve  # none, if another fault has killed all of it a moment ago
    for pid in serve.pids(role) if serve is not None else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            world.killed.add(pid)
    await machine.process(role)


async def _signal(machine: Machine, role: str, number: signal.Signals) -> int:
    """The pid of the process that got it. One may have ended by itself a moment ago: then the next one."""
    while True:
        pid = await machine.process(role)
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            return pid
        await asyncio.sleep(0.05)


async def _strike(world: World, cable: Proxy, words: bytes, fate: Fate) -> None:
    cable.strike(words, fate)
    while not cable.struck.is_set():
        world.senders.must_move()
        await asyncio.sleep(0.01)


async def _leader(nodes: tuple[Nats, ...] | list[Nats], *, other_than: str = "") -> str:
    """Of the stream, once there is one."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            for node in nodes:
                with suppress(NatsError, OSError):
                    found = await Bench(node).api(f"STREAM.INFO.{STREAM}", patience=ANSWER_SECONDS)
                    leader: str = found.get("cluster", {}).get("leader", "")
                    if leader not in ("", other_than):
                        return leader
            await asyncio.sleep(0.05)


def _is_stopped(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state == "T"
