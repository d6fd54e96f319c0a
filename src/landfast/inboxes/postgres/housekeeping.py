"""The store's part: come up, migrate, examine itself, go."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from landfast import sqlfiles, telemetry
from landfast.domain.errors import ConfigError, StoreError
from landfast.domain.mac import KEY_BYTES
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import MIGRATIONS, SQL
from landfast.ports.clock import Chance, Clock

OLDEST_SERVER = 14
"""The oldest that PostgreSQL still supports."""

WEEKS_AHEAD = 4
"""Partitions made in advance, when a process comes up and every day after. Where nobody could for a month, the default
partition takes the rows, and only the clean-up is slower."""

PREPARE_EVERY = 86_400.0
"""Seconds: often enough for weekly partitions, rare enough for the locks that it takes."""

MIGRATES_WITHIN = 600.0
"""Seconds for one migration: it may have to rewrite a large table."""

_MIGRATING = 0x1A2DFA57
"""The advisory lock of everybody who migrates an inbox in this database."""


_LAZY = (
    "synchronous_commit is off for this role or database: events are recorded with it on all the same, but a power cut"
    " may undo what an operator did in the second before it; ALTER ROLE ... RESET synchronous_commit"
)

_POOLED = (
    "a pooler such as PgBouncer is in between, so a worker hears at once only of what its own machine took in, and of"
    " the rest within a second; where the database has a direct address, give that to store (LANDFAST_STORE)"
)


class Housekeeping:
    _connections: Connections
    _clock: Clock
    _chance: Chance
    _prepared_at = float("-inf")

    async def open(self) -> None:
        await self._connections.open()
        try:
            async with self._connections.working() as connection:
                await _refuse_unsafe(connection)
                is_migrated = await connection.fetchval("SELECT to_regproc('landfast.prepare') IS NOT NULL")
            if is_migrated:
                await self.prepare()
        except BaseException:
            await self._connections.close()
            raise

    async def close(self) -> None:
        await self._connections.close()

    async def migrate(self) -> Sequence[str]:
        # One transaction: dead before its COMMIT, the schema is as it was; after it, there is nothing left to do.
        async with self._connections.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
            try:
                await connection.execute(SQL["migrate_schema"])
                await connection.execute(SQL["migrate_table"])
            except asyncpg.InsufficientPrivilegeError as error:
                raise ConfigError(f"store: {error}; grant CREATE to the user in LANDFAST_STORE") from error
            done = await _applied(connection)
            if done > len(MIGRATIONS):
                raise ConfigError(_newer(done))
            for migration in MIGRATIONS[done:]:
                with migration.applying("store", asyncpg.PostgresError):
                    await connection.execute(migration.sql, timeout=MIGRATES_WITHIN)
                await connection.execute(SQL["migrate_add"], migration.number, migration.name)
            if MIGRATIONS[done:]:
                fingerprint = await connection.fetchval(SQL["problems_schema"])
                await connection.execute(SQL["migrate_meta"], self._chance.bytes(16), fingerprint)
            if any(migration.name == "mac_key" for migration in MIGRATIONS[done:]):
                await connection.execute(SQL["mac_key_draw"], self._chance.bytes(KEY_BYTES))
        await self.prepare()
        return [migration.label for migration in MIGRATIONS[done:]]

    async def prepare(self) -> None:
        """Make partitions ahead. Everything works without them, so whatever stands in the way is only noted."""
        self._prepared_at = self._clock.monotonic()
        try:
            async with self._connections.working() as connection:
                await connection.execute(SQL["prepare"], WEEKS_AHEAD)
        except StoreError as error:
            telemetry.warn("partitions_not_made", error=error)

    async def prepare_daily(self) -> None:
        """Called often by whoever runs long."""
        if self._clock.monotonic() >= self._prepared_at + PREPARE_EVERY:
            await self.prepare()

    async def problems(self) -> Sequence[str]:
        hazards, others = await self._examine()
        return [*hazards, *others]

    async def hazards(self) -> Sequence[str]:
        hazards, _ = await self._examine()
        return hazards

    async def cautions(self) -> Sequence[str]:
        async with self._connections.working() as connection:
            # As this session would get it: a role or a database may have its own.
            setting = await connection.fetchval("SELECT current_setting('synchronous_commit')")
        pooled = [_POOLED] if self._connections.is_pooled else []
        return [_LAZY, *pooled] if setting == "off" else pooled

    async def _examine(self) -> tuple[list[str], list[str]]:
        """What makes it unsafe, and what is wrong besides."""
        async with self._connections.transaction(isolation="repeatable_read") as connection:
            hazards = [off(row["name"]) for row in await connection.fetch(SQL["problems_durability"])]
            if await connection.fetchval("SELECT to_regclass('landfast.migration') IS NULL"):
                return [*hazards, "the inbox has no tables yet: run landfast migrate"], []
            done = await _applied(connection)
            if done < len(MIGRATIONS):
                return [
                    *hazards,
                    *sqlfiles.behind("store", MIGRATIONS, range(1, done + 1)),
                ], []
            missing = [row[0] for row in await connection.fetch(SQL["problems_unique"])]
            hazards += [f"landfast.{one} is not unique any more: events could run twice; restore it" for one in missing]
            uncounted = [row[0] for row in await connection.fetch(SQL["problems_triggers"])]
            hazards += [_uncounted(one) for one in uncounted]
            unlogged = [row[0] for row in await connection.fetch(SQL["problems_unlogged"])]
            hazards += [f"{one} is unlogged, so a crash empties it; ALTER TABLE {one} SET LOGGED" for one in unlogged]
            if done > len(MIGRATIONS):
                return hazards, [_newer(done)]
            expected = str(await connection.fetchval(SQL["problems_fingerprint"]))
            found = str(await connection.fetchval(SQL["problems_schema"]))
        by_hand = ["the inbox's tables were changed by hand: restore them, or migrate to a fresh database"]
        if found.partition(":")[0] != expected.partition(":")[0]:
            return [*hazards, *by_hand], []
        return hazards, by_hand if found != expected else []


def off(setting: str) -> str:
    """What it means that a setting of the server's is off, and what to do about it."""
    # PostgreSQL does not sync what was written meanwhile when fsync is switched on again.
    then = " and run sync on the server's machine" if setting == "fsync" else ""
    elsewhere = "where a managed service does not let you, use another server"
    return f"{setting} is off: a power cut may lose acknowledged events; switch it on{then}; {elsewhere}"


def _uncounted(trigger: str) -> str:
    return (
        f"the trigger {trigger} of landfast.shelf is missing or disabled, so unhandled events may wait for ever;"
        " enable it and count them anew, as the how-to about unhandled events says"
    )


async def _refuse_unsafe(connection: Connection) -> None:
    version = connection.get_server_version()
    if version.major < OLDEST_SERVER:
        raise ConfigError(f"store: PostgreSQL {version.major} is too old; give LANDFAST_STORE {OLDEST_SERVER} or newer")
    unsafe = [row["name"] for row in await connection.fetch(SQL["problems_durability"])]
    if unsafe:
        names = " and ".join(unsafe)
        raise ConfigError(
            f"store: PostgreSQL runs with {names} off, so a 200 would not mean durable; switch it on, or use"
            " another server in LANDFAST_STORE"
        )


async def _applied(connection: Connection) -> int:
    """How many migrations; they are numbered without a gap."""
    return len(await connection.fetch(SQL["migrate_applied"]))


def _newer(done: int) -> str:
    return f"store: the inbox's schema ({done}) is newer than this Landfast knows ({len(MIGRATIONS)}); upgrade Landfast"
