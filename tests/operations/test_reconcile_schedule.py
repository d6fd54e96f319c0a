"""Reconciling by itself: it goes on where it was, leaves no time out, and outlives what providers answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.app import Inbox, reconcile_schedule
from landfast.app.full_checkup import examine
from landfast.app.reconcile_schedule import Schedule
from landfast.app.reconciling import asked_of
from landfast.domain.errors import UserError
from landfast.domain.reconciliation import Reconciliation
from landfast.operations.reconcile import UNSURE, Result, reconcile
from landfast.recovery.doctor import Check, Level
from tests.operations.provider import CREDENTIAL, Provider, own_settings, running
from tests.operations.test_reconcile import QuickClock
from tests.patience import PATIENCE_SECONDS

CREATED = int(time.time()) - 7_200
RETRY = timedelta(minutes=6)
"""Longer than a run that failed is left alone."""


class Scheduled:
    """An inbox whose sources reconcile themselves, and the clock that they go by: the server's, too, if it has one."""

    def __init__(self, inbox: Inbox, provider: Provider, server: str = "") -> None:
        self.inbox, self.provider, self._server = inbox, provider, server
        self.clock = inbox.clock = QuickClock()
        self.schedule = Schedule(inbox.sources.values(), inbox.settings, inbox.registry, inbox.clock, inbox.chance)

    async def look(self, *, after: timedelta = timedelta()) -> None:
        await self.wait(after)
        await self.schedule.look()

    async def wait(self, passed: timedelta) -> None:
        self.clock.offset += passed
        if not self._server:
            return
        connection = await asyncpg.connect(self._server)
        try:
            await connection.execute(
                "CREATE OR REPLACE FUNCTION landfast.clock() RETURNS timestamptz LANGUAGE sql STABLE"
                f" AS 'SELECT now() + make_interval(secs => {self.clock.offset.total_seconds()})'"
            )
        finally:
            await connection.close()

    async def by_hand(self, back: timedelta) -> Result | None:
        """As `landfast reconcile acme --since` does it."""
        now = self.clock.now()
        source = self.inbox.sources["acme"]
        asked = asked_of(source, self.inbox.settings, self.inbox.registry, since=now - back, now=now, dry=False)
        async with self.inbox.archive() as archive:
            return await reconcile(archive, asked, clock=self.clock, chance=self.inbox.chance)

    def lose(self, *, ago: timedelta) -> None:
        """Something happened at the provider, and its delivery never arrived."""
        at = int((self.clock.now() - ago).timestamp())
        self.provider.events.append({"created": at, "id": f"lost_{at}", "event": {"total": 7}})

    @contextmanager
    def broken_at(self, page: str) -> Iterator[None]:
        """The provider refuses the page whose address ends so."""
        answer = self.provider.answer

        def broken(path: str, credential: str | None) -> Any:
            return (418, {}, {}) if path.endswith(page) else answer(path, credential)

        self.provider.answer = broken  # type: ignore[method-assign]
        yield
        self.provider.answer = answer  # type: ignore[method-assign]

    async def doctor(self, name: str = "reconcile acme") -> Check:
        return next(check for check in await examine(self.inbox) if check.name == name)

    async def last(self, source: str = "acme") -> Reconciliation:
        async with self.inbox.archive() as archive:
            return next(one for one in await archive.reconciliations() if one.source == source)

    async def sources(self) -> set[str]:
        """Those that were compared to the end."""
        async with self.inbox.archive() as archive:
            return {one.source for one in await archive.reconciliations() if one.ended_at is not None}

    async def events(self) -> int:
        async with self.inbox.archive() as archive:
            return (await archive.census()).events


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path, provider: Provider) -> Scheduled:
    server = "" if request.param == "sqlite" else request.getfixturevalue("migrated_database")
    provider.style = "cursor"
    return await scheduled(tmp_path, provider, own_settings(provider, "cursor={next}"), server=server)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running(Provider()) as made:
        yield made


async def scheduled(folder: Path, provider: Provider, settings: str, *, server: str = "") -> Scheduled:
    (folder / "landfast.toml").write_text(settings)
    inbox = Inbox(folder / "landfast.toml", store=server or f"sqlite:{folder / 'inbox.db'}")
    await inbox.migrate()
    return Scheduled(inbox, provider, server)


@pytest.mark.req("R60")
@pytest.mark.parametrize(
    ("style", "way"), [("cursor", "cursor={next}"), ("page", "page={page}"), ("url", "url:links.next")]
)
async def test_an_interrupted_run_goes_on_to_the_end_by_whichever_way_its_pages_are_told(
    tmp_path: Path, provider: Provider, style: str, way: str
) -> None:
    provider.style = style
    provider.events = [{"created": CREATED, "id": f"own_{number}", "event": {"total": 7}} for number in range(12)]
    shop = await scheduled(tmp_path, provider, own_settings(provider, way))
    with shop.broken_at("=4"):
        await shop.look()
    left = await shop.last()
    assert (left.listed, left.taken, left.ended_at) == (6, 6, None)

    provider.asked.clear()
    await shop.look(after=RETRY)
    done = await shop.last()
    assert (done.listed, done.taken, done.ended_at is not None) == (12, 12, True)
    pages = [int(path.rpartition("=")[2]) for path in provider.asked]
    assert pages == [4, 5, 6, 7][: len(pages)]  # where pages have numbers, an empty one is the last


HALF_AN_HOUR, PERIOD = timedelta(minutes=30), timedelta(hours=6, minutes=1)


@pytest.mark.req("R60")
async def test_a_short_run_by_hand_leaves_what_lies_before_it_to_the_next_run_by_itself(shop: Scheduled) -> None:
    await shop.look()
    first = await shop.last()
    await shop.wait(timedelta(hours=5))
    shop.lose(ago=timedelta(hours=3))
    result = await shop.by_hand(HALF_AN_HOUR)
    assert result is not None
    assert (result.taken, dict(result.left_out)) == (0, {"older than asked for": 1})
    assert (await shop.last()).compared_until == first.compared_until

    # Nor does it put the next one off: its turn is six hours after the last that went back far enough.
    await shop.look(after=timedelta(hours=1, minutes=1))
    assert await shop.events() == 1
    again = await shop.last()
    assert again.since == first.compared_until == first.begun_at - UNSURE
    assert again.compared_until == again.begun_at - UNSURE


@pytest.mark.req("R60")
async def test_a_short_run_by_hand_after_one_that_failed_on_its_first_page_leaves_no_time_out(shop: Scheduled) -> None:
    await shop.look()
    first = await shop.last()
    await shop.wait(PERIOD)
    shop.lose(ago=timedelta(hours=3))
    shop.provider.troubles = [(401, {})]
    await shop.look()
    failed = await shop.last()
    assert (failed.ended_at, failed.place, "401" in failed.error) == (None, None, True)
    await shop.wait(RETRY)
    assert await shop.by_hand(HALF_AN_HOUR) is not None
    assert await shop.events() == 0
    await shop.look()
    assert (await shop.events(), (await shop.last()).since) == (1, first.compared_until)


async def test_a_short_run_by_hand_that_was_interrupted_is_not_gone_on_with_by_one_that_must_go_back_further(
    shop: Scheduled,
) -> None:
    await shop.look()
    first = await shop.last()
    await shop.wait(PERIOD)
    shop.lose(ago=timedelta(hours=3))
    for minutes in range(10, 16):
        shop.lose(ago=timedelta(minutes=minutes))
    with shop.broken_at("=3"), pytest.raises(UserError, match="418"):
        await shop.by_hand(HALF_AN_HOUR)
    assert (await shop.last()).place is not None
    await shop.look(after=RETRY)
    assert (await shop.events(), (await shop.last()).since) == (7, first.compared_until)


async def test_a_short_run_by_hand_before_the_first_by_itself_does_not_stand_for_it(shop: Scheduled) -> None:
    shop.lose(ago=timedelta(hours=48))
    await shop.by_hand(HALF_AN_HOUR)
    assert (await shop.last()).compared_until is None
    await shop.look()
    assert await shop.events() == 1
    asked = len(shop.provider.asked)
    await shop.look(after=timedelta(hours=5))
    assert len(shop.provider.asked) == asked


async def test_a_long_run_by_hand_stands_for_one_by_itself(shop: Scheduled) -> None:
    await shop.by_hand(timedelta(hours=72))
    asked = len(shop.provider.asked)
    await shop.look(after=timedelta(hours=5))
    assert len(shop.provider.asked) == asked


async def test_after_a_pause_that_is_longer_than_the_memory_runs_go_back_as_far_as_they_may_and_once(
    shop: Scheduled,
) -> None:
    await shop.look()
    await shop.look(after=timedelta(days=60))
    done = await shop.last()
    assert done.begun_at - done.since == pytest.approx(timedelta(days=35), abs=timedelta(minutes=1))
    assert done.compared_until == done.begun_at - UNSURE


@pytest.mark.req("R60")
async def test_what_was_interrupted_so_long_ago_that_it_may_be_forgotten_is_not_taken_in(shop: Scheduled) -> None:
    for hours in range(4):
        shop.lose(ago=timedelta(hours=1 + hours))
    with shop.broken_at("=2"):
        await shop.look()
    assert await shop.events() == 2
    await shop.wait(timedelta(days=36))
    shop.lose(ago=timedelta(days=1))
    await shop.look()
    assert (await shop.events(), (await shop.last()).listed) == (3, 5)


ODD_ANSWERS = {
    "a link that is no address": {"result": {"events": []}, "links": {"next": "https://[oops/x"}},
    "a link with an odd letter": {"result": {"events": []}, "links": {"next": "/own?é"}},
    "no list": {"result": {"events": 7}},
    "a list elsewhere": {"result": 7},
    "nothing at all": None,
    "a page for people": b"<html>Please sign in</html>",
}


@pytest.mark.req("R60")
@pytest.mark.parametrize("odd", ODD_ANSWERS)
async def test_an_odd_answer_of_one_provider_does_not_end_the_schedule(
    tmp_path: Path, provider: Provider, odd: str, caplog: pytest.LogCaptureFixture
) -> None:
    both = "".join(own_settings(provider, "url:links.next", name=name) for name in ("acme", "bolt"))
    shop = await scheduled(tmp_path, provider, both)
    shop.lose(ago=timedelta(hours=3))
    answer = provider.answer

    def odd_of_acme(path: str, credential: str | None) -> Any:
        return (200, {}, ODD_ANSWERS[odd]) if "of=acme" in path else answer(path, credential)

    provider.answer = odd_of_acme  # type: ignore[method-assign]
    task = asyncio.create_task(shop.schedule.run())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "bolt" not in await shop.sources():
                assert not task.done(), task.exception()
                await asyncio.sleep(0.01)
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert await shop.events() == 1
    assert "reconcile_failed source=acme" in caplog.text


async def test_a_bug_met_while_one_source_is_compared_does_not_end_the_schedule(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop = await scheduled(tmp_path, provider, own_settings(provider, "url:links.next"))
    with monkeypatch.context() as patch:
        patch.setattr(reconcile_schedule, "reconcile", lambda *_, **__: 1 / 0)
        await shop.look()
        patch.setattr(reconcile_schedule, "open_inbox", lambda *_, **__: 1 / 0)
        await shop.look()
    assert "reconcile_failed source=acme" in caplog.text
    assert caplog.text.count("division by zero") == 2
    await shop.look()
    assert await shop.sources() == {"acme"}


async def test_a_source_that_cannot_be_asked_does_not_keep_the_next_from_its_turn(
    tmp_path: Path, provider: Provider
) -> None:
    acme = own_settings(provider, "url:links.next").replace(CREDENTIAL, "env:NOBODY_HAS_SET_THIS")
    shop = await scheduled(tmp_path, provider, acme + own_settings(provider, "url:links.next", name="bolt"))
    await shop.look()
    assert await shop.sources() == {"bolt"}


async def test_the_doctor_says_whether_runs_by_themselves_come_to_their_end(shop: Scheduled) -> None:
    check = await shop.doctor()
    assert (check.level, check.found) == (Level.WARN, "no run by itself has come to its end so far")
    shop.provider.troubles = [(401, {})]
    await shop.look()
    check = await shop.doctor()
    assert check.level is Level.WARN
    problem = "did not come to its end: of 127.0.0.1: it answers 401; check the credential of its listing"
    assert problem in check.found
    assert check.found.endswith("; it goes on at its first page")
    assert "landfast reconcile acme --dry-run tries it by hand" in check.fix

    for hours in range(4):
        shop.lose(ago=timedelta(hours=1 + hours))
    with shop.broken_at("cursor=2"):
        await shop.look(after=RETRY)
    check = await shop.doctor()
    assert "it answers 418" in check.found
    assert check.found.endswith("cursor=2")

    await shop.look(after=RETRY)
    check = await shop.doctor()
    assert check.level is Level.OK
    assert check.found.startswith("compared up to ")
    assert check.found.endswith("the last run listed 4, 4 never arrived, 4 were taken in")

    await shop.wait(2 * PERIOD)
    await shop.by_hand(HALF_AN_HOUR)  # it does not hide that nobody compares the rest
    check = await shop.doctor()
    assert check.level is Level.WARN
    assert check.found.endswith(", and one is due every 6 hours")


async def test_the_doctor_says_nothing_of_sources_that_nobody_compares_and_waits_for_a_run_that_goes_on(
    shop: Scheduled,
) -> None:
    async with shop.inbox.archive() as archive:
        how: Any = {"token": b"me......", "lease": 60}
        await archive.begin_reconciliation("acme", **how, since=shop.clock.now() - timedelta(hours=72))
        assert (await shop.doctor()).found == "the first run goes on, 0 listed so far"
        await shop.wait(timedelta(minutes=2))
    check = await shop.doctor()
    assert (check.level, "its process ended without a word" in check.found) == (Level.WARN, True)
    object.__setattr__(shop.inbox.sources["acme"], "reconcile", None)
    assert not [one for one in await examine(shop.inbox) if one.name == "reconcile acme"]
