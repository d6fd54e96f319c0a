"""Published keys on the disk of this machine, so that a restart needs nobody's leave to go on verifying.

One file for each address, beside the spool or the SQLite inbox: a user who can write there can forge events anyway. A
document counts for the address that it was fetched from, and for nothing else; only addresses that a scheme has checked
are ever looked up. What cannot be read is not there, and what cannot be written is fetched again after the next start.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from landfast import telemetry

ENDING = ".key"


class KeptKey(msgspec.Struct, frozen=True):
    address: str
    document: bytes
    fetched_at: float
    """Unix seconds."""


class KeyFolder:
    def __init__(self, path: Path, *, most: int) -> None:
        self._path = path
        self._most = most
        """Files. Which addresses there are is a provider's choice, and how many of them are kept ours."""

    def load(self) -> Iterator[KeptKey]:
        """The latest of them, the oldest first."""
        found = []
        for file in self._files():
            with suppress(OSError, msgspec.DecodeError):
                key = msgspec.msgpack.decode(file.read_bytes(), type=KeptKey)
                if file.name == _name(key.address):
                    found.append(key)
        yield from sorted(found, key=lambda key: key.fetched_at)[-self._most :]

    def keep(self, key: KeptKey) -> None:
        """Crash before the rename: the former one counts. It is not synced: what is lost is fetched again."""
        try:
            self._path.mkdir(mode=0o700, exist_ok=True)
            new = self._path / f"{_name(key.address)}.{os.getpid()}"
            with suppress(FileNotFoundError):
                new.unlink()
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.msgpack.encode(key))
            new.rename(self._path / _name(key.address))
            self._forget_oldest()
        except OSError as error:
            telemetry.warn("key_not_kept", folder=self._path, error=error)

    def _forget_oldest(self) -> None:
        files = sorted(self._files(), key=lambda file: file.stat().st_mtime)
        for file in files[: -self._most]:
            file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return list(self._path.glob(f"*{ENDING}")) if self._path.is_dir() else []


def _name(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:32] + ENDING
