"""Each moment at which the person on call is woken: the doctor and the status name the cause, and the fix."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.domain.rates import Meter
from landfast.operations.doctor.flow import examine_flow
from landfast.recovery.doctor import Level
from tests.operations.floor import Floor
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R45")


@pytest.fixture
def floor(tmp_path: Path) -> Floor:
    return Floor(tmp_path)


async def test_a_wrong_secret_was_deployed(floor: Floor) -> None:
    async with floor.taking_in():
        await floor.send(200, secret="whsec_of_somebody_else_altogether")
        assert floor.answers == [401] * 200
        name = "requests to stripe"
        explained = (
            "200 of 200 were refused in the last 10 minutes: no-secret-matches ("  # some time after the refusals
        )
        check = (await floor.until(lambda found: found[name].found.startswith(explained)))[name]
        assert check.level is Level.FAIL
        assert "none was ever taken in" in check.found
        assert "copy the signing secret" in check.fix
        now = await floor.look()
        (source,) = now.sources
        assert (source.rejected, source.accepted, source.has_only_refusals) == (200, 0, True)
        assert source.causes[0][0] == "no-secret-matches"
        assert source.last_rejected is not None
        assert source.last_accepted is None
        await floor.send(3)
        await floor.until(lambda found: found["requests to stripe"].level is not Level.FAIL)
    async with floor.inbox.archive() as archive:
        kept = await archive.rejections()
        rates = await archive.rates(floor.inbox.clock.now() - timedelta(minutes=10), meters=[Meter.REJECTED])
    assert sum(rate.count for rate in rates) == sum(one.count for one in kept) == 200
    assert {one.address for one in kept} == {"127.0.0.1"}
    assert "stripe-signature" in kept[0].headers
    assert not any("t=" in name or "evt" in name for one in kept for name in one.headers), "names, never values"


async def test_a_sender_has_a_typing_mistake_in_its_address(floor: Floor) -> None:
    async with floor.taking_in():
        await floor.send(5, path="/in/strpie")
        check = (await floor.until(lambda found: "requests to no source" in found))["requests to no source"]
    assert (check.level, "unknown_source (5)" in check.found) == (Level.WARN, True)
    async with floor.inbox.archive() as archive:
        (one,) = await archive.rejections()
    assert (one.path, one.source, one.cause, one.count, one.status) == ("/in/strpie", "", "unknown_source", 5, 404)


async def test_no_worker_runs(floor: Floor) -> None:
    async with floor.taking_in():
        await floor.send(3)
        found = await floor.until(lambda found: found["requests to stripe"].found.startswith("3 taken in"))
        assert (found["workers"].level, found["intakes"].level) == (Level.FAIL, Level.OK)
        assert found["workers"].found == "none is alive, and 3 events wait"
        assert "landfast serve" in found["workers"].fix
        (ready,) = [check for name, check in found.items() if name.startswith("intake http://127.0.0.1")]
        assert ready.found.startswith("ready (inbox: ok")


async def test_nothing_runs_at_all(floor: Floor) -> None:
    await floor.inbox.migrate()
    found = await floor.examine()
    assert (found["workers"].level, found["intakes"].level) == (Level.WARN, Level.WARN)
    assert found["inbox write"].level is found["ledger write"].level is Level.OK


async def test_every_attempt_of_a_handler_fails(floor: Floor) -> None:
    @floor.inbox.on("stripe", "*")
    async def create_order(event, tx):  # type: ignore[no-untyped-def]
        raise KeyError("customer_email")

    async with floor.taking_in(), floor.working():
        await floor.send(5)
        name = "handler create_order"
        check = (await floor.until(lambda found: name in found and found[name].level is Level.FAIL))[name]
        told = re.fullmatch(r"(\d+) of \1 runs \(100%\) failed in the last 10 minutes: KeyError \(\1\)", check.found)
        assert told is not None, check.found
        assert "landfast pause create_order" in check.fix
        (handler,) = (await floor.look()).handlers
        assert (handler.failing, handler.errors[0][0], handler.last_done) == (1.0, "KeyError", None)


async def test_one_handler_hangs_and_others_wait_for_its_hands(tmp_path: Path) -> None:
    floor, door = Floor(tmp_path), asyncio.Event()

    @floor.inbox.on("stripe", "*", writes=False)
    async def invoices(event, tx):  # type: ignore[no-untyped-def]
        await door.wait()

    async with floor.taking_in(), floor.working():
        await floor.send(6)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not ((now := await floor.look()).workers and now.workers[0].doing["in_hand"]):
                    await asyncio.sleep(0.05)
            assert [one["handler"] for one in now.workers[0].doing["in_hand"]] == ["invoices"]
            later = replace(now, at=now.at + timedelta(seconds=57))
            found = {check.name: check for check in examine_flow(later)}
            assert found["in hand"].level is Level.WARN
            told = r"invoices has 1 of 1 hands, one of them for [56]\d s, while stripe payment_intent.succeeded waits"
            assert re.fullmatch(told, found["in hand"].found), found["in hand"].found
            assert "landfast pause invoices --now" in found["in hand"].fix
            assert found["oldest ready"].level is Level.WARN
            assert found["oldest ready"].found.startswith("stripe payment_intent.succeeded waits since ")
        finally:
            door.set()


class _At:
    """A clock that stands at this time, for whoever looks."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def test_dead_letters_grow_and_strict_makes_it_a_failure(floor: Floor) -> None:
    @floor.inbox.on("stripe", "*", attempts=1)
    async def create_order(event, tx):  # type: ignore[no-untyped-def]
        raise ValueError

    async with floor.taking_in(), floor.working():
        await floor.send(2)
        found = await floor.until(lambda found: "dead letters grow" in found)
        assert found["dead letters grow"].found.startswith(("1 more", "2 more"))
        assert found["retries"].found == "tried once, and dead after the first failure: create_order"


async def test_a_process_that_was_killed_is_missed(floor: Floor) -> None:
    async with floor.taking_in():
        await floor.until(lambda found: found["intakes"].level is Level.OK)
        async with floor.inbox.archive() as archive:
            (alive,) = await archive.heartbeats()
    async with floor.inbox.archive() as archive:
        assert list(await archive.heartbeats()) == [], "one that stops in order is not looked for"
        await archive.beat(alive)
    floor.inbox.clock = _At(floor.inbox.clock.now() + timedelta(minutes=1))
    found = await floor.examine()
    assert found["intakes"].level is Level.WARN
    assert "ended without a word: intake " in found["silent processes"].found


async def test_a_clock_that_is_wrong_is_found(floor: Floor) -> None:
    async with floor.taking_in():
        await floor.until(lambda found: found["intakes"].level is Level.OK)
        assert (await floor.examine())["clocks"].level is Level.OK
        async with floor.inbox.archive() as archive:
            (alive,) = [one for one in await archive.heartbeats() if one.role == "intake"]
            ahead = floor.inbox.clock.now() + timedelta(seconds=90)
            await archive.beat(replace(alive, seen_at=ahead, boot=BootId(b"another-")))
        check = (await floor.examine())["clocks"]
    assert (check.level, "90 s ahead of the inbox's" in check.found) == (Level.FAIL, True)
    assert "NTP" in check.fix


FULL = """
import asyncio, json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from tests.operations.floor import Floor

async def main(folder):
    floor = Floor(folder)
    async with floor.taking_in():
        while floor.answers[-20:] != [503] * 20 and len(floor.answers) < 5000:
            await floor.send(20, prefix=f"batch{len(floor.answers)}")
        found = await floor.examine()
        print(json.dumps({
            "answers": floor.answers,
            "checks": {name: [check.level, check.found, check.fix] for name, check in found.items()},
        }))

asyncio.run(main(pathlib.Path(sys.argv[2])))
"""
ON_A_SMALL_DISK = 'mount -t tmpfs -o size=2m none "$1" && exec "$2" -c "$3" "$4" "$1"'


def test_the_disk_is_full(tmp_path: Path) -> None:
    """On a file system of 2 MB, which only that process sees."""
    root = str(Path(__file__).parents[2])
    command = ["unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", str(tmp_path), sys.executable, FULL, root]
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount anything")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["answers"][-20:] == [503] * 20, "senders were turned away"
    level, found, fix = told["checks"]["inbox write"]
    assert (level, found.startswith("a test write failed: the inbox cannot be used:")) == ("fail", True)
    assert "make room on the disk" in fix
    assert told["checks"]["disk of the store"][0] == "fail"
    (ready,) = [check for name, check in told["checks"].items() if name.startswith("intake http")]
    assert (ready[0], "answers 503: inbox: away" in ready[1]) == ("fail", True)


async def test_a_table_that_is_missing_opens_a_breaker_that_the_status_shows(floor: Floor) -> None:
    @floor.inbox.on("stripe", "*")
    async def create_order(event, tx):  # type: ignore[no-untyped-def]
        await tx.execute("INSERT INTO orders (id) VALUES (1)")

    async with floor.taking_in(), floor.working():
        await floor.send(3)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (now := await floor.look()).breakers:
                await asyncio.sleep(0.05)
        assert now.breakers[0].name == "handler:create_order"
        assert now.breakers[0].why.startswith("OperationalError at test_moments.py")


async def test_a_ledger_that_may_not_be_written_to_is_found(floor: Floor, tmp_path: Path) -> None:
    await floor.inbox.migrate()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db, db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON landfast_audit_mark BEGIN SELECT RAISE(ABORT, 'disk I/O'); END")
    found = await floor.examine()
    assert found["ledger write"].level is Level.FAIL
    assert found["inbox write"].level is Level.OK


async def test_rates_and_states_agree_with_what_happened(tmp_path: Path, migrated_database: str) -> None:
    """Stored, duplicate and done, by type and handler, with their times; on PostgreSQL."""
    floor = Floor(tmp_path, store=migrated_database, ledger=migrated_database)

    @floor.inbox.on("stripe", "*", writes=False)
    async def create_order(event, tx):  # type: ignore[no-untyped-def]
        pass

    async with floor.taking_in(), floor.working():
        await floor.send(10)
        await floor.send(10)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (handlers := (await floor.look()).handlers) or handlers[0].done < 10:
                await asyncio.sleep(0.05)
        now = await floor.look()
    (source,), (handler,) = now.sources, now.handlers
    assert (source.received, source.stored, source.duplicate, source.rejected) == (20, 10, 10, 0)
    assert (handler.name, handler.done, handler.failed, handler.dead) == ("create_order", 10, 0, 0)
    assert source.ack_p95 is not None
    assert handler.p50 is not None
    assert now.states[State.READY].number == 0
    async with floor.inbox.archive() as archive:
        rates = await archive.rates(now.at - timedelta(minutes=10))
    assert {(rate.meter, rate.type) for rate in rates if rate.meter in (Meter.STORED, Meter.DONE)} == {
        ("stored", "payment_intent.succeeded"),
        ("done", "payment_intent.succeeded"),
    }
    assert {rate.detail for rate in rates if rate.meter is Meter.DUPLICATE} == {"memory"}
