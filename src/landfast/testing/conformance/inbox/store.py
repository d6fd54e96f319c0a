"""Store, and the inbox's own identity."""

from __future__ import annotations

import asyncio

from landfast.testing.conformance.inbox.bench import Bench


class StoreConformance:
    async def test_migrating_what_is_up_to_date_applies_nothing(self, bench: Bench) -> None:
        assert list(await bench.inbox.migrate()) == []
        assert list(await (await bench.another()).migrate()) == []

    async def test_a_migrated_inbox_has_no_problems(self, bench: Bench) -> None:
        assert list(await bench.inbox.problems()) == []
        assert list(await bench.inbox.hazards()) == []

    async def test_the_identity_is_drawn_once_and_stays(self, bench: Bench) -> None:
        drawn = await bench.inbox.identity()
        assert len(drawn) == 16
        await bench.inbox.migrate()
        assert await bench.inbox.identity() == drawn
        assert await (await bench.another()).identity() == drawn

    async def test_an_inbox_binds_to_the_first_ledger_and_to_no_other(self, bench: Bench) -> None:
        assert await bench.inbox.bound_ledger() is None
        assert await bench.inbox.bind_ledger("first") == "first"
        assert await bench.inbox.bind_ledger("second") == "first"
        assert await bench.inbox.bind_ledger("first") == "first"
        assert await (await bench.another()).bound_ledger() == "first"

    async def test_of_two_ledgers_that_bind_at_once_one_wins(self, bench: Bench) -> None:
        other = await bench.another()
        bound = await asyncio.gather(bench.inbox.bind_ledger("first"), other.bind_ledger("second"))
        assert len(set(bound)) == 1
        assert await bench.inbox.bound_ledger() == bound[0]

    async def test_closing_twice_is_quiet(self, bench: Bench) -> None:
        other = await bench.another()
        await other.close()
        await other.close()
