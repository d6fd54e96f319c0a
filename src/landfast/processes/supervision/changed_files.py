"""Notices that the application's files were saved, for development."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

FILES_POLL_SECONDS = 0.5
"""Seconds between two looks: sooner than a developer reaches the terminal, and no load on a small folder."""

SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


def snapshot(folder: Path) -> dict[Path, int]:
    """Each file that matters and when it was last written."""
    stamps = {}
    for path in _files(folder):
        try:
            stamps[path] = path.stat().st_mtime_ns
        except OSError:
            continue  # saved by rename at this very moment; the next look sees it
    return stamps


async def wait_for_change(folder: Path, since: dict[Path, int]) -> dict[Path, int]:
    """Return the new snapshot as soon as one differs."""
    while (now := await asyncio.to_thread(snapshot, folder)) == since:  # noqa: ASYNC110 - files send us no events
        await asyncio.sleep(FILES_POLL_SECONDS)
    return now


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        for name in files:
            if name.endswith(".py") or name == "landfast.toml":
                yield Path(place, name)
