"""What handlers and effects raise, as exceptions: for Sentry and whoever else collects tracebacks.

The log says of an error its class and its place, because a message may hold what a sender sent. Who collects tracebacks
wants the exception itself. So it goes to a logger of its own, `landfast.errors`, which writes to no file: only somebody
who asked for it reads it, by a handler on that logger, or by an SDK that looks at all loggers, as Sentry's does.
"""

from __future__ import annotations

import logging
import time
from math import inf
from typing import Any

REPEATED_SECONDS = 10.0
"""Between two records of the same error, at the same place, of the same handler. An outage makes thousands of them, and
who collects them is paid by the piece."""

REMEMBERED_ERRORS = 1_000
"""Different ones: beyond it the oldest is forgotten, and told again."""

log = logging.getLogger("landfast.errors")
log.propagate = False
log.addHandler(logging.NullHandler())

_told: dict[tuple[str, str, str], tuple[float, int]] = {}
"""When each was told last, and how often it came since."""


def raised(line: str, name: str, place: str, error: BaseException, facts: dict[str, Any]) -> None:
    """`line` is what the log calls it, `name` the handler or effect, `place` the error as the log shows it."""
    if not log.isEnabledFor(logging.ERROR):
        return
    key, now = (line, name, place), time.monotonic()
    last, others = _told.pop(key, (-inf, 0))
    if now - last < REPEATED_SECONDS:
        _told[key] = last, others + 1
        return
    _told[key] = now, 0
    if len(_told) > REMEMBERED_ERRORS:
        del _told[next(iter(_told))]
    told = {"others": others, **facts} if others else facts
    trace: Any = BaseException.__traceback__  # past whatever the class put in place of it
    try:
        log.error("%s: %s", line, place, exc_info=(type(error), error, trace.__get__(error)), extra={"landfast": told})
    except Exception:  # noqa: BLE001 - who collects it reads it, and its class is the user's
        return
