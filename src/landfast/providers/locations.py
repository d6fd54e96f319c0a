"""Where a provider puts an id, a type, a time: one line of text each, compiled once.

body:data.object.id                     a field of the decoded body; `body:` may be left out
header:X-Shopify-Topic                  a header
header:Shopify-Topic | header:X-Topic   the first that is there
header:X-GitHub-Event + body:action     joined with a dot; the first must be there, the others may be
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from landfast.domain.delivery import Headers
from landfast.domain.errors import ConfigError

Pick = Callable[[Headers, Any], Any]
"""The value at a place, as it is there; None where there is none."""

Read = Callable[[Headers, Any], str | None]
"""The same as text; None also for what makes no name, such as an object, a float or an empty string."""


def read_at(location: str) -> Read:
    choices = [
        _first_of([_picked_text(pick_at(place)) for place in choice.split("|")]) for choice in location.split("+")
    ]
    return choices[0] if len(choices) == 1 else _joined(choices[0], choices[1:])


def pick_at(place: str) -> Pick:
    kind, colon, rest = place.strip().partition(":")
    if not colon:
        kind, rest = "body", kind
    if kind not in {"body", "header"} or not rest or "" in rest.split("."):
        raise ConfigError(f"{place.strip()!r} is no place in a request: write body:data.id or header:X-Event-Id")
    return _in_header(rest) if kind == "header" else _in_body(rest.split("."))


def body_paths(location: str) -> list[list[str]]:
    """The fields of the body that a location reads."""
    places = [place.strip() for choice in location.split("+") for place in choice.split("|")]
    return [place.removeprefix("body:").split(".") for place in places if not place.startswith("header:")]


def _in_header(name: str) -> Pick:
    key = name.lower().encode()

    def pick(headers: Headers, _data: Any) -> str | None:
        value = headers.get(key)
        # Latin-1 takes any bytes and keeps different ones different: two ids must never become one.
        return None if value is None else value.decode("latin-1").strip()

    return pick


def _in_body(path: list[str]) -> Pick:
    def pick(_headers: Headers, data: Any) -> Any:
        for step in path:
            if isinstance(data, dict):
                data = data.get(step)
            elif isinstance(data, list) and step.isdecimal() and len(step) < 6 and int(step) < len(data):
                data = data[int(step)]
            else:
                return None
        return data

    return pick


def _picked_text(pick: Pick) -> Read:
    def read(headers: Headers, data: Any) -> str | None:
        value = pick(headers, data)
        if isinstance(value, str):
            return value or None
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 128:
            return str(value)  # ids have at most 128 bits; Python refuses to write out thousands of digits
        return None

    return read


def _first_of(reads: list[Read]) -> Read:
    if len(reads) == 1:
        return reads[0]

    def read(headers: Headers, data: Any) -> str | None:
        for each in reads:
            text = each(headers, data)
            if text is not None:
                return text
        return None

    return read


def _joined(first: Read, others: list[Read]) -> Read:
    def read(headers: Headers, data: Any) -> str | None:
        head = first(headers, data)
        if head is None:
            return None
        return ".".join([head, *(text for each in others if (text := each(headers, data)) is not None)])

    return read
