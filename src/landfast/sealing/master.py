"""The master key, by reference: `env:NAME` or `file:PATH`. None of these sentences ever holds a key."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from collections.abc import Mapping
from pathlib import Path

from landfast.domain.errors import ConfigError
from landfast.sealing.seal import KEY_BYTES, Seal

FORM = f"it must be {KEY_BYTES} random bytes in base64, as landfast seal new prints them"


def load_seal(seal: str | None, seal_old: str | None, *, folder: Path, environ: Mapping[str, str] = os.environ) -> Seal:
    """What the settings say. With `seal_old` alone, what is sealed can be opened, and nothing more is sealed."""
    given = [(name, reference) for name, reference in (("seal", seal), ("seal_old", seal_old)) if reference]
    return Seal([_master(name, reference, folder, environ) for name, reference in given], sealing=seal is not None)


def new_master() -> str:
    return b64encode(os.urandom(KEY_BYTES)).decode()


def _master(name: str, reference: str, folder: Path, environ: Mapping[str, str]) -> bytes:
    kind, _, place = reference.partition(":")
    if kind == "env" and place:
        if place not in environ:
            raise ConfigError(f"{name}: the environment variable {place} is not set; set it to the master key")
        text = environ[place]
    elif kind == "file" and place:
        try:
            text = (folder / place).read_text("ascii")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise ConfigError(f"{name}: the file {place} cannot be read: {why}") from None
    else:  # not repeated: it may be the key itself
        raise ConfigError(f"{name}: write env:NAME or file:PATH, and keep the master key there")
    try:
        key = b64decode(text.strip(), validate=True)
    except (NotBase64Error, ValueError):
        raise ConfigError(f"{name} ({reference}): this is no master key; {FORM}") from None
    if len(key) != KEY_BYTES:
        raise ConfigError(f"{name} ({reference}): this has {len(key)} bytes; {FORM}")
    return key
