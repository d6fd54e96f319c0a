"""Reconciling: one at a time for each source, and an interrupted one goes on where it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from landfast.domain.reconciliation import Reconciliation
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench

ME, OTHER = b"me......", b"other..."
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


async def begun(inbox: Inbox, token: bytes = ME, *, source: str = "shop", since: datetime = SINCE) -> Reconciliation:
    found = await inbox.begin_reconciliation(source, token=token, lease=60, since=since)
    assert found is not None
    return found


async def noted(inbox: Inbox, token: bytes = ME, *, place: str | None = "page 2") -> bool:
    counts = {"listed": 100, "missing": 7, "taken": 6}
    return await inbox.note_reconciliation("shop", token=token, lease=60, place=place, **counts)


class ReconciliationConformance:
    async def test_of_one_source_there_is_one_reconciliation_at_a_time(self, bench: Bench) -> None:
        first = await begun(bench.inbox)
        assert (first.since, first.place, first.listed, first.is_running) == (SINCE, None, 0, True)
        other = await bench.another()
        assert await other.begin_reconciliation("shop", token=OTHER, lease=60, since=SINCE) is None
        await begun(other, OTHER, source="bank")
        assert [one.source for one in await other.reconciliations()] == ["bank", "shop"]
        await bench.inbox.end_reconciliation("shop", token=ME)
        (_, ended) = await other.reconciliations()
        assert (ended.is_running, ended.ended_at is None, ended.error) == (False, False, "")
        again = await begun(other, OTHER)
        assert (again.ended_at, again.listed) == (None, 0)

    async def test_an_interrupted_reconciliation_goes_on_at_its_place(self, bench: Bench) -> None:
        first = await begun(bench.inbox)
        assert await noted(bench.inbox)
        await bench.inbox.end_reconciliation("shop", token=ME, error="the line went dead", retry=30)
        (found,) = await bench.inbox.reconciliations()
        assert (found.error, found.ended_at, found.is_running) == ("the line went dead", None, False)
        again = await begun(bench.inbox, OTHER, since=SINCE + timedelta(hours=1))
        assert (again.begun_at, again.since, again.place) == (first.begun_at, SINCE, "page 2")
        assert (again.listed, again.missing, again.taken, again.error) == (100, 7, 6, "")

    async def test_up_to_where_a_source_is_compared_is_kept_until_an_end_tells_another(self, bench: Bench) -> None:
        assert (await begun(bench.inbox)).compared_until is None
        await bench.inbox.end_reconciliation("shop", token=ME, compared_until=SINCE)
        assert (await begun(bench.inbox)).compared_until == SINCE
        await bench.inbox.end_reconciliation("shop", token=ME, error="the line went dead")
        assert (await begun(bench.inbox)).compared_until == SINCE
        await bench.inbox.end_reconciliation("shop", token=ME)
        await bench.inbox.end_reconciliation("shop", token=OTHER, compared_until=SINCE + timedelta(hours=9))
        assert (await bench.inbox.reconciliations())[0].compared_until == SINCE
        await begun(bench.inbox)
        await bench.inbox.end_reconciliation("shop", token=ME, compared_until=SINCE + timedelta(hours=1))
        assert (await bench.inbox.reconciliations())[0].compared_until == SINCE + timedelta(hours=1)

    async def test_one_that_must_go_back_further_begins_anew(self, bench: Bench) -> None:
        await begun(bench.inbox)
        await noted(bench.inbox)
        await bench.inbox.end_reconciliation("shop", token=ME, error="stopped")
        again = await begun(bench.inbox, since=SINCE - timedelta(hours=1))
        assert (again.since, again.place, again.listed) == (SINCE - timedelta(hours=1), None, 0)

    async def test_the_lease_of_a_dead_one_ends_and_it_can_note_nothing_more(self, bench: Bench) -> None:
        await begun(bench.inbox)
        await noted(bench.inbox)
        await bench.advance(61)
        assert not (await bench.inbox.reconciliations())[0].is_running
        again = await begun(await bench.another(), OTHER)
        assert again.place == "page 2"
        assert not await noted(bench.inbox, place="page 3")
        await bench.inbox.end_reconciliation("shop", token=ME)
        (found,) = await bench.inbox.reconciliations()
        assert (found.place, found.is_running, found.ended_at) == ("page 2", True, None)
