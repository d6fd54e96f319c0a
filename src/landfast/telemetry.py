"""Logs: one line per fact, as `key=value` pairs, with no secret and no body in them."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from typing import Any

MOST_CAUSES = 10
"""Of one error: more would be a loop of its own making."""

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
    _log.error("%s", _line(what, facts) if trace is None else f"{_line(what, facts)}\n{_frames(trace)}")


def _frames(error: BaseException) -> str:
    """Where it was raised, and of which class; with its causes, and without a message, which may hold what a sender
    sent. So it is not given to `logging` as it is, either. Never raises: the class may be a user's."""
    told: list[str] = []
    seen: set[int] = set()
    following: BaseException | None = error
    try:
        while following is not None and id(following) not in seen and len(told) < MOST_CAUSES:
            seen.add(id(following))
            frames = "".join(traceback.format_tb(following.__traceback__))
            told.append(f"{frames}{type(following).__name__}")
            following = following.__cause__ or following.__context__
    except BaseException:  # noqa: BLE001 - SystemExit out of a property must not end the process
        told.append("(more of this error cannot be printed)")
    return "\ncaused by\n".join(told)


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
