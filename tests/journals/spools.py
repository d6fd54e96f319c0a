"""Spools for tests, on disks that fail on command."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from landfast.domain.ids import BootId
from landfast.journals.files import Files
from landfast.journals.spool import Spool
from landfast.testing.clock import ManualClock
from tests.journals.backlog import ids, of

MEBIBYTE = 2**20
BOOT = BootId(b"boot-one")
OTHER = BootId(b"boot-two")


class BrokenFiles(Files):
    """The real disk, until `breaks` says otherwise."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.breaks: Callable[[str, int], int | None] = lambda _name, _nth: None
        """Given a call's name and its number: the errno that it fails with."""
        self.fired = 0
        self.unreadable = ""
        """What the names of the files have in them that cannot be read."""
        self.synced: list[int] = []

    def sync(self, descriptor: int) -> None:
        self._meet("sync")
        super().sync(descriptor)
        self.synced.append(descriptor)

    def sync_folder(self, folder: Path) -> None:
        self._meet("sync_folder")
        super().sync_folder(folder)

    def write(self, descriptor: int, content: bytes, offset: int) -> None:
        try:
            self._meet("write")
        except OSError:
            super().write(descriptor, content[: len(content) // 2], offset)  # torn in the middle, as a full disk does
            raise
        super().write(descriptor, content, offset)

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        if self.unreadable and self.unreadable in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            self.fired += 1
            raise OSError(EIO, os.strerror(EIO))
        return super().read(descriptor, size, offset)

    def create(self, path: Path) -> int:
        self._meet("create")
        return super().create(path)

    def cut(self, descriptor: int, size: int) -> None:
        self._meet("cut")
        super().cut(descriptor, size)

    def unlink(self, path: Path) -> None:
        self._meet("unlink")
        super().unlink(path)

    def always(self, name: str, number: int) -> None:
        self.breaks = lambda call, _nth: number if call == name else None

    def once(self, name: str, number: int) -> None:
        """The next one."""
        wanted = self.calls.count(name) + 1
        self.breaks = lambda call, nth: number if (call, nth) == (name, wanted) else None

    def heal(self) -> None:
        self.breaks = lambda _name, _nth: None

    def _meet(self, name: str) -> None:
        self.calls.append(name)
        failure = self.breaks(name, self.calls.count(name))
        if failure is not None:
            self.fired += 1
            raise OSError(failure, os.strerror(failure))


class HastyFiles(Files):
    """For tests of reading, which need no disk to have written."""

    def sync(self, descriptor: int) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    boot: BootId = BOOT,
    limit: int = 64 * MEBIBYTE,
    files: Files | None = None,
    clock: ManualClock | None = None,
) -> AsyncIterator[Spool]:
    spool = Spool(folder, boot=boot, clock=clock or ManualClock(), limit=limit, anywhere=True, files=files)
    await spool.open()
    try:
        yield spool
    finally:
        await spool.close()


async def everything(folder: Path) -> list[bytes]:
    """The ids of what a new process finds, all of it drained."""
    async with opened(folder, boot=OTHER, files=HastyFiles()) as spool:
        taken = await spool.take(10_000)
        await spool.forget(taken)
        return ids(of(taken))


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def how_it_ended(child: int) -> int:
    """The exit code of a forked child; minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def descriptors() -> int:
    """How many this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.seg"))


def aside(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bad"))


EIO, ENOSPC, EROFS = errno.EIO, errno.ENOSPC, errno.EROFS
