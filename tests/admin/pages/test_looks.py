"""Looks: a page that many have open is drawn once for all of them, names nobody, and is drawn anew after a change."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from landfast.admin.live import BEAT_SECONDS
from landfast.admin.pages import looks
from landfast.admin.questions.overview import OverviewAsked, overview, recent_overview
from landfast.domain.access import Role
from landfast.domain.filter import Filter
from landfast.testing.temporary import ShiftedClock
from tests.admin.conftest import Admin, serving
from tests.admin.pages.storefront import Storefront

HTML = {"accept": "text/html"}
LOOK = HTML | {"landfast_look": "5000"}


class StandingClock(ShiftedClock):
    """It goes on by what the test says, and by a microsecond for whoever asks: what is drawn while the machine stands
    still is not old by that."""

    def __init__(self) -> None:
        super().__init__()
        self._now, self._monotonic = super().now(), super().monotonic()

    def now(self) -> datetime:
        self.offset += timedelta(microseconds=1)
        return self._now + self.offset

    def monotonic(self) -> float:
        return self._monotonic + self.offset.total_seconds()


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[tuple[Admin, Storefront]]:
    front = Storefront(tmp_path)
    front.clock = front.shop.inbox.clock = StandingClock()
    async with front.stocked():
        await front.payment(1, has_email=False)
        await front.drain()
        front.shift(minutes=10)
        await front.drain()
        async with serving(front.shop.inbox) as admin:
            yield admin, front


def _drawn(text: str) -> str:
    found = re.search('data-drawn="([^"]+)"', text)
    assert found is not None
    return found[1]


async def test_fifty_open_dashboards_are_drawn_once(watched: tuple[Admin, Storefront]) -> None:
    admin, front = watched
    first = {_drawn((await admin.get("/", **LOOK)).text) for _ in range(50)}
    assert len(first) == 1
    front.shift(seconds=looks.KEPT_SHARE * BEAT_SECONDS + 0.1)
    assert _drawn((await admin.get("/", **LOOK)).text) not in first
    assert len({_drawn((await admin.get("/", **HTML)).text) for _ in range(2)}) == 2, "who opens a page has his own"


async def test_a_page_that_looks_often_is_drawn_as_often(watched: tuple[Admin, Storefront]) -> None:
    admin, front = watched
    for pace, is_same in (("100", False), ("5000", True), ("nonsense", False), ("9" * 5000, False)):
        first = _drawn((await admin.get("/", **HTML, landfast_look=pace)).text)
        front.shift(seconds=0.1)
        assert (_drawn((await admin.get("/", **HTML, landfast_look=pace)).text) == first) is is_same, pace[:9]
        front.shift(seconds=10)


async def test_a_look_names_nobody_and_is_of_a_role(watched: tuple[Admin, Storefront]) -> None:
    admin, front = watched
    ada, eve = await admin.token(Role.OPERATOR, "ada"), await admin.token(Role.VIEWER, "eve")
    front.shift(seconds=10)
    (event,) = await front.stores.inbox.find(Filter(), limit=1)
    path = f"/events/{event.event_id.hex()}"
    assert "token ada" in (await admin.get(path, **HTML, authorization=ada)).text
    look = await admin.get(
        path, **LOOK, authorization=ada, cookie="landfast_theme=dark; landfast_notice=WyJvayIsImhpIl0="
    )
    assert "token ada" not in look.text and "data-theme" not in look.text and 'class="notice' not in look.text
    assert "What can I do" in look.text
    assert "What can I do" not in (await admin.get(path, **LOOK, authorization=eve)).text
    assert (await admin.get(path, **LOOK)).status_code == 401, "a stranger is shown nothing that was drawn for others"


async def test_who_changes_something_sees_it_at_the_next_look(watched: tuple[Admin, Storefront]) -> None:
    admin, _ = watched
    await admin.get("/", **LOOK)
    assert "1 paused" not in (await admin.get("/", **LOOK)).text
    paused = await admin.post("/api/pause", {"kind": "source", "name": "stripe"})
    assert paused.status_code == 200, paused.text
    assert "1 paused" in (await admin.get("/", **LOOK)).text


async def test_a_page_that_failed_is_not_kept(
    watched: tuple[Admin, Storefront], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, _ = watched
    assert (await admin.get("/events?q=nonsense:1", **LOOK)).status_code == 400
    page: Any = admin.app.routes
    assert page
    with monkeypatch.context() as away:
        from landfast.domain.errors import InboxUnavailableError

        async def gone(*_: object, **__: object) -> None:
            raise InboxUnavailableError("it is away")

        away.setattr(type(admin.desk.archive), "rates", gone)
        assert (await admin.get("/", **LOOK)).status_code == 503
    assert (await admin.get("/", **LOOK)).status_code == 200


async def test_nobody_fills_the_memory_with_addresses(
    watched: tuple[Admin, Storefront], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, _ = watched
    monkeypatch.setattr(looks, "KEPT_AT_MOST", 3)
    first = _drawn((await admin.get("/alerts?n=0", **LOOK)).text)
    for number in range(1, 5):
        await admin.get(f"/alerts?n={number}", **LOOK)
    assert _drawn((await admin.get("/alerts?n=0", **LOOK)).text) != first


async def test_three_windows_are_one_look_into_the_inbox(
    watched: tuple[Admin, Storefront], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, front = watched
    asked: list[str] = []
    for name in ("rates", "waiting"):
        real = getattr(type(admin.desk.archive), name)

        def counted(*args: Any, _real: Any = real, _name: str = name, **kwargs: Any) -> Any:
            asked.append(_name)
            return _real(*args, **kwargs)

        monkeypatch.setattr(type(admin.desk.archive), name, counted)
    whole = [await recent_overview(admin.desk, OverviewAsked(minutes=minutes)) for minutes in (120, 60, 10)]
    assert asked == ["waiting", "rates"]
    assert [len(one.series) for one in whole] == [120, 60, 10]
    fresh = [await overview(admin.desk, OverviewAsked(minutes=minutes)) for minutes in (120, 60, 10)]
    assert asked.count("waiting") == 4
    assert [one.total.received for one in whole] == [one.total.received for one in fresh]
    front.shift(seconds=BEAT_SECONDS)
    await recent_overview(admin.desk, OverviewAsked())
    assert asked.count("waiting") == 5
