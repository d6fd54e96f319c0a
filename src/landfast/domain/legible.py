"""Which text may stand as it is in a key, a type or a line of a log.

Not `str.isprintable`: it knows the characters of its Python's Unicode, which grows from one version to the next. A new
emoji in an id would be a key on one machine and a digest on another, and the event would run twice.
"""

from __future__ import annotations

import re

# What a terminal obeys or nobody sees: controls, format characters, separators but the blank, halves of surrogate
# pairs, private use. Written down once, from Unicode 14: what is not in it stays legible, whoever assigns it a meaning.
_ILLEGIBLE = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u2064\u2066-\u206f\u3000\ud800-\uf8ff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U00013438"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f\U000f0000-\U000ffffd"
    "\U00100000-\U0010fffd]"
)


def is_legible(text: str) -> bool:
    # Of ASCII every version knows the same.
    return text.isprintable() if text.isascii() else _ILLEGIBLE.search(text) is None


def legible(text: str) -> str:
    """The same, with a replacement character for each that is not."""
    return _ILLEGIBLE.sub("\ufffd", text)
