"""The body of a delivery: bytes to data. Three times, because three places need different things.

`light` is for intake: fast, forgiving, never raises; enough to read an id and a type. `decode` is for the worker: it
hands a handler only what every JSON reader would understand in the same way, and says what is wrong with the rest.
`excerpt` is for the bodies of strangers: it passes over all that their proof does not stand in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NoReturn
from urllib.parse import parse_qsl

import msgspec

from landfast.domain import json_limits
from landfast.domain.errors import MalformedBodyError
from landfast.domain.form import MOST_FORM_FIELDS, form_texts, gathered, is_one_field, named_pairs

LONGEST_BOUNDARY = 72
"""Bytes, with the two dashes before it: what RFC 2046 allows."""

EARLIEST_MILLISECONDS = 100_000_000_000
"""A unix time from here on is in milliseconds: as seconds it would be the year 5138, as milliseconds 1973."""

_FORM = "application/x-www-form-urlencoded"
_WRAPPER = b"payload"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DOUBTFUL = object()
_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


def light(body: bytes, *, read_json: Callable[[bytes | str], Any] = msgspec.json.decode) -> Any:
    """The data as well as it can be read at a glance, or None. `read_json` may skip what nobody asks for; the limits
    hold for that as well, or a key would depend on who reads the rest. The bytes alone say whether they are JSON or a
    form, of either kind: hardly a sender signs its Content-Type, and who changes that must not change the key of an
    event."""
    try:
        if _looks_like_a_form(body):
            fields = _form_fields(body, errors="replace")
            return json_limits.read_json(fields["payload"], read_json) if _wraps_json(fields) else fields
        wrapped = _in_multipart(body) if body.startswith(b"--") else None
        return json_limits.read_json(body if wrapped is None else wrapped, read_json)
    except ValueError:  # msgspec's own errors are ValueErrors
        return None


def excerpt(body: bytes, read_json: Callable[[bytes | str], Any], names: Collection[bytes] = frozenset()) -> Any:
    """What `read_json` takes out of a body that nobody has proven yet, of a form the fields of these names; or None. To
    look whether the rest is within the limits would cost more than to pass over it: whoever proves himself is read
    again, by `light`."""
    try:
        if _looks_like_a_form(body):
            may_wrap = is_one_field(body)
            fields = gathered(form_texts(named_pairs(body, {*names, _WRAPPER} if may_wrap else names)))
            return json_limits.skim(fields["payload"], read_json) if may_wrap and _wraps_json(fields) else fields
        wrapped = _in_multipart(body) if body.startswith(b"--") else None
        return json_limits.skim(body if wrapped is None else wrapped, read_json)
    except ValueError:
        return None


def decode(body: bytes, content_type: str | None) -> Any:
    """The data, or MalformedBodyError with the reason in words."""
    if body.startswith(b"--") and (wrapped := _in_multipart(body)) is not None:
        return decode(wrapped, None)
    is_form = _is_form(body, content_type)
    if not is_form:
        _refuse_excess(body)
        if (data := _beyond_doubt(body)) is not _DOUBTFUL:
            return data
    if body.startswith(_BYTE_ORDER_MARK):
        raise MalformedBodyError("the body starts with a byte order mark")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise MalformedBodyError(f"the body is not UTF-8: byte {error.start} is wrong") from None
    if not text.strip():
        raise MalformedBodyError("the body is empty")
    if not is_form:
        return _strict_json(text)
    try:
        fields = _form_fields(body, errors="strict")
    except ValueError as error:  # includes UnicodeDecodeError
        raise MalformedBodyError(f"the form cannot be read: {error}") from None
    if _wraps_json(fields):
        _refuse_excess(fields["payload"])
        return _strict_json(fields["payload"])
    _check_texts(fields)
    return fields


def moment(value: Any) -> datetime | None:
    """A sender's time: unix seconds or milliseconds, ISO 8601 or RFC 3339; None for what is no time after 1970."""
    try:
        if isinstance(value, str):
            return _written_moment(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _unix_moment(value)
    except (ValueError, OverflowError, OSError):  # fromtimestamp has all three for what is out of its range
        pass
    return None


def _is_form(body: bytes, content_type: str | None) -> bool:
    if content_type is None or not content_type.lower().startswith(_FORM):
        return False
    return not is_json_like(body)


def is_json_like(body: bytes) -> bool:
    """`curl -d '{...}'` calls JSON a form. A form never starts so: browsers and libraries escape these."""
    return body.lstrip().startswith((b"{", b"[", b'"'))


def _looks_like_a_form(body: bytes) -> bool:
    return not is_json_like(body) and not body.startswith(b"--") and b"=" in body


def _form_fields(body: bytes, *, errors: str) -> dict[str, Any]:
    return gathered(
        parse_qsl(body.decode("utf-8", errors), keep_blank_values=True, errors=errors, max_num_fields=MOST_FORM_FIELDS)
    )


def _wraps_json(fields: dict[str, Any]) -> bool:
    """GitHub and Slack can send their JSON as the only field of a form."""
    return len(fields) == 1 and isinstance(fields.get("payload"), str)


def _in_multipart(body: bytes) -> bytes | None:
    """Dropbox Sign sends its JSON as the field `json` of a multipart form. Its first line is the boundary."""
    boundary = body.partition(b"\r\n")[0].rstrip(b" \t")
    if not 2 < len(boundary) <= LONGEST_BOUNDARY:
        return None
    for part in body.split(boundary, MOST_FORM_FIELDS):
        head, _, content = part.partition(b"\r\n\r\n")
        if b' name="json"' in head:
            return content.removesuffix(b"\r\n")
    return None


def _beyond_doubt(body: bytes) -> Any:
    """The data of JSON that written again is the same but for white space, or _DOUBTFUL.

    Then no key stands twice, no number was rounded and no string holds what has to be escaped; all that, at a third of
    what it takes to look for each. Whatever is written otherwise may be as good, and is read the slow way.
    """
    if b"\\u" in body:
        return _DOUBTFUL
    try:
        data = _read(body)
        again = _write(data)
        return data if again == body or again == msgspec.json.format(body, indent=-1) else _DOUBTFUL
    except ValueError:
        return _DOUBTFUL


def _refuse_excess(text: bytes | str) -> None:
    if what := json_limits.excess(text):
        fix = "ask its sender for a simpler one; landfast dead show has the bytes of this one"
        raise MalformedBodyError(f"the body {what}, and Landfast reads no more: {fix}")


def _strict_json(text: str) -> Any:
    try:
        data = json.loads(text, object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise MalformedBodyError(f"the body is not JSON: {error.msg} at character {error.pos}") from None
    # Strings can only hold what we look for if it was escaped: most bodies need no walk.
    if "\\u" in text:
        _check_texts(data)
    return data


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise MalformedBodyError(f"the key {repeated[:100]!r} stands twice in one object")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise MalformedBodyError(f"the number {text[:40]} is out of range")
    return number


def _refuse_constant(text: str) -> NoReturn:
    raise MalformedBodyError(f"{text} is not JSON")


def _check_texts(data: Any) -> None:
    level = [data]
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, dict):
                below.extend(value)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        level = below


def _check_text(text: str) -> None:
    if "\0" in text:
        raise MalformedBodyError("a string holds NUL, which no database takes")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MalformedBodyError("a string holds half of a surrogate pair, which is no character") from None


def _written_moment(text: str) -> datetime | None:
    text = text.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return _unix_moment(float(text))
    written = datetime.fromisoformat(text.removesuffix(" UTC"))  # GitLab's ending; cuts nanoseconds to microseconds
    at = written.replace(tzinfo=UTC) if written.tzinfo is None else written.astimezone(UTC)
    return at if at.year >= 1970 else None


def _unix_moment(number: float) -> datetime | None:
    if not number > 0:  # so that NaN is refused as well
        return None
    return datetime.fromtimestamp(number / 1000 if number >= EARLIEST_MILLISECONDS else number, UTC)
