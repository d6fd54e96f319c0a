"""One request, many events: each item's exact bytes, cut out of the body.

body                             the body is the list
body:events                      the list stands in a field
body:entry.*.changes             one list in each element of another; the element is the item's parent
body:*                           each field of the body is a list; the item's parent is that field, without its items
form:mandrill_events             the list is JSON in a field of a form
body:entry.*.changes + body:entry.*.messaging     both, one after the other
body:events + body                                whichever of the two the body is: an object, or a list
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol, TypedDict
from urllib.parse import urlencode

import msgspec

from landfast.domain import json_limits
from landfast.domain.errors import ConfigError

MOST_ITEMS = 1_000
"""Meta batches up to 1,000 and nobody more. A request beyond it is kept whole, as one event: nothing is lost."""


class Item(NamedTuple):
    body: bytes
    """The exact bytes that the sender wrote for it."""
    parent: bytes
    """What its list stands in: an element of an outer list, or the whole body."""


class Slice(Protocol):
    def __call__(self, body: bytes, data: Any = None, *, is_proven: bool = True) -> list[Item] | None:
        """The items in a body, in their order; None where the list is not there: then the request is one event. The
        data are the body's, for a list that stands in a field of a form: that is read once. Of what is not proven
        nobody looks how deep it is; whoever believes it cuts it again."""
        ...


_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_short_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_First = msgspec.defstruct(
    "_First",
    [(f"item_{number}", msgspec.Raw, msgspec.Raw()) for number in range(MOST_ITEMS + 1)],
    array_like=True,
)
_read_first = msgspec.json.Decoder(_First).decode


def slicer(location: str) -> Slice:
    lists = [_parsed(place.strip()) for place in location.split("+")]

    def cut(body: bytes, data: Any = None, *, is_proven: bool = True) -> list[Item] | None:
        found: list[Item] = []
        is_there = False
        read = json_limits.read_json if is_proven else json_limits.skim
        try:
            for field, path in lists:
                whole = body if field is None else _form_field(data, field)
                if whole is not None:
                    is_there |= read(whole, partial(_found_in, path=path, found=found))
        except ValueError:  # msgspec's own errors are ValueErrors
            return None
        return found if is_there and len(found) <= MOST_ITEMS else None

    return cut


def alone(location: str, item: bytes) -> bytes | None:
    """A body that brings this item and no other, for who sends it once more; None where other fields must stand around
    it, which nobody kept."""
    for place in location.split("+"):
        field, path = _parsed(place.strip())
        if "*" not in path and (field is None or not path):
            whole = b"[%b]" % item
            for step in reversed(path):
                whole = b"{%b:%b}" % (msgspec.json.encode(step), whole)
            return whole if field is None else urlencode({field: whole}).encode()
    return None


def item_data(body: bytes) -> Any:
    """All of an item, or None."""
    try:
        return json_limits.read_json(body)
    except ValueError:
        return None


def form_places(location: str | None) -> list[str]:
    """The fields of a form that the lists stand in."""
    lists = [_parsed(place.strip()) for place in (location or "").split("+") if place.strip()]
    return [f"form:{field}" for field, _ in lists if field is not None]


def plain_path(location: str) -> list[str] | None:
    """The fields above the list, where it is one that stands in no other, and in no form."""
    field, path = _parsed(location.strip()) if "+" not in location else ("", [])
    return path if field is None and "*" not in path else None


def _parsed(place: str) -> tuple[str | None, list[str]]:
    kind, _, rest = place.partition(":")
    path = rest.split(".") if rest else []
    if kind not in {"body", "form"} or "" in path or (kind == "form" and not path):
        raise ConfigError(f"items {place!r} is no list in a body: write body, body:events or form:events")
    return (None, path) if kind == "body" else (path[0], path[1:])


def _fits(whole: bytes, path: list[str]) -> bool:
    """Whether the body is the list, or the object, that the path begins in. One that is broken further in raises, so
    that it is kept whole: this only tells two shapes of a sender apart."""
    return whole.lstrip()[:1] in ((b"[",) if not path else (b"[", b"{") if path[0] == "*" else (b"{",))


def _found_in(whole: Any, path: list[str], found: list[Item]) -> bool:
    return _fits(whole, path) and _gather(whole, path, whole, found)


def _gather(raw: bytes | msgspec.Raw, path: list[str], parent: bytes, found: list[Item]) -> bool:
    """Whether the list is there; its items are added to those found."""
    if len(found) > MOST_ITEMS:
        return True
    if not path:
        found.extend(Item(bytes(item), parent) for item in _read_list(raw))
        return True
    step, *rest = path
    if step == "*" and bytes(raw).lstrip()[:1] == b"{":
        # Only its name, not the whole field: that is read once for each item.
        fields = [(msgspec.json.encode({name: []}), below) for name, below in _read_object(raw).items()]
        return sum(_gather(below, rest, named, found) for named, below in fields) > 0
    if step == "*":
        elements = _read_list(raw)
        # Counted, not asked for any: one element that has the inner list must not hide those after it.
        # Its bytes are made once: a thousand items would hold a thousand copies of what they stand in.
        return sum(_gather(element, rest, bytes(element), found) for element in elements) > 0 or not elements
    below = _reader_of(step)(raw).get(step)
    return below is not None and bytes(below) != b"null" and _gather(below, rest, parent, found)


def _read_list(raw: bytes | msgspec.Raw) -> Sequence[msgspec.Raw]:
    """The elements, and of more than anybody sends the first ones: the rest is passed over, not kept."""
    if len(memoryview(raw)) < 2 * MOST_ITEMS:  # no room for more, and a record of a thousand fields takes longer
        return _read_short_list(raw)
    return [element for element in msgspec.structs.astuple(_read_first(raw)) if memoryview(element)]


@cache
def _reader_of(name: str) -> Callable[[bytes | msgspec.Raw], Any]:
    """Of one field of an object; the others are passed over."""
    fields: Any = TypedDict("fields", {name: msgspec.Raw}, total=False)  # type: ignore[misc]  # known only here
    return msgspec.json.Decoder(fields).decode


def _form_field(data: Any, name: str) -> bytes | None:
    value = data.get(name) if isinstance(data, dict) else None
    return value.encode("utf-8", "replace") if isinstance(value, str) else None
