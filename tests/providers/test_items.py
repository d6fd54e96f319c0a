"""One request, many events."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Identity
from landfast.domain.errors import ConfigError
from landfast.providers import provider
from landfast.providers.items import MOST_ITEMS, slicer
from tests.providers.requests import head_of

RECEIVED = datetime(2026, 1, 2, tzinfo=UTC)


def identities(name: str, body: bytes) -> list[Identity]:
    return list(provider(name).identify(head_of({"Content-Type": "application/json"}), body, received_at=RECEIVED))


@pytest.mark.req("R4")
def test_each_item_is_an_event_with_its_own_key_and_its_exact_bytes_in_order() -> None:
    body = b'{"events": [ {"id":"EV1",  "resource_type":"payments","action":"paid_out"} ,\n{"action":"made","id":"EV2","resource_type":"refunds"}], "meta":{}}'
    first, second = identities("gocardless", body)
    assert (first.key, first.type, second.key, second.type) == ("EV1", "payments.paid_out", "EV2", "refunds.made")
    assert first.body == b'{"id":"EV1",  "resource_type":"payments","action":"paid_out"}'
    assert second.body == b'{"action":"made","id":"EV2","resource_type":"refunds"}'


def test_an_empty_batch_brings_no_event_and_a_body_of_another_shape_brings_itself() -> None:
    assert identities("gocardless", b'{"events":[]}') == []
    for body in (b"{}", b'{"events":null}', b'{"events":{"id":"EV1"}}', b"not json", b"[" * 10_000):
        (whole,) = identities("gocardless", body)
        assert whole.body is None and whole.key.startswith("sha256:")


def test_a_batch_beyond_any_senders_is_kept_whole() -> None:
    many = [{"id": f"EV{number}"} for number in range(MOST_ITEMS + 1)]
    assert len(identities("gocardless", json.dumps({"events": many[:-1]}).encode())) == MOST_ITEMS
    (whole,) = identities("gocardless", json.dumps({"events": many}).encode())
    assert whole.body is None


def test_lists_in_lists_and_several_lists_are_read_one_after_the_other() -> None:
    cut = slicer("body:entry.*.changes + body:entry.*.messaging")
    body = b'{"entry":[{"id":1,"changes":[10,11]},{"id":2,"messaging":[20]},{"id":3,"changes":[30]}]}'
    items = cut(body)
    assert items is not None
    assert [item.body for item in items] == [b"10", b"11", b"30", b"20"]
    assert items[0].parent == b'{"id":1,"changes":[10,11]}'
    assert cut(b'{"entry":[]}') == [] and cut(b'{"entry":[{"id":1}]}') is None


def test_a_list_may_stand_in_a_form_or_be_the_body_itself() -> None:
    items = slicer("form:events")(b"events=%5B%7B%22a%22%3A1%7D%5D&x=1", {"events": '[{"a":1}]', "x": "1"})
    assert items is not None and items[0].body == b'{"a":1}'
    whole = slicer("body")(b' [ {"a":1} , 2 ] ')
    assert whole is not None and [item.body for item in whole] == [b'{"a":1}', b"2"]


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        )
    )
)
def test_the_items_are_the_list(values: list[object]) -> None:
    items = slicer("body:a.b")(json.dumps({"a": {"b": values}}).encode())
    assert items is not None and [json.loads(item.body) for item in items] == values


@pytest.mark.parametrize("place", ["", "header:X", "form:", "body:a..b", "events"])
def test_a_place_that_is_no_list_is_a_config_error(place: str) -> None:
    with pytest.raises(ConfigError, match="no list in a body"):
        slicer(place)


def test_a_sender_may_have_two_shapes_and_one_that_is_broken_further_in_is_kept_whole() -> None:
    cut = slicer("body:notices.*.changes + body")
    inside, alone = cut(b'{"notices":[{"changes":[1]},{"changes":[2]}]}'), cut(b" [3,4]")
    assert inside is not None and [item.body for item in inside] == [b"1", b"2"]
    assert alone is not None and [item.body for item in alone] == [b"3", b"4"]
    for broken in (b'{"notices":[{"changes":[1]},{"changes":2}]}', b'{"notices":[{"changes":[1]}', b"", b"7"):
        assert cut(broken) is None


@pytest.mark.parametrize("calls", [0, 700])
def test_whether_a_request_is_cut_depends_neither_on_the_interpreter_nor_on_the_call(calls: int) -> None:
    def at(depth: int, body: bytes) -> int:
        return len(slicer("body:events")(body) or ()) if depth == 0 else at(depth - 1, body)

    for depth in (64, 65, 650, 1_300, 5_000):
        inner = b"[" * (depth - 3) + b"]" * (depth - 3)
        assert at(calls, b'{"events":[{"a":' + inner + b'},{"a":1}]}') == (2 if depth <= 64 else 0), depth
