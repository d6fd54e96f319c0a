"""What a scheme reads of a stranger's body to find out whether he is none: where his proof stands, and what it covers.

Decoded are those fields alone, and of lists as many items as anybody sends. Everything else is passed over, and what
has another shape is not there. It only turns strangers away. A request that passes is read again, whole, and verified
by that: then what was verified and what is handed on are the same, whatever the two readers make of a body.
"""

from __future__ import annotations

from collections.abc import Iterable

from landfast.domain.errors import ConfigError
from landfast.providers.locations import split_place
from landfast.providers.outline import Decode, outline


def skimmer(places: Iterable[str], *kinds: str) -> Decode:
    """A decoder of the fields of these kinds, for texts that nobody has proven."""
    paths = []
    for place in places:
        kind, rest = split_place(place)
        path = rest.split(".")
        if kind in {"header", "query", "always", "signed"}:
            continue
        if kind == "name" or any(step == "*" or step.isdecimal() for step in path):
            raise ConfigError(f"{place!r} cannot be part of a proof: that is read from fields whose names are known")
        if kind == "xml":
            path = path[:1]
        if {"xml": "body", "parent": "body"}.get(kind, kind) in kinds:
            paths.append(path)
    return outline(paths)
