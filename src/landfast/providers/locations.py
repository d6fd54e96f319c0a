"""Where a provider puts an id, a type, a time: one line of text each, compiled once.

body:data.object.id                     a field of the decoded body, JSON or form; `body:` may be left out
header:X-Shopify-Topic                  a header
query:hub.mode, form:bt_signature       a parameter of the URL; a field of a form, never looked for in JSON
item:id, parent:id                      in a request of many events: a field of this one, and of what it stands in
body:*.date                             `*` is the first field that holds an object or a list, whatever it is called
name:body, name:parent                  what that field is called, for senders that write the type there
xml:payload.notice.kind                 an element of XML that a field, here `payload`, holds in base64: Braintree's
always:changed                          a word of ours, for senders that have none there
signed:id                               the message id that the signature covers, whatever its header is called
header:Shopify-Topic | header:X-Topic   the first that is there
header:X-GitHub-Event + body:action     joined with a dot; the first must be there, the others may be
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError
from landfast.domain.form import MOST_FORM_FIELDS
from landfast.domain.reading import is_path
from landfast.providers.elements import element_text

KINDS = ("body", "header", "query", "form", "item", "parent", "name", "xml", "always", "signed")

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Sight(NamedTuple):
    """What can be read of one event: the request's head and data, and where it is one of many, its own."""

    head: Head
    data: Any
    item: Any = None
    parent: Any = None
    received_at: datetime = _LONG_AGO
    number: int | None = None
    """The place of the item in its request."""
    form: Sequence[tuple[bytes, bytes]] | None = None
    """The fields of a form, where those were signed."""
    signed_id: bytes | None = None
    """The message id that was signed."""


Pick = Callable[[Sight], Any]
"""The value at a place, as it is there; None where there is none."""

Read = Callable[[Sight], str | None]
"""The same as text; None also for what makes no name, such as an object, a float or an empty string."""


def read_at(location: str) -> Read:
    choices = [
        _first_of([_picked_text(pick_at(place)) for place in choice.split("|")]) for choice in location.split("+")
    ]
    return choices[0] if len(choices) == 1 else _joined(choices[0], choices[1:])


def first_at(location: str) -> Pick:
    """The value, of any kind, at the first of these places that has one."""
    picks = [pick_at(place) for place in location.split("|")]
    if len(picks) == 1:
        return picks[0]

    def pick(sight: Sight) -> Any:
        for each in picks:
            value = each(sight)
            if value is not None and value != "":  # an empty text makes no name, here as in `read_at`
                return value
        return None

    return pick


def pick_at(place: str) -> Pick:
    kind, rest = split_place(place)
    match kind:
        case "header":
            return _in_header(rest)
        case "query":
            return _in_query(rest)
        case "item":
            return _in_fields(2, rest.split("."))
        case "parent":
            return _in_fields(3, rest.split("."))
        case "name":
            return _name_in(_NAMED[rest])
        case "always":
            return lambda _sight: rest
        case "signed":
            return lambda sight: None if sight.signed_id is None else sight.signed_id.decode("latin-1")
        case "xml":
            return _in_elements(*rest.split("."))
    return _in_fields(1, rest.split("."))


def split_place(place: str) -> tuple[str, str]:
    """`kind:rest`, checked."""
    kind, colon, rest = place.strip().partition(":")
    if not colon:
        kind, rest = "body", kind
    is_dotted = kind not in {"header", "query", "always"}
    is_wrong = (is_dotted and not is_path(rest)) or (kind == "name" and rest not in _NAMED)
    is_wrong |= kind == "header" and len(rest.split()) != 1
    is_wrong |= kind == "signed" and rest != "id"
    if kind not in KINDS or not rest or is_wrong:
        raise ConfigError(f"{place.strip()!r} is no place in a request: write body:data.id or header:X-Event-Id")
    return kind, rest


def paths(location: str, *kinds: str) -> list[list[str]]:
    """The fields of these kinds that a location reads."""
    places = [split_place(place) for choice in location.split("+") for place in choice.split("|")]
    whole = [["*"] for kind, rest in places if kind == "name" and rest in kinds]
    return whole + [rest.split(".") for kind, rest in places if kind in kinds]


def as_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 128:
        return str(value)  # ids have at most 128 bits; Python refuses to write out thousands of digits
    return None


def is_absent(sight: Sight, place: str) -> bool:
    """Whether nothing stands at a place and could: all that is on the way to it are objects, or null."""
    kind, rest = split_place(place)
    data = sight.item if kind == "item" else sight.data
    for step in rest.split("."):
        if data is None:
            break
        if not isinstance(data, dict):
            return False
        data = data.get(step)
    return data is None


def query_value(query: str, name: str) -> str | None:
    """The one value of a parameter; None where it is missing or stands twice."""
    if name not in query and "%" not in query:  # no split for the many that have none
        return None
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FORM_FIELDS)
    except ValueError:
        return None
    values = [value for key, value in pairs if key == name]
    return values[0] if len(values) == 1 else None


def walk(data: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(data, dict):
            data = data.get(step if step != "*" else _first_name(data))
        elif isinstance(data, list) and step.isdecimal() and len(step) < 6 and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def _in_header(name: str) -> Pick:
    key = name.lower().encode()

    def pick(sight: Sight) -> str | None:
        value = sight.head.headers.get(key)
        # Latin-1 takes any bytes and keeps different ones different: two ids must never become one.
        # Only blanks are taken off, as they are before a signature is checked: str.strip knows more of them.
        return None if value is None else value.strip().decode("latin-1")

    return pick


def _in_query(name: str) -> Pick:
    return lambda sight: query_value(sight.head.query, name)


_NAMED = {"body": 1, "item": 2, "parent": 3}


def _name_in(part: int) -> Pick:
    return lambda sight: _first_name(sight[part])


def _first_name(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    return next((name for name, value in data.items() if isinstance(value, dict | list)), None)


def _in_fields(part: int, path: list[str]) -> Pick:
    if len(path) == 1 and not path[0].isdecimal() and path != ["*"]:
        (step,) = path

        def pick_field(sight: Sight) -> Any:
            data = sight[part]
            return data.get(step) if isinstance(data, dict) else None

        return pick_field
    return lambda sight: walk(sight[part], path)


def _in_elements(field: str, *path: str) -> Pick:
    def pick(sight: Sight) -> str | None:
        text = sight.data.get(field) if isinstance(sight.data, dict) else None
        return element_text(text, path) if isinstance(text, str) else None

    return pick


def _picked_text(pick: Pick) -> Read:
    def read(sight: Sight) -> str | None:
        return as_text(pick(sight))

    return read


def _first_of(reads: list[Read]) -> Read:
    if len(reads) == 1:
        return reads[0]

    def read(sight: Sight) -> str | None:
        for each in reads:
            text = each(sight)
            if text is not None:
                return text
        return None

    return read


def _joined(first: Read, others: list[Read]) -> Read:
    def read(sight: Sight) -> str | None:
        head = first(sight)
        if head is None:
            return None
        return ".".join([head, *(text for each in others if (text := each(sight)) is not None)])

    return read
