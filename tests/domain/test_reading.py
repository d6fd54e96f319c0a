"""What a version of an event is read as. Its sender writes it, so it may be anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.reading import version_place

TOO_LARGE = ["1e1000000", "-1e1000000", "1e999990", "1e33", "2e32", "1e" + "9" * 30, "9" * 100_000, 10**600, 1e308]
NO_NUMBERS = ["NaN", "sNaN", "Infinity", "-Infinity", float("nan"), float("inf"), "x", "", True, None, []]

exponents = st.integers(-(10**20), 10**20) | st.integers(-40, 40)
written = st.builds("{}{}e{}".format, st.sampled_from(["", "-"]), st.integers(0, 10**40), exponents)
strange = st.sampled_from(
    ["NaN", "sNaN", "-sNaN123", "Infinity", "-inf", "", ".", "e", "1e", "0x1", "9999-12-31T24:00"]
)


@pytest.mark.parametrize("version", [*TOO_LARGE, *NO_NUMBERS], ids=lambda version: repr(version)[:20])
def test_what_is_no_version_or_too_large_for_one_is_none(version: object) -> None:
    """Without a limit a few characters are a minute's work, or an error that nobody expects."""
    assert version_place(version) is None


@given(written | strange | st.text() | st.floats() | st.integers())
def test_a_version_is_sixteen_bytes_or_none_whatever_was_sent(version: object) -> None:
    place = version_place(version)
    assert place is None or len(place) == 16


@given(st.integers(-(10**20), 10**20), st.integers(-(10**20), 10**20))
def test_places_sort_as_versions_do(one: int, other: int) -> None:
    places = version_place(one), version_place(str(other))
    assert places[0] is not None and places[1] is not None
    assert (places[0] < places[1], places[0] == places[1]) == (one < other, one == other)
