"""Secrets by reference: `env:NAME`, `file:PATH`, or the secret itself. None of these sentences ever holds a secret."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from landfast.domain.errors import ConfigError
from landfast.ports.provider import PublicKey, Secret
from landfast.providers.mistaken_secrets import in_words, mistaken
from landfast.providers.profile import Profile

SECRET_BYTES_AT_LEAST = 16
"""Bytes: 128 bits, if they are random. What is shorter can be guessed from one captured request."""


def load_secret(
    reference: str,
    *,
    provider: Profile,
    name: str,
    environ: Mapping[str, str],
    read_file: Callable[[str], bytes],
    active_from: float = -math.inf,
    retired_at: float = math.inf,
    allow_short: bool = True,
) -> Secret:
    """The key that the reference stands for, under a name that may be logged; ConfigError says what is wrong."""
    text, origin = referred(reference, name=name, environ=environ, read_file=read_file)
    try:
        key = provider.decode_secret(text)
    except ConfigError as error:
        wrong = mistaken(provider.name, text)
        raise ConfigError(f"{origin}: {in_words(wrong) if wrong else error}") from None
    if len(key) < SECRET_BYTES_AT_LEAST and not isinstance(key, PublicKey) and not allow_short:
        raise ConfigError(
            f"{origin}: the secret has {len(key)} bytes, and under {SECRET_BYTES_AT_LEAST} it can be guessed; "
            "choose a longer one, or write allow_short_secret = true in the source"
        )
    return Secret(name, key, active_from, retired_at)


def referred(
    reference: str, *, name: str, environ: Mapping[str, str], read_file: Callable[[str], bytes]
) -> tuple[str, str]:
    """The text that the reference stands for, and what a sentence calls it."""
    kind, colon, place = reference.partition(":")
    if colon and kind == "env":
        return _from_environment(place, name=name, environ=environ), f"{name} ({reference})"
    if colon and kind == "file":
        return _from_file(place, name=name, read_file=read_file), f"{name} ({reference})"
    _check_literal(kind if colon else "", place, name=name)
    return reference, name


_looks_referred = re.compile(r"[A-Z][A-Z0-9_]*|\S*[/.]\S*").fullmatch
"""Like a variable's name, or a path. What else stands after a colon may be the password of a secret `user:password`."""


def _check_literal(kind: str, place: str, *, name: str) -> None:
    """`evn:NAME` would be a secret of eight letters that no sender has, and nobody would be told."""
    near = get_close_matches(kind.lower(), ("env", "file"), n=1, cutoff=0.6)
    if near and (kind.lower() == near[0] or _looks_referred(place)):
        meant = "env:NAME" if near[0] == "env" else "file:PATH"
        raise ConfigError(f"{name}: {kind!r} before the colon is no kind of reference; did you mean {meant}?")


def _from_environment(variable: str, *, name: str, environ: Mapping[str, str]) -> str:
    if not variable:
        raise ConfigError(f"{name}: env: names no variable; write env:NAME")
    if variable not in environ:
        raise ConfigError(
            f"{name}: the environment variable {variable} is not set; set it to the secret, here or in .env"
        )
    return environ[variable]


def _from_file(path: str, *, name: str, read_file: Callable[[str], bytes]) -> str:
    if not path:
        raise ConfigError(f"{name}: file: names no file; write file:PATH")
    try:
        content = read_file(path)
    except OSError as error:
        raise ConfigError(f"{name}: the file {path} cannot be read: {error.strerror or error}") from None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: the file {path} is not UTF-8; it must hold the secret as text") from None
    return text.removesuffix("\n").removesuffix("\r")  # editors add one; a second would be the secret's own
