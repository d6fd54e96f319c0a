"""Decode only the fields that a profile reads: a third of the time of decoding a whole body of 2 KB.

Nobody can make us decode the rest. A field that holds another shape than the profile expects is not there; its list of
eight million lists is passed over, and the fields beside it are read. Only what a key is made of may have any shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypedDict

import msgspec

from landfast.providers.locations import paths as paths_of

Decode = Callable[[bytes | str], Any]
Tree = dict[str, "Tree | None"]
"""Fields by name, with those below them; None for one that is read whole."""

Scalar = str | int | float | bool | None
"""What an id, a type or a time can be."""

_read_scalar = msgspec.json.Decoder(Scalar).decode


def outlined(places: Sequence[str], key_places: Sequence[str] | None, *kinds: str) -> Callable[[bytes | str], Any]:
    """A decoder of what the profile reads there; of all, where the key is made of all."""
    if key_places is None:
        return msgspec.json.decode
    read, whole = ([path for place in some for path in paths_of(place, *kinds)] for some in (places, key_places))
    return outline(read, whole=whole)


def outline(paths: Iterable[Sequence[str]], *, whole: Iterable[Sequence[str]] = ()) -> Decode:
    """A JSON decoder that skips what is on none of the paths. At the end of a path is a scalar, of one that is read
    whole anything."""
    tree: Tree = {}
    for path, is_whole in (*((path, False) for path in paths), *((path, True) for path in whole)):
        if any(step.isdecimal() or step == "*" for step in path):
            return msgspec.json.decode  # an index into a list, and a field of any name, need all of it
        _plant(tree, path, is_whole=is_whole)

    @cache
    def decoders() -> tuple[Decode, Decode]:
        """Made when a body comes: a process that knows a hundred providers hears from a few."""
        return msgspec.json.Decoder(_object(tree)).decode, _by_level(tree)

    def decode(text: bytes | str) -> Any:
        decode_at_once, decode_by_level = decoders()
        try:
            return decode_at_once(text)
        except msgspec.ValidationError:
            pass
        try:
            return decode_by_level(text)
        except msgspec.ValidationError:  # no object at all
            return None

    return decode


def _plant(tree: Tree, path: Sequence[str], *, is_whole: bool) -> None:
    *above, last = path
    for step in above:
        branch = tree.setdefault(step, {})
        if branch is None:
            return
        tree = branch
    if is_whole:
        tree[last] = None
    else:
        tree.setdefault(last, {})


def _object(tree: Tree) -> Any:
    fields = {
        name: Any if below is None else _object(below) | Scalar if below else Scalar for name, below in tree.items()
    }
    return TypedDict("Outline", fields, total=False)  # type: ignore[operator]  # its fields are known only here


def _by_level(tree: Tree) -> Decode:
    """The same, for a text of which some field has another shape: that one is left out."""
    fields = dict.fromkeys(tree, msgspec.Raw)
    level: Any = TypedDict("Level", fields, total=False)  # type: ignore[misc]  # as above
    read_level: Any = msgspec.json.Decoder(level).decode
    below = {name: _by_level(branch) for name, branch in tree.items() if branch}
    whole = {name for name, branch in tree.items() if branch is None}

    def decode(text: bytes | str) -> Any:
        found: dict[str, Any] = {}
        for name, raw in read_level(text).items():
            is_object = name in below and bytes(memoryview(raw)[:1]) == b"{"
            read = below[name] if is_object else msgspec.json.decode if name in whole else _read_scalar
            try:
                found[name] = read(raw)
            except msgspec.ValidationError:
                continue
        return found

    return decode
