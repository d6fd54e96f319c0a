"""What was forwarded, in a file on the laptop: one JSON object in each line, only ever added to.

Each event is written down, and on the disk, before its first byte is sent. Crash before that: it was not sent, and will
be. Crash after it: nobody knows whether it arrived, it is not sent again, and the next start says so.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from landfast.domain.errors import UserError

EVENTS_KEPT = 50_000
"""Ids that are remembered for good: a week or more of what a developer listens to."""


class Line(msgspec.Struct, omit_defaults=True):
    step: Literal["begun", "sent", "ended"]
    source: str
    event: str = ""
    at: datetime | None = None
    """Of begun: from when on the source is listened to. Of sent: when the event came; None for one that was asked for
    by name, because what came before it may not be forwarded yet."""
    outcome: str = ""


class Journal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self.known: set[str] = set()
        """Ids of events that were forwarded, or are under way."""
        self.unsure: dict[str, str] = {}
        """Ids of those whose end nobody has seen, with their sources."""
        self.begun: dict[str, datetime] = {}
        self._newest: dict[str, datetime] = {}

    def open(self) -> None:
        """UserError where another process forwards to the same place: both would send each event."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise UserError("listen: another landfast listen forwards from there to here; end that one first") from None
        except OSError as error:
            raise UserError(f"listen: --state {self._path}: {error.strerror}; give another file") from None
        lines = self._whole_lines()
        for line in lines:
            self._take(line)
        if len(self.known) > 2 * EVENTS_KEPT:
            self._shorten(lines)

    def close(self) -> None:
        """Safe twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def position(self, source: str) -> datetime | None:
        """Up to where a source was forwarded; None for one that was never listened to."""
        return self._newest.get(source)

    def begin(self, source: str, at: datetime) -> None:
        self._write(Line("begun", source, at=at))

    def about_to(self, source: str, event: str, at: datetime | None) -> None:
        """On the disk before anything is sent."""
        self._write(Line("sent", source, event, at))

    def ended(self, source: str, event: str, outcome: str) -> None:
        self._write(Line("ended", source, event, outcome=outcome))

    def _write(self, line: Line) -> None:
        try:
            self._append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise UserError(f"listen: --state {self._path}: {error.strerror}; make room, and start it again") from None
        self._take(line)

    def _append(self, encoded: bytes) -> None:
        written = os.write(self._file, encoded)
        if written < len(encoded):
            # The next line would run into what there is of this one. Crash before it is cut: the next start cuts it.
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(self._file)

    def _take(self, line: Line) -> None:
        if line.step == "sent":
            self.known.add(line.event)
            self.unsure[line.event] = line.source
        elif line.step == "ended":
            self.unsure.pop(line.event, None)
        elif line.at is not None:
            self.begun[line.source] = line.at
        if line.at is not None:
            self._newest[line.source] = max(line.at, self._newest.get(line.source, line.at))

    def _whole_lines(self) -> list[Line]:
        """What a crash left of a last line is cut off: nothing of it was sent, because it was not on the disk."""
        read = b"".join(self._chunks())
        whole = read[: read.rfind(b"\n") + 1]
        os.ftruncate(self._file, len(whole))
        try:
            return [msgspec.json.decode(line, type=Line) for line in whole.splitlines() if line.strip()]
        except msgspec.MsgspecError:
            self.close()
            raise UserError(f"listen: --state {self._path} is no file of landfast listen; give another") from None

    def _chunks(self) -> Iterator[bytes]:
        at = 0
        while chunk := os.pread(self._file, 1 << 20, at):
            at += len(chunk)
            yield chunk

    def _shorten(self, lines: list[Line]) -> None:
        """The newest ids, in a file that takes the place of this one at once. The lock goes with it."""
        sent = [line for line in lines if line.step == "sent"][-EVENTS_KEPT:]
        kept = [Line("begun", source, at=at) for source, at in self.begun.items()] + sent
        kept += [Line("ended", line.source, line.event) for line in sent if line.event not in self.unsure]
        beside = self._path.with_suffix(".new")
        beside.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
        new = os.open(beside, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        fcntl.flock(new, fcntl.LOCK_EX)
        os.fsync(new)
        beside.replace(self._path)
        self.close()
        self._file = new
        self.known = {line.event for line in sent}
