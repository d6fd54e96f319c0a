"""Questions that nobody asks on purpose: each is told what is wrong with it, and none is taken for a database away."""

from __future__ import annotations

import base64
from http.cookies import SimpleCookie
from urllib.parse import quote

import msgspec
import pytest

from landfast.admin.pages.links import filter_of
from landfast.admin.pages.notice import COOKIE
from landfast.domain.filter import Filter, parse
from landfast.domain.lifecycle import Signal, State
from landfast.testing.factory import DAWN, deliveries, delivery, failure, settlement, token
from tests.admin.conftest import Admin

NUL = quote("a\0b")
FIRST, LAST = quote("0001-01-01T00:00:00+23:59"), quote("9999-12-31T23:59:59-23:59")


async def test_what_no_database_can_hold_is_refused_on_pages_and_in_forms_too(either: Admin) -> None:
    for path in (
        *(f"/events/{NUL}", f"/events/{NUL}.json", f"/events/{NUL}/curl", f"/sources/{NUL}", f"/rejected?source={NUL}"),
        *(f"/events?q=key:{NUL}", f"/replays/new?q=key:{NUL}", f"/failures?q=message:{NUL}", f"/dead?q=message:{NUL}"),
        *(
            f"/events?q=since:{FIRST}",
            f"/api/events?filter=before:{LAST}",
            f"/api/replays/preview?filter=since:{FIRST}",
        ),
        *(f"/audit?since={FIRST}", f"/api/audit?since={FIRST}", f"/api/rejections?since={LAST}"),
    ):
        answer = await either.get(path, accept="text/html")
        assert answer.status_code in {400, 404}, (path, answer.status_code, answer.text[-500:])
    for path, fields in (
        ("/do/api/events/discard", {"events": "a\0b", "why": "x"}),
        ("/do/api/events/discard", {"filter": "key:a\0b", "why": "x"}),
        ("/do/api/pause", {"kind": "source", "name": "shop", "why": "a\0b"}),
        (f"/do/api/events/{NUL}/replay", {}),
    ):
        answer = await either.client.post(path, data=fields)
        told = base64.urlsafe_b64decode(SimpleCookie(answer.headers["set-cookie"])[COOKIE].value)
        assert b"a character that no text has" in told, (path, told)


@pytest.mark.parametrize("hours", ["1e300", "inf", "99999999"])
async def test_a_secret_is_not_rotated_beyond_the_end_of_the_calendar(admin: Admin, hours: str) -> None:
    answer = await admin.get(f"/api/sources/shop/rotation?hours={hours}")
    assert (answer.status_code, "ten years" in answer.text) == (400, True)


@pytest.mark.parametrize("entity", ["Jane Doe", "cus_1 state:dead", "a:b", "*", "cus_9"])
def test_a_link_to_an_entity_finds_that_entity_and_nothing_else(entity: str) -> None:
    """A sender chooses what it is called."""
    assert parse(filter_of(entity=entity), now=DAWN) == Filter(entity=entity)
    assert parse(filter_of(entity=f'{entity}"'), now=DAWN) == Filter(entity=entity)


async def test_nobody_finds_by_what_is_hidden_and_everybody_by_what_is_shown(either: Admin) -> None:
    """Who asks for password=a*, then for password=b*, has read it after a while."""
    archive = either.desk.archive
    await archive.record(deliveries(3))
    for claim in await archive.claim(token=token(1), lease=30, limit=10):
        told = failure(Signal.BURY) | {"message": "no such user, password=hunter2"}
        await archive.settle([settlement(claim, Signal.BURY, **told)])

    async def found(message: str) -> tuple[int, int, int, int]:
        query = {"filter": f'state:dead message:"{message}"'}
        events, count, preview, groups = [
            (await either.client.get(path, params=query)).json()
            for path in ("/api/events", "/api/events/count", "/api/replays/preview", "/api/failures")
        ]
        failed = sum(one["count"] for one in groups["groups"])
        return len(events["events"]), count["number"], preview["count"]["number"], failed

    assert await found("no such user") == await found("*user*password*") == (3, 3, 3, 3)
    assert await found("password=h*") == await found("hunter2") == (0, 0, 0, 0)
    for path, body in (
        ("/api/events/discard", {"filter": "message:password=h*", "why": "x"}),
        ("/api/replays", {"filter": "message:password=h*", "confirm": 3}),
    ):
        answer = await either.post(path, body)
        assert answer.json().get("changed", 0) == 0 and "job" not in answer.json(), answer.text
    assert await archive.count(Filter(state=State.DEAD), at_most=9) == 3


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (b'[["landfast-reconciled","2026-11-17T06:00:00Z"]]', "read from the sender"),
        (b'[["content-type","application/json"]]', "valid</span> when it came"),
    ],
    ids=["reconciled", "delivered"],
)
async def test_a_page_calls_nothing_proved_that_nobody_proved(admin: Admin, headers: bytes, said: str) -> None:
    (one,) = await admin.desk.archive.record([msgspec.structs.replace(delivery("evt_1"), headers=headers)])
    page = (await admin.get(f"/events/{one.event_id.hex()}", accept="text/html")).text
    assert said in page
    assert ("valid</span>" in page) == ("proved, stored" in page) == ("valid" in said)
