"""What a supervisor would do for a worker that has none: keep a process for suspects while there are any."""

from __future__ import annotations

import asyncio
from functools import partial

from landfast.app import Inbox
from landfast.domain.ids import WorkerId
from landfast.processes.children.lifeline import GRACE_SECONDS
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.give_back import abandon
from landfast.processes.supervision.lives import Lives, ProcessKind, log
from landfast.processes.supervision.pages import Pages
from landfast.processes.supervision.suspects import SuspectsKeeper


class SuspectsBeside:
    def __init__(self, inbox: Inbox, app: str, *, form: str = "text") -> None:
        """`form` is how the log is written."""
        self._app = app
        self._form = form
        self.pages = Pages()
        tell = self.pages.before(log)
        self._lives = Lives(start=self._start, abandon=partial(abandon, inbox), chance=inbox.chance, tell=tell)
        self._keeper = SuspectsKeeper(self._lives, grace=GRACE_SECONDS)
        self.want = self._keeper.want

    def stop(self) -> None:
        self._keeper.stop()
        self._lives.stop()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._lives.kill)

    async def wait(self) -> None:
        """Until its process has ended, after `stop`."""
        await self._keeper.wait()

    async def _start(self, kind: ProcessKind, worker: WorkerId) -> Child:
        return await self.pages.start(kind, [*suspects_command(self._app, worker), "--log", self._form])


def suspects_command(app: str, worker: WorkerId) -> list[str]:
    return ["work", app, "--worker-id", worker.hex(), "--suspects", "only"]
