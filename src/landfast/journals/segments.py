"""One segment of a spool: a file that one process has locked, written to at its end and drained from its start."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from landfast import telemetry
from landfast.domain.delivery import Delivery
from landfast.journals.files import Files
from landfast.journals.records import MARK_BYTES, Damaged, Whole, count, decode_mark, encode, encode_mark, find

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Place(NamedTuple):
    """Where a record stands."""

    segment: Segment
    start: int
    end: int


class Segment:
    def __init__(self, path: Path, descriptor: int, files: Files) -> None:
        self.path = path
        self.end = MARK_BYTES
        """Everything before it is on the disk for good."""
        self.is_given_up = False
        """Nothing may be written to it any more."""
        self.records = 0
        """Waiting in it."""
        self.waits_for_key = False
        """Whether it has a record that does not open with the master keys of this process."""
        self._seed = seed_of(path)
        self._descriptor = descriptor
        self._files = files
        self._drained = MARK_BYTES
        self._next = MARK_BYTES
        self._settled: dict[int, int] = {}

    @classmethod
    def create(cls, path: Path, files: Files) -> Segment:
        """Crash before the folder is synced: nobody was answered for what is in it."""
        segment = cls(path, files.create(path), files)
        try:
            segment._save_mark()
            files.sync_folder(path.parent)
        except BaseException:
            segment.discard()
            segment.close()
            raise
        return segment

    @classmethod
    def adopt(cls, path: Path, files: Files) -> Segment | None:
        """One that was left behind; None if it is somebody's. Nothing is written to it, it is only drained."""
        descriptor = files.adopt(path)
        if descriptor is None:
            return None
        segment = cls(path, descriptor, files)
        segment.is_given_up = True
        try:
            segment.end = max(MARK_BYTES, files.size(descriptor))
            segment._drained = segment._next = decode_mark(segment._read(MARK_BYTES, 0), seed=segment._seed)
            segment.records = count(segment._read, segment._next, segment.end, seed=segment._seed)
        except BaseException:
            segment.close()
            raise
        return segment

    @property
    def is_drained(self) -> bool:
        return self._drained >= self.end

    @property
    def is_stuck(self) -> bool:
        """Nothing more can be taken from it before the next start, which may have the key that is missing."""
        return self.waits_for_key and self.is_given_up and self._next >= self.end

    def append(self, content: bytes, records: int) -> None:
        """One write and one sync. OSError: nothing of it counts. Crash before the sync is over: nobody was answered;
        after it: whoever adopts the segment finds them."""
        try:
            self._files.write(self._descriptor, content, self.end)
        except OSError as error:
            # A disk that is full may have room again; on one that fails, the next sync would prove nothing.
            self.is_given_up = error.errno not in NO_ROOM or not self._cut_back()
            raise
        try:
            self._files.sync(self._descriptor)
        except OSError:
            # Linux forgets which pages it could not write: the next sync on this file would succeed without them.
            self.is_given_up = True
            self._cut_back()
            raise
        if not self._files.has_name(self._descriptor):
            # Somebody has removed it. While we live it is drained; nobody would find it after us.
            self.is_given_up = True
            raise OSError(errno.ENOENT, f"{self.path.name} is not there any more")
        self.end += len(content)
        self.records += records

    def take(self) -> tuple[Place, Whole] | None:
        """The next record that is neither taken nor settled. What cannot be read is set aside on the way."""
        while self._next < self.end:
            if self._next in self._settled:
                self._next = self._settled[self._next]
                continue
            found = find(self._read, self._next, self.end, seed=self._seed)
            self._next = found.end
            if isinstance(found, Whole):
                return Place(self, found.start, found.end), found
            self._set_aside_damaged(found)
        return None

    def give_back(self, place: Place) -> None:
        self._next = min(self._next, place.start)

    def settle(self, place: Place) -> None:
        """It is in the inbox, or set aside."""
        self._settle(place.start, place.end)
        self.records = max(0, self.records - 1)

    def set_aside(self, start: int, deliveries: Sequence[Delivery]) -> Path:
        """Write these, of the record at `start`, to a file of their own, for an operator."""
        return self._keep(start, encode(deliveries, seed=self._seed))

    def _keep(self, start: int, content: bytes) -> Path:
        """It is a segment too: renamed to .seg, it is read again. Crash before its folder is synced: what stands at
        `start` is still here, and is set aside once more."""
        path = self.path.with_name(f"{self.path.stem}-{start}.bad")
        for left in (path, path.with_suffix(".new")):
            self._files.unlink(left)
        descriptor = self._files.create(path)
        try:
            mark = encode_mark(MARK_BYTES, seed=self._seed)
            self._files.write(descriptor, mark + content, 0)
            self._files.sync(descriptor)
            self._files.sync_folder(path.parent)
        finally:
            self._files.close(descriptor)
        return path

    def save(self) -> None:
        """Note how far it is drained, so that the next start does not drain it again from the beginning."""
        with suppress(OSError):
            self._save_mark()

    def discard(self) -> bool:
        """Whether it could be removed. Crash before the name is gone for good: it is drained again, and the inbox knows
        all of it."""
        try:
            self._files.unlink(self.path)
        except OSError:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Let go of the lock: from here on it is anybody's."""
        descriptor, self._descriptor = self._descriptor, -1  # its number may be another file's in a moment
        if descriptor >= 0:
            with suppress(OSError):
                self._files.close(descriptor)

    def _read(self, size: int, offset: int) -> bytes:
        return self._files.read(self._descriptor, size, offset)

    def _save_mark(self) -> None:
        self._files.write(self._descriptor, encode_mark(self._drained, seed=self._seed), 0)

    def _cut_back(self) -> bool:
        """To the last record that counts. What is left otherwise was never acknowledged, and does no harm."""
        try:
            self._files.cut(self._descriptor, self.end)
        except OSError:
            return False
        return True

    def _settle(self, start: int, end: int) -> None:
        self._settled[start] = end
        while self._drained in self._settled:
            self._drained = self._settled.pop(self._drained)

    def _set_aside_damaged(self, damaged: Damaged) -> None:
        size = damaged.end - damaged.start
        try:
            content = self._read(size, damaged.start)
            kept = self._keep(damaged.start, content).name if any(content) else "zeros"
        except OSError as error:
            # It stays where it is, and its segment with it; what stands behind it is drained.
            telemetry.error("spool_record_not_set_aside", file=self.path.name, at=damaged.start, error=error)
            return
        facts: dict[str, Any] = {"file": self.path.name, "at": damaged.start, "bytes": size, "kept": kept}
        if damaged.is_tail:
            telemetry.warn("spool_tail_torn", **facts)
        else:
            telemetry.error("spool_record_damaged", **facts)
        self._settle(damaged.start, damaged.end)


def seed_of(path: Path) -> int:
    """What the CRCs in a segment begin with: its boot, drawn by chance, as its name says."""
    return zlib.crc32(path.stem.split("-")[1].encode())
