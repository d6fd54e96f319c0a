"""The spool: a folder on this machine that takes deliveries in while the inbox cannot, and gives them back in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from landfast.domain.census import ADOPTED_FROM
from landfast.domain.delivery import Delivery, Recorded, requests
from landfast.domain.errors import ConfigError, JournalUnavailableError, MasterKeyMissingError, SealedError
from landfast.domain.ids import BootId
from landfast.journals.files import Files
from landfast.journals.folder import Folder
from landfast.journals.mounts import FORGETFUL, file_system_of
from landfast.own_thread import OwnThread
from landfast.ports.backlog import Taken
from landfast.ports.clock import Clock
from landfast.sealing import Seal, values

T = TypeVar("T")

BATCH_SECONDS = 10.0
"""Seconds for one batch: most senders have given up by then, and nobody may wait without an end for a disk that
hangs."""

ADOPTION_POLL_SECONDS = 1.0
"""Seconds between two looks for segments that a neighbour left behind when it died."""


class Spool:
    """A journal and a backlog. Everything that touches the disk happens in one thread of its own, in order: a sync that
    takes two seconds delays nobody but those who wait for it."""

    def __init__(
        self,
        path: Path,
        *,
        boot: BootId,
        clock: Clock,
        limit: int,
        anywhere: bool = False,
        files: Files | None = None,
        seal: Seal | None = None,
    ) -> None:
        self._seal = seal or Seal()
        self._path = path
        self._clock = clock
        self._is_anywhere = anywhere
        began = clock.now().timestamp()
        self._folder = Folder(path, boot=boot, began=began, limit=limit, files=files or Files())
        self._thread: OwnThread | None = None
        self._spooled = 0
        self._late: asyncio.Future[int] | None = None
        """A batch that nobody waits for any more."""
        self._looked_at = clock.monotonic()

    async def open(self) -> None:
        """ConfigError where nothing can be written, or where it would not be kept."""
        if not self._is_anywhere:
            check_keeps(self._path)
        self._thread = OwnThread("landfast spool")
        try:
            await self._run(self._folder.open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """What is not drained stays, for whoever opens the folder next."""
        if self._thread is not None:
            await self._run(self._folder.close)
            self._thread.stop()
            self._thread = None

    @property
    def waiting(self) -> int:
        """Records that this process holds, and that the inbox does not know of."""
        return self._folder.records

    def meters(self) -> Mapping[str, int]:
        # What dead boots left is counted here from now on, and no longer by their last reports.
        adopted = {f"{ADOPTED_FROM}{boot}": 1 for boot in self._folder.adopted_boots}
        held = {"spool_records": self._folder.records, "spool_bytes": self._folder.size, "spooled": self._spooled}
        return held | adopted

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        """Answers after the sync. Everything is new to it: what is not, the inbox will say when it is drained. What
        takes too long is refused, and drained all the same if it gets there."""
        if self._late is not None and not self._late.done():  # what is asked of the disk now would only pile up
            raise JournalUnavailableError(f"the spool {self._path} has not answered for more than {BATCH_SECONDS:g} s")
        writing = asyncio.ensure_future(self._run(lambda: self._append(deliveries)))
        done, _ = await asyncio.wait([writing], timeout=BATCH_SECONDS)
        if not done:
            self._late = writing
            writing.add_done_callback(asyncio.Future.exception)  # looked at: nobody else will
            raise JournalUnavailableError(f"the spool {self._path} did not answer within {BATCH_SECONDS:g} s")
        self._spooled += writing.result()
        return [Recorded(delivery.event_id, is_new=True, in_inbox=False) for delivery in deliveries]

    async def take(self, limit: int) -> Sequence[Taken]:
        # Again where nothing of it opens: nobody else would find out that there is more behind it.
        while taken := await self._run(lambda: self._take(limit)):
            if opened := await self._opened(taken):
                return opened
        return []

    async def forget(self, taken: Sequence[Taken]) -> None:
        await self._run(lambda: self._folder.forget(taken))

    async def give_back(self, taken: Sequence[Taken]) -> None:
        await self._run(lambda: self._folder.give_back(taken))

    async def set_aside(self, taken: Taken, why: str) -> None:
        await self._run(lambda: self._set_aside(taken, why))

    async def _opened(self, taken: Sequence[Taken]) -> Sequence[Taken]:
        """Those that can be opened. None of the others keeps them waiting."""
        opened, closed, damaged = [], [], []
        for each in taken:
            try:
                opened.append(Taken(values.open_carried(self._seal, each.deliveries), each.handle))
            except MasterKeyMissingError as error:
                closed.append((each, str(error)))
            except SealedError as error:
                damaged.append((each, str(error)))
        if closed:
            await self._run(lambda: self._folder.leave(closed))
        for each, why in damaged:  # as it is: nobody will ever open it
            await self._run(partial(self._folder.set_aside, each, why))
        return opened

    def _append(self, deliveries: Sequence[Delivery]) -> int:
        return self._folder.append(values.carry(self._seal, request) for request in requests(deliveries))

    def _set_aside(self, taken: Taken, why: str) -> None:
        self._folder.set_aside(Taken(values.carry(self._seal, taken.deliveries), taken.handle), why)

    def _take(self, limit: int) -> Sequence[Taken]:
        now = self._clock.monotonic()
        if now - self._looked_at >= ADOPTION_POLL_SECONDS:
            self._looked_at = now
            self._folder.look_around()
        return self._folder.take(limit)

    async def _run(self, job: Callable[[], T]) -> T:
        if self._thread is None:
            raise JournalUnavailableError("the spool is not open")
        return await self._thread.run(job)


def check_keeps(path: Path) -> None:
    """ConfigError where the folder would be gone with the machine or the container."""
    kind = file_system_of(path)
    if kind in FORGETFUL:
        raise ConfigError(
            f"spool: {path} is on {kind}, which is gone when the machine or container stops;"
            " set spool to a folder on a disk or volume, or spool_anywhere = true if losing it is acceptable"
        )
