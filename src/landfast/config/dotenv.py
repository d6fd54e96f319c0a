"""`.env` beside landfast.toml: the secrets of a developer's own machine, out of git. The environment wins over it."""

from __future__ import annotations

import re
from pathlib import Path

from landfast.domain.errors import ConfigError

NAME = ".env"
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


def dotenv(folder: Path) -> dict[str, str]:
    """Its variables. Lines are NAME=value, with or without `export` and quotes; `#` begins a line that says nothing.
    Nothing is substituted in a value."""
    try:
        text = (folder / NAME).read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{NAME}: it cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        ) from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        matched = _LINE.fullmatch(stripped)
        if matched is None:
            raise ConfigError(f"{NAME}, line {number}: write NAME=value")  # not repeated: it may hold a secret
        found[matched[1]] = _unquoted(matched[2])
    return found


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return value[1:-1] if is_quoted else value
