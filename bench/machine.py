"""The machine: what it is called, and who used its processors. From /proc; elsewhere the figures are not known."""

from __future__ import annotations

import math
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_SYNCS = 25
_ADDITIONS = 200_000


def describe(folder: Path) -> dict[str, str | int]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_version()}, {_piece_seconds() * 1e3:.1f} ms for {_ADDITIONS:,} additions",
        "disk": f"{_filesystem(folder)} at {folder}",
        "fsync": f"{_fsync_seconds(folder) * 1e6:.0f} microseconds for 8 KiB",
        "load": f"{os.getloadavg()[0]:.1f} before we began",
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def cpu_seconds(pids: Iterable[int]) -> float:
    """What these processes have used so far, their dead children not included."""
    total = 0
    for pid in pids:
        try:
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def server_seconds(pids: Iterable[int]) -> dict[int, float]:
    """The same of each of these, which have one thread, as PostgreSQL's processes do, and to the nanosecond: a claim
    takes less than one of the ticks that `cpu_seconds` counts."""
    found = {}
    for pid in pids:
        try:
            found[pid] = int((PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue
    return found


def thread_seconds(pids: Iterable[int]) -> float:
    """What all threads of these processes have used so far, to the nanosecond; of threads that have ended, nothing."""
    total = 0
    for pid in pids:
        try:
            for task in (PROC / str(pid) / "task").iterdir():
                total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e9


def spent_between(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """One that has ended meanwhile counts for nothing, and not for less."""
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def busy_seconds() -> float:
    """What all processes of the machine have used so far, on all processors."""
    try:
        user, nice, system, _idle, _wait, *interrupts = map(int, (PROC / "stat").read_text().split()[1:8])
    except OSError:
        return 0.0
    return (user + nice + system + sum(interrupts)) / _TICKS


def stolen_seconds() -> float:
    """What the host has given to others so far, on all processors, while somebody here wanted it."""
    try:
        return int((PROC / "stat").read_text().split()[8]) / _TICKS
    except (OSError, IndexError):
        return 0.0


class Pace:
    """How fast Python runs now, against the fastest that was seen. A host whose other guests use the same core, or its
    memory, takes no second away, and everything takes twice as long."""

    def __init__(self) -> None:
        self._fastest = math.inf

    def now(self) -> float:
        seconds = _piece_seconds()
        self._fastest = min(self._fastest, seconds)
        return self._fastest / seconds


def disturbance(seconds: float = 1.0) -> float:
    """The share of the machine that others use while we do nothing."""
    before = busy_seconds()
    time.sleep(seconds)
    return (busy_seconds() - before) / seconds / (os.cpu_count() or 1)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in (PROC / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return [*below, *(each for child in below for each in descendants(child))]


def peak_megabytes(pid: int) -> float | None:
    """The most memory that a process ever had in use."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def on_disk(beside: Path) -> Path:
    """A folder on a disk, because fsync must cost what it costs: the temporary one, unless that is memory."""
    temporary = Path(tempfile.gettempdir())
    return beside if _filesystem(temporary) in {"tmpfs", "ramfs"} else temporary


def _piece_seconds() -> float:
    """Of processor, for always the same."""
    taken = []
    for _ in range(5):
        began, total = time.process_time(), 0
        for number in range(_ADDITIONS):
            total += number
        taken.append(time.process_time() - began)
    return min(taken)


def _cpu() -> str:
    try:
        lines = (PROC / "cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _filesystem(folder: Path) -> str:
    try:
        mounts = [line.split()[1:3] for line in (PROC / "mounts").read_text().splitlines()]
    except OSError:
        return "unknown file system"
    inside = [(place, kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(inside, key=lambda mount: len(mount[0]))[1] if inside else "unknown file system"


def _fsync_seconds(folder: Path) -> float:
    where = Path(tempfile.mkdtemp(dir=folder))
    took = []
    try:
        with (where / "probe").open("wb", buffering=0) as file:
            for _ in range(_SYNCS):
                file.write(bytes(8192))
                began = time.perf_counter()
                os.fsync(file.fileno())
                took.append(time.perf_counter() - began)
    finally:
        shutil.rmtree(where)
    return statistics.median(took)
