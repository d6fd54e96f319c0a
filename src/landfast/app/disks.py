"""How much room is left on the disks that something of ours grows on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from landfast.config import Settings


def disks(settings: Settings) -> list[dict[str, Any]]:
    """How much room is left where something of ours grows on this machine."""
    return [
        {"what": what, "path": str(path), "free": free, "total": total}
        for what, path in _growing(settings)
        for free, total in _room(path)
    ]


def _growing(settings: Settings) -> Iterator[tuple[str, Path]]:
    if settings.inbox_driver.is_file:
        yield "store", Path(settings.store.target).absolute().parent
    if settings.ledger_driver.is_file:
        yield "ledger", Path(settings.ledger.target).absolute().parent
    if settings.spool is not None:
        yield "spool", settings.spool.absolute()


def _room(path: Path) -> Iterator[tuple[int, int]]:
    """Free for us, and all that is ours or free: what is kept for root is neither."""
    try:
        found = os.statvfs(next(each for each in (path, *path.parents) if each.exists()))
    except (OSError, StopIteration):
        return
    free = found.f_bavail * found.f_frsize
    yield free, free + (found.f_blocks - found.f_bfree) * found.f_frsize
