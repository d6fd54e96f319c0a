"""Repeats: the same bytes that came before, at a source where every arrival is an event by design.

A sender that announces two changes in the same words looks just like somebody who sends a captured request again: so
both are processed, and an operator can see how many there were.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

REMEMBERED_BODIES = 10_000
"""Bodies, by digest: about 2 MB. A captured request that is sent again after so many others is not counted."""

PREFIX = "repeats:"
"""Of the meter's name; the source's comes behind it."""


class Repeats:
    def __init__(self) -> None:
        self._bodies: dict[bytes, None] = {}
        self._counts: Counter[str] = Counter()

    def note(self, source: str, body: bytes) -> None:
        digest = hashlib.sha256(source.encode() + b"\0" + body).digest()[:16]
        if digest in self._bodies:
            self._counts[source] += 1
            del self._bodies[digest]  # to the end: the one that was seen longest ago is forgotten first
        elif len(self._bodies) >= REMEMBERED_BODIES:
            del self._bodies[next(iter(self._bodies))]
        self._bodies[digest] = None

    def meters(self) -> Mapping[str, int]:
        return {f"{PREFIX}{source}": count for source, count in self._counts.items()}
