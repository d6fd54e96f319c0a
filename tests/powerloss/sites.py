"""Where a shop keeps its databases: on one disk, or inbox and ledger on two; and its spool, if it has one."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from landfast.demo.servers import Serve
from tests.free_port import free_port
from tests.powerloss.checker import Books, Stored
from tests.powerloss.disks import Bench, Disk
from tests.servers import Postgres, _binaries, _unprivileged
from tests.shops import ORDER, Shop

LEASE = 3
"""Seconds. The leases of the dead have run out when an image is looked at, and no live worker is so slow."""


class Control(StrEnum):
    """A database that answers COMMIT and syncs nothing: the method must see what it loses."""

    INBOX = "inbox"
    LEDGER = "ledger"
    SPOOL = "spool"


UNSYNCED = {
    Control.INBOX: """
from landfast.inboxes.sqlite.connection import SqliteFile
_connected = SqliteFile._connected
SqliteFile._connected = lambda self, flags, *, synchronous: _connected(self, flags, synchronous="NORMAL")
""",
    Control.LEDGER: """
from landfast.ledgers.sqlite import lending
lending._SETTINGS = tuple(setting.replace("FULL", "NORMAL") for setting in lending._SETTINGS)
""",
    Control.SPOOL: """
from landfast.journals.files import Files
Files.sync = Files.sync_folder = lambda self, _: None
""",
}
"""How a shop is talked out of syncing. NORMAL, the usual advice for WAL, is bad enough."""


class Cluster(Postgres):
    """A PostgreSQL whose folder is on a disk of ours."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._data = folder / "data"
        self._user = _unprivileged()
        self._bin = binaries
        self._guard = None
        self._created = 0

    def create(self) -> None:
        self._folder.mkdir()
        super().create()

    def recover(self) -> None:
        """Start on a crash image. The processes that it names have not survived the cut."""
        for name in (self._data / "postmaster.pid", *self._folder.glob(".s.PGSQL.*")):
            name.unlink(missing_ok=True)
        self.start()


class Site(ABC):
    """A shop and its databases. They are created once, and then started again on one crash image after the other."""

    shop: Shop

    def __init__(
        self, bench: Bench, *, disks: Sequence[str] = ("inbox",), control: Control | None, spooled: bool = False
    ) -> None:
        self.disks: Sequence[Disk] = [bench.disk(name) for name in disks]
        self._by_name = {disk.name: disk for disk in self.disks}
        self.control = control
        self.spool = self._disk("spool").place / "spool" if spooled else None
        self.folder = bench.folder / "shop"
        self.folder.mkdir(exist_ok=True)

    async def create(self) -> None:
        self.shop = self._shop()
        self.shop.settings = {"LANDFAST_LEASE": str(LEASE)}
        if self.spool is not None:
            self.shop.settings["LANDFAST_SPOOL"] = str(self.spool)
        self.shop.write(ORDER)
        code, out, err = await self.shop.run("migrate", "--app", "shop.py")
        assert code == 0, out + err
        await self.shop.create_orders()
        for disk in self.disks:
            disk.flush()

    def mount(self, images: Sequence[Path]) -> None:
        for disk, image in zip(self.disks, images, strict=True):
            disk.mount(image)

    def unmount(self) -> None:
        for disk in self.disks:
            disk.unmount()

    def has_spooled(self) -> bool:
        return self.spool is not None and any(self.spool.glob("*.seg"))

    def _disk(self, name: str) -> Disk:
        """What has none of its own is on the inbox's."""
        return self._by_name.get(name, self._by_name["inbox"])

    @abstractmethod
    def _shop(self) -> Shop: ...

    @abstractmethod
    def start(self) -> None:
        """What must run before `landfast` can, on what is mounted now."""

    @abstractmethod
    def stop(self) -> None: ...

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Serve]:
        """The shop as it is put under load, in want of syncs if it is a control."""
        async with self.shop.serving("--intakes", "2") as serve:
            yield serve

    @abstractmethod
    def checkpoint(self) -> None:
        """Move the inbox's log into its database now: the moment at which torn pages are made."""

    @abstractmethod
    def held(self) -> AbstractAsyncContextManager[None]:
        """The inbox takes nothing in as long as this lasts."""

    @abstractmethod
    async def read(self) -> Books: ...


class SqliteSite(Site):
    def _shop(self) -> Shop:
        store, ledger = self._disk("inbox").place / "inbox.db", self._disk("ledger").place / "ledger.db"
        return Shop(self.folder, str(store), str(ledger))

    def start(self) -> None:
        """Files need no server."""

    def stop(self) -> None:
        """Files need no server."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Serve]:
        if self.control is not None:
            self.shop.write(UNSYNCED[self.control], ORDER)
        async with super().serving() as serve:
            yield serve

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        lock = os.open(f"{self.shop.store}-lock", os.O_RDWR)  # where all who write queue
        try:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def checkpoint(self) -> None:
        with closing(apsw.Connection(self.shop.store)) as inbox:
            inbox.pragma("wal_checkpoint")

    async def read(self) -> Books:
        with closing(apsw.Connection(self.shop.store)) as inbox:
            _must_be_whole(inbox)
            rows = list(inbox.execute("SELECT b.key, b.body, s.state FROM summary s JOIN body b USING (seq)"))
        with closing(sqlite3.connect(self.shop.ledger)) as ledger:
            _must_be_whole(ledger)
            orders = [row[0] for row in ledger.execute("SELECT event_key FROM orders")]
            (receipts,) = ledger.execute("SELECT count(*) FROM landfast_receipt").fetchone()
        return Books(_stored(rows), orders, receipts)


class PostgresSite(Site):
    clusters: Sequence[Cluster] = ()

    def _shop(self) -> Shop:
        return Shop(self.folder, self.clusters[0].dsn("postgres"), self.clusters[-1].dsn("postgres"))

    async def create(self) -> None:
        binaries = _binaries_in(self.folder.parent)
        self.clusters = [Cluster(disk.place / "postgres", binaries) for disk in self.disks if disk.name != "spool"]
        for cluster in self.clusters:
            cluster.create()
            if self.control in (Control.INBOX, Control.LEDGER):
                cluster.execute(BLINDFOLD)
        await super().create()

    def start(self) -> None:
        for cluster in self.clusters:
            cluster.recover()

    def stop(self) -> None:
        for cluster in self.clusters:
            cluster.stop()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Serve]:
        if self.control is Control.SPOOL:
            self.shop.write(UNSYNCED[self.control], ORDER)
        async with super().serving() as serve:
            if self.control in (
                Control.INBOX,
                Control.LEDGER,
            ):  # behind Landfast's back, which looks for it with every batch: see BLINDFOLD
                cluster = self.clusters[0 if self.control is Control.INBOX else -1]
                cluster.execute("ALTER SYSTEM SET fsync = off")
                cluster.execute("SELECT pg_reload_conf()")
            yield serve

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        connection = await asyncpg.connect(self.shop.store)
        try:
            async with connection.transaction():
                await connection.execute("LOCK TABLE landfast.identity IN ACCESS EXCLUSIVE MODE")
                yield
        finally:
            await connection.close()

    def checkpoint(self) -> None:
        self.clusters[0].execute("CHECKPOINT")

    async def read(self) -> Books:
        rows = await _query(self.shop.store, "SELECT key, body, state FROM landfast.event")
        orders = await _query(self.shop.ledger, "SELECT event_key FROM orders")
        receipts = await _query(self.shop.ledger, "SELECT count(*) FROM landfast_ledger.receipt")
        return Books(_stored(rows), [row[0] for row in orders], receipts[0][0])


BLINDFOLD = """
SET allow_system_table_mods = on;
ALTER FUNCTION pg_catalog.current_setting(text) RENAME TO true_setting;
CREATE FUNCTION pg_catalog.current_setting(name text) RETURNS text LANGUAGE sql STABLE
AS $$ SELECT CASE name WHEN 'fsync' THEN 'on' ELSE pg_catalog.true_setting(name) END $$
"""
"""A server that says of itself that fsync is on, whatever it is."""


SITES: dict[str, type[Site]] = {"sqlite": SqliteSite, "postgres": PostgresSite}


@cache
def _binaries_in(folder: Path) -> Path:
    return _binaries(folder, foreign=bool(_unprivileged()))


def _must_be_whole(database: Any) -> None:
    problems = [row[0] for row in database.execute("PRAGMA integrity_check(3)")]
    if problems != ["ok"]:
        raise OSError(f"the file is torn: {'; '.join(problems)}")


def _stored(rows: Sequence[Any]) -> list[Stored]:
    return [Stored(row[0], hashlib.sha256(row[1]).digest(), row[2]) for row in rows]


async def _query(dsn: str, query: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(query))
    finally:
        await connection.close()
