"""What a scheme reads of a stranger's body to find out whether he is none: where his proof stands, and what it covers.

Decoded are those fields alone, and of lists as many items as anybody sends. Everything else is passed over, and what
has another shape is not there: one pass over the text, whatever is in it. It only turns strangers away. A request that
passes is read again, whole, and verified by that: then what was verified and what is handed on are the same, whatever
the two readers make of a body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

import msgspec

from landfast.domain.errors import ConfigError
from landfast.providers.items import MOST_ITEMS, plain_path
from landfast.providers.locations import split_place
from landfast.providers.outline import Decode, Scalar

Tree = dict[str, "Tree"]
"""Fields by name, with those below them; none below a scalar."""

_List = msgspec.defstruct("_List", [], array_like=True)
_Object: Any = TypedDict("_Object", {}, total=False)
"""Any list and any object, passed over."""


class Skimmer:
    """A decoder of some fields, for texts that nobody has proven."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._decode = msgspec.json.Decoder(_object(tree)).decode
        self.names = frozenset(name.encode() for name in tree)
        """Of the fields, as those of a form."""

    def __call__(self, text: bytes | str) -> Any:
        try:
            return _pruned(self._decode(text), self._tree) if self._tree else {}
        except msgspec.ValidationError:  # no object at all, or a number that nobody reads
            return None


def skimmer(places: Iterable[str], *kinds: str) -> Skimmer:
    """A decoder of the fields of these kinds."""
    return Skimmer(_tree(places, kinds))


def items_skimmer(location: str, places: Iterable[str]) -> Decode | None:
    """A decoder of these fields of each item, up to one more than anybody sends: a list, or None where there is none.
    None itself for lists in lists, and in forms."""
    path = plain_path(location)
    if path is None:
        return None
    tree = _tree(places, ("item",))
    item = _object(tree) | Scalar | _List
    fields: Any = [(f"item_{number}", item, msgspec.UNSET) for number in range(MOST_ITEMS + 1)]
    items = msgspec.defstruct("_Items", fields, array_like=True)
    shape: Any = items
    for step in reversed(path):
        shape = _typed({step: shape | Scalar | (_Object if shape is items else _List)})
    decode = msgspec.json.Decoder(shape).decode

    def skim(text: bytes | str) -> Any:
        try:
            found: Any = decode(text)
        except msgspec.ValidationError:
            return None
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
        if not isinstance(found, items):
            return None
        return [_pruned(each, tree) for each in msgspec.structs.astuple(found) if each is not msgspec.UNSET]

    return skim


def _tree(places: Iterable[str], kinds: Iterable[str]) -> Tree:
    tree: Tree = {}
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
            branch = tree
            for step in path:
                branch = branch.setdefault(step, {})
    return tree


def _object(tree: Tree) -> Any:
    return _typed({name: (_object(below) if below else _Object) | Scalar | _List for name, below in tree.items()})


def _typed(fields: dict[str, Any]) -> Any:
    return TypedDict("_Skimmed", fields, total=False)  # type: ignore[operator]  # its fields are known only here


def _pruned(found: Any, tree: Tree) -> Any:
    """Without what has another shape than a field of that name: it is not there."""
    if not isinstance(found, dict):
        return None if isinstance(found, _List) else found
    kept = {}
    for name, value in found.items():
        if isinstance(value, dict) and tree[name]:
            kept[name] = _pruned(value, tree[name])
        elif not isinstance(value, dict | _List):
            kept[name] = value
    return kept
