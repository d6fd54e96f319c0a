"""`landfast serve --role`: what of it this machine runs."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from landfast.config import Settings, load
from landfast.domain.errors import ConfigError
from landfast.domain.lifecycle import State
from landfast.processes.supervision.lives import Role
from landfast.processes.supervision.plan import Plan, numbers_of
from tests.free_port import free_port
from tests.shops import ORDER, Shop, sqlite_shop, until

NOTHING: dict[Role, int | None] = {"intake": None, "worker": None, "drainer": None}


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


async def test_an_intake_and_a_worker_apart_make_one_order(shop: Shop) -> None:
    async with shop.serving("--role", "intake") as intake, shop.serving("--role", "worker") as worker:
        assert set(intake.processes.values()) == {"intake"}
        assert set(worker.processes.values()) == {"worker"}
        assert worker.port == 0
        assert not [pid for pid in (worker.pid, *worker.processes) if _listens(pid)], "a worker opens no socket"
        assert [pid for pid in intake.processes if _listens(pid)]
        assert await shop.send(intake, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert await worker.stop() == 0
        assert await shop.send(intake, "evt_2") == 200
        assert await intake.stop() == 0
    assert await shop.orders() == ["evt_1"]
    assert await shop.count(State.READY) == 1


async def test_an_intake_has_no_need_of_the_ledger(shop: Shop) -> None:
    shop.ledger = f"postgresql://127.0.0.1:{free_port()}/nowhere"
    async with shop.serving("--role", "intake") as serve:
        assert await shop.send(serve, "evt_1") == 200


async def test_while_the_database_is_away_a_machine_with_a_spool_starts_and_takes_webhooks_in(shop: Shop) -> None:
    shop.store = shop.ledger = f"postgresql://127.0.0.1:{free_port()}/nowhere"
    shop.settings |= {"LANDFAST_SPOOL": str(shop.folder / "spool"), "LANDFAST_SPOOL_ANYWHERE": "true"}
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        assert serve.pids("worker") == [], "it waits for the database, and keeps nobody else from working"
        os.kill(serve.pid, signal.SIGTERM)
        assert await serve.wait() == 0


async def test_the_banner_says_which_processes_run(shop: Shop) -> None:
    async with shop.running("serve", "shop.py", "--role", "worker") as process:
        assert process.stdout is not None
        banner = b"".join([await process.stdout.readline() for _ in range(5)]).decode()
        process.terminate()
        assert await process.wait() == 0
    assert "processes  1 worker\n" in banner
    assert "http://" not in banner


async def test_a_role_that_has_nothing_to_do_is_one_sentence_and_exit_2(shop: Shop) -> None:
    code, out, err = await shop.run("serve", "shop.py", "--role", "drainer")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--role drainer: there is no journal to drain; set journal" in err


@pytest.mark.parametrize(
    ("role", "given", "words"),
    [
        ("worker", {"intake": 2}, "--intakes is given, and --role worker runs no intake; leave one of them out"),
        ("intake", {"worker": 1}, "--workers is given, and --role intake runs no worker; leave one of them out"),
        ("all", {"drainer": 2}, "--drainers: there is no journal to drain; set journal"),
        ("worker", {"worker": 0}, "workers is 0, and so there is nothing to run; set it to 1 or more"),
    ],
)
def test_roles_and_numbers_that_make_no_sense_are_refused(
    tmp_path: Path, role: str, given: dict[Role, int], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        numbers_of(role, _settings(tmp_path), {**NOTHING, **given})


def test_how_many_of_each_are_run(tmp_path: Path) -> None:
    settings = replace(_settings(tmp_path), intakes=3, workers=2)
    journal = replace(_settings(tmp_path, journal="nats://127.0.0.1:4222"), drainers=2)
    assert numbers_of("all", settings, NOTHING) == {"intake": 3, "worker": 2, "drainer": 0}
    assert numbers_of("all", journal, NOTHING) == {"intake": 1, "worker": 1, "drainer": 2}
    assert numbers_of("drainer", journal, {**NOTHING, "drainer": 5}) == {"intake": 0, "worker": 0, "drainer": 5}
    assert numbers_of("worker", settings, {**NOTHING, "worker": 7}) == {"intake": 0, "worker": 7, "drainer": 0}
    with pytest.raises(ConfigError, match="nothing to run"):
        numbers_of("worker", replace(settings, workers=0), NOTHING)
    plan = Plan(app="x", host="", port=0, numbers={"intake": 1, "worker": 2, "drainer": 0})
    assert str(plan) == "1 intake, 2 workers"


def _settings(folder: Path, **overrides: str) -> Settings:
    (folder / "empty.toml").touch()
    return load(folder / "empty.toml", environ={}, overrides=overrides)


def _listens(pid: int) -> bool:
    inodes = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"}
    links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    return any(link == f"socket:[{inode}]" for inode in inodes for link in links)
