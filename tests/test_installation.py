"""What a server needs of an installation, and what it says about what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.hidden import hiding
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, sqlite_shop, until


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


async def test_a_server_imports_nothing_of_the_demo(shop: Shop) -> None:
    shop.settings |= hiding("landfast.demo", folder=shop.folder)
    code, _, err = await shop.run("demo", "--help")
    assert code and "landfast.demo" in err  # it is really hidden
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0


def test_the_conformance_suites_name_the_extra_that_they_need(tmp_path: Path) -> None:
    env = os.environ | hiding("pytest", folder=tmp_path)
    command = (sys.executable, "-c", "import landfast.testing.conformance")
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert ended.stderr.splitlines()[-1] == (
        "ImportError: the conformance suites need pytest; install landfast[testing]"
    )


EXTRAS = ("redis", "hiredis", "nats", "pytest")


async def test_a_server_without_any_extra_takes_a_webhook_in_and_processes_it(shop: Shop) -> None:
    shop.settings |= hiding(*EXTRAS, folder=shop.folder)
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0
    code, out, err = await shop.run("doctor", "--app", "shop.py")
    assert code == 0, out + err


@pytest.mark.parametrize("command", ["serve", "drain", "doctor"])
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "LANDFAST_REDIS",
            "redis://me:hunter2@127.0.0.1:1/0",
            "redis: redis://me@127.0.0.1:1/0 needs the redis package; install landfast[redis]",
        ),
        (
            "LANDFAST_JOURNAL",
            "nats://127.0.0.1:1",
            "journal: nats://127.0.0.1:1 needs the nats-py package; install landfast[jetstream]",
        ),
    ],
)
async def test_a_missing_extra_is_one_sentence_that_names_it(
    shop: Shop, command: str, name: str, value: str, sentence: str
) -> None:
    shop.settings |= {name: value, **hiding(*EXTRAS, folder=shop.folder)}
    code, out, err = await shop.run(command, *(["--app"] if command == "doctor" else []), "shop.py")
    assert code and sentence in out + err
    assert "Traceback" not in err
