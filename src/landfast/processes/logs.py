"""Where the lines of `landfast.telemetry` go in processes of our own."""

from __future__ import annotations

import copy
import logging
import os
import sys
import time


def to_stderr(role: str) -> None:
    """Standard output is for what the command was asked for. The pid tells apart what several processes write."""
    # What no line of ours shows is not worth looking up for each of them: a stored event logs one.
    logging.logThreads = logging.logMultiprocessing = False
    line = f"%(asctime)s %(levelname)-7s {role} %(process)d  %(message)s"
    _send(logging.getLogger("landfast"), _Line(line))
    # Its pools note each try to connect again, with a traceback. While a server is away one line says as much.
    _send(logging.getLogger("asyncpg"), _OneLine(line))


def prints_to_stderr() -> None:
    """From now on: what handlers print must not stand between the JSON lines of whoever started this process."""
    os.dup(1)  # kept open: the reader of these lines sees their end when the last process has ended
    os.dup2(2, 1)


def _send(logger: logging.Logger, formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _Line(logging.Formatter):
    """Each line of a record with the time of day, which is written out once a second, not once a line."""

    _second = -1
    _written = ""

    def format(self, record: logging.LogRecord) -> str:
        whole = super().format(record)
        message = record.message
        if "\n" not in message:
            return whole
        before, _, after = whole.partition(message)
        return "\n".join([before + line for line in message.split("\n")]) + after

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own name
        second = int(record.created)
        if second != self._second:
            self._second = second
            self._written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
        return f"{self._written},{int(record.msecs):03}"


class _OneLine(logging.Formatter):
    """The error by its name and text, without its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        brief = copy.copy(record)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            brief.msg, brief.args = "%s (%s: %s)", (record.getMessage(), type(error).__name__, error)
        brief.exc_info = brief.exc_text = brief.stack_info = None
        return super().format(brief)
