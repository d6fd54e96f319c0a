"""What the spool does to its disk, one call each: here it can be seen, and made to fail."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FILE_TRIES = 1000
"""Of making a file: before it is locked, a neighbour that starts may clear it away, and the next one by its name. So
each neighbour costs two at most, and fewer than 500 start at once. A try takes some microseconds."""


class Files:
    def create(self, path: Path) -> int:
        """A new, locked file under this name. Nobody sees it before it is locked, or a neighbour would take it for one
        that was left behind. Crash before the rename: a file called .new, which the next start clears away; after it:
        an empty segment."""
        for _ in range(FILE_TRIES - 1):
            with suppress(BlockingIOError, FileExistsError, FileNotFoundError):
                return self._create(path)
        return self._create(path)

    def _create(self, path: Path) -> int:
        new = path.with_suffix(".new")
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(path)
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):
                new.unlink()
            raise
        return descriptor

    def adopt(self, path: Path) -> int | None:
        """A file whose writer is gone, locked; None if somebody has it, or has just let go of its name."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.has_name(descriptor):
                return descriptor
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def write(self, descriptor: int, content: bytes, offset: int) -> None:
        """All of it, or OSError; some of it may be there then."""
        rest = memoryview(content)
        while rest:
            written = os.pwrite(descriptor, rest, offset)
            rest, offset = rest[written:], offset + written

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        """Up to so many bytes; fewer at the end of the file."""
        parts = []
        while size and (part := os.pread(descriptor, size, offset)):
            parts.append(part)
            size, offset = size - len(part), offset + len(part)
        return b"".join(parts)

    def sync(self, descriptor: int) -> None:
        os.fdatasync(descriptor)

    def sync_folder(self, folder: Path) -> None:
        """A file is found again after a power loss only when its folder is on the disk too."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def cut(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def has_name(self, descriptor: int) -> bool:
        """Whether the file is in a folder still; one that was removed can be written to like any other."""
        return os.fstat(descriptor).st_nlink > 0

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sizes(self, folder: Path) -> Iterable[tuple[str, int]]:
        """The files in the folder, with their bytes."""
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # a neighbour has just drained it
                    yield entry.name, entry.stat().st_size
