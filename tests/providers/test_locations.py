"""Places in a request: a field of any name, and the name of one."""

from __future__ import annotations

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
