"""Where one process counts: memory that it shares with whoever started it.

What is counted stands there at once, so nothing of it is lost when the process is killed, and nobody has to ask it.
Only the process itself writes; whoever started it reads, also after its end.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

SLOTS = 8192
"""Numbers of a page. A histogram takes fifteen of them, so there is room for some hundred handlers."""

NAMELESS_SLOTS = 32
"""The first ones, which are never told: what a page has no room for is counted there, and needs no question whether."""

NOTE_BYTES = 4096
"""Of what the process says about itself, in JSON. There are two places, and it writes to the one that nobody reads."""

NAMES_BYTES = 512 * 1024
"""Of the names of what is counted: sixty for each slot."""

_HEADER = struct.Struct("=QQ")
"""Bytes of names that are whole; bytes of the note, times two, plus which of its two places it is in."""

_VALUES_AT = _HEADER.size
_NOTES_AT = _VALUES_AT + SLOTS * 8
_NAMES_AT = _NOTES_AT + 2 * NOTE_BYTES
PAGE_BYTES = _NAMES_AT + NAMES_BYTES


class Series(NamedTuple):
    """What some numbers of a page are."""

    name: str
    labels: tuple[str, ...]
    values: tuple[float, ...]


class Page:
    def __init__(self, file: int) -> None:
        """Over a file of at least this size, which the caller closes or keeps."""
        self._memory = memoryview(mmap.mmap(file, PAGE_BYTES))
        self._header = self._memory[:_VALUES_AT].cast("Q")
        self.values = self._memory[_VALUES_AT:_NOTES_AT].cast("d")
        self._used = NAMELESS_SLOTS
        """Slots that have a name. Only who writes counts them."""

    def name(self, name: str, labels: tuple[str, ...], slots: int) -> int:
        """The first of so many slots for this; 0, which is nameless, when the page is full."""
        line = json.dumps([name, labels, self._used, slots]).encode() + b"\n"
        length = self._header[0]
        if self._used + slots > SLOTS or length + len(line) > NAMES_BYTES:
            return 0
        self._memory[_NAMES_AT + length : _NAMES_AT + length + len(line)] = line
        self._header[0] = length + len(line)  # last: a reader believes no name of which this is not said
        first, self._used = self._used, self._used + slots
        return first

    def series(self) -> Iterator[Series]:
        """All that is counted here, as it is now."""
        names = bytes(self._memory[_NAMES_AT : _NAMES_AT + self._header[0]])
        for line in names.splitlines():
            name, labels, first, slots = json.loads(line)
            yield Series(name, tuple(labels), tuple(self.values[first : first + slots]))

    @property
    def note(self) -> bytes:
        """What the process said about itself last; empty before it did."""
        length, place = divmod(self._header[1], 2)
        start = _NOTES_AT + place * NOTE_BYTES
        return bytes(self._memory[start : start + length])

    @note.setter
    def note(self, said: bytes) -> None:
        if len(said) > NOTE_BYTES:
            return
        place = 1 - self._header[1] % 2
        start = _NOTES_AT + place * NOTE_BYTES
        self._memory[start : start + len(said)] = said
        self._header[1] = 2 * len(said) + place


def new_file() -> int:
    """The descriptor of memory for a page, in no folder: it is gone with the last process that has it open."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("landfast-page")
    else:  # not Linux
        with tempfile.TemporaryFile() as unnamed:
            file = os.dup(unnamed.fileno())
    os.ftruncate(file, PAGE_BYTES)
    return file


def new_page() -> Page:
    """One of this process's own, that nobody else reads."""
    file = new_file()
    try:
        return Page(file)
    finally:
        os.close(file)
