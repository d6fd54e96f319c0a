"""What pages share is bounded and not kept past its time; and what a page has that is live, each look has."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from itertools import product
from typing import Any

import pytest

from landfast.admin.live import Live
from landfast.admin.pages import looks, shared
from landfast.admin.pages.part import Part
from landfast.admin.pages.shared import Shared
from landfast.admin.pages.standing_proof import StandingProof
from landfast.admin.pages.watch import VERIFIED_SECONDS
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN, delivery
from tests.admin.conftest import HERE, Admin
from tests.admin.pages.storefront import Storefront
from tests.admin.pages.test_looks import HTML, LOOK, watched
from tests.cli.test_graph import dead_and_awaited

__all__ = ["watched"]


async def _answer() -> Part:
    return Part("an answer")


async def test_an_answer_past_its_time_is_not_kept_and_one_that_is_asked_for_is() -> None:
    clock = ManualClock(DAWN)
    answers = Shared(clock, Live(clock))
    may_answer = asyncio.Event()

    async def slow() -> Part:
        await may_answer.wait()
        return Part("late")

    for number in range(3):
        await answers.get(f"{number}", 5.0, _answer)
    asking = [asyncio.create_task(answers.get("slow", 5.0, slow)) for _ in range(2)]
    await asyncio.sleep(0)
    clock.advance(6)
    await answers.get("new", 5.0, _answer)
    assert sorted(answers._kept) == ["0 new", "0 slow"]
    may_answer.set()
    first, second = await asyncio.gather(*asking)
    assert first is second


async def test_there_is_room_for_so_many_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "KEPT_AT_MOST", 3)
    clock = ManualClock(DAWN)
    answers = Shared(clock, Live(clock))
    for number in range(10):
        await answers.get(f"{number}", 5.0, _answer)
        assert len(answers._kept) <= 3


async def test_drawn_pages_are_bounded_by_their_bytes(
    watched: tuple[Admin, Storefront], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, _ = watched
    made: list[looks.Looks] = []
    real = looks.Looks.get

    async def get(self: looks.Looks, *args: Any) -> Any:
        made.append(self)
        return await real(self, *args)

    monkeypatch.setattr(looks.Looks, "get", get)
    size = len((await admin.get("/alerts?n=0", **LOOK)).content)
    monkeypatch.setattr(looks, "KEPT_BYTES", 3 * size + 100)
    for number in range(1, 9):
        await admin.get(f"/alerts?n={number}", **LOOK)
        kept = made[0]._kept.values()
        assert kept and sum(len(each.text) for each in kept) <= looks.KEPT_BYTES


async def test_a_proof_that_was_cancelled_before_its_first_step_is_begun_anew(admin: Admin) -> None:
    standing = StandingProof(admin.desk)
    standing.begin(1.0)
    await admin.desk.close()
    await admin.desk.open()
    while (found := await standing.get(1.0)).working:
        assert standing._working is not None and not standing._working.done()
    assert found.value.holds


async def test_many_commands_of_one_form_are_one_change(watched: tuple[Admin, Storefront]) -> None:
    admin, front = watched
    (event,) = await front.stores.inbox.find(Filter(), limit=1)
    form = {"event": [event.event_id.hex(), "ab" * 16, "cd" * 16], "back": "/dead"}
    before = admin.desk.live.changes
    answer = await admin.client.post("/do/each/api/events/{event}/replay", data=form, headers={"origin": HERE})
    assert answer.status_code == 303
    assert admin.desk.live.changes == before + 1
    assert await front.stores.inbox.count(Filter(state=State.READY), at_most=9) == 1


async def test_a_look_has_the_parts_that_the_page_has(watched: tuple[Admin, Storefront]) -> None:
    """A page whose look had others would open itself anew for ever."""
    admin, front = watched
    (event,) = await front.stores.inbox.find(Filter(), limit=1)
    paths = ["/", "/events", "/failures", "/dead", "/held", "/replays", "/sources", "/handlers", "/effects", "/lanes"]
    paths += ["/proof", "/alerts", "/rejected", "/audit", "/doctor", "/sources/stripe", "/sources/stripe?rotate=1"]
    for path in [*paths, f"/events/{event.event_id.hex()}", f"/events/{event.event_id.hex()}?reveal=1"]:
        found = [sorted(re.findall('data-live="([^"]+)"', (await admin.get(path, **how)).text)) for how in (HTML, LOOK)]
        assert found[0] == found[1] and len(found[0]) == len(set(found[0])) > 2, path


@pytest.mark.parametrize("path", ["/replays/new", "/replays/new?q=state:dead", "/no-such-page"])
async def test_a_page_with_nothing_live_on_it_does_not_say_that_it_is(
    watched: tuple[Admin, Storefront], path: str
) -> None:
    admin, _ = watched
    assert 'data-stream=""' in (await admin.get(path, **HTML)).text


async def test_an_open_page_of_the_log_tells_of_tampering(watched: tuple[Admin, Storefront]) -> None:
    admin, front = watched
    await admin.post("/api/pause", {"kind": "source", "name": "stripe"})
    first = (await admin.get("/audit", **LOOK)).text
    assert "intact, 2 lines" in first and "checked at" in first
    with closing(sqlite3.connect(front.shop.folder / "landfast.db")) as db, db:
        db.execute("UPDATE operator_log SET why = 'y' WHERE seq = 1")
    front.shift(seconds=VERIFIED_SECONDS - 1)
    assert "intact, 2 lines" in (await admin.get("/audit", **LOOK)).text, "not each look goes through all of it"
    front.shift(seconds=2)
    text = (await admin.get("/audit", **LOOK)).text
    live = "".join(re.findall(r'data-live="(?:head|verdict)".*?(?=<div data-live)', text, re.DOTALL))
    assert "tampered with" in live and "line 1 was changed" in live


async def test_the_form_of_a_dead_step_is_named_after_the_step_and_not_after_its_place(admin: Admin) -> None:
    made = delivery("evt_1", source="stripe")
    await admin.desk.archive.record([made])
    await dead_and_awaited(await admin.desk.stores())
    page = f"/events/{made.event_id.hex()}"
    dead = [one for one in (await admin.get(f"/api{page}")).json()["effects"] if one["state"] == "dead"]
    shown = (await admin.get(page, **HTML)).text
    for name, one in product(("act-skip", "skip-result", "skip-why"), dead):
        assert shown.count(f' id="{name}-{one["key"]}-{one["run"]}"') == 1
    assert len(dead) > 1 and shown.count(' id="act-skip-') == len(dead)
