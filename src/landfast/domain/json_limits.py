"""How much of JSON Landfast reads: the same on every interpreter, and however deep the call is that reads it.

What a sender writes decides which event it is. An interpreter has limits too. They differ from one version to the next
(nesting of 1,000 levels less the depth of the call, of 1,500, of 10,000) and by its environment (integers of 640
digits, or of any number). If those decided, two machines would name one event differently, and it would run twice.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import msgspec

DEPTH_AT_MOST = 64
"""Levels of nesting. Real events have about 10; recursive code of a handler (a copy, an encoder) survives 64."""

MOST_DIGITS = 640
"""Of an integer, or of a float's part: no interpreter can be told to refuse fewer. Real ones have 20."""

MOST_UNPROVEN_MARKS = 128 * 1024
"""Of `[`, `{` and `,` together, in a text whose sender has proved nothing: it has no more of them if it has so many
bytes, and a larger one is counted. To pass over a megabyte of empty lists takes 3 ms, in which nobody else has the
interpreter; of anything that has no more marks than these, half of that. A mebibyte of real events has 40,000."""

_MARKS = b"[{,"
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_BRACKETS_ALIKE = bytes.maketrans(b"{}", b"[]")
_BRACKETS_AS_STEPS = bytes.maketrans(b"[]", b"\x01\xff")
_ALL_BUT_BRACKETS_AND_QUOTES = bytes(set(range(256)) - set(b'{}[]"'))
_TOO_MANY_DIGITS = b"0" * (MOST_DIGITS + 1)
_TOO_MANY_BRACKETS = b"[" * (DEPTH_AT_MOST + 1)
_USUAL_LEVELS = 8
"""Looked through by a way that is fast for what is shallow."""


class BeyondLimitsError(ValueError):
    """Nested deeper, or a number longer, than Landfast reads."""


def read_json(text: bytes | str, decode: Callable[[bytes | str], Any] = msgspec.json.decode) -> Any:
    """The data; ValueError for what is no JSON or beyond the limits. A RecursionError is none of these: the stack was
    nearly full before we began, and whoever asks must not take it for an answer."""
    if what := excess(text):
        raise BeyondLimitsError(f"the text {what}")
    return decode(text)


def skim(text: bytes | str, decode: Callable[[bytes | str], Any]) -> Any:
    """What a decoder finds that passes over nearly all of a text; ValueError as above. How deep the rest is, only the
    interpreter asks: whoever believes what was found has to read all of it with `read_json`."""
    if len(text) > MOST_UNPROVEN_MARKS and _has_too_many_marks(text):
        raise BeyondLimitsError("the text has more lists, objects and fields than any event")
    try:
        return decode(text)
    except RecursionError:
        if not _may_be_deep(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text):
            raise
        raise BeyondLimitsError("the text may be nested deeper than we read") from None


def excess(text: bytes | str) -> str:
    """What is too much about a text, which need not be JSON, in words; empty if nothing is. Most texts cost two
    microseconds a kilobyte: they have few brackets, or none of their strings is long and all of digits."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    may_be_deep = _may_be_deep(raw)
    may_be_long = len(raw) > MOST_DIGITS and _TOO_MANY_DIGITS in raw.translate(_DIGITS_AS_ZEROS)
    if not (may_be_deep or may_be_long):
        return ""
    if b"\\" in raw:
        # A run of backslashes begins outside of an escape: without its pairs, what is left of it escapes a quote.
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if may_be_deep and _is_deep(_without_strings(raw.translate(_BRACKETS_ALIKE, _ALL_BUT_BRACKETS_AND_QUOTES))):
        return f"is nested deeper than {DEPTH_AT_MOST} levels"
    if may_be_long and _TOO_MANY_DIGITS in _without_strings(raw.translate(_DIGITS_AS_ZEROS)):
        return f"has a number of more than {MOST_DIGITS} digits"
    return ""


def is_surely_within(raw: bytes) -> bool:
    """Whether a look at a hundredth of the text is enough to know that nothing is too much about it."""
    # Of so many digits in a row, four stand at these places.
    return not _may_be_deep(raw) and b"0000" not in raw[:: MOST_DIGITS // 4].translate(_DIGITS_AS_ZEROS)


def is_deep(data: Any) -> bool:
    """Whether data are nested deeper than we read. Level by level: recursion would have the interpreter's limit."""
    level = [data]
    for _ in range(DEPTH_AT_MOST + 1):
        containers = [each for each in level if isinstance(each, dict | list | tuple)]
        if not containers:
            return False
        level = [below for each in containers for below in (each.values() if isinstance(each, dict) else each)]
    return True


def _may_be_deep(raw: bytes) -> bool:
    return raw.count(b"{") + raw.count(b"[") > DEPTH_AT_MOST


def _has_too_many_marks(text: bytes | str) -> bool:
    """By slices, and no further than it takes to know: the worst are known by a fifth of them."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    marks = 0
    for at in range(0, len(raw), MOST_UNPROVEN_MARKS):
        piece = raw[at : at + MOST_UNPROVEN_MARKS]
        marks += len(piece) - len(piece.translate(None, _MARKS))  # faster than to count one after the other
        if marks > MOST_UNPROVEN_MARKS:
            return True
    return False


def _without_strings(raw: bytes) -> bytes:
    """Every second piece between quotes is in a string."""
    raw = raw.replace(b'""', b"")  # two quotes are an empty string, or the end of one and the beginning of the next
    return b"".join(raw.split(b'"')[::2]) if b'"' in raw else raw


def _is_deep(brackets: bytes) -> bool:
    """Each round takes the innermost level away, which does not change whether the rest is too deep by that much."""
    if _TOO_MANY_BRACKETS in brackets:
        return True
    for level in range(_USUAL_LEVELS):
        if len(brackets) <= DEPTH_AT_MOST - level:
            return False
        brackets = brackets.replace(b"[]", b"")
    steps = memoryview(brackets.translate(_BRACKETS_AS_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > DEPTH_AT_MOST - _USUAL_LEVELS
