"""A client of `landfast mcp`: a real process, its pipes, and one line for each message."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tests.patience import PATIENCE_SECONDS
from tests.shops import Shop

ANSWER_BYTES = 1 << 20


class Talk:
    def __init__(self, process: Process) -> None:
        self.process = process
        self._number = 0

    async def begin(self, version: str = "2025-11-25") -> Any:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = await self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    async def ask(self, method: str, params: Any = None) -> Any:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        answer = await self.heard()
        assert answer["id"] == self._number, answer
        return answer

    async def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether it was refused, and the text of it."""
        result = (await self.ask("tools/call", {"name": tool, "arguments": arguments}))["result"]
        (content,) = result["content"]
        return result["isError"], content["text"]

    async def found(self, tool: str, **arguments: Any) -> Any:
        """What the tool answered: the JSON behind the notice."""
        is_error, text = await self.call(tool, **arguments)
        assert not is_error, text
        return json.loads(text.partition("\n")[2])

    async def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool for tool in (await self.ask("tools/list"))["result"]["tools"]}

    def send(self, message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)

    async def heard(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    async def ended(self) -> tuple[int, bytes, str]:
        """Its exit code, what it still said, and what it wrote for people. Its stdin is closed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, out, err.decode()


@contextlib.asynccontextmanager
async def talking(shop: Shop, *options: str, command: Sequence[str] = ()) -> AsyncIterator[Talk]:
    started = command or (sys.executable, "-m", "landfast", "mcp", "--app", "shop.py", *options)
    process = await asyncio.create_subprocess_exec(
        *started, cwd=shop.folder, env=shop.env, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=ANSWER_BYTES
    )
    try:
        yield Talk(process)
    finally:
        if process.returncode is None:
            process.kill()
        _, err = await process.communicate()
        sys.stderr.write(err.decode())  # pytest shows it when the test fails
