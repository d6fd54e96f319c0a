"""Disks that can lose their power: ext4 images on an XFS that clones a file in an instant.

A write of the application is in the image only when ext4 has sent it to its device: by fsync, or by writeback in its own
time. The clone of the image is made between two such writes, so it is what a disk would hold had the power gone then;
what was only in the page cache is not in it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers import _fast_folder

PREFIX = "landfast-powerloss-"
FICLONE = 0x40049409
"""ioctl: share all blocks of another file, copy on write, atomically."""
POOL_SIZE = 6 * 2**30
"""Sparse: room for every image of a round to differ from its disk."""
DISK_SIZE = 384 * 2**20
"""A new PostgreSQL cluster and the WAL of a few seconds, with as much again to spare."""
LET_GO_WITHIN = 10.0
"""Seconds: a process that was killed lets go of its files a moment later."""
TOOLS = {"mkfs.xfs": "xfsprogs", "mkfs.ext4": "e2fsprogs", "mount": "mount", "umount": "mount", "sync": "coreutils"}


class UnfitMachineError(Exception):
    """One sentence that says what is missing."""


def check_machine() -> None:
    """Only what is needed to begin; a mount that is refused says so itself."""
    if os.geteuid() != 0:
        raise UnfitMachineError("power loss needs root, because it mounts disk images; run it as root, or with sudo")
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if missing:
        raise UnfitMachineError(f"power loss needs {' and '.join(missing)}; install it with the system's packages")
    if not Path("/dev/loop-control").exists():
        raise UnfitMachineError("power loss needs loop devices, and this machine or container has no /dev/loop-control")


@dataclass(slots=True)
class Disk:
    """A small ext4, mounted at one place: first the disk itself, later its crash images."""

    pool: Path
    name: str
    place: Path

    @property
    def file(self) -> Path:
        return self.pool / f"{self.name}.ext4"

    def create(self) -> None:
        self.file.unlink(missing_ok=True)
        _sparse(self.file, DISK_SIZE)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.file)
        self.mount(self.file)

    def mount(self, image: Path) -> None:
        """ext4 recovers its journal here, as after a power cut."""
        self.place.mkdir(exist_ok=True)
        _mount(image, self.place)

    def unmount(self) -> None:
        _unmount(self.place)

    def flush(self) -> None:
        """What was set up before the load is old, and on the disk."""
        _run("sync", "-f", self.place)

    def cut(self, image: Path) -> None:
        """The image of this instant."""
        clone(self.file, image)


@dataclass(slots=True)
class Bench:
    """A folder with a pool of images, and everything that is mounted in it."""

    folder: Path
    disks: dict[str, Disk] = field(default_factory=dict)

    @property
    def pool(self) -> Path:
        return self.folder / "pool"

    def disk(self, name: str) -> Disk:
        """A fresh one; what had the name before is gone."""
        if name in self.disks:
            self.disks[name].unmount()
        disk = self.disks[name] = Disk(self.pool, name, self.folder / name)
        disk.create()
        return disk


def clone(file: Path, to: Path) -> None:
    with file.open("rb") as source, to.open("xb") as target:
        fcntl.ioctl(target.fileno(), FICLONE, source.fileno())


@contextmanager
def bench() -> Iterator[Bench]:
    """However it is left, nothing stays mounted."""
    parent = Path(_fast_folder() or tempfile.gettempdir())
    clean_up_after_the_dead(parent)
    folder = parent / f"{PREFIX}{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        _sparse(folder / "pool.xfs", POOL_SIZE)
        _run("mkfs.xfs", "-q", "-m", "reflink=1", folder / "pool.xfs")
        (folder / "pool").mkdir()
        try:
            _mount(folder / "pool.xfs", folder / "pool")
        except OSError as error:
            raise UnfitMachineError(
                f"power loss needs loop mounts of XFS, and this machine refused: {error}"
            ) from error
        yield Bench(folder)
    finally:
        _clear(folder)


def clean_up_after_the_dead(parent: Path) -> None:
    """A run that was killed could not unmount what it had mounted."""
    for folder in parent.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX)
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            _clear(folder)


def _clear(folder: Path) -> None:
    mounted = [Path(line.split()[1]) for line in Path("/proc/mounts").read_text().splitlines()]
    ours = [place for place in mounted if place.is_relative_to(folder)]
    for place in sorted(ours, key=lambda place: place.name == "pool"):  # the pool last: the others lie on it
        _unmount(place)
    shutil.rmtree(folder, ignore_errors=True)


def _mount(image: Path, place: Path) -> None:
    # noatime: reading must not write. The loop device goes away with the mount.
    try:
        _run("mount", "-o", "loop,noatime", image, place)
    except subprocess.CalledProcessError as error:
        said = re.sub(r"\s+", " ", error.stderr).strip()
        raise OSError(said) from error


def _unmount(place: Path) -> None:
    deadline = time.monotonic() + LET_GO_WITHIN
    while place.is_mount():
        try:
            _run("umount", place)
        except subprocess.CalledProcessError:
            if time.monotonic() > deadline:
                _run("umount", "--lazy", place)  # gone from the tree now, and from the machine with its last user
                return
            time.sleep(0.02)


def _sparse(file: Path, size: int) -> None:
    with file.open("xb") as image:
        image.truncate(size)


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
