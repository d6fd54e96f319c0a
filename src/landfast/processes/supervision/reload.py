"""SIGHUP: sources and secrets are read anew, tried before anybody relies on them, and taken over process by process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from typing import IO

from landfast import telemetry
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.supervisor import READY_SECONDS, Supervisor
from landfast.processes.supervision.systemd import Notices


class Reload:
    def __init__(
        self, supervisor: Supervisor, *, trial: Callable[[IO[bytes]], Awaitable[Child]], notices: Notices
    ) -> None:
        """`trial` starts a process that loads the application and looks for what would stop the others; it says that
        it is ready when it found nothing, and what it found into the file."""
        self._supervisor = supervisor
        self._trial = trial
        self._notices = notices
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Once more, if one is under way: what it read may have changed since."""
        self._asked.set()

    async def run(self) -> None:
        await self._supervisor.is_up.wait()
        while True:
            await self._asked.wait()
            self._asked.clear()
            self._notices.reloading()
            await self._renew()
            self._notices.ready()

    async def _renew(self) -> None:
        try:
            wrong = await self._try_out()
        except OSError as error:
            wrong = f"cannot start a process to try it with ({error.strerror})"
        if wrong:
            telemetry.error("reload_refused", reason=wrong)
            return
        telemetry.info("reload_begun")
        if await self._supervisor.replace():
            telemetry.info("reload_done")
        else:
            telemetry.error("reload_broken_off")

    async def _try_out(self) -> str:
        """What is wrong with the application as it is now; nothing, if nothing is."""
        # A file, and no pipe: what the application starts while it is loaded may hold that open for ever.
        with tempfile.TemporaryFile() as words:
            child = await self._trial(words)
            try:
                async with asyncio.timeout(READY_SECONDS):
                    if await child.wait_ready():
                        return ""
                    await child.wait()
                return _last_line(words).removeprefix("landfast: ") or "loading the application failed without a word"
            except TimeoutError:
                return f"loading the application took more than {READY_SECONDS:g} s"
            finally:
                child.kill()
                await child.wait()
                child.close()


def _last_line(words: IO[bytes]) -> str:
    words.seek(0)
    lines = words.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
