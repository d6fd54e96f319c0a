"""Type patterns: `payment_intent.*` matches any type that starts so; `*` stands for any run of characters."""

from __future__ import annotations

from functools import lru_cache


def matches(pattern: str, text: str) -> bool:
    """In time that grows with the text and not with the ways in which stars could share it: an operator's filter is
    such a pattern, too, and what it is held against may be a sender's."""
    if pattern == text or "*" not in pattern:
        return pattern == text
    first, middle, last = _parts(pattern)
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in middle:
        found = text.find(part, at, end)  # the first place is the best one: it leaves the most to the others
        if found < 0:
            return False
        at = found + len(part)
    return True


def overlap(one: str, other: str) -> bool:
    """Whether there is a type that both match."""
    if not one or not other:
        return not (one or other).strip("*")
    if one[0] == "*":
        return overlap(one[1:], other) or overlap(one, other[1:])
    if other[0] == "*":
        return overlap(other, one)
    return one[0] == other[0] and overlap(one[1:], other[1:])


@lru_cache(maxsize=1024)  # patterns come from code and config, a handful each
def _parts(pattern: str) -> tuple[str, tuple[str, ...], str]:
    first, *middle, last = pattern.split("*")
    return first, tuple(filter(None, middle)), last
