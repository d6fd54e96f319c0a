"""docs/howto/backup.md is rehearsed as it is written: saved under load, dropped, restored, recovered, proven."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.docs.blocks import ROOT, blocks
from tests.servers import Postgres
from tests.shops import HEAD, ORDER, Shop, until

PAGE = ROOT / "docs/howto/backup.md"
SHELL = [block.commands for block in blocks(PAGE) if block.kind == ""]
SETTINGS = 'app = "shop:inbox"\n'


async def type_(shop: Shop, commands: Sequence[str], *, programs: Path | None = None) -> list[tuple[int, str]]:
    """Each of them in a shell, as the page has it: exit codes, and what they print."""
    here = Path(sys.executable).parent
    path = os.pathsep.join(str(each) for each in (here, programs, os.environ["PATH"]) if each)
    env = {**shop.env, "STORE": shop.store, "LEDGER": shop.ledger, "PATH": path}
    ended = []
    for command in commands:
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", command, cwd=shop.folder, env=env, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
        printed, _ = await process.communicate()
        ended.append((process.returncode or 0, printed.decode()))
    return ended


async def take_in(shop: Shop, numbers: range) -> None:
    async with shop.serving(app="shop:inbox") as serve:
        for number in numbers:
            assert await shop.send(serve, f"evt_{number}") == 200
        await until(lambda: shop.count(State.DONE), numbers.stop - 1)
        assert await serve.stop() == 0


async def recover(shop: Shop, *, lost: int) -> None:
    """From the second step of the page on."""
    (_, _, looks, recovers) = SHELL
    (_, doctor), (is_bad, proof) = await type_(shop, looks)
    assert "Traceback" not in doctor and "fail" not in doctor, doctor
    assert is_bad == 1 and f"{lost}" in proof, proof
    (dry, counted), (code, made) = await type_(shop, recovers)
    assert (dry, code) == (0, 0) and f"{lost} without a receipt" in counted, counted
    assert f"{lost} made ready" in made, made
    async with shop.serving(app="shop:inbox") as serve:
        await until(lambda: shop.count(State.DONE), 5)
        assert await serve.stop() == 0
    assert (await type_(shop, ["landfast proof"]))[0][0] == 0
    assert sorted(await shop.orders()) == [f"evt_{number}" for number in range(1, 6)]


@pytest.mark.long
async def test_two_databases_on_postgresql_are_saved_and_come_back(tmp_path: Path, postgres: Postgres) -> None:
    names = store, ledger = postgres.new_database(), postgres.new_database()
    shop = Shop(tmp_path, postgres.dsn(store), postgres.dsn(ledger))
    shop.write(ORDER)
    (tmp_path / "landfast.toml").write_text(SETTINGS)
    await shop.create_orders()
    programs = postgres._bin
    ((ledger_first, then_inbox), restores, *_) = SHELL
    await take_in(shop, range(1, 4))
    assert [code for code, _ in await type_(shop, [ledger_first], programs=programs)] == [0]
    await take_in(shop, range(4, 6))  # between the two dumps
    assert [code for code, _ in await type_(shop, [then_inbox], programs=programs)] == [0]
    for name in names:
        postgres.drop_database(name)
        postgres.execute(f"CREATE DATABASE {name}")
    restored = await type_(shop, restores, programs=programs)
    assert [code for code, _ in restored] == [0, 0], restored
    assert len(await shop.orders()) == 3
    await recover(shop, lost=2)


@pytest.mark.long
async def test_two_files_of_sqlite_are_saved_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path, str(tmp_path / "landfast.db"), str(tmp_path / "landfast-ledger.db"))
    (tmp_path / "shop.py").write_text(HEAD + ORDER)
    (tmp_path / "landfast.toml").write_text(SETTINGS)
    await shop.create_orders()
    (code,) = [block.text for block in blocks(PAGE) if block.kind == "python"]
    make, saves = code[: code.index('save("')], re.findall(r"^save\(.+\)$", code, re.MULTILINE)
    assert len(saves) == 2
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(make, str(PAGE), "exec"), names)
    async with shop.serving(app="shop:inbox") as serve:  # it goes on meanwhile
        for numbers, save in ((range(1, 4), saves[0]), (range(4, 6), saves[1])):
            for number in numbers:
                assert await shop.send(serve, f"evt_{number}") == 200
            await until(lambda numbers=numbers: shop.count(State.DONE), numbers.stop - 1)  # type: ignore[misc]
            exec(compile(save, str(PAGE), "exec"), names)
        assert await serve.stop() == 0
    put_back(tmp_path, {"ledger-copy.db": "landfast-ledger.db", "inbox-copy.db": "landfast.db"})
    with closing(sqlite3.connect(tmp_path / "landfast-ledger.db")) as db:
        assert db.execute("SELECT count(*) FROM orders").fetchone() == (3,)
    await recover(shop, lost=2)


def put_back(folder: Path, copies: dict[str, str]) -> None:
    for saved, place in copies.items():
        for end in ("", "-wal", "-shm"):
            (folder / f"{place}{end}").unlink(missing_ok=True)
        shutil.copy(folder / saved, folder / place)
