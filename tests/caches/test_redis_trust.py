"""Whoever can write to the shared cache, and does not know the inbox's MAC key, makes nothing a duplicate."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from landfast.app.system_clock import SystemClock
from landfast.caches.redis_marks import Timeline
from landfast.domain.census import TallyReport
from landfast.domain.ids import BootId, InboxId
from landfast.recovery.doctor import Level, examine_inbox
from tests.caches.branch import Branch, branch, event_of, mark_of, until
from tests.valkey import Valkey

REAL_SIZE = 17
"""Bytes of a durable mark: its kind and a tag of 16."""


@pytest.mark.req("R8")
@pytest.mark.parametrize("value", [b"=", b"=" + b"\0" * 16, b"", b"=" * 17, b"1"])
async def test_a_mark_that_somebody_else_wrote_makes_no_duplicate_of_an_event_that_was_never_seen(
    tmp_path: Path, server: Valkey, caplog: pytest.LogCaptureFixture, value: bytes
) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        server.ask("SET", name_of(one, "paid"), value)
        assert await one.record("paid") == [True]
        assert await one.inbox.known([event_of("paid")]) == {event_of("paid")}
        assert one.meter("shared_foreign") == 1
        assert one.meter("shared_misses") == 1
        assert "cache_marks_foreign" in caplog.text
        await one.told()
        assert len(server.marks()[event_of("paid").hex().encode()]) == REAL_SIZE, "it was not put right"


async def test_a_right_mark_copied_to_another_event_is_not_believed(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        assert await one.record("seen") == [True]
        await one.told()
        (name,) = [key for key in server.ask("KEYS", "lf:*") if key.endswith(event_of("seen").hex().encode())]
        copied = name.replace(event_of("seen").hex().encode(), event_of("never seen").hex().encode())
        server.ask("COPY", name, copied)
        assert await other.record("never seen") == [True]
        assert other.meter("shared_foreign") == 1
        assert await other.record("seen") == [False], "void: the mark itself is not believed either"


async def test_a_right_mark_of_an_earlier_life_is_not_believed_in_this_one(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        before = one.epoch()
        assert await one.record("a") == [True]
        await one.told()
        (name,) = [key for key in server.ask("KEYS", "lf:*") if key.endswith(event_of("a").hex().encode())]
        now = await one.inbox.renew_epoch(before)
        server.ask("COPY", name, name.replace(before.hex().encode(), now.hex().encode()))
        await until(lambda: one.seen._upkeep.believed() is not None and one.epoch() != before)
        timeline = one.seen._upkeep.believed()
        assert timeline is not None
        assert not timeline.is_durable(mark_of("a"), server.ask("GET", name))


async def test_the_mark_of_another_inbox_is_not_believed(tmp_path: Path, server: Valkey) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
    async with (
        branch(tmp_path / "mine", server.address) as mine,
        branch(tmp_path / "theirs", server.address) as theirs,
    ):
        await mine.believes()
        await theirs.believes()
        assert await theirs.record("a") == [True]
        await theirs.told()
        (name,) = [key for key in server.ask("KEYS", "lf:*") if key.endswith(event_of("a").hex().encode())]
        server.ask("COPY", name, name_of(mine, "a"))
        assert await mine.record("a") == [True]
        assert mine.meter("shared_foreign") == 1


async def test_a_flood_of_foreign_marks_is_one_line_a_minute(
    tmp_path: Path, server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        keys = [f"k{number}" for number in range(20)]
        for key in keys:
            server.ask("SET", name_of(one, key), "=")
            assert await one.record(key) == [True]
        assert one.meter("shared_foreign") == len(keys)
        await one.inbox.tally(TallyReport(BootId(b"boot---1"), {}, {}, meters=one.seen.meters()))
        told = {check.name: check for check in await examine_inbox(one.inbox, now=SystemClock().now())}
        assert (told["seen cache"].level, told["seen cache"].found[:8]) == (Level.FAIL, "20 marks")
        assert caplog.text.count("cache_marks_foreign") == 1


def test_a_timeline_shows_its_key_to_nobody() -> None:
    timeline = Timeline.under(b"very secret key of thirty-two b.", InboxId(b"i" * 16), b"e" * 4)
    assert "secret" not in repr(timeline)
    assert b"very secret key".hex() not in repr(timeline)


def name_of(one: Branch, key: str) -> str:
    """Where the mark of that event stands."""
    timeline = one.seen._upkeep.believed()
    assert timeline is not None
    return timeline.keys([mark_of(key)])[0]
