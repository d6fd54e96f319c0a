"""What the processes of this machine have counted, and how they say that they are: read from the pages that each was
given. What one counted that has ended goes on counting, so that no number goes backwards."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence

import msgspec

from landfast.domain.readiness import Readiness
from landfast.processes.children.note import Note
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.lives import News, ProcessKind
from landfast.telemetry import metrics
from landfast.telemetry.exposition import Sums
from landfast.telemetry.pages import Page, new_file

SILENT_SECONDS = 15.0
"""A process says every second how it is. One whose loop has stood still for so long is not ready."""


class Pages:
    def __init__(self) -> None:
        self._living: dict[int, tuple[ProcessKind, Page]] = {}
        """By the number of the process."""
        self._ended = Sums()

    async def start(self, kind: ProcessKind, command: Sequence[str], listener: socket.socket | None = None) -> Child:
        """Start a process that counts in a page of its own."""
        file = new_file()
        try:
            child = await Child.start(command, listener=listener, page=file)
            self._living[child.pid] = kind, Page(file)
        finally:
            os.close(file)
        return child

    def before(self, other: Callable[[News], None]) -> Callable[[News], None]:
        """Hear of it first, then the other one."""

        def heard(news: News) -> None:
            self.hear(news)
            other(news)

        return heard

    def hear(self, news: News) -> None:
        if news.what == "ended" and (found := self._living.pop(news.pid, None)) is not None:
            self._ended.add(found[1], has_ended=True)

    def sums(self) -> Sums:
        """Over all of them, and over this process."""
        sums = self._ended.copy()
        for page in (metrics.page(), *(page for _, page in self._living.values())):
            sums.add(page)
        return sums

    def readiness(self, kinds: frozenset[ProcessKind]) -> Readiness:
        """Ready while one process of each of these kinds is. The others say what is the matter with them."""
        now = time.monotonic()
        said = [(kind, _read(page, now)) for kind, page in self._living.values() if kind in kinds]
        ready = {kind for kind, readiness in said if readiness.is_ready}
        layers = dict.fromkeys(sorted(kinds - {kind for kind, _ in said}), "not running")
        for kind, readiness in said:
            told = ", ".join(f"{name} {word}" for name, word in readiness.layers.items() if word != "ok")
            layers[kind] = layers.get(kind, "") or told
        return Readiness(is_ready=ready == kinds, layers={kind: told or "ok" for kind, told in layers.items()})


def _read(page: Page, now: float) -> Readiness:
    try:
        note = msgspec.json.decode(page.note, type=Note)
    except msgspec.MsgspecError:  # it has said nothing yet
        return Readiness(is_ready=False, layers={"process": "starting"})
    if now - note.at > SILENT_SECONDS:
        return Readiness(is_ready=False, layers={"process": "stands still"})
    return Readiness(is_ready=note.ready, layers=note.layers)
