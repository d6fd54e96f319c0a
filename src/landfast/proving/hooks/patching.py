"""A function of a library's, replaced for as long as a proof takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched(owner: Any, name: str, make: Callable[[Callable[..., Any]], Any]) -> Iterator[None]:
    """A name that is not there is left alone: another version of the library calls it otherwise."""
    found = vars(owner).get(name)
    original = getattr(owner, name, None)
    if original is None:
        yield
        return
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        if found is None:
            delattr(owner, name)
        else:
            setattr(owner, name, found)
