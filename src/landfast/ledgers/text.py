"""Text that every database takes."""

from __future__ import annotations


def storable(text: str) -> str:
    """Without NUL and lone surrogates, which PostgreSQL refuses: an error message must not keep its own error out."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
