"""Our lines in the log of a host that says nothing about them: uvicorn sets up its own loggers and no others, and
Python would then drop what is below a warning, and print the rest without time and name."""

from __future__ import annotations

import logging
import sys

from landfast import telemetry

LINE = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"


def show_lines() -> None:
    """Unless the host has a level for `landfast`, or a handler that takes its lines."""
    log = logging.getLogger("landfast")
    if log.hasHandlers() or log.level != logging.NOTSET:
        return
    handler = _Unheard(sys.stderr)
    handler.setFormatter(telemetry.formatter(LINE, sys.stderr))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


class _Unheard(logging.StreamHandler):  # type: ignore[type-arg]  # generic only where types are checked
    """Silent as soon as the host has a handler for everything: no line is written twice."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)
