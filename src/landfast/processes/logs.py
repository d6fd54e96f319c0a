"""Where the lines of `landfast.telemetry` go in processes of our own."""

from __future__ import annotations

import copy
import logging
import os
import sys

from landfast import telemetry
from landfast.telemetry.json_lines import JsonFormatter


def to_stderr(role: str, form: str = "text") -> None:
    """Standard output is for what the command was asked for. The pid tells apart what several processes write. `form`
    is that of the setting `log`; said again, it replaces what was said before."""
    # What no line of ours shows is not worth looking up for each of them: a stored event logs one.
    logging.logThreads = logging.logMultiprocessing = False
    if form == "json":
        for name in ("landfast", "asyncpg"):
            _send(logging.getLogger(name), JsonFormatter(role.strip()))
        return
    line = f"%(asctime)s %(levelname)-7s {role} %(process)d  %(message)s"
    _send(logging.getLogger("landfast"), telemetry.formatter(line, sys.stderr))
    # Its pools note each try to connect again, with a traceback. While a server is away one line says as much.
    _send(logging.getLogger("asyncpg"), _OneLine(line))


def prints_to_stderr() -> None:
    """From now on: what handlers print must not stand between the JSON lines of whoever started this process."""
    os.dup(1)  # kept open: the reader of these lines sees their end when the last process has ended
    os.dup2(2, 1)


def _send(logger: logging.Logger, formatter: logging.Formatter) -> None:
    handler = _ToStderr(sys.stderr)
    handler.setFormatter(formatter)
    for before in [each for each in logger.handlers if isinstance(each, _ToStderr)]:
        logger.removeHandler(before)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _ToStderr(logging.StreamHandler):  # type: ignore[type-arg]  # generic only where types are checked
    """Ours, and nobody else's."""


class _OneLine(telemetry.LineFormatter):
    """The error by its name and text, without its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        brief = copy.copy(record)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            brief.msg, brief.args = "%s (%s: %s)", (record.getMessage(), type(error).__name__, error)
        brief.exc_info = brief.exc_text = brief.stack_info = None
        return super().format(brief)
