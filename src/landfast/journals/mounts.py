"""Which file system a folder is on: some forget everything when the machine, or the container, stops."""

from __future__ import annotations

import re
from pathlib import Path

FORGETFUL = frozenset({"tmpfs", "ramfs", "devtmpfs", "overlay", "overlayfs", "aufs"})
"""Memory; and the layer of a container, which goes with it."""

MOUNTINFO = Path("/proc/self/mountinfo")


def file_system_of(folder: Path, mounts: Path = MOUNTINFO) -> str | None:
    """Its type, such as ext4; None where it cannot be found out."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    place = folder.resolve()
    found, depth = None, -1
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # The deepest counts; of several at one place, the last, which covers the others.
        if place.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = after.split(" ")[0], len(point.parts)
    return found
