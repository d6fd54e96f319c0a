"""The log as JSON: one object a line, with the names and facts of `landfast.log_lines`."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from landfast import telemetry

HEAD = ("time", "level", "process", "process_id", "message")
"""What every line has before its facts. No fact has one of these names."""


class JsonFormatter(logging.Formatter):
    def __init__(self, process: str) -> None:
        """`process` is its kind, such as `intake`."""
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"time": at, "level": record.levelname.lower(), "process": self._process, "process_id": record.process}
        return "\n".join([json.dumps(head | each, default=_plain) for each in _told(record)])


def _told(record: logging.LogRecord) -> list[dict[str, Any]]:
    if (lines := telemetry.lines_of(record)) is not None:
        return [{"message": name, **facts} for name, facts in lines.facts()]
    told = {"message": record.getMessage(), "logger": record.name}
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        told["error"] = f"{type(error).__name__}: {error}"
    return [told]


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
