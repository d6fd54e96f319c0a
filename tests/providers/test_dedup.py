from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from landfast.domain.errors import ConfigError
from landfast.providers import provider
from landfast.providers.dedup import body_digest, key_rule
from landfast.providers.locations import Sight
from tests.providers.requests import head_of

NOTHING = Sight(head_of({}), None)

EVENT = {"id": "e1", "type": "made", "data": {"object": {"id": 7, "size": 1.5}}, "nonce": "a"}


def key(rule: str, event: Any, fields: dict[str, str] | None = None, *, dedup_key: str | None = None) -> str:
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    chosen = provider("stripe", dedup=rule, dedup_key=dedup_key)
    (identity,) = chosen.identify(head_of(fields or {}), body, received_at=datetime(2026, 1, 1, tzinfo=UTC))
    return identity.key


@pytest.mark.req("R4")
def test_the_body_digest_tells_any_two_bodies_apart() -> None:
    assert key("body", EVENT) == key("body", EVENT)
    assert key("body", EVENT) != key("body", {**EVENT, "nonce": "b"})


@pytest.mark.req("R4")
def test_a_header_may_be_the_key() -> None:
    assert key("header:X-GitHub-Delivery", EVENT, {"x-github-delivery": "guid"}) == "guid"
    assert key("header:X-GitHub-Delivery", EVENT) == key("body", EVENT)


@pytest.mark.req("R4")
def test_a_field_of_the_body_may_be_the_key() -> None:
    assert key("body:data.object.id", EVENT) == "7"
    assert key("body:nothing", EVENT) == key("body", EVENT)
    assert key("body:nothing | header:X-Id", EVENT, {"X-Id": "h"}) == "h"


@pytest.mark.req("R4")
def test_chosen_fields_ignore_what_changes_between_deliveries() -> None:
    rule = "fields:type, data.object.id"
    assert key(rule, {**EVENT, "nonce": "b"}) == key(rule, EVENT)
    assert key(rule, {**EVENT, "type": "unmade"}) != key(rule, EVENT)
    assert key(rule, {**EVENT, "data": {"object": {"id": 8}}}) != key(rule, EVENT)
    assert key(rule, {**EVENT, "data": {"object": {"id": "7"}}}) == key(rule, EVENT)  # as with the rule body:
    assert key(rule, {**EVENT, "data": {"object": {"id": [7]}}}) != key(rule, EVENT)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    "event", [{"type": "made"}, {"data": {"object": {"id": 7}}}, {"type": "made", "data": {"object": {"id": None}}}]
)
def test_a_missing_field_falls_back_to_the_body_so_that_no_event_is_lost(event: Any) -> None:
    assert key("fields:type,data.object.id", event) == key("body", event)


def test_chosen_fields_may_be_whole_objects_in_any_order_and_never_run_together() -> None:
    assert key("fields:data", {"data": {"a": 1, "b": 2}}) == key("fields:data", {"x": 0, "data": {"b": 2, "a": 1}})
    assert key("fields:a,b", {"a": "x", "b": "yz"}) != key("fields:a,b", {"a": "xy", "b": "z"})
    assert key("fields:header:X-Shop,id", EVENT, {"X-Shop": "1"}) != key(
        "fields:header:X-Shop,id", EVENT, {"X-Shop": "2"}
    )


@pytest.mark.req("R4")
def test_an_hmac_of_id_and_canonical_body_ignores_how_the_body_is_written() -> None:
    written_otherwise = json.dumps(dict(reversed(EVENT.items())), indent=2).encode()
    assert key("hmac:id", EVENT) == key("hmac:id", written_otherwise)
    assert key("hmac:id", EVENT).startswith("hmac:")
    assert key("hmac:id", EVENT) != key("hmac:id", {**EVENT, "nonce": "b"})
    assert key("hmac:header:X-Id", EVENT, {"X-Id": "1"}) != key("hmac:header:X-Id", EVENT, {"X-Id": "2"})
    assert key("hmac:id", EVENT, dedup_key="k") != key("hmac:id", EVENT)
    assert key("hmac:nothing", EVENT) == key("body", EVENT)
    assert key("hmac:id", b"not json") == key("body", b"not json")


def test_numbers_beyond_any_encoder_fall_back_to_the_body() -> None:
    body = b'{"id":' + b"9" * 4000 + b"}"
    assert key("fields:id", body).startswith("sha256:")
    assert key("hmac:id", body)


def test_type_and_body_never_run_together() -> None:
    keys = key_rule("type+body", hmac_key="")
    assert keys(NOTHING, b"bc", "a") != keys(NOTHING, b"c", "ab")


@pytest.mark.parametrize("rule", ["fields:a", "hmac:id"])
def test_data_that_cannot_be_written_falls_back_to_the_body(rule: str) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    for value in (deep, "\ud800"):
        sight = Sight(head_of({}), {"id": "1", "a": value})
        assert key_rule(rule, hmac_key="k")(sight, b"raw", "") == body_digest(b"raw")


@pytest.mark.req("R4")
@pytest.mark.parametrize("calls", [0, 300, 700])
@pytest.mark.parametrize("rule", ["body:id", "fields:id", "fields:x", "hmac:id", "type+body"])
def test_one_event_has_one_key_however_deep_it_and_the_call_are(rule: str, calls: int) -> None:
    """Beyond 64 levels every rule falls back to the bytes; the interpreter would say 1,000 less the call, or 10,000."""

    def at(depth: int, call: Callable[[], str]) -> str:
        return call() if depth == 0 else at(depth - 1, call)

    for depth in (64, 65, 650, 950, 1_300, 5_000, 12_000):
        body = b'{"id":"e1","type":"made","x":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        found = at(calls, lambda: key(rule, body, dedup_key="k"))  # noqa: B023 - called at once
        has_fallen_back = found in (body_digest(body), _typed("", body))
        assert has_fallen_back == (depth > 64), depth


def _typed(type_: str, body: bytes) -> str:
    return key_rule("type+body", hmac_key="")(NOTHING, body, type_)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "id",
        "header:",
        "body:",
        "body:a..b",
        "fields:",
        "fields:a,,b",
        "hmac:",
        "hmac:a+b",
        "body:a+body:b",
        "sha256:id",
    ],
)
def test_an_unknown_rule_is_a_config_error_that_names_it(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"use body|write body"):
        provider("stripe", dedup=rule)


@pytest.mark.req("R4")
def test_by_arrival_the_same_body_is_another_event_each_time_and_two_items_are_never_one() -> None:
    rule = key_rule("arrival", hmac_key="")
    first, second = (NOTHING._replace(received_at=datetime(2026, 1, 1, 0, 0, at, tzinfo=UTC)) for at in (1, 2))
    assert rule(first, b"{}", "") == rule(first, b"{}", "")
    assert len({rule(first, b"{}", ""), rule(second, b"{}", ""), rule(first, b"[]", "")}) == 3


@pytest.mark.req("R4")
@pytest.mark.parametrize("rule", ["body:id or arrival", "fields:type,body:id or arrival", "hmac:id or arrival"])
def test_what_has_an_id_is_known_by_it_and_only_the_rest_by_its_arrival(rule: str) -> None:
    assert key(rule, EVENT) == key(rule.removesuffix(" or arrival"), EVENT)
    assert key(rule, {"type": "made"}).startswith("arrival:2026-01-01T00:00:00+00:00:")


@pytest.mark.parametrize("rule", ["body:id or body", "arrival:id", "body:id or arrival or body"])
def test_nothing_else_may_stand_behind_or(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"is not known|no place"):
        provider("stripe", dedup=rule)


def test_a_word_of_ours_stands_in_for_what_a_sender_does_not_say() -> None:
    assert key("fields:id,data.object.name | always:none", EVENT) == key("fields:id,always:none", EVENT)
    assert key("fields:id,data.object.id | always:none", EVENT) != key("fields:id,always:none", EVENT)


def test_of_places_with_a_bar_between_them_the_first_that_is_there_counts() -> None:
    rule = "fields:id | uuid,at"
    assert key(rule, {"id": 1, "at": 2}) == key(rule, {"id": 1, "uuid": 9, "at": 2}) == key(rule, {"uuid": 1, "at": 2})
    assert key(rule, {"at": 2}) == key("body", {"at": 2})
