"""Coming up, migrating, examining: what a person reads when something is wrong with the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from landfast.domain.errors import ConfigError, InboxUnavailableError
from landfast.domain.lifecycle import State
from landfast.inboxes.postgres import housekeeping
from landfast.inboxes.postgres.statements import MIGRATIONS
from landfast.recovery.doctor import Level, examine_inbox
from landfast.sqlfiles import Migration
from landfast.testing.factory import delivery, event_in
from tests.inboxes.postgres_bench import PostgresBench
from tests.servers import GUARDED, Postgres

ALL = [f"{one.number:04}_{one.name}" for one in MIGRATIONS]


@pytest.fixture
async def bench(migrated_database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(migrated_database).migrated() as made:
        yield made


async def test_a_unix_socket_is_as_good_as_an_address(postgres: Postgres, database_name: str) -> None:
    async with PostgresBench(postgres.socket_dsn(database_name)).migrated() as bench:
        assert (await bench.inbox.record([delivery()]))[0].is_new


async def test_a_wrong_password_is_named_and_not_printed(postgres: Postgres, database_name: str) -> None:
    postgres.execute(f"DROP ROLE IF EXISTS {GUARDED}")
    postgres.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'secret'")
    dsn = postgres.dsn(database_name, user=f"{GUARDED}:hunter2")
    sentence = await _refused(dsn)
    assert "password" in sentence and GUARDED in sentence
    assert "hunter2" not in sentence


async def test_an_unknown_database_is_named(postgres: Postgres) -> None:
    assert "nowhere" in await _refused(postgres.dsn("nowhere"))


async def test_an_unknown_role_is_named(postgres: Postgres, database_name: str) -> None:
    assert "stranger" in await _refused(postgres.dsn(database_name, user="stranger"))


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user:hunter2@localhost:port/name",
        "postgresql://user:hunter2/@localhost/name",
        "mysql://user:hunter2@localhost/name",
        "postgresql://user:hunter2@localhost/name?sslmode=whatever",
        "postgresql://user:hunter2@no-such-host.invalid/name",
    ],
)
async def test_an_address_that_cannot_be_read_is_refused_without_quoting_it(dsn: str) -> None:
    assert "hunter2" not in await _refused(dsn)


async def test_a_server_that_is_away_is_no_mistake_in_the_settings(tmp_path: object) -> None:
    with pytest.raises(InboxUnavailableError):
        await PostgresBench(f"postgresql://postgres@/name?host={tmp_path}").inbox.open()


async def test_a_role_without_synchronous_commit_is_warned_about_and_can_record(
    postgres: Postgres, database_name: str
) -> None:
    postgres.execute(f"ALTER DATABASE {database_name} SET synchronous_commit = off")
    async with PostgresBench(postgres.dsn(database_name)).migrated() as bench:
        assert (await bench.inbox.record([delivery()]))[0].is_new
        assert list(await bench.inbox.problems()) == []
        assert ["synchronous_commit is off" in one for one in await bench.inbox.cautions()] == [True]
        told = await examine_inbox(bench.inbox, now=bench.clock.now())
        assert [check.level for check in told if check.name == "inbox"] == [Level.OK, Level.WARN]


async def test_nothing_is_to_be_warned_about_by_default(bench: PostgresBench) -> None:
    assert list(await bench.inbox.cautions()) == []


async def test_a_server_without_fsync_is_refused_and_a_running_inbox_says_so(
    postgres: Postgres, bench: PostgresBench
) -> None:
    postgres.execute("ALTER SYSTEM SET fsync = off")
    try:
        postgres.restart()
        await bench.reconnected()
        assert "fsync" in await _refused(bench.dsn)
        assert ["fsync" in problem for problem in await bench.inbox.problems()] == [True]
    finally:
        postgres.execute("ALTER SYSTEM RESET fsync")
        postgres.restart()


async def test_of_two_that_migrate_at_once_one_does_the_work(database: str) -> None:
    one, other = PostgresBench(database), PostgresBench(database)
    await asyncio.gather(one.inbox.open(), other.inbox.open())
    applied = await asyncio.gather(one.inbox.migrate(), other.inbox.migrate())
    assert sorted(map(list, applied)) == [[], ALL]
    await one.close()
    await other.close()


async def test_a_user_who_may_not_create_the_schema_is_told(postgres: Postgres, database_name: str) -> None:
    postgres.execute("DROP ROLE IF EXISTS reader")
    postgres.execute("CREATE ROLE reader LOGIN")
    bench = PostgresBench(postgres.dsn(database_name, user="reader"))
    await bench.inbox.open()
    with pytest.raises(ConfigError, match="LANDFAST_STORE"):
        await bench.inbox.migrate()
    await bench.close()


async def test_before_it_is_migrated_an_inbox_says_so(database: str) -> None:
    bench = PostgresBench(database)
    await bench.inbox.open()
    assert "landfast migrate" in " ".join(await bench.inbox.problems())
    await bench.close()


async def test_a_broken_migration_is_named_and_changes_nothing(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [
        *MIGRATIONS,
        Migration(97, "fine", "CREATE TABLE landfast.half (a int)"),
        Migration(98, "broken", "CREATE TABLE landfast.whole (a int); SELECT nonsense"),
    ]
    monkeypatch.setattr(housekeeping, "MIGRATIONS", broken)
    with pytest.raises(ConfigError, match=r"0098_broken failed .*the schema is as it was"):
        await bench.inbox.migrate()
    assert await bench.fetch("SELECT to_regclass('landfast.half')") == [None]
    assert "behind by 2 migrations" in " ".join(await bench.inbox.problems())
    monkeypatch.setattr(housekeeping, "MIGRATIONS", broken[:-1])
    assert list(await bench.inbox.migrate()) == ["0097_fine"]
    assert list(await bench.inbox.problems()) == []


async def test_a_schema_from_the_future_is_refused(bench: PostgresBench) -> None:
    await bench.fetch("INSERT INTO landfast.migration VALUES (99, 'future')")
    with pytest.raises(ConfigError, match="newer"):
        await bench.inbox.migrate()
    assert "newer" in " ".join(await bench.inbox.problems())
    assert list(await bench.inbox.hazards()) == [], "in a rolling upgrade the old intakes go on"


@pytest.mark.parametrize(
    ("damage", "complaint", "is_hazard"),
    [
        ("ALTER TABLE landfast.identity DROP CONSTRAINT identity_pkey", "identity (event_id) is not unique", True),
        ("ALTER TABLE landfast.work DROP CONSTRAINT work_event_id_key", "work (event_id) is not unique", True),
        ("ALTER TABLE landfast.shelf ADD COLUMN more int", "changed by hand", True),
        ("ALTER TABLE landfast.identity SET UNLOGGED", "ALTER TABLE landfast.identity SET LOGGED", True),
        ("ALTER TABLE landfast.body_kept SET UNLOGGED", "landfast.body_kept is unlogged", True),
        (
            "ALTER TABLE landfast.shelf DISABLE TRIGGER shelf_unhandled_in",
            "shelf_unhandled_in of landfast.shelf is",
            True,
        ),
        (
            "DROP TRIGGER shelf_unhandled_out ON landfast.shelf",
            "shelf_unhandled_out of landfast.shelf is missing",
            True,
        ),
        ("ALTER TABLE landfast.tally ALTER COLUMN received DROP NOT NULL", "changed by hand", False),
        ("DROP INDEX landfast.shelf_due", "changed by hand", False),
        ("CREATE INDEX mine ON landfast.body (source)", "changed by hand", False),
        ("DROP TABLE landfast.redelivery CASCADE", "changed by hand", False),
    ],
)
async def test_a_schema_that_was_changed_by_hand_is_noticed(
    bench: PostgresBench, damage: str, complaint: str, is_hazard: bool
) -> None:
    await bench.fetch(damage)
    assert complaint in " ".join(await bench.inbox.problems())
    assert (complaint in " ".join(await bench.inbox.hazards())) == is_hazard


async def test_full_page_writes_off_is_a_problem(postgres: Postgres, bench: PostgresBench) -> None:
    postgres.execute("ALTER SYSTEM SET full_page_writes = off")
    try:
        postgres.restart()
        await bench.reconnected()
        assert "full_page_writes" in " ".join(await bench.inbox.problems())
    finally:
        postgres.execute("ALTER SYSTEM RESET full_page_writes")
        postgres.restart()


async def test_after_a_trigger_was_off_the_how_to_counts_anew(bench: PostgresBench) -> None:
    await bench.fetch("ALTER TABLE landfast.shelf DISABLE TRIGGER ALL")
    await event_in(bench.inbox, State.UNHANDLED, delivery(type="invoice.paid"))
    assert list(await bench.inbox.unhandled()) == []
    text = Path(__file__).parents[2].joinpath("docs/howto/unhandled.md").read_text("utf-8")
    connection = await asyncpg.connect(bench.dsn)
    await connection.execute(text.partition("```sql\n")[2].partition("```")[0])
    await connection.close()
    assert list(await bench.inbox.hazards()) == []
    assert [one.count for one in await bench.inbox.unhandled()] == [1]


async def _refused(dsn: str) -> str:
    """The one sentence that a person reads."""
    bench = PostgresBench(dsn)
    with pytest.raises(ConfigError) as refusal:
        await bench.inbox.open()
    sentence = str(refusal.value)
    assert "LANDFAST_STORE" in sentence
    assert "\n" not in sentence
    assert refusal.value.__cause__ is None
    return sentence
