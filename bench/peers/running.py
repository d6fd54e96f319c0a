"""A peer at work: its processes, which can be killed and started again, and the servers that it needs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from bench import machine
from bench.deliveries import SECRET
from bench.peers import Peer, environments
from bench.servers import guard
from bench.stage import ROOT
from bench.stores import Store
from tests.valkey import Valkey

STARTS_WITHIN = 90.0
LOOK_EVERY = 0.05


class Running:
    def __init__(self, commands: list[list[str]], port: int, env: Mapping[str, str], log: Path) -> None:
        self._commands = commands
        self._env = env
        self._log = log
        self.port = port
        self._processes: list[Process] = []

    async def start(self) -> None:
        """The first answers requests; the others may need what it has set up."""
        with self._log.open("ab") as log:
            for command in self._commands:
                started = await asyncio.create_subprocess_exec(
                    *command, cwd=ROOT, env=self._env, stdin=PIPE, stdout=DEVNULL, stderr=log, start_new_session=True
                )
                self._processes.append(started)
                await self._until_it_answers()

    async def _until_it_answers(self) -> None:
        try:
            async with asyncio.timeout(STARTS_WITHIN):
                while not await _answers(self.port):  # noqa: ASYNC110 - another process is at work
                    await asyncio.sleep(LOOK_EVERY)
        except TimeoutError:
            said = self._log.read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"did not start: {said[-1] if said else 'it said nothing'}") from None

    def pids(self) -> list[int]:
        firsts = [process.pid for process in self._processes]
        return [*firsts, *(each for pid in firsts for each in machine.descendants(pid))]

    async def kill(self) -> None:
        """All of them at once, as when a machine is out of memory."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            await process.wait()
        self._processes.clear()


@asynccontextmanager
async def running(peer: Peer, store: Store) -> AsyncIterator[tuple[Running, list[int]]]:
    """The peer, started, and the processes of the servers that it needs beside PostgreSQL."""
    python, port = environments.python(peer), guard.free_port()
    settings = {
        "BENCH_DSN": store.inbox,
        "BENCH_PORT": str(port),
        "BENCH_SECRET": SECRET,
        "LANDFAST_STORE": store.inbox,
        "LANDFAST_LEDGER": store.ledger,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
    }
    env = {**os.environ, **settings}
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-peer-"))
    async with AsyncExitStack() as beside:
        servers: list[int] = []
        if "valkey" in peer.needs:
            valkey = Valkey()
            beside.callback(valkey.destroy)
            valkey.start()
            env["BENCH_REDIS"] = valkey.address
            servers += valkey.pids()
        if "restate" in peer.needs:
            servers += [await beside.enter_async_context(_restate(folder, env))]
        if peer.prepare:
            command = [word.format(python=python, port=port) for word in peer.prepare]
            await asyncio.to_thread(subprocess.run, command, cwd=ROOT, env=env, check=True, capture_output=True)
        commands = [[word.format(python=python, port=port) for word in command] for command in peer.processes]
        program = Running(commands, port, env, folder / "log")
        beside.push_async_callback(program.kill)
        await program.start()
        if "restate" in peer.needs:
            await _register(env)
        yield program, servers


@asynccontextmanager
async def _restate(folder: Path, env: dict[str, str]) -> AsyncIterator[int]:
    ports = {name: guard.free_port() for name in ("ingress", "admin", "service", "node")}
    env |= {
        "RESTATE_BASE_DIR": str(folder / "restate"),
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_BIND_PORT": str(ports["node"]),
        "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
        "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]),
        "RESTATE_DISABLE_TELEMETRY": "true",
        "BENCH_INGRESS": f"http://127.0.0.1:{ports['ingress']}",
        "BENCH_ADMIN": f"http://127.0.0.1:{ports['admin']}",
        "BENCH_SERVICE_PORT": str(ports["service"]),
    }
    program = await asyncio.to_thread(environments.restate_server)
    with (folder / "restate.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(program, env=env, stdin=DEVNULL, stdout=log, stderr=log)
    try:
        async with asyncio.timeout(STARTS_WITHIN):
            while not (await _answers(ports["ingress"]) and await _answers(ports["admin"])):  # noqa: ASYNC110 - another process is at work
                await asyncio.sleep(LOOK_EVERY)
        # npm's program starts the real one.
        yield next(iter(machine.descendants(process.pid)), process.pid)
    finally:
        for pid in (*machine.descendants(process.pid), process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()


async def _register(env: Mapping[str, str]) -> None:
    """Tell Restate where the service is; until that is up, it refuses."""
    body = json.dumps({"uri": f"http://127.0.0.1:{env['BENCH_SERVICE_PORT']}", "force": True}).encode()
    headers = {"content-type": "application/json"}
    asked = urllib.request.Request(f"{env['BENCH_ADMIN']}/deployments", body, headers)
    async with asyncio.timeout(STARTS_WITHIN):
        while True:
            try:
                await asyncio.to_thread(urllib.request.urlopen, asked, timeout=30)
            except (urllib.error.URLError, OSError):
                await asyncio.sleep(LOOK_EVERY)
            else:
                return


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
