"""The page on listening: its commands are typed on a laptop, at a hosted inbox that is there."""

from __future__ import annotations

import asyncio
import shlex

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.listening.hosted import LOCAL_SECRET, Hosted, body_of, interrupt
from tests.listening.receiver import receiving
from tests.patience import PATIENCE_SECONDS
from tests.shops import until

PAGE = ROOT / "docs/howto/listen.md"
SOURCE = """
port = {port}

[sources.stripe]
provider = "stripe"
secrets = ["env:LOCAL_SECRET"]
"""


@pytest.mark.long
async def test_the_commands_of_the_page_do_what_it_says(hosted: Hosted) -> None:
    typed = [line for block in blocks(PAGE) if block.kind == "console" for line in block.commands]
    commands = [shlex.split(line)[1:] for line in typed if line.startswith("landfast listen ")]
    on, one, again = [[hosted.url if "https://" in word else word for word in words] for words in commands]
    with receiving() as receiver:
        (hosted.laptop / "landfast.toml").write_text(SOURCE.format(port=receiver.port))
        async with hosted.typed(*on) as process:
            await hosted.receive("evt_1A2b")
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE_SECONDS):
                line = (await process.stdout.readline()).decode()
            assert "  stripe evt_1A2b payment_intent.succeeded  200  " in line
            await interrupt(process)
        code, _, err = await hosted.there.run(*one)
        assert code == 0, err
        async with hosted.typed(*again) as process:
            await until(lambda: len(receiver.came), 3)
        assert receiver.bodies == [body_of("evt_1A2b")] * 3
        for came in receiver.came:
            assert came.path == "/in/stripe" and came.is_signed_with(LOCAL_SECRET)
