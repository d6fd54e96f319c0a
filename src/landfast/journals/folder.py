"""A spool's folder: the segments of it that this process holds. Used by one thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from landfast import telemetry
from landfast.domain.delivery import Delivery
from landfast.domain.errors import ConfigError, JournalUnavailableError
from landfast.domain.ids import BootId
from landfast.journals.files import Files
from landfast.journals.records import MARK_BYTES, Whole, encode, find
from landfast.journals.segments import NO_ROOM, Segment, seed_of
from landfast.ports.backlog import Taken

SEGMENTS_AT_MOST = 64
"""How many of them share the limit. Each that waits keeps a descriptor open, and draining frees one after the other."""

SMALLEST_SEGMENT_BYTES = 1024 * 1024
"""Bytes of a segment, at least: below, making files would cost more than filling them."""

ADOPTED_SEGMENTS = 64
"""Segments held, above which no more are adopted before some are drained: a process that died a thousand times in one
outage left a thousand, and descriptors are for senders too."""

TAKEN_BYTES = 8 * 1024 * 1024
"""Bytes of records taken at a time: as much as a batch of live deliveries may have."""

NAME = re.compile(r"\d{13,}-[0-9a-f]+-\d{6,}(-\d+)*\.(seg|bad)")
"""However long its numbers have grown: a segment that is not known by its name is never drained."""


class Folder:
    def __init__(self, path: Path, *, boot: BootId, began: float, limit: int, files: Files) -> None:
        self._path = path
        self._files = files
        self._limit = limit
        # By time, so that the segments of all boots sort by age; by boot, so that no two processes share one.
        self._stem = f"{int(began * 1000):013}-{boot.hex()}"
        self._seed = seed_of(self._name(0))
        self._number = 0
        self._writing: Segment | None = None
        self._segments: list[Segment] = []
        self._elsewhere = 0
        """Bytes in the folder that are not ours: of other processes, and set aside."""
        self._unreadable: set[str] = set()
        """Segments that the log has a line about."""
        self._is_listed = True
        """Whether the last look around went well; if not, the log has a line about it."""
        self._keys_missing: set[str] = set()
        """What the log has said about master keys that are not here."""
        self._let_go: dict[str, int] = {}
        """Segments that wait for a master key and made room for others, and how many records wait in each."""
        self._taken_over: set[str] = set()
        self.adopted_boots: frozenset[str] = frozenset()
        """Dead ones, in hexadecimal, of which no segment is left that this process has not taken over."""

    @property
    def records(self) -> int:
        """Waiting in the segments that this process has taken over or made."""
        return sum(segment.records for segment in tuple(self._segments)) + sum(self._let_go.values())

    @property
    def size(self) -> int:
        """Bytes in the segments that this process holds."""
        return sum(segment.end for segment in tuple(self._segments))

    def open(self) -> None:
        """Make it where it is missing, try it, and adopt what was left behind in it."""
        try:
            missing = [folder for folder in (self._path, *self._path.parents) if not folder.is_dir()]
            if missing:
                self._path.mkdir(mode=0o700, parents=True, exist_ok=True)  # a neighbour may start at the same time
                for folder in missing:
                    self._files.sync_folder(folder.parent)
            for left in self._path.glob("*.new"):
                if (descriptor := self._files.adopt(left)) is not None:
                    self._files.unlink(left)
                    self._files.close(descriptor)
            trial = self._name(0)  # as a segment is called: crash before it is gone, and the next start clears it away
            descriptor = self._files.create(trial)
            try:
                self._files.unlink(trial)  # while it is locked, or a neighbour would take us for dead
            finally:
                self._files.close(descriptor)
            self.adopt()
        except (FileExistsError, NotADirectoryError):
            raise ConfigError(f"spool: {self._path} is a file, or in one; set spool to a folder") from None
        except OSError as error:
            raise ConfigError(
                f"spool: {self._path} cannot be written to ({error.strerror or error});"
                " fix its permissions, or set spool to another folder"
            ) from error

    def append(self, requests: Iterable[Sequence[Delivery]]) -> int:
        """Write all of them down, or JournalUnavailableError; how many records they are."""
        records = [encode(request, seed=self._seed) for request in requests]
        content = b"".join(records)
        if self.size + self._elsewhere + len(content) > self._limit:
            raise JournalUnavailableError(f"the spool {self._path} is full: {self._limit} bytes, as spool_limit says")
        try:
            self._append(content, len(records))
        except OSError as error:
            raise JournalUnavailableError(f"the spool {self._path} cannot be written to: {error}") from error
        return len(records)

    def adopt(self) -> None:
        """Take over what dead processes left, and learn how much room the living take."""
        held = {segment.path.name for segment in self._segments}
        elsewhere = 0
        not_ours: set[str] = set()
        sizes = dict(self._files.sizes(self._path))
        self._let_go = {name: records for name, records in self._let_go.items() if name in sizes}
        for name, size in sorted(sizes.items()):
            if name in held or not NAME.fullmatch(name):
                continue
            segment = self._adopt(name)
            if segment is None:
                elsewhere += size
                not_ours |= {_boot_in(name)} if name.endswith(".seg") and name not in self._let_go else set()
                continue
            self._segments.append(segment)
            self._taken_over.add(_boot_in(name))
            if segment.records:
                telemetry.info("spool_segment_adopted", file=name, count=segment.records)
        self._elsewhere = elsewhere
        self.adopted_boots = frozenset(self._taken_over - not_ours)
        self._segments.sort(key=lambda segment: segment.path.name)
        self._clear()

    def look_around(self) -> None:
        """Adopt; where the folder is gone or cannot be listed, go on without: what is held open can still be read, and
        nobody else would find it."""
        try:
            self.adopt()
        except OSError as error:
            if self._is_listed:
                telemetry.error("spool_folder_unreadable", folder=self._path, error=error)
            self._is_listed = False
        else:
            self._is_listed = True

    def take(self, limit: int) -> list[Taken]:
        taken: list[Taken] = []
        deliveries = size = 0
        for segment in self._segments:
            try:
                while deliveries < limit and size < TAKEN_BYTES and (found := segment.take()) is not None:
                    place, record = found
                    taken.append(Taken(record.deliveries, place))
                    deliveries += len(record.deliveries)
                    size += place.end - place.start
            except OSError as error:
                self._tell_unreadable(segment.path.name, error)
        if not taken:
            self._clear()  # of segments that held nothing but what was set aside
        return taken

    def forget(self, taken: Sequence[Taken]) -> None:
        for each in taken:
            each.handle.segment.settle(each.handle)
        for segment in {each.handle.segment for each in taken}:
            if not segment.is_drained:
                segment.save()
        self._clear()

    def give_back(self, taken: Iterable[Taken]) -> None:
        for each in taken:
            each.handle.segment.give_back(each.handle)

    def set_aside(self, taken: Taken, why: str) -> None:
        place = taken.handle
        try:
            kept = place.segment.set_aside(place.start, taken.deliveries)
        except OSError as error:
            # Left where it is: nothing is lost, and the next start tries again.
            telemetry.error("spool_record_not_set_aside", file=place.segment.path.name, error=error)
            return
        telemetry.error("spool_record_set_aside", kept=kept.name, error=why)
        self.forget([taken])

    def leave(self, closed: Iterable[tuple[Taken, str]]) -> None:
        """They need a master key that is not here, as each says. They stay where they are, and so do their segments: a
        start with that key drains them. A segment has one writer, and so needs that key as a whole."""
        for each, why in closed:
            each.handle.segment.waits_for_key = True
            if why not in self._keys_missing:  # once for each key, however many records need it
                telemetry.error("spool_key_missing", folder=self._path, error=why)
            self._keys_missing.add(why)

    def close(self) -> None:
        self._clear()
        for segment in self._segments:
            segment.close()
        self._segments.clear()
        self._writing = None

    def _adopt(self, name: str) -> Segment | None:
        if not name.endswith(".seg") or name in self._let_go or not self._has_room():
            return None
        try:
            return Segment.adopt(self._path / name, self._files)
        except OSError as error:
            self._tell_unreadable(name, error)
            return None

    def _has_room(self) -> bool:
        """For one more. A segment of which nothing opens makes room: it would take the place of those that do."""
        if len(self._segments) < ADOPTED_SEGMENTS:
            return True
        segment = next((segment for segment in self._segments if segment.is_stuck), None)
        if segment is None:
            return False
        self._let_go = {**self._let_go, segment.path.name: segment.records}  # a new one: others read it meanwhile
        self._segments.remove(segment)
        segment.close()
        return True

    def _tell_unreadable(self, name: str, error: OSError) -> None:
        """It stays, and is tried again; the others are drained meanwhile."""
        if name not in self._unreadable:
            telemetry.error("spool_segment_unreadable", file=name, error=error)
        self._unreadable.add(name)

    def _append(self, content: bytes, records: int) -> None:
        for is_last in (False, True):
            try:
                self._segment().append(content, records)
            except OSError as error:
                self._clear()
                # On another file once more: whether it is this file or the disk that fails, shows.
                if is_last or error.errno in NO_ROOM:
                    raise
            else:
                return

    def _segment(self) -> Segment:
        """The one to write to."""
        full = max(SMALLEST_SEGMENT_BYTES, self._limit // SEGMENTS_AT_MOST)
        if self._writing is None or self._writing.is_given_up or self._writing.end >= full:
            self._number += 1
            self._writing = None
            self._writing = Segment.create(self._name(self._number), self._files)
            self._segments.append(self._writing)
        return self._writing

    def _name(self, number: int) -> Path:
        return self._path / f"{self._stem}-{number:06}.seg"

    def _clear(self) -> None:
        """Let go of what is drained, the one that is written to among them: an empty spool has no files."""
        for segment in [segment for segment in self._segments if segment.is_drained]:
            if not segment.discard():
                segment.save()  # and held on to: let go of, it would be adopted and drained again, over and over
                continue
            self._segments.remove(segment)
            if segment is self._writing:
                self._writing = None


def _boot_in(name: str) -> str:
    return name.split("-")[1]


def waiting_in(path: Path) -> tuple[int, int]:
    """How many files of records wait in a folder, and how many are set aside. Touches nothing."""
    with suppress(OSError):
        names = [name for name, _ in Files().sizes(path) if NAME.fullmatch(name)]
        return sum(name.endswith(".seg") for name in names), sum(name.endswith(".bad") for name in names)
    return 0, 0


def set_aside_in(path: Path) -> list[str]:
    """Which events are set aside in a folder, by source and key; a file that holds none, by its name. Touches
    nothing."""
    found: list[str] = []
    with suppress(OSError):
        for file in sorted(each for each in path.iterdir() if NAME.fullmatch(each.name) and each.suffix == ".bad"):
            content = file.read_bytes()
            record = find(lambda size, at: content[at : at + size], MARK_BYTES, len(content), seed=seed_of(file))  # noqa: B023
            whole = record.deliveries if isinstance(record, Whole) else ()
            found += [f"{one.source}/{one.key}" for one in whole] or [f"{file.name} (damaged)"]
    return found
