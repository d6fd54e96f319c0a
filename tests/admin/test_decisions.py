"""What an operator decides on the page of an event: hold it, skip a dead step."""

from __future__ import annotations

from landfast.domain.census import TallyReport
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.testing.factory import delivery, event_in
from tests.admin.conftest import Admin
from tests.cli.test_graph import dead_and_awaited

HTML = {"accept": "text/html"}


async def test_an_event_that_waits_is_held_with_a_reason_and_let_in_again(either: Admin) -> None:
    held = await event_in(either.desk.archive, State.DELAYED, delivery("evt_1"))
    in_hand = await event_in(either.desk.archive, State.CLAIMED, delivery("evt_2"), number=2)
    page = f"/events/{held.event_id.hex()}"
    assert "/do/api/events/hold" in (await either.get(page, **HTML)).text
    assert "/do/api/events/hold" not in (await either.get(f"/events/{in_hand.event_id.hex()}", **HTML)).text
    unsaid = await either.post("/api/events/hold", {"events": ["evt_1"]})
    assert (unsaid.status_code, "say why" in unsaid.json()["detail"]) == (400, True)
    asked = {"events": ["evt_1", "evt_2"], "why": "ask the shop first"}
    assert (await either.post("/api/events/hold", asked)).json() == {"changed": 1}
    shown = (await either.get(page, **HTML)).text
    for told in ("Held by an operator", "ask the shop first", "/do/api/events/admit", "an operator holds it"):
        assert told in shown
    assert "an operator holds it</span>: ask the shop first" in (await either.get("/held", **HTML)).text
    changes = (await either.get("/api/audit?action=hold")).json()["operations"]
    assert {(one["action"], one["who"], one["why"]) for one in changes} == {("hold", "local", asked["why"])}
    assert (await either.post("/api/events/admit", {"events": ["evt_1"]})).json() == {"changed": 1}


async def test_the_page_says_when_an_event_came_again(admin: Admin) -> None:
    made = await event_in(admin.desk.archive, State.DEAD, delivery("evt_1"))
    assert admin.clock is not None
    for _ in range(6):
        admin.clock.advance(3600)
        await admin.desk.archive.tally(TallyReport(BootId(b"boot---1"), {}, {made.event_id: 2}))
    page = f"/events/{made.event_id.hex()}"
    view = (await admin.get(f"/api{page}")).json()
    assert (view["event"]["redelivered"], len(view["came_again"])) == (12, 6)
    shown = (await admin.get(page, **HTML)).text
    for told in (
        "came 13 times",
        "4 more times",
        "12 answered as known, the first",
        "A time stands for all of its second",
    ):
        assert told in shown
    assert all(f"{at[11:19]}" in shown for at in view["came_again"])


async def test_a_dead_step_is_skipped_from_the_page_of_its_event(admin: Admin) -> None:
    made = delivery("evt_1", source="stripe")
    await admin.desk.archive.record([made])
    await dead_and_awaited(await admin.desk.stores())
    page = f"/events/{made.event_id.hex()}"
    shown = await admin.get(page, **HTML)
    assert "Skip account…" in shown.text and "Skip mail…" not in shown.text
    dead = {one["name"]: one for one in (await admin.get(f"/api{page}")).json()["effects"] if one["state"] == "dead"}
    asked = {"key": dead["account"]["key"], "why": "opened by hand"}
    for result, told in (("", "takes what it returns"), ("{7}", "result: it is not JSON")):
        refused = await admin.post("/api/effects/skip", asked | {"result": result})
        assert (refused.status_code, told in refused.json()["detail"]) == (400, True)
    skipped = {"skipped": True, "problem": ""}
    assert (await admin.post("/api/effects/skip", asked | {"result": '{"id": 7}'})).json() == skipped
    again = (await admin.post("/api/effects/skip", asked)).json()
    assert (again["skipped"], "it is done, not dead" in again["problem"]) == (False, True)
    assert "Skip account…" not in (await admin.get(page, **HTML)).text
    (change,) = (await admin.get("/api/audit?action=skip-effect")).json()["operations"]
    assert (change["why"], change["what"]["key"]) == ("opened by hand", asked["key"])
