"""A file beside a SQLite inbox, or a table in PostgreSQL: of no use, except that it is removed when the disk is full.

To delete takes room: what is deleted is written to the log first. So some room is kept back for that moment.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from landfast.config import Settings
from landfast.ports.inbox import Inbox


@dataclass(frozen=True, slots=True)
class Ballast:
    path: Path
    size: int
    """Bytes; 0 where none is wanted."""

    def is_needed(self) -> bool:
        """Whether the disk is as good as full."""
        return shutil.disk_usage(self.path.parent).free < max(self.size, 1024 * 1024)

    def release(self) -> int:
        """Remove it; bytes that are free now. Crash after it: the next pass lays it again."""
        try:
            size = self.path.stat().st_size
            self.path.unlink()
        except FileNotFoundError:
            return 0
        return size

    def lay_if_worth_it(self) -> None:
        """An inbox that is smaller than its ballast needs none yet."""
        inbox = str(self.path).removesuffix(SUFFIX)
        files = [Path(inbox), Path(f"{inbox}-wal")]
        if sum(file.stat().st_size for file in files if file.exists()) >= self.size:
            self.lay()

    def lay(self) -> bool:
        """Make it, unless that would fill the disk; whether it is there, or none is wanted. Crash inside: a part of it
        is there, and the next one makes the rest."""
        if not self.size or (self.path.exists() and self.path.stat().st_size >= self.size):
            return True
        if shutil.disk_usage(self.path.parent).free < 2 * self.size:
            return False
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(file, 0, self.size)
        except OSError:
            self.release()
            return False
        finally:
            os.close(file)
        return True


SUFFIX = "-ballast"


async def lay_ballast(settings: Settings, inbox: Inbox) -> None:
    """After a pass, if the inbox is worth it."""
    ballast = ballast_of(settings)
    if ballast is None:
        await inbox.lay_ballast(settings.ballast)
    else:
        await asyncio.to_thread(ballast.lay_if_worth_it)


def ballast_of(settings: Settings) -> Ballast | None:
    """None where the inbox is no file."""
    if not settings.inbox_driver.is_file:
        return None
    return Ballast(Path(f"{settings.store.target}{SUFFIX}"), settings.ballast)


class FullDisk:
    """What to do around a pass that has to make room. Where there is room enough, that is nothing."""

    def __init__(self, settings: Settings) -> None:
        self._ballast = ballast_of(settings)
        # How full a server's disk is, only whoever asked for this knows.
        self.is_full = self._ballast is None or self._ballast.is_needed()
        self._released = 0

    def release(self) -> int:
        """Before anything is opened: to open a file takes room, too. Bytes."""
        if self._ballast is not None and self.is_full:
            self._released = self._ballast.release()
        return self._released

    @property
    def lacks_ballast(self) -> bool:
        """The disk is full, and there was nothing that could be removed."""
        return self._ballast is not None and self.is_full and not self._released

    @asynccontextmanager
    async def around(self, inbox: Inbox) -> AsyncIterator[None]:
        if not self.is_full:
            yield
            return
        async with inbox.alone():
            yield
        self.lay()  # others come in from here on, and may take the room

    def lay(self) -> bool:
        """Once it is over, where it was; whether there was room for it. It may be called again."""
        return self._ballast is None or not self._released or self._ballast.lay()
