"""The room that the file takes, and giving all of it back that is free."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import apsw

from landfast.domain.errors import InboxUnavailableError, UserError
from landfast.domain.room import Compacted, Room
from landfast.inboxes.sqlite.connection import BUSY_MILLISECONDS, SqliteFile, in_thread

LOOK_EVERY_SECONDS = 0.2
STEPS_PER_LOOK = 10_000
"""Of SQLite's machine, between two looks whether somebody wants it to stop: about a millisecond."""

SPARE = 1.1
"""Room that is asked for before it begins, over what is thought to be needed."""


class Compacting:
    _file: SqliteFile

    @in_thread
    def room(self) -> Room:
        connection = self._file.connection(durable=False)
        free, size = connection.pragma("freelist_count"), connection.pragma("page_size")
        return Room(
            used=_bytes_of(self._file.path),
            free_inside=free * size,
            free=shutil.disk_usage(self._file.path.parent).free,
            gives_back=bool(connection.pragma("auto_vacuum")),
        )

    async def compact(self, *, report: Callable[[int, int], None]) -> Compacted:
        """Crash before the COMMIT of VACUUM: the file is as it was. After it: the log still has to be moved, and the
        next one who opens the file does that."""
        room = await self.room()
        left = room.used - room.free_inside
        _must_have_room(self._file.path, left)
        work = _Vacuum(self._file.path)
        running = asyncio.ensure_future(asyncio.to_thread(work.run))
        try:
            while not (await asyncio.wait([running], timeout=LOOK_EVERY_SECONDS))[0]:
                report(min(work.bytes_done(), 2 * left), 2 * left)
        finally:
            work.is_stopped.set()
            await asyncio.wait([running])
        try:
            running.result()
        except (apsw.Error, OSError) as error:
            raise InboxUnavailableError(f"the inbox was not compacted, and is as it was: {error}") from error
        return Compacted(room.used, _bytes_of(self._file.path))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        # Crash anywhere: the lock goes with the process.
        await self._file.run(self._file.be_alone)
        try:
            yield
        finally:
            await self._file.run(self._file.let_others)

    async def lay_ballast(self, size: int) -> None:
        """The app lays a file."""


class _Vacuum:
    """One VACUUM, under the lock at which everybody who writes to the file queues."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pages_read = 0
        self.is_stopped = threading.Event()

    def run(self) -> None:
        lock = os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not self._locked(lock):
                if self.is_stopped.wait(LOOK_EVERY_SECONDS / 10):
                    raise InterruptedError("it was stopped before it began")
            with closing(apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
                self._vacuum(connection)
        finally:
            os.close(lock)

    def bytes_done(self) -> int:
        """Everything is written twice: to a file of its own first, and then back, through the log."""
        return self._pages_read + _bytes_of(Path(f"{self._path}-wal"), only=True)

    def _locked(self, lock: int) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _vacuum(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.pragma("synchronous", "FULL")
        connection.pragma("secure_delete", 1)
        # From now on it gives back by itself what is free.
        connection.pragma("auto_vacuum", "INCREMENTAL")
        size = connection.pragma("page_size")

        def look() -> bool:
            self._pages_read = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] * size
            return self.is_stopped.is_set()

        connection.set_progress_handler(look, STEPS_PER_LOOK)
        connection.execute("VACUUM")
        connection.set_progress_handler(None)
        deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
        while connection.pragma("wal_checkpoint", "TRUNCATE")[0] and time.monotonic() < deadline:
            pass  # somebody reads; each look waits for a moment itself


def _must_have_room(path: Path, needed: int) -> None:
    """For the copy in the folder for temporary files, and for the log beside the inbox."""
    needed = int(needed * SPARE)
    copies = Path(os.environ.get("SQLITE_TMPDIR") or tempfile.gettempdir())
    is_one_disk = copies.stat().st_dev == path.parent.stat().st_dev
    for folder, bytes_needed in ((path.parent, needed * (1 + is_one_disk)), (copies, needed)):
        free = shutil.disk_usage(folder).free
        if free < bytes_needed:
            raise UserError(
                f"compact: {folder} needs {bytes_needed / 1e6:,.0f} MB for a copy and has {free / 1e6:,.0f}; make room"
                " there, or point SQLITE_TMPDIR to a folder on another disk"
            )


def _bytes_of(path: Path, *, only: bool = False) -> int:
    """With its log, unless only it is asked for."""
    files = [path] if only else [path, Path(f"{path}-wal")]
    return sum(file.stat().st_blocks * 512 for file in files if file.exists())
