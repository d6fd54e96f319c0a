"""The file: opening it, its two connections, and its transactions."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import apsw

from landfast.domain.errors import ConfigError, InboxUnavailableError, TookTooLongError
from landfast.inboxes.sqlite.checkpoint import Checkpoints
from landfast.inboxes.sqlite.thread import PatientThread
from landfast.statement_limit import statement_seconds

T = TypeVar("T")
P = ParamSpec("P")

WAL_KEPT = 64 * 1024 * 1024
"""Bytes of WAL file kept after a checkpoint: one round's worth, so that a burst does not hold the disk for ever."""
LOG_ALONE = 1024 * 1024
"""Bytes of WAL file that are let stand between two steps of making room on a full disk."""
BUSY_MILLISECONDS = 5_000
"""Our own processes queue at the lock file; this is for strangers, such as an operator's backup."""

STEPS_BETWEEN_LOOKS = 10_000
"""Of SQLite's machine, between two looks at the clock: about a tenth of a millisecond."""


class SqliteFile:
    """Two connections in one thread. The durable one fsyncs each COMMIT; the brisk one leaves that to the next durable
    COMMIT or checkpoint, because a claim or settle that is lost is found again by its lease and its receipt."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._thread: PatientThread | None = None
        self._lock = -1
        self._is_alone = False
        self._connections: dict[bool, apsw.Connection] = {}  # by whether they are durable
        self._inode: tuple[int, int] | None = None
        self._is_shaken = False
        self._checkpoints = Checkpoints(self._path)

    @property
    def path(self) -> Path:
        return self._path

    async def open(self) -> None:
        self._thread = PatientThread(f"landfast {self._path.name}")
        try:
            await self._thread.run(self._open_first)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            # Nothing is promised any more, so an error changes nothing; a thread that hangs ends with the process.
            with suppress(apsw.Error, InboxUnavailableError):
                await thread.run(self._close)
            thread.stop()

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the thread; what SQLite raises in it becomes InboxUnavailableError."""
        if self._thread is None:
            raise InboxUnavailableError("the inbox is not open")
        seconds = statement_seconds()
        try:
            return await self._thread.run(job if seconds is None else partial(self._within, seconds, job))
        except (apsw.Error, OSError) as error:
            if isinstance(error, apsw.InterruptError) and seconds is not None:
                raise TookTooLongError(f"the inbox ended a statement after {seconds:g} s") from error
            if str(error).startswith("no such table"):
                raise InboxUnavailableError(f"the inbox has {error}; run landfast migrate") from error
            raise InboxUnavailableError(f"the inbox cannot be used: {error}") from error

    def _within(self, seconds: float, job: Callable[[], T]) -> T:
        """SQLite looks at the clock now and then, and interrupts what takes longer."""
        connection, end = self.connection(durable=False), time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_LOOKS)
        try:
            return job()
        finally:
            connection.set_progress_handler(None)

    @contextmanager
    def writing(self, *, durable: bool) -> Iterator[apsw.Connection]:
        """One BEGIN IMMEDIATE ... COMMIT. Crash inside: as if it had never begun."""
        # Processes queue at the lock file first, in order: by SQLite's own busy handler one of them can starve.
        if not self._is_alone:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            if self._thread is not None and not self._thread.is_wanted():
                raise InboxUnavailableError("nobody waits for this any more")
            self._heal()
            connection = self.connection(durable=durable)
            connection.execute("BEGIN IMMEDIATE")
            with _undone_by_an_error(connection):
                yield connection
                self._check_in_place()
                connection.execute("COMMIT")
            if self._is_alone:
                self._shorten_log(connection)
        except (apsw.IOError, apsw.CorruptError, OSError):
            self._is_shaken = True
            raise
        finally:
            if not self._is_alone:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One consistent view. Keep it short: while it lasts, the WAL cannot be reset."""
        connection = self.connection(durable=False)
        connection.execute("BEGIN")
        with _undone_by_an_error(connection):
            yield connection
            connection.execute("COMMIT")

    @property
    def is_alone(self) -> bool:
        return self._is_alone

    def be_alone(self) -> None:
        """Nobody else writes until `let_others`. Crash: the lock goes with the process."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._is_alone = True
        self._shorten_log(self.connection(durable=True))

    def let_others(self) -> None:
        self._is_alone = False
        self._shorten_log(self.connection(durable=True), longest=0)
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def connection(self, *, durable: bool) -> apsw.Connection:
        try:
            return self._connections[durable]
        except KeyError:
            raise InboxUnavailableError("the inbox is not open") from None

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._inode

    def _shorten_log(self, connection: apsw.Connection, longest: int = LOG_ALONE) -> None:
        """Back to nothing, if it is longer than that: on a full disk there is no room for it to grow."""
        log = Path(f"{self._path}-wal")
        if log.exists() and log.stat().st_size > longest:
            connection.pragma("wal_checkpoint", "TRUNCATE")

    def _open_first(self) -> None:
        if not self._path.parent.is_dir():
            raise ConfigError(
                f"store: the folder {self._path.parent} does not exist; create it or set LANDFAST_STORE to another path"
            )
        try:
            self._lock = os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT, 0o600)
            self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        except apsw.NotADBError:
            raise ConfigError(
                f"store: {self._path} is not a SQLite database; set LANDFAST_STORE to another path"
            ) from None
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
            raise ConfigError(
                f"store: {self._path} cannot be opened for writing ({error}); fix its permissions or set LANDFAST_STORE"
            ) from error
        except apsw.Error as error:
            raise InboxUnavailableError(f"the inbox {self._path} cannot be used: {error}") from error

    def _connect(self, flags: int) -> None:
        for durable in (True, False):
            self._connections[durable] = self._connected(flags, synchronous="FULL" if durable else "NORMAL")
        status = self._path.stat()
        self._inode = (status.st_dev, status.st_ino)

    def _connected(self, flags: int, *, synchronous: str) -> apsw.Connection:
        connection = apsw.Connection(str(self._path), flags=flags)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        # Keep each plan: otherwise a changed parameter may have a statement prepared anew (45 microseconds against 2).
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        if not connection.pragma("page_count"):
            # Of a new file: later it can only be changed by a VACUUM. What is free is given back in small steps then.
            connection.pragma("auto_vacuum", "INCREMENTAL")
        if connection.pragma("journal_mode", "WAL") != "wal":
            connection.close()
            raise ConfigError(f"store: {self._path} cannot have a write-ahead log; set LANDFAST_STORE to a local disk")
        connection.pragma("synchronous", synchronous)
        connection.set_wal_hook(self._checkpoints.after_commit)
        connection.pragma("journal_size_limit", WAL_KEPT)
        connection.pragma("trusted_schema", "OFF")
        # What is deleted or outgrown becomes zeros, whole pages too: its event may be erased later, and nobody would
        # find the pages again that it once was in.
        connection.pragma("secure_delete", 1)
        return connection

    def _close(self) -> None:
        self._disconnect()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _disconnect(self) -> None:
        while self._connections:
            _, connection = self._connections.popitem()
            connection.close(True)  # by force: what it was doing is over

    def _check_in_place(self) -> None:
        """SQLite goes on writing to a file that was moved or removed: what is committed there nobody will ever find."""
        if not self.is_in_place():
            raise OSError(f"{self._path} is not the file that was opened")

    def _heal(self) -> None:
        """After an I/O error, open anew and move everything out of the WAL before the next write.

        When an fsync fails, Linux forgets which pages it could not write and the next fsync succeeds without them. A
        WAL is read back only up to its first bad frame, so every later COMMIT in it would be lost with that one.
        """
        if not self._is_shaken:
            return
        self._disconnect()
        self._connect(apsw.SQLITE_OPEN_READWRITE)  # never create: an empty inbox must not take the place of a lost one
        busy, _, _ = self.connection(durable=True).pragma("wal_checkpoint", "TRUNCATE")
        if busy:
            raise InboxUnavailableError("the inbox had an I/O error and is waiting for readers to end")
        self._is_shaken = False


class _InFile(Protocol):
    _file: SqliteFile


S = TypeVar("S", bound=_InFile)


def in_thread(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """A method of an inbox that is written as it runs, without await, and is awaited by its callers: it runs in the
    file's thread."""

    @wraps(method)
    async def awaited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._file.run(partial(method, self, *args, **kwargs))

    return awaited


@contextmanager
def _undone_by_an_error(connection: apsw.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # some errors, a full disk among them, have rolled back already
            connection.execute("ROLLBACK")
        raise
