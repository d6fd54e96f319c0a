"""Limits that decide a key or a verdict are ours: whatever the interpreter, its settings, and the depth of the call."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from landfast.domain import body as bodies
from landfast.domain.errors import MalformedBodyError
from landfast.domain.json_limits import (
    DEPTH_AT_MOST,
    MOST_DIGITS,
    BeyondLimitsError,
    excess,
    is_deep,
    is_surely_within,
    read_json,
)
from landfast.domain.legible import is_legible, legible

T = TypeVar("T")

DEPTHS = [1, DEPTH_AT_MOST - 1, DEPTH_AT_MOST, DEPTH_AT_MOST + 1, 690, 960, 1_200, 5_000, 20_000]

leaves = (
    st.integers() | st.text('[]{}"\\,:a', max_size=6) | st.sampled_from([None, True, 0.5, "é", "\\", '"', "]" * 70])
)
steps = st.lists(st.sampled_from(["list", "object", "crowd"]), max_size=DEPTH_AT_MOST + 6)


def called_at(depth: int, function: Callable[[], T]) -> T:
    return function() if depth == 0 else called_at(depth - 1, function)


def nested(depth: int, inside: bytes = b"1") -> bytes:
    return b'{"id":"evt_1","x":' + b"[" * (depth - 1) + inside + b"]" * (depth - 1) + b"}"


@given(leaves, steps)
@example("\\", ["list"] * DEPTH_AT_MOST)
@example('"', ["list"] * (DEPTH_AT_MOST + 1))
def test_the_depth_of_a_text_is_that_of_its_data(leaf: Any, wraps: list[str]) -> None:
    data = leaf
    for wrap in wraps:
        data = [data] if wrap == "list" else {"]{": data, "b": "\\"} if wrap == "object" else ["[", data, [], {}]
    text = json.dumps(data)
    expected = len(wraps) + (wraps[:1] == ["crowd"]) > DEPTH_AT_MOST
    assert bool(excess(text)) == bool(excess(text.encode())) == is_deep(data) == expected


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("calls", [0, 300, 700])
def test_how_deep_we_read_depends_neither_on_the_interpreter_nor_on_the_call(depth: int, calls: int) -> None:
    is_read = depth <= DEPTH_AT_MOST
    read = called_at(calls, lambda: bodies.light(nested(depth)))
    assert (read is not None) == is_read
    if is_read:
        assert called_at(calls, lambda: bodies.decode(nested(depth), None)) == read
    else:
        with pytest.raises(MalformedBodyError, match="deeper than 64 levels"):
            called_at(calls, lambda: bodies.decode(nested(depth), None))


def test_what_nobody_asked_for_counts_too() -> None:
    """A decoder that skips a field is as deep in it as one that reads it."""
    assert bodies.light(nested(900), read_json=lambda _: {"id": "evt_1"}) is None


def test_a_stack_that_is_nearly_full_is_no_answer() -> None:
    text, limit = nested(DEPTH_AT_MOST), sys.getrecursionlimit()

    def read() -> object:
        return bodies.light(text, read_json=overflowing)

    def overflowing(_: bytes | str) -> None:
        raise RecursionError

    with pytest.raises(RecursionError):
        read()
    assert sys.getrecursionlimit() == limit


@pytest.fixture(params=[0, 640, 4_300, 100_000])
def integer_limit(request: pytest.FixtureRequest) -> Iterator[int]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield request.param
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("integer_limit")
@pytest.mark.parametrize("digits", [1, 19, 20, MOST_DIGITS, MOST_DIGITS + 1, 4_300, 4_301, 50_000])
def test_how_long_a_number_we_read_is_not_the_interpreters_to_say(digits: int) -> None:
    text = b'{"id":"evt_1","n":' + b"7" * digits + b"}"
    assert (bodies.light(text) is not None) == (digits <= MOST_DIGITS)
    if digits <= MOST_DIGITS:
        assert bodies.decode(text, None)["id"] == "evt_1"
    else:
        with pytest.raises(MalformedBodyError, match="more than 640 digits"):
            bodies.decode(text, None)


def test_many_digits_in_a_string_are_only_text() -> None:
    text = b'{"id":"' + b"7" * 5_000 + b'"}'
    assert bodies.light(text) == bodies.decode(text, None) == {"id": "7" * 5_000}
    with pytest.raises(BeyondLimitsError, match="640 digits"):
        read_json(text.replace(b'"id":', b'"n":' + b"7" * 700 + b',"id":'))


def test_characters_that_are_new_to_unicode_are_legible_on_every_interpreter() -> None:
    # Unicode 15 has U+1FAE8, which Python 3.11 does not know; 15.1 has U+2FFC, which 3.12 does not.
    assert all(map(is_legible, ["evt_1", "Zoë", "注文-7", "\U0001fae8", "\u2ffc"]))
    assert not any(map(is_legible, ["a\0b", "a\nb", "\u202e", "\ud800", "\xa0", "\ue000", "\ufeff"]))
    assert legible("a\u202eb\U0001fae8") == "a\ufffdb\U0001fae8"


@pytest.mark.parametrize("digits", [MOST_DIGITS - 1, MOST_DIGITS, MOST_DIGITS + 1, 3 * MOST_DIGITS])
def test_a_quick_look_never_misses_what_is_too_much(digits: int) -> None:
    for offset in range(MOST_DIGITS // 2):
        text = b'{"a":"%b","n":%b}' % (b"x" * offset, b"7" * digits)
        assert not (is_surely_within(text) and excess(text)), offset
    deep = b"[" * DEPTH_AT_MOST + b"]" * DEPTH_AT_MOST
    assert is_surely_within(deep) and not is_surely_within(b"[" + deep + b"]")
    assert is_surely_within(b'{"id":"evt_1","amount":1234567890,"at":1767225600}' * 20)
