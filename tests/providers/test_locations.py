"""Places in a request: a field of any name, and the name of one."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError
from landfast.providers.locations import Sight, paths, pick_at
from landfast.providers.outline import outline

UPDATE = {"update_id": 1, "note": "text", "message": {"date": 7, "chat": {"id": 42}}, "poll": {"date": 8}}


def seen(place: str, data: Any) -> Any:
    return pick_at(place)(Sight(Head("POST", "/"), data, data, data))


@pytest.mark.parametrize("kind", ["body", "item", "parent"])
def test_a_star_is_the_first_field_that_holds_an_object_or_a_list(kind: str) -> None:
    assert seen(f"{kind}:*.date", UPDATE) == 7
    assert seen(f"{kind}:*.chat.id", UPDATE) == 42
    assert seen(f"{kind}:*", {"a": 1, "b": [2]}) == [2]
    assert seen(f"{kind}:*.0", {"a": 1, "b": [2]}) == 2
    assert seen(f"name:{kind}", UPDATE) == "message"


@pytest.mark.parametrize("data", [None, 1, "text", [], {}, [{"a": {}}], {"a": 1}])
def test_what_has_no_such_field_has_no_name(data: Any) -> None:
    assert seen("name:body", data) is None and seen("body:*.date", data) is None


@pytest.mark.parametrize("place", ["name:", "name:header", "name:message", "name:body.a"])
def test_only_body_item_and_parent_have_names(place: str) -> None:
    with pytest.raises(ConfigError, match="no place"):
        pick_at(place)


@pytest.mark.parametrize("place", ["name:body", "body:*.date", "body:id | name:body"])
def test_a_field_of_any_name_is_never_skipped_by_the_outline(place: str) -> None:
    assert outline(paths(place, "body"))(b'{"id":1,"message":{"date":7}}') == {"id": 1, "message": {"date": 7}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"id":"evt_1","type":"paid","rest":[1]}', {"id": "evt_1", "type": "paid"}),
        (b'{"id":"evt_1","type":[[],[]],"data":{"id":7}}', {"id": "evt_1", "data": {"id": 7}}),
        (b'{"id":"evt_1","data":[{"id":7}]}', {"id": "evt_1"}),
        (b'{"id":"evt_1","data":"text"}', {"id": "evt_1", "data": "text"}),
        (b'{"id":{"a":1},"data":{"id":[]}}', {"data": {}}),
        (b"[[],[]]", None),
        (b'"text"', None),
    ],
)
def test_what_has_another_shape_is_not_there_and_its_neighbours_are(text: bytes, found: Any) -> None:
    assert outline([["id"], ["type"], ["data"], ["data", "id"]])(text) == found


@pytest.mark.parametrize("text", [b"[" + b"[]," * 100_000 + b"[]]", b'{"id":[' + b"[]," * 100_000 + b'[]],"type":"t"}'])
def test_nothing_is_decoded_that_no_path_leads_to(text: bytes) -> None:
    """Counted by what it keeps: 100,000 lists would be 5 MB."""
    decode = outline([["id"], ["type"]])
    tracemalloc.start()
    try:
        decode(text)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
