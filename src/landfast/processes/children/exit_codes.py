"""How a process of ours ends, in a number that its supervisor understands."""

from __future__ import annotations

from collections.abc import Callable

from landfast import telemetry
from landfast.domain.errors import StoreError

USER_ERROR = 2
"""It has told its user what to fix; another try would say the same."""
TRY_AGAIN = 75
"""Nothing is wrong here, and nothing can be done now: EX_TEMPFAIL, as sendmail has called it since 1983."""


def exit_code(run: Callable[[], None]) -> int:
    """Run it. A database that is away when a child starts is no mistake of the user's: the child is tried again, and
    its siblings, which may have a spool to take webhooks into, go on meanwhile."""
    try:
        run()
    except StoreError as error:
        telemetry.warn("start_delayed", error=error)
        return TRY_AGAIN
    return 0
