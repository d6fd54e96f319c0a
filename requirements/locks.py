"""Read the files of this folder: what is pinned, at which version, with which hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

INSTALLED = ("runtime", "extras")
"""What an installation contains: always, and with all that a server may be told to use."""

SHIPPED = (*INSTALLED, "build")
"""What an installation contains, and what makes it: the rest only tests and measures."""


class Pinned(NamedTuple):
    name: str
    version: str
    hashes: tuple[str, ...]
    """SHA-256 of every file of that version, in hexadecimal digits."""

    @property
    def digest(self) -> str:
        """Of all of them together: a version whose files were replaced has another."""
        return hashlib.sha256("".join(self.hashes).encode()).hexdigest()[:16]


def pinned(lock: str) -> Iterator[Pinned]:
    text = (HERE / f"{lock}.txt").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = re.match(r"([A-Za-z0-9._-]+)==(\S+)", line)
        if found is None:
            raise SystemExit(f"{lock}.txt: {line[:60]!r} pins no version")
        yield Pinned(found[1].lower(), found[2].rstrip(";"), tuple(sorted(re.findall(r"--hash=sha256:(\w{64})", line))))
