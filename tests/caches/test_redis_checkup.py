"""What the doctor says of the shared seen cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from landfast.app.cache_checkup import examine_cache
from landfast.config import Server
from landfast.recovery.doctor import Check, Level
from tests.shops import ORDER, sqlite_shop
from tests.valkey import Valkey


async def examined(address: str) -> list[Check]:
    return list(await examine_cache(Server(address, "LANDFAST_REDIS")))


async def test_a_server_as_it_should_be_is_one_line(server: Valkey) -> None:
    (check,) = await examined(server.address)
    assert check.level is Level.OK
    assert "valkey" in check.found and "no limit of memory" in check.found
    server.ask("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
    (check,) = await examined(server.address.replace("redis:", "valkey:"))
    assert check.level is Level.OK and "evicts by allkeys-lru" in check.found


async def test_none_is_no_line() -> None:
    assert not await examine_cache(None)


@pytest.mark.req("R8")
async def test_a_limit_without_eviction_is_a_warning(server: Valkey) -> None:
    server.ask("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "noeviction")
    fine, warning = await examined(server.address)
    assert (fine.level, warning.level) == (Level.OK, Level.WARN)
    assert "evicts nothing" in warning.found and "allkeys-lru" in warning.fix


async def test_a_replica_is_a_warning(server: Valkey) -> None:
    server.ask("REPLICAOF", "127.0.0.1", "1")
    _, warning = await examined(server.address)
    assert warning.level is Level.WARN and "replica" in warning.found


@pytest.mark.parametrize("where", ["wrong password", "nobody there", "no address"])
async def test_a_server_that_cannot_be_used_fails_without_its_password(server: Valkey, where: str) -> None:
    server.ask("CONFIG", "SET", "requirepass", "right-horse")
    address = {
        "wrong password": f"redis://me:wrong-horse@127.0.0.1:{server.port}/0",
        "nobody there": "redis://me:wrong-horse@127.0.0.1:1/0",
        "no address": "redis://me:wrong-horse@127.0.0.1:1/0?nonsense=1",
    }[where]
    (check,) = await examined(address)
    assert check.level is Level.FAIL and "LANDFAST_REDIS" in check.found + check.fix
    assert "horse" not in check.found + check.fix


async def test_landfast_doctor_says_it(tmp_path: Path, server: Valkey) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER)
    shop.settings["LANDFAST_REDIS"] = server.address
    assert (await shop.run("migrate"))[0] == 0
    code, out, err = await shop.run("doctor", "--app", "shop.py", "--json")
    assert code == 0, out + err
    assert "seen cache" in [check["name"] for check in json.loads(out)["checks"]]
