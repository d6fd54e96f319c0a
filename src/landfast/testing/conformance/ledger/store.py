"""A ledger comes up, knows its name, and knows what is wrong with it."""

from __future__ import annotations

import pytest

from landfast.domain.errors import LedgerUnavailableError
from landfast.domain.ids import InboxId
from landfast.testing.conformance.ledger.desk import Desk, key, reserve


class StoreConformance:
    async def test_a_ledger_has_one_name_for_every_inbox_and_instance(self, desk: Desk) -> None:
        other = await desk.another()
        await other.migrate()
        names = {
            await ledger.bind(InboxId(bytes([each]) * 16)) for ledger in (desk.ledger, other) for each in (1, 2, 1)
        }
        assert len(names) == 1
        assert len(names.pop()) == 16

    async def test_migrating_again_changes_nothing(self, desk: Desk) -> None:
        await reserve(desk.ledger, key())
        assert await desk.ledger.migrate() == []
        assert len(await desk.ledger.receipts([key().digest])) == 1

    async def test_a_sound_ledger_has_no_problems(self, desk: Desk) -> None:
        assert await desk.ledger.problems() == []
        assert await desk.ledger.hazards() == []

    async def test_a_changed_schema_is_named_table_and_column(self, desk: Desk) -> None:
        receipt, inbox = desk.table("receipt"), desk.table("inbox")
        await desk.change(f"ALTER TABLE {receipt} RENAME COLUMN result TO response")
        await desk.change(f"DROP TABLE {inbox}")
        missing, table, extra = await desk.ledger.problems()
        assert await desk.ledger.hazards() == [missing, table], "a column too many loses nothing"
        assert f"{receipt} has no column result" in missing
        assert f"{receipt} has a column response" in extra
        assert f"{inbox} is missing" in table

    async def test_a_schema_that_is_behind_or_ahead_is_told(self, desk: Desk) -> None:
        migration = desk.table("migration")
        await desk.change(f"INSERT INTO {migration} (number, name) VALUES (9999, 'of_tomorrow')")  # noqa: S608 - the driver's own name
        (ahead,) = await desk.ledger.problems()
        assert "newer" in ahead
        assert await desk.ledger.hazards() == [], "in a rolling upgrade the old workers go on"
        await desk.change(f"DELETE FROM {migration}")  # noqa: S608 - as above
        (behind,) = await desk.ledger.problems()
        assert "run landfast migrate" in behind
        assert await desk.ledger.hazards() == [behind]

    async def test_a_missing_table_is_an_outage_of_the_ledger(self, desk: Desk) -> None:
        await desk.change(f"DROP TABLE {desk.table('effect')}")
        with pytest.raises(LedgerUnavailableError):
            await desk.ledger.counts()
        await desk.change(f"DROP TABLE {desk.table('guard')}")
        with pytest.raises(LedgerUnavailableError):
            await reserve(desk.ledger, key())
