from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain import body
from landfast.domain.body import decode, light, moment
from landfast.domain.errors import MalformedBodyError
from landfast.domain.form import MOST_FORM_FIELDS
from landfast.domain.json_limits import DEPTH_AT_MOST, MOST_DIGITS

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


NUMBERS = [
    *(
        "0",
        "-0",
        "1",
        "01",
        "1.",
        "1.0",
        "1.50",
        "1e5",
        "1E5",
        "1e22",
        "1e999",
        "-1e999",
        "5e-324",
        "0.30000000000000004",
    ),
    *("9007199254740993", "-9223372036854775809", "18446744073709551616", "9" * 32, "NaN", "-Infinity"),
]
STRINGS = [
    *('""', '":"', '" : "', '"a"', '"b"', '"\x01"', '"\u2028"', '"é"'),
    *(r'"\""', r'"\/"', r'"\n"', r'"\u0041"', r'"\ud800"', r'"\u0000"'),
]
blanks = st.sampled_from(["", "", "", " ", "\n\t"])


def _joined(opening: str, items: st.SearchStrategy[str], closing: str) -> st.SearchStrategy[str]:
    parts = st.lists(st.tuples(blanks, items, blanks).map("".join), max_size=3)
    return parts.map(lambda found: opening + ",".join(found) + closing)


json_texts = st.recursive(
    st.sampled_from([*NUMBERS, *STRINGS, "true", "null", "nul"]) | st.floats().map(repr),
    lambda inner: (
        _joined("[", inner, "]")
        | _joined("{", st.tuples(st.sampled_from(STRINGS), blanks, st.just(":"), blanks, inner).map("".join), "}")
    ),
    max_leaves=8,
)


@given(json_texts)
def test_what_is_read_the_quick_way_is_what_the_strict_way_reads(text: str) -> None:
    quick = body._beyond_doubt(text.encode())
    if quick is not body._DOUBTFUL:
        assert repr(quick) == repr(body._strict_json(text))  # tells 1 from 1.0, and 0.0 from -0.0


@given(json_values)
def test_any_sound_json_decodes_to_itself(value: Any) -> None:
    assert decode(json.dumps(value).encode(), JSON) == value
    assert decode(json.dumps(value, ensure_ascii=False).encode(), None) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is empty"),
        (b" \n", "the body is empty"),
        (b"\xff{}", "not UTF-8: byte 0"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"hello", "not JSON"),
        (b'{"a":1} x', "not JSON: Extra data at character 8"),
        (b'{"a":1}{"a":1}', "not JSON: Extra data"),
        (b"{'a':1}", "not JSON"),
        (b'{"a":1,}', "not JSON"),
        (b'{"a":"\n"}', "not JSON"),
        (b'{"a":"\x00"}', "not JSON"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b"[Infinity]", "Infinity is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "1e999 is out of range"),
        (b'{"id":1,"b":{"x":1,"y":2,"x":3}}', "the key 'x' stands twice"),
        (b'{"a":1,"\\u0061":2}', "the key 'a' stands twice"),
        (b"[" + b"9" * (MOST_DIGITS + 1) + b"]", "more than 640 digits"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"\\udfff":1}', "surrogate"),
        (b'{"a":"\\u0000"}', "NUL"),
        (b'{"a\\u0000":1}', "NUL"),
        (b"[" * (DEPTH_AT_MOST + 1) + b"]" * (DEPTH_AT_MOST + 1), "deeper than 64"),
        (b"[" * 100_000 + b"]" * 100_000, "deeper than 64"),
        (b'{"a":' * 100_000, "deeper than 64"),
    ],
)
def test_a_body_that_readers_could_disagree_about_is_refused_with_its_reason(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedBodyError, match=reason):
        decode(body, JSON)


@pytest.mark.parametrize("inner", [b"", b"1"])
def test_the_deepest_nesting_allowed_is_decoded(inner: bytes) -> None:
    assert decode(b"[" * DEPTH_AT_MOST + inner + b"]" * DEPTH_AT_MOST, JSON)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert len(decode(b"[" + b"[]," * 500 + b"[]]", JSON)) == 501


def test_a_whole_surrogate_pair_and_other_escapes_are_fine() -> None:
    assert decode(b'{"a":"\\ud83d\\ude00 \\u00e9"}', JSON) == {"a": "\U0001f600 é"}


def test_many_keys_with_a_repeated_one_at_the_end_are_refused_quickly() -> None:
    keys = ",".join(f'"k{number}":0' for number in range(50_000))
    with pytest.raises(MalformedBodyError, match="'k49999'"):
        decode(f'{{{keys},"k49999":1}}'.encode(), JSON)


def test_a_form_decodes_to_its_fields() -> None:
    assert decode(b"a=1&b=%C3%A9+x&a=2&c=&a=3", FORM + "; charset=utf-8") == {"a": ["1", "2", "3"], "b": "é x", "c": ""}
    assert light(b"a=1&b=2") == {"a": "1", "b": "2"}


def test_json_wrapped_in_a_form_decodes_to_the_json() -> None:
    body = b"payload=%7B%22yo%22%3Atrue%7D"
    assert decode(body, FORM) == {"yo": True}
    assert light(body) == {"yo": True}
    with pytest.raises(MalformedBodyError, match="twice"):
        decode(b"payload=%7B%22a%22%3A1%2C%22a%22%3A2%7D", FORM)


def test_json_that_calls_itself_a_form_is_json() -> None:
    assert decode(b' {"a":1}', FORM) == {"a": 1}
    assert light(b'[{"a":1}]') == [{"a": 1}]


def test_json_is_tried_whatever_the_content_type_says() -> None:
    assert decode(b'{"a":1}', "text/plain") == {"a": 1}
    with pytest.raises(MalformedBodyError, match="not JSON"):
        decode(b"<a/>", "application/xml")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"a=%00", "NUL"),
        (b"%00=a", "NUL"),
        (b"a=%ff", "form cannot be read"),
        (b"a&" * (MOST_FORM_FIELDS + 1), "form cannot be read"),
    ],
)
def test_a_form_that_cannot_be_stored_as_text_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedBodyError, match=reason):
        decode(body, FORM)


@given(st.binary(), st.none() | st.sampled_from([JSON, FORM, "text/xml"]) | st.text())
def test_no_body_raises_anything_unforeseen(body: bytes, content_type: str | None) -> None:
    light(body)
    with contextlib.suppress(MalformedBodyError):
        decode(body, content_type)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b'{"a":"\xff"}', b"[" * 100_000, b'{"a":' * 100_000, b"nope", b"9" * 5000, b'{"a":"\\ud800"}'],
)
def test_a_glance_at_a_broken_body_gives_nothing(body: bytes) -> None:
    assert light(body) is None


@pytest.mark.parametrize(
    "value",
    [
        1767323045,
        1767323045.0,
        1767323045000,
        "1767323045",
        "1767323045000",
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T05:04:05.000000000+02:00",
        " 2026-01-02 03:04:05+00:00 ",
    ],
)
def test_every_way_to_write_a_time_is_understood(value: object) -> None:
    assert moment(value) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_nanoseconds_are_cut_to_microseconds() -> None:
    assert moment("2026-01-02T03:04:05.123456789Z") == datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        None, True, [], {}, "", "soon", 0, -1, -1.5, 1e30, 10**400, float("nan"), float("inf"), "1e30", "9" * 40, "9" * 5000,
        "NaN", "²", "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+12:00", "9999-12-31T23:59:59-12:00", "1969-12-31T23:59:59Z", "2026-13-01",
    ],
)  # fmt: skip
def test_nonsense_is_no_time(value: object) -> None:
    assert moment(value) is None


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.datetimes().map(str)))
def test_no_value_makes_reading_a_time_raise(value: object) -> None:
    at = moment(value)
    assert at is None or (at.tzinfo is UTC and at.year >= 1970)


@pytest.mark.parametrize("text", [b'"a=b"', b' "=\\n"', b'"\\u00e9v1=\\n"'])
def test_a_text_of_json_with_an_equals_sign_is_no_form_to_anybody(text: bytes) -> None:
    assert light(text) == decode(text, None) == json.loads(text)
