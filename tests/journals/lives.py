"""The life of an intake without an inbox, and of the drainer after it, that ends where its plan says.

python -m tests.journals.lives FOLDER STEP WHEN NTH; what it acknowledges it writes to FOLDER/acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.durability import drain
from landfast.journals.files import Files
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import deliveries
from tests.journals.spools import opened

BATCHES = 10
EACH = 20
IN_FILES = ("write", "sync", "sync_folder", "unlink")
IN_SPOOL = ("take", "forget")
STEPS = (*IN_FILES, *IN_SPOOL, "record")


def prefix_of(batch: int) -> str:
    return f"batch{batch}"


class Deadly:
    """A thing that dies before or after the n-th call of one of its methods."""

    def __init__(self, step: str, when: str, nth: int) -> None:
        self._step, self._when, self._nth = step, when, nth
        self._calls: Counter[str] = Counter()

    def around(self, thing: Any, *steps: str) -> Any:
        for step in steps:
            setattr(thing, step, self._wrapped(step, getattr(thing, step)))
        return thing

    def _wrapped(self, step: str, method: Callable[..., Any]) -> Callable[..., Any]:
        if asyncio.iscoroutinefunction(method):

            async def later(*args: Any, **more: Any) -> Any:
                self._pass(step, "before")
                result = await method(*args, **more)
                self._pass(step, "after")
                return result

            return later

        def now(*args: Any, **more: Any) -> Any:
            self._pass(step, "before")
            result = method(*args, **more)
            self._pass(step, "after")
            return result

        return now

    def _pass(self, step: str, when: str) -> None:
        self._calls[step] += when == "before"
        if (step, when, self._calls[step]) == (self._step, self._when, self._nth):
            os.kill(os.getpid(), signal.SIGKILL)


async def live(folder: Path, deadly: Deadly) -> None:
    inbox = SqliteInbox(folder / "inbox.db", clock=ManualClock(), chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    drain.BATCH_DELIVERIES = 50  # type: ignore[attr-defined]
    told = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    files = deadly.around(Files(), *IN_FILES)
    clock = ManualClock()
    async with opened(folder / "spool", files=files, clock=clock) as spool:
        for batch in range(BATCHES):
            await spool.record(deliveries(EACH, prefix=prefix_of(batch)))
            os.write(told, f"{batch}\n".encode())
        drainer = drain.Drainer(deadly.around(spool, *IN_SPOOL), deadly.around(inbox, "record"), clock=clock)
        while spool.waiting:
            clock.advance(await drainer.step())


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), Deadly(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    sys.exit(3)  # it was to die
