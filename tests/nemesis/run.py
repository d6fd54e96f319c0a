"""One run: everything goes wrong at once, then it is calm, then all comes to rest, and the books are checked."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import msgspec

from tests.crash.checker import check
from tests.crash.history import unknown
from tests.journals.jetstream_bench import Bench
from tests.journals.outages import last
from tests.journals.spools import listing
from tests.nemesis import histories
from tests.nemesis.books import needless_deaths, read_books
from tests.nemesis.exact import doubts_of, inexact
from tests.nemesis.faults import KILLS_INTAKES, STRANDS, STREAM, Fault
from tests.nemesis.load import STALLED, StuckError
from tests.nemesis.verdict import Verdict
from tests.nemesis.world import APP, Machine, World, world

FIRES_WITHIN = 240.0
"""Seconds for one fault to happen and to be over: most take three."""

TAIL = 50
"""Events in calm weather."""

BACKLOG = 1500
"""Events that wait, at most, before senders do: the seconds of an outage and more."""

OK_IN_THE_TAIL = 0.9

LAST_WORDS = 60
"""Lines of each machine's log that are shown when something is wrong."""

ENDS = frozenset({0, 75})
"""Exit codes of a process that was not killed: it was stopped, or asks to be started again."""


class NeverFiredError(Exception):
    """A fault did not come about in time: the machine is too slow for this run, or the harness has a bug."""


@dataclass(frozen=True, slots=True)
class Size:
    senders: int
    pace: float
    """Seconds between two events of one sender."""
    processes: int
    """Intakes, and workers, of each machine."""
    between: tuple[int, int]
    """Events acknowledged between two faults of one strand: the fewest and the most."""
    seconds: float = 0.0
    """New rounds of faults begin for so long; one is there in any case."""
    events: int = 0
    """And until so many were acknowledged."""


SMALL = Size(senders=6, pace=0.15, processes=1, between=(10, 40))
"""Beside other tests on two cores."""

LARGE = Size(senders=24, pace=0.06, processes=2, between=(50, 800))


async def run(seed: int, size: Size, folder: Path) -> Verdict:
    verdict = Verdict(seed)
    async with world(folder, seed=seed, senders=size.senders, pace=size.pace, processes=size.processes) as found:
        try:
            await _storm(found, size)
            share = await found.senders.tail(TAIL)
            if share < OK_IN_THE_TAIL:
                verdict.void.append(f"only {share:.0%} of the deliveries in the calm tail were acknowledged at once")
            await _rest(found)
            await _stop(found, verdict)
            await _prove(found, verdict, size)
        except NeverFiredError as error:  # what waits in spools and stream stays there: nobody can tell it from a loss
            verdict.void.append(str(error))
            _count(found, verdict)
            return verdict
        except (AssertionError, TimeoutError, EOFError) as error:
            verdict.problems.append(f"{type(error).__name__}: {error}")
        await _check(found, verdict)
    return verdict


async def _storm(found: World, size: Size) -> None:
    """Load, and every strand of faults, until each has had its rounds."""
    stop, began = asyncio.Event(), time.monotonic()

    def goes_on() -> bool:
        return time.monotonic() - began < size.seconds or found.senders.acknowledged < size.events

    load = asyncio.create_task(found.senders.run(stop))
    watch = asyncio.create_task(_watch_backlog(found))
    strands = [asyncio.create_task(_strand(found, number, size.between, goes_on)) for number in range(len(STRANDS))]
    try:
        await asyncio.gather(*strands)
        stop.set()
        await load
    finally:
        for task in (load, watch, *strands):
            task.cancel()
        await asyncio.gather(load, watch, *strands, return_exceptions=True)


async def _watch_backlog(found: World) -> None:
    """Senders wait while much is unprocessed: on a slow machine the end would be long otherwise. Never in an outage."""
    while True:
        waiting = 0
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            inbox = await asyncpg.connect(found.dsns[0], timeout=2, command_timeout=2)
            try:
                waiting = await inbox.fetchval(_EVENTS)
            finally:
                inbox.terminate()
        (found.senders.may_go_on.set if waiting < BACKLOG else found.senders.may_go_on.clear)()
        await last(1.0)


async def _strand(found: World, number: int, between: tuple[int, int], goes_on: Callable[[], bool]) -> None:
    """Its faults, each once and in any order, and then anew."""
    chance = random.Random(f"{found.senders.seed} strand {number}")
    while True:
        faults = list(STRANDS[number])
        chance.shuffle(faults)
        for fault in faults:
            await found.senders.more(chance.randint(*between))
            await _fire(found, fault, chance)
        if not goes_on():
            return


async def _fire(found: World, fault: Fault, chance: random.Random) -> None:
    name = fault.__name__
    try:
        async with asyncio.timeout(FIRES_WITHIN):
            await fault(found, chance)
    except TimeoutError as error:
        raise NeverFiredError(f"{name} did not come about in time: {error!r}") from error
    found.fired(name)


async def _rest(found: World) -> None:
    """Until nothing is left to do anywhere. Whatever moves is progress; nothing for a while is an end that is none."""
    seen, since = None, time.monotonic()
    while (left := await _left(found)) != _NOTHING:
        if left != seen:
            seen, since = left, time.monotonic()
        if time.monotonic() - since > STALLED:
            raise StuckError(f"I3: for {STALLED:g} s nothing moved, and there is left: {left}")
        await last(0.2)


_NOTHING = {"spool": 0, "stream": 0, "events": 0, "effects": 0}
_EVENTS = """
SELECT (SELECT count(*) FROM landfast.work) + (SELECT count(*) FROM landfast.shelf WHERE state <> 'dead')
"""
_EFFECTS = "SELECT count(*) FROM landfast_ledger.effect WHERE state NOT IN ('done', 'dead')"


async def _left(found: World) -> dict[str, int]:
    """Looked at in the order in which things go, or what moves on between two looks would be seen by neither."""
    inbox_dsn, ledger_dsn = found.dsns
    inbox, ledger = await asyncpg.connect(inbox_dsn), await asyncpg.connect(ledger_dsn)
    try:
        spool = sum(len(listing(machine.shop.folder / "spool")) for machine in found.machines)
        stream = await Bench(found.brokers.nodes[0], STREAM).messages()
        events = await inbox.fetchval(_EVENTS)
        return {"spool": spool, "stream": stream, "events": events, "effects": await ledger.fetchval(_EFFECTS)}
    finally:
        await inbox.close()
        await ledger.close()


async def _stop(found: World, verdict: Verdict) -> None:
    """In order. Who ended before that and was not killed by a fault, or by a handler that does so, had a bug."""
    codes = {machine.name: await machine.stop() for machine in found.machines}
    verdict.problems += [f"{name} stopped with {code}" for name, code in codes.items() if code != 0]
    deaths = [death for machine in found.machines for death in machine.deaths]
    strange = [death for death in deaths if death[0] not in found.killed and death[2] not in ENDS]
    by_themselves = [role for _, role, code in strange if code == -signal.SIGKILL and role != "intake"]
    crashes = len(list((found.folder / "once").glob("*-crashes")))
    if len(by_themselves) > crashes:
        verdict.problems.append(f"{len(by_themselves)} workers were killed, and handlers did that {crashes} times")
    verdict.problems += [f"{role} {pid} ended with {code}" for pid, role, code in strange if code != -signal.SIGKILL]


async def _prove(found: World, verdict: Verdict, size: Size) -> None:
    shop = found.machines[0].shop
    _, out, err = await shop.run("proof", "--app", APP)
    verdict.proof = [*out.splitlines(), *err.splitlines()]
    code, out, err = await shop.run("proof", "--app", APP, "--json")
    if code not in (0, 1):
        verdict.problems.append(f"proof: exit code {code}: {err}")
        return
    stored = len((await read_books(*found.dsns)).events)
    kills = sum(line.key in KILLS_INTAKES for line in found.history.read() if line.op == "fault")
    doubts = doubts_of(found.senders.answers, killed=kills * size.processes, pace=size.senders / size.pace)
    verdict.problems += inexact(msgspec.json.decode(out), events=stored, doubts=doubts)


def _count(found: World, verdict: Verdict) -> None:
    senders = found.senders
    verdict.events, verdict.answers, verdict.kinds = senders.acknowledged, senders.answers, senders.kinds
    verdict.faults = Counter(line.key for line in found.history.read() if line.op == "fault")


async def _check(found: World, verdict: Verdict) -> None:
    for line in unknown(found.history.read()):
        found.history.write(line)
    lines = found.history.read()
    books = await read_books(*found.dsns)
    _count(found, verdict)
    missing = {fault.__name__ for strand in STRANDS for fault in strand} - set(verdict.faults)
    verdict.void += [f"{name} did not happen" for name in sorted(missing)]
    if wrong := check(lines, books):
        verdict.kept = str(histories.keep(verdict.seed, wrong, lines, books))
    verdict.problems += [*wrong, *needless_deaths(books)]
    if verdict.problems:
        verdict.logs = [line for machine in found.machines for line in _last_words(machine)]


def _last_words(machine: Machine) -> list[str]:
    """What its processes said last, without what they say of every event."""
    log = (machine.shop.folder / "serve.log").read_text("utf-8", "replace").splitlines()
    return [f"{machine.name}: {line}" for line in log if " INFO " not in line][-LAST_WORDS:]
