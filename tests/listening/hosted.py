"""A hosted inbox with its admin API, a laptop that listens to it, and what passes between them: real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from landfast.demo.load import Connection, post
from landfast.demo.servers import Serve
from landfast.providers.signing import sign
from tests.listening.receiver import Receiver
from tests.patience import PATIENCE_SECONDS
from tests.shops import SECRET, Shop, until

LOCAL_SECRET = "whsec_of_the_laptop_and_of_nobody_else"


def body_of(event: str) -> bytes:
    """No serialiser would write it so: the bytes are the sender's, or they are not."""
    text = '{ "id" : "%s",\n\t"type":"payment_intent.succeeded",  "note":"\\u00e9 é \\/", "card":"4242424242424242",\n'
    return (text % event + '"data":{"object":{"id":"pi_1","amount":1e3}}}\n').encode()


class Hosted:
    """The inbox on some machine, with its admin API; and the laptop's folder."""

    settings: dict[str, str]
    """Of the laptop's environment."""

    def __init__(self, shop: Shop, serve: Serve, port: int, laptop: Path) -> None:
        self.shop = shop
        self.serve = serve
        self.port = port
        self.laptop = laptop
        self.url = f"http://127.0.0.1:{port}"

    async def token(self, role: str) -> str:
        code, out, err = await self.shop.run("tokens", "create", f"the-{role}", "--role", role)
        assert code == 0, err
        return out.strip()

    async def receive(self, *events: str) -> list[bytes]:
        bodies = [body_of(event) for event in events]
        for body in bodies:
            headers = sign("stripe", body, SECRET, now=time.time()) | {"X-Kept": "as it came"}
            connection = Connection(self.serve.port)
            try:
                assert await connection.send(post("/in/stripe", headers, body)) == 200
            finally:
                connection.close()
        return bodies

    async def kill_admin(self) -> None:
        """`serve` starts another one."""
        (killed,) = self.serve.pids("admin")
        os.kill(killed, signal.SIGKILL)
        await self.serve.until(lambda: any(pid != killed for pid in self.serve.pids("admin")), within=PATIENCE_SECONDS)

    def words(self, receiver: Receiver, *more: str) -> list[str]:
        to = ("--to", f"{receiver.base}/hooks/stripe", "--sign-with", "env:LOCAL_SECRET")
        return ["listen", self.url, "--token", "env:INBOX_TOKEN", *to, *more]

    @asynccontextmanager
    async def listening(self, receiver: Receiver, *more: str) -> AsyncIterator[asyncio.subprocess.Process]:
        async with self.typed(*self.words(receiver, "--source", "stripe", "--json", *more)) as process:
            yield process

    @asynccontextmanager
    async def typed(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """On the laptop; when it listens."""
        with (self.laptop / "err").open("wb") as err:
            async with self.there.running(*words, stderr=err.fileno()) as process:
                await until(lambda: bool(self.told("listening to") or process.returncode is not None), True)
                yield process

    @property
    def there(self) -> Shop:
        """The laptop."""
        return Shop(self.laptop, str(self.laptop / "landfast.db"), str(self.laptop / "ledger.db"), self.settings)

    def told(self, words: str) -> int:
        """How often."""
        return (self.laptop / "err").read_text().count(words)


async def told(process: asyncio.subprocess.Process, count: int) -> list[tuple[str, str]]:
    """The next events that it prints: key and outcome."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        printed = [json.loads(await process.stdout.readline()) for _ in range(count)]
    return [(one["key"], one["outcome"]) for one in printed]


async def interrupt(process: asyncio.subprocess.Process) -> None:
    """By Ctrl-C. It has nothing more to say."""
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"")
