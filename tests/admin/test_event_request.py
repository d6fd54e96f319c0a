"""The request that brought an event: its exact bytes and its sender's headers, without what proved who sent it."""

from __future__ import annotations

import base64
import json

from landfast.domain.lifecycle import State
from landfast.testing.factory import delivery, event_in
from tests.admin.conftest import Admin

BODY = b'{ "id" : "evt_7",\n"password":"hunter2", "bytes":"\xff\x00" }'
HEADERS = [
    ["content-type", "application/json"],
    ["stripe-signature", "sha256:" + "0" * 32],
    ["host", "inbox.example"],
    ["x-forwarded-for", "10.0.0.1"],
    ["x-kept", "a"],
    ["x-kept", "b"],
]


async def test_it_has_the_exact_bytes_and_no_signature(either: Admin) -> None:
    made = delivery("evt_7", body=BODY, headers=json.dumps(HEADERS).encode())
    await event_in(either.desk.archive, State.DEAD, made)
    answer = (await either.get("/api/events/shop/evt_7/request")).json()
    assert base64.b64decode(answer["body_base64"]) == BODY
    assert answer["headers"] == {"content-type": "application/json", "x-kept": "a, b"}
    assert (answer["provider"], answer["event"]["key"], answer["no_body"]) == ("stripe", "evt_7", "")


async def test_of_one_that_was_erased_it_says_so(either: Admin) -> None:
    await event_in(either.desk.archive, State.DEAD, delivery("evt_7", body=BODY))
    erased = await either.post("/api/events/erase", {"events": ["evt_7"], "confirm": 1, "why": "asked"})
    assert erased.status_code == 200
    answer = (await either.get("/api/events/shop/evt_7/request")).json()
    assert (answer["body_base64"], answer["headers"], "was erased" in answer["no_body"]) == ("", {}, True)
    assert (await either.get("/api/events/nothing/request")).status_code == 404


async def test_an_event_of_a_source_that_is_gone_is_given_as_it_is(either: Admin) -> None:
    await event_in(either.desk.archive, State.DEAD, delivery("evt_7", source="gone", body=BODY))
    answer = (await either.get("/api/events/gone/evt_7/request")).json()
    assert (answer["provider"], base64.b64decode(answer["body_base64"])) == ("", BODY)


async def test_a_number_that_is_confirmed_is_the_number_that_is_changed(either: Admin) -> None:
    for number in (1, 2):
        await event_in(either.desk.archive, State.DEAD, delivery(f"evt_{number}"), number=number)
    for given in ({"filter": "source:shop", "confirm": 1}, {"filter": "source:shop", "confirm": 3}):
        refused = await either.post("/api/events/discard", given)
        assert (refused.status_code, "count again" in refused.json()["detail"]) == (409, True)
    named = await either.post("/api/events/discard", {"events": ["evt_1"], "confirm": 2})
    assert (named.status_code, named.json()["title"]) == (409, "Look again")
    done = await either.post("/api/events/discard", {"filter": "source:shop", "confirm": 2, "why": "a test"})
    assert (done.status_code, done.json()) == (200, {"changed": 2})
