"""Whether everybody on the machine can read a secret: in the settings, or in a file that they name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from landfast.config import Settings, SourceSettings
from landfast.ports.provider import PublicKey, Secret
from landfast.recovery.doctor import Check, Level

SECRET_ENDINGS = ("token", "secret", "password", "private_key")
"""Of a provider's own settings, such as verify_token."""


def examine_exposure(
    overall: Settings, sources: Iterable[tuple[SourceSettings, tuple[Secret, ...]]]
) -> Iterator[Check]:
    """A failure for each file that others may read and must not. `sources` come with their secrets, as loaded."""
    sources = list(sources)
    file = overall.file
    if file is not None and _is_open(file):
        clear = [*_passwords(overall, file), *_literals(overall, sources)]
        if clear:
            found = f"{file.name} can be read by everybody on this machine, and holds {', '.join(clear)}"
            yield Check("settings", Level.FAIL, found, f"chmod o-rwx {file}, or write env:NAME or file:PATH instead")
    for settings, secrets in sources:
        for given, secret in zip(settings.secrets, secrets, strict=True):
            path = overall.folder / given.value.removeprefix("file:")
            if given.value.startswith("file:") and not isinstance(secret.key, PublicKey) and _is_open(path):
                found = f"the file of secret {secret.name!r} can be read by everybody on this machine"
                yield Check(f"source {settings.name}", Level.FAIL, found, f"chmod o-rwx {path}")


def _is_open(path: Path) -> bool:
    if os.name != "posix":  # elsewhere the mode says nothing about who may read
        return False
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False  # whoever reads it says what is wrong


def _passwords(overall: Settings, file: Path) -> Iterator[str]:
    for name in ("store", "ledger", "redis", "journal"):
        address = getattr(overall, name)
        if address is not None and address.origin.startswith(file.name) and _has_password(address.target):
            yield f"the password in {name}"


def _has_password(address: str) -> bool:
    parts = urlsplit(address)
    # A broker's token stands where a user would.
    is_token = parts.scheme in {"nats", "tls"} and "@" in parts.netloc
    return parts.password is not None or is_token or "password" in parse_qs(parts.query)


def _literals(overall: Settings, sources: Iterable[tuple[SourceSettings, tuple[Secret, ...]]]) -> Iterator[str]:
    for settings, secrets in sources:
        if settings.name not in overall.sources:  # it is in the code
            continue
        for given, secret in zip(settings.secrets, secrets, strict=True):
            is_named = given.value.startswith(("env:", "file:"))
            if not is_named and not isinstance(secret.key, PublicKey):
                yield f"secret {secret.name!r} of source {settings.name}"
        for option, value in settings.options.items():
            if option.endswith(SECRET_ENDINGS) and isinstance(value, str):
                yield f"{option} of source {settings.name}"
