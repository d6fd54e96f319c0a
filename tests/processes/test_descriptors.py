"""Out of file descriptors: whoever comes is told so or turned away, nobody hangs, and it passes."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.processes.crowd import answer_on, connected
from tests.shops import ORDER, sqlite_shop, until

DESCRIPTORS = 128
CROWD = 300


async def test_a_crowd_beyond_the_descriptors_is_turned_away_and_afterwards_all_is_well(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    with (tmp_path / "serve.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "landfast", "serve", "shop.py", "--port", "0", "--json"),
            cwd=tmp_path,
            env=shop.env,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)),
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "port" not in (news := json.loads(await process.stdout.readline())):
                pass
            port = news["port"]
            crowd = [await connected(port) for _ in range(CROWD)]
            reader, writer = await connected(port)
            writer.write(shop.sender.delivery(shop.sender.payment("evt_1")))
            answer = await answer_on(reader)
            writer.close()
            assert answer == b"" or answer[9:12] in (b"200", b"503"), answer
            turned_away = sum([await _is_over(each) for each, _ in crowd])
            assert turned_away >= CROWD - DESCRIPTORS, "void: there was room for everybody"

            for _, each in crowd:
                each.close()

            async def is_taken() -> bytes:
                reader, writer = await connected(port)
                writer.write(shop.sender.delivery(shop.sender.payment("evt_2")))
                answer = await answer_on(reader)
                writer.close()
                return answer[9:12]

            await until(is_taken, b"200")
            await until(lambda: shop.count(State.READY), 0)
            process.terminate()
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


async def _is_over(reader: asyncio.StreamReader) -> bool:
    """Whether it was answered, or hung up on, by now."""
    try:
        async with asyncio.timeout(0.01):
            await reader.read(1)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
