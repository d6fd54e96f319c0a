"""Text that every database takes.

PostgreSQL refuses NUL and half a surrogate pair. An error message with one must not keep its own error out of the
database, so messages are repaired; keys are not, because two that differ must stay different.
"""

from __future__ import annotations

import hashlib

TEXT_LIMIT = 512
"""Characters of a key, type or entity: the inbox's own limit, far above what any provider sends."""


def storable(text: str) -> str:
    """A message, with a replacement for each character that some database refuses."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd") if text else text


def storable_key(key: str) -> str:
    """A key, or its digest where it is unfit: never cut or repaired."""
    return key if is_storable(key) else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def storable_name(text: str) -> str:
    """A type or an entity, repaired and cut."""
    return _without_surrogates(text).replace("\0", "\ufffd")[:TEXT_LIMIT]


def is_storable(text: str) -> bool:
    """Whether a key, type or entity may stay as it is."""
    return len(text) <= TEXT_LIMIT and "\0" not in text and (text.isascii() or text == _without_surrogates(text))


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
