"""What comes out: pages that go on, counts that stop, failures that are told, and changes that are written down."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from landfast.admin.app import make_app
from landfast.admin.endpoint import call
from landfast.admin.problems import problem_of
from landfast.admin.questions.events import EventsAsked
from landfast.admin.routes import ROUTES
from landfast.domain.access import Operator, Role
from landfast.domain.errors import InboxUnavailableError, TookTooLongError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.operations import search
from landfast.statement_limit import statements_within
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN, deliveries, delivery, event_in
from tests.admin.conftest import HERE, Admin, shop


async def test_a_listing_goes_on_page_by_page_and_ends(either: Admin) -> None:
    await either.desk.archive.record(deliveries(25))
    seen: list[str] = []
    path, after = "/api/events?limit=10", ""
    for _ in range(3):
        page = (await either.get(f"{path}&after={after.replace('+', '%2B')}" if after else path)).json()
        seen += [event["key"] for event in page["events"]]
        after = page["next"] or ""
    assert (seen, after) == ([f"evt_{number:04}" for number in reversed(range(25))], "")


async def test_a_filter_that_cannot_be_read_says_at_which_character(admin: Admin) -> None:
    answer = await admin.get("/api/events?filter=source:shop%20sate:dead")
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["position"], problem["length"]) == (400, 12, 9)
    assert problem["detail"] == "filter: there is no field 'sate'; did you mean 'state'?"


@pytest.mark.parametrize("path", ["/api/events?limit=x", "/api/events?sourc=shop", "/api/events?limit=1&limit=2"])
async def test_a_parameter_that_nobody_knows_is_refused_and_never_ignored(admin: Admin, path: str) -> None:
    answer = await admin.get(path)
    assert (answer.status_code, answer.json()["title"]) == (400, "Bad request")


async def test_a_text_that_no_database_holds_is_the_askers_mistake(either: Admin) -> None:
    for answer in (await either.get("/api/events/a%00b"), await either.post("/api/events/retry", {"events": ["a\0b"]})):
        assert (answer.status_code, "a NUL" in answer.json()["detail"]) == (400, True)


async def test_a_search_for_little_says_how_far_it_has_looked_and_goes_on(
    either: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_STRETCH_EVENTS", 10)
    monkeypatch.setattr(search, "SEARCH_SECONDS", -1.0)  # one stretch, and no more
    rare = delivery("the one", received_at=DAWN - timedelta(seconds=1), entity="cus_9")
    await either.desk.archive.record([*deliveries(30), rare])
    page = (await either.get("/api/events?filter=entity:cus_9")).json()
    assert (page["events"], page["searched"], page["next"] is None) == ([], 10, False)
    counted = (await either.get("/api/events/count?filter=entity:cus_9")).json()
    assert counted == {"number": 0, "is_more": False, "searched": 10}
    asked = 0
    while not page["events"]:
        asked += 1
        after = page["next"].replace("+", "%2B")
        page = (await either.get(f"/api/events?filter=entity:cus_9&after={after}")).json()
    assert [event["key"] for event in page["events"]] == ["the one"]
    assert (asked, page["searched"], page["next"]) == (2, None, None)


async def test_a_question_that_takes_too_long_is_ended_and_said_to_be(either: Admin) -> None:
    await either.desk.archive.record(deliveries(3_000))
    with statements_within(0.001), pytest.raises(TookTooLongError):
        await either.desk.archive.count(Filter(type="*.nothing*"), at_most=10_000)
    assert await either.desk.archive.count(Filter(), at_most=10) == 10  # and the next one is not
    hurried = replace(next(route for route in ROUTES if route.path == "/api/events"), seconds=0.0)
    with pytest.raises(TookTooLongError, match="narrow the filter") as raised:
        await call(hurried, either.desk, EventsAsked(), Operator("ada", Role.VIEWER, ""))
    assert problem_of(raised.value).status == 504


async def test_an_inbox_that_is_away_is_a_problem_and_no_empty_list(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise InboxUnavailableError("the inbox cannot be used: no such table")

    monkeypatch.setattr(type(admin.desk.archive), "find", away)
    answer = await admin.get("/api/events")
    assert (answer.status_code, answer.json()["detail"]) == (503, "the inbox cannot be used: no such table")


async def test_a_database_that_nobody_has_made_is_no_fault_of_whoever_asks(tmp_path: Path) -> None:
    inbox = shop(store=f"sqlite:{tmp_path / 'none.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    app = make_app(inbox, is_loopback=True)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as client:
        answer = await client.get("/api/events")
        assert (answer.status_code, "landfast migrate" in answer.json()["detail"]) == (503, True)
        await inbox.migrate()  # and from then on it is there, without a restart
        assert (await client.get("/api/events")).status_code == 200
    await app.state.desk.close()


async def test_an_event_is_shown_with_what_happened_to_it(either: Admin) -> None:
    archive = either.desk.archive
    await event_in(archive, State.DEAD, delivery("evt_7", body=b'{"id":"evt_7","password":"hunter2"}'))
    view = (await either.get("/api/events/shop/evt_7")).json()
    assert (view["event"]["state"], view["event"]["error"], view["event"]["key"]) == ("dead", "IntegrityError", "evt_7")
    assert [line["signal"] for line in view["history"]] == ["bury"]
    assert ("hunter2" in view["body"], view["has_hidden"]) == (False, True)
    assert (view["receipts"], view["effects"], view["ledger_problem"]) == ([], [], "")
    revealed = (await either.get(f"/api/events/{view['event']['id']}/revealed")).json()
    assert ("hunter2" in revealed["body"], revealed["has_hidden"]) == (True, False)


async def test_every_change_is_written_down_with_who(either: Admin) -> None:
    archive = either.desk.archive
    await event_in(archive, State.DEAD, delivery("evt_1"))
    await event_in(archive, State.DEAD, delivery("evt_2"), number=2)
    await event_in(archive, State.DELAYED, delivery("evt_3"), number=3)
    await event_in(archive, State.HELD, delivery("evt_4"), number=4)
    changes: list[tuple[str, dict[str, object], str]] = [
        ("/api/events/shop/evt_1/replay", {"why": "mended"}, "replay"),
        ("/api/events/discard", {"events": ["evt_2"], "why": "a test"}, "discard"),
        ("/api/events/retry", {"filter": "source:shop"}, "retry"),
        ("/api/events/admit", {"events": ["evt_4"]}, "admit"),
        ("/api/pause", {"kind": "handler", "name": "create_order", "why": "3 a.m."}, "pause"),
        ("/api/resume", {"kind": "handler", "name": "create_order"}, "resume"),
        ("/api/alerts/silence", {"alert": "dead-letters", "seconds": 60}, "silence"),
        ("/api/alerts/unsilence", {"alert": "dead-letters"}, "silence"),
        ("/api/effects/retry", {"is_all": True}, "retry-effects"),
        ("/api/retention/run", {}, "retention"),
        ("/api/events/erase", {"events": ["evt_2"], "confirm": 1}, "erase"),
    ]
    for path, body, _ in changes:
        assert (await either.post(path, body)).status_code == 200, path
    logged = (await either.get("/api/audit")).json()["operations"]
    assert [one["action"] for one in reversed(logged)] == [action for *_, action in changes]
    assert {(one["who"], one["result"]) for one in logged} == {("local", "done")}
    assert (await either.get("/api/audit/verify")).json()["is_intact"]
    history = (await either.get("/api/events/shop/evt_1")).json()["history"]
    assert history[-1]["who"] == "local"


async def test_whoever_has_a_token_is_known_by_its_name(admin: Admin) -> None:
    authorization = await admin.token(Role.OPERATOR, "anna")
    await admin.post("/api/pause", {"kind": "source", "name": "shop"}, authorization=authorization)
    (pause, made) = (await admin.get("/api/audit", authorization=authorization)).json()["operations"]
    assert (pause["who"], pause["action"]) == ("token anna", "pause")
    assert (made["who"], made["action"], made["what"]["made"]) == ("ada", "token", "anna")


@pytest.mark.req("R26")
async def test_a_replay_of_many_is_previewed_confirmed_followed_and_cancelled(either: Admin) -> None:
    for number in range(12):
        await event_in(either.desk.archive, State.DEAD, delivery(f"evt_{number}"), number=number + 1)
    preview = (await either.get("/api/replays/preview?filter=error:IntegrityError")).json()
    assert (preview["count"]["number"], len(preview["sample"])) == (12, 3)
    asked = {"filter": "error:IntegrityError", "rate": 5, "canary": 2, "why": "mended"}
    refused = await either.post("/api/replays", asked | {"confirm": 3})
    assert (refused.status_code, refused.json()["title"]) == (409, "Look again")
    job = (await either.post("/api/replays", asked | {"confirm": 12})).json()
    assert (job["state"], job["total"], job["is_background"], job["who"]) == ("running", 12, True, "local")
    assert (await either.get(f"/api/replays/{job['job']}")).json()["filter"] == preview["filter"]
    cancelled = (await either.post(f"/api/replays/{job['job']}/cancel")).json()
    assert (cancelled["was_running"], cancelled["job"]["state"]) == (True, "cancelled")
    assert (await either.post(f"/api/replays/{job['job']}/resume")).status_code == 400


async def test_erasing_takes_the_number_of_events_that_is_meant(admin: Admin) -> None:
    await admin.desk.archive.record(deliveries(3))
    refused = await admin.post("/api/events/erase", {"filter": "source:shop", "confirm": 2})
    assert (refused.status_code, "another number" in refused.text) == (400, True)
    erased = (await admin.post("/api/events/erase", {"filter": "source:shop", "confirm": 3})).json()
    assert (erased["erased"], erased["in_hand"]) == (3, 0)


async def test_nothing_is_decided_about_all_events_by_leaving_everything_out(admin: Admin) -> None:
    await event_in(admin.desk.archive, State.DEAD, delivery())
    for path in ("retry", "discard", "hold", "admit", "refuse", "skip"):
        assert (await admin.post(f"/api/events/{path}", {"why": "all"})).status_code == 400
    assert (await admin.post("/api/events/erase", {"confirm": 1})).status_code == 400


async def test_no_stretch_is_begun_that_would_end_too_late(either: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is twice as long as the one before: one that began in time could take as long as all before it."""
    await either.desk.archive.record(deliveries(200))
    monkeypatch.setattr(search, "FIRST_STRETCH_EVENTS", 10)
    clock, looked = ManualClock(DAWN), 0
    archive, find = either.desk.archive, type(either.desk.archive).find

    async def slow(*args: Any, **kwargs: Any) -> Any:
        nonlocal looked
        looked += 1
        clock.advance(0.06)
        return await find(*args, **kwargs)

    monkeypatch.setattr(type(archive), "find", slow)
    wanted = Filter(source="nobody")
    found = await search.search(archive, wanted, limit=50, after=None, oldest_first=False, clock=clock)
    # The second would end at 0.06 + 0.12 s of 0.2 s, and took 0.06; the third would end at 0.12 + 0.12 s.
    assert (looked, found.searched) == (2, 30)


async def test_a_filter_that_nothing_matches_is_looked_for_once(either: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    await either.desk.archive.record(deliveries(30))
    monkeypatch.setattr(search, "FIRST_STRETCH_EVENTS", 10)
    monkeypatch.setattr(search, "SEARCH_SECONDS", -1.0)
    looked: list[str] = []
    for name in ("find", "count"):
        real = getattr(type(either.desk.archive), name)

        def asked(self: Any, wanted: Filter, *, _real: Any = real, _name: str = name, **rest: Any) -> Any:
            looked.extend([_name] if wanted.source else [])
            return _real(self, wanted, **rest)

        monkeypatch.setattr(type(either.desk.archive), name, asked)
    page = (await either.get("/events.json?q=source:nobody")).json()
    assert looked == ["find"]
    assert page["count"] == {"number": 0, "is_more": False, "searched": 10}
    # A page that is full says nothing of how many there are.
    page = (await either.get("/events.json?q=source:shop&limit=5")).json()
    assert len(page["events"]["events"]) == 5
    assert page["count"]["number"] > 5
    assert looked[-1] == "count"


@pytest.mark.parametrize(("events", "number", "is_more"), [(9, 9, False), (10, 10, True), (12, 10, True)])
async def test_all_events_are_counted_so_far_and_no_further(
    either: Admin, monkeypatch: pytest.MonkeyPatch, events: int, number: int, is_more: bool
) -> None:
    """Without a sum over all that was ever done, which nobody may have made before."""
    from landfast.admin.questions import events as question

    async def census(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(type(either.desk.archive), "census", census)
    monkeypatch.setattr(question, "COUNT_AT_MOST", 10)
    await either.desk.archive.record(deliveries(events))
    counted = (await either.get("/api/events/count")).json()
    assert counted == {"number": number, "is_more": is_more, "searched": None}
