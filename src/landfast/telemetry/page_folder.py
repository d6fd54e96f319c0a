"""Pages in a folder, for processes that have no supervisor of ours: those of gunicorn, uWSGI or uvicorn. Each counts in
a file of its own, and whichever is asked adds up all of them.

A process holds a lock on its file for as long as it lives, whatever it dies of. What one has left behind is added to
`ended.page` by the next one that starts, so that the folder stays small.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from landfast.domain.errors import ConfigError
from landfast.telemetry import metrics
from landfast.telemetry.exposition import Sums
from landfast.telemetry.pages import PAGE_BYTES, Page, new_page

_ENDED = "ended.page"
_PAGES = "process-*.page"


class PageFolder:
    def __init__(self, path: Path | str) -> None:
        """Joined at once, and again by a process that this one forks. ConfigError where it cannot be written to."""
        self._path = Path(path)
        self._file = -1
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            metrics.use(self._join(), after_fork=self._join_again)
        except OSError as error:
            raise ConfigError(
                f"metrics: the folder {path} cannot be used ({error.strerror}); name one that this user can write to"
            ) from None

    def sums(self) -> Sums:
        """Over all processes that ever joined, since somebody emptied the folder."""
        metrics.refresh()
        sums = Sums()
        with self._locked(fcntl.LOCK_SH):
            for name in self._path.glob("*.page"):
                with _opened(name) as file:
                    sums.add(Page(file), has_ended=name.name == _ENDED or _is_left_behind(file))
        return sums

    def _join_again(self) -> Page:
        os.close(self._file)  # of the process that has forked this one
        try:
            return self._join()
        except OSError:  # the folder is gone: what this process counts is told by nobody, and it lives
            self._file = os.open(os.devnull, os.O_RDONLY)
            return new_page()

    def _join(self) -> Page:
        with self._locked(fcntl.LOCK_EX):
            self._fold()
            # By chance, because numbers of processes come again, and in two containers at the same time.
            name = self._path / f"process-{os.getpid()}-{os.urandom(6).hex()}.page"
            self._file = _new(name)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        return Page(self._file)

    def _fold(self) -> None:
        """Add up what ended processes have left behind. Die before the rename, and nothing has changed; after it, and
        the next one adds what is left once more: a machine that is cut off in these microseconds counts too much."""
        ended, left = Sums(), []
        for name in [*self._path.glob(_PAGES), *self._path.glob(_ENDED)]:
            with _opened(name) as file:
                if name.name == _ENDED or _is_left_behind(file):
                    ended.add(Page(file), has_ended=True)
                    left.append(name)
        if not [name for name in left if name.name != _ENDED]:
            return
        new = self._path / f"{_ENDED}.new"
        file = _new(new)
        ended.write(Page(file))
        os.close(file)
        new.replace(self._path / _ENDED)
        for name in left:
            if name.name != _ENDED:
                name.unlink()

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        file = os.open(self._path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, how)
            yield
        finally:
            os.close(file)


def _new(name: Path) -> int:
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.ftruncate(file, PAGE_BYTES)
    return file


@contextmanager
def _opened(name: Path) -> Iterator[int]:
    file = os.open(name, os.O_RDWR)
    try:
        yield file
    finally:
        os.close(file)


def _is_left_behind(file: int) -> bool:
    """Whether nobody holds the lock of its owner. Whoever asks through another descriptor is somebody else."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
