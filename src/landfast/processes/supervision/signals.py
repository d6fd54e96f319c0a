"""What a supervisor does when it is sent a signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable


def obey(
    *, stop: Callable[[], None], interrupted: Callable[[], None], kill: Callable[[], None], renew: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    had_terminal = _has_terminal()

    def first() -> None:
        # The second Ctrl-C comes from somebody who does not want to wait.
        loop.add_signal_handler(signal.SIGINT, kill)
        interrupted()

    def hung_up() -> None:
        # A terminal that is closed sends it too, and its user does not expect the server to go on in the dark.
        (stop if had_terminal and not _has_terminal() else renew)()

    loop.add_signal_handler(signal.SIGINT, first)
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGHUP, hung_up)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
