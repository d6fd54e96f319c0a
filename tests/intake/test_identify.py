"""What of a request is kept, and in what shape."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Headers, Identity
from landfast.domain.text import TEXT_LIMIT
from landfast.intake.identify import _storable, header_keeper, kept_headers
from landfast.ports.provider import Hidden
from landfast.testing.factory import DAWN
from tests.intake.desk import Desk, body, source


@pytest.mark.req("R12")
async def test_headers_are_kept_in_order_with_repeats_and_without_credentials() -> None:
    pairs = [
        (b"Host", b"shop.example"),
        (b"Authorization", b"Bearer hidden"),
        (b"X-Gitlab-Token", b"hidden"),
        (b"Cookie", b"hidden"),
        (b"X-Api-Key", b"hidden"),
        (b"Api-Key", b"hidden"),
        (b"Acme-Auth", b"hidden"),
        (b"Via", b"one"),
        (b"Via", b"tw\xf6"),
        (b"Stripe-Signature", b"t=1,v1=ab"),
    ]
    hidden = {b"acme-auth": Hidden.DROPPED, b"stripe-signature": Hidden.DIGESTED}
    kept = json.loads(kept_headers(Headers(pairs), hidden))
    digest = "sha256:" + hashlib.sha256(b"t=1,v1=ab").hexdigest()[:32]
    assert kept == [["host", "shop.example"], ["via", "one"], ["via", "tw\xf6"], ["stripe-signature", digest]]


KNOWN = (b"host", b"authorization", b"via", b"acme-auth", b"acme-signature", b"x-id")
FEW_VALUES = st.sampled_from([b"", b"one", b"two", b"two \t", b' "\xf6\\', b"\x00"])


@given(st.lists(st.tuples(*[FEW_VALUES] * len(KNOWN)), max_size=12))
def test_what_is_kept_of_known_names_is_the_same_whatever_came_before(requests: list[tuple[bytes, ...]]) -> None:
    hidden = {b"acme-auth": Hidden.DROPPED, b"acme-signature": Hidden.DIGESTED}
    keep = header_keeper(KNOWN, hidden)
    for values in requests:
        pairs = [(name, value.rstrip(b" \t")) for name, value in zip(KNOWN, values, strict=True)]
        assert keep(values) == kept_headers(pairs, hidden)


async def test_the_headers_are_stored_with_the_event() -> None:
    desk = Desk()
    await desk.deliver(body())
    (stored,) = desk.recorder.events.values()
    assert dict(json.loads(stored.headers))["content-type"] == "application/json"


def test_an_ordinary_identity_is_left_as_it_is() -> None:
    identity = Identity("evt_1", "paid", "größe", datetime(2026, 1, 1, tzinfo=UTC))
    assert _storable(identity) is identity


@given(st.text(st.characters(), max_size=600), st.text(st.characters(), max_size=600))
def test_any_text_becomes_storable(key: str, kind: str) -> None:
    storable = _storable(Identity(key, kind, kind))
    for text in (storable.key, storable.type, storable.entity or ""):
        assert len(text) <= TEXT_LIMIT and "\0" not in text
        text.encode()


def test_keys_that_cannot_be_stored_stay_different() -> None:
    odd = ["a\0", "a\ufffd", "a\ud800", "a\udfff", "a" * 513, "a" * 514]
    assert len({_storable(Identity(key, "")).key for key in odd}) == len(odd)


def test_an_odd_type_is_repaired_and_the_key_kept() -> None:
    storable = _storable(Identity("evt_1", "a\0b", None))
    assert (storable.key, storable.type, storable.entity) == ("evt_1", "a\ufffdb", None)


MEMORY = 35 * 86_400.0


async def held(created: object, *, memory: float = MEMORY) -> str:
    """What an event is held for that says it happened then."""
    desk = Desk(sources=(replace(source(), memory=memory),))
    answer = await desk.deliver(json.dumps({"id": "evt_1", "type": "paid", "created": created}).encode())
    assert (answer.status, b'"stored"' in answer.body) == (200, True)
    (stored,) = desk.recorder.events.values()
    return stored.hold


@pytest.mark.req("R15")
@pytest.mark.parametrize(
    ("created", "hold"),
    [
        (int((DAWN - timedelta(days=34)).timestamp()), ""),
        (int((DAWN - timedelta(days=36)).timestamp()), "late"),
        (int((DAWN + timedelta(hours=1)).timestamp()), ""),
        (1_767_225, "late"),
        ("1970-01-02T00:00:00Z", "late"),
        (0, ""),
        (10**30, ""),
        ("yesterday", ""),
        (None, ""),
        ("0001-01-01T00:00:00Z", ""),
        ("9999-12-31T23:59:59Z", ""),
    ],
    ids=lambda value: str(value or "none"),
)
async def test_what_happened_longer_ago_than_the_inbox_remembers_is_stored_and_held(created: object, hold: str) -> None:
    assert await held(created) == hold


async def test_where_the_memory_has_no_end_nothing_is_late() -> None:
    assert await held(1_767_225, memory=math.inf) == ""
