"""Logs: one line per fact, as `key=value` pairs, with no secret and no body in them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

_log = logging.getLogger("landfast")


def info(what: str, /, **facts: Any) -> None:
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s", _line(what, facts))


def info_each(what: str, facts: Sequence[dict[str, Any]], /) -> None:
    """A line for each, in one record: its message has several lines."""
    if facts and _log.isEnabledFor(logging.INFO):
        _log.info("%s", "\n".join([_line(what, each) for each in facts]))


def warn(what: str, /, **facts: Any) -> None:
    _log.warning("%s", _line(what, facts))


def error(what: str, /, *, trace: BaseException | None = None, **facts: Any) -> None:
    _log.error("%s", _line(what, facts), exc_info=trace)


def _line(what: str, facts: dict[str, Any]) -> str:
    return " ".join([what, *[f"{name}={_value(value)}" for name, value in facts.items()]])


def _value(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    # Whatever came from outside could forge a line or move a terminal's cursor: keep to printable characters.
    safe = text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    if " " not in safe and '"' not in safe and safe:
        return safe
    quotable = safe.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quotable}"'
