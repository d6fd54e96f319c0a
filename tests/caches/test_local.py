from __future__ import annotations

import pytest

from landfast.caches.local import LocalSeen
from landfast.domain.ids import SeenMark

A, B, C = (SeenMark(letter * 16) for letter in (b"a", b"b", b"c"))


@pytest.mark.req("R5")
def test_it_has_what_it_was_told_and_nothing_else() -> None:
    seen = LocalSeen()
    assert not seen.has(A)
    seen.remember([A])
    assert seen.has(A) and not seen.has(B)


def test_it_forgets_the_least_recently_asked_for_first() -> None:
    seen = LocalSeen(2)
    seen.remember([A, B])
    assert seen.has(A)
    seen.remember([C])
    assert seen.has(A) and seen.has(C) and not seen.has(B)
    assert len(seen) == 2


def test_it_can_forget_everything() -> None:
    seen = LocalSeen()
    seen.remember([A])
    seen.clear()
    assert not seen.has(A)
