"""The child's end of the socket pair that ties it to its supervisor.

A supervisor that is killed cannot tell anybody. The kernel does: it closes the other end, whatever the supervisor died
of, and the child reads the end of the file. No process of ours outlives the one that would restart it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable

GRACE_SECONDS = 10.0
"""Seconds to finish what is in flight. Most handlers take less; what is cut short is claimed again by the next worker.
Container runtimes send their own SIGKILL after ten seconds or more."""


READY, SUSPECTS = b"!", b"?"
"""A child's words, of a byte each."""


class Lifeline:
    def __init__(self, fd: int, *, end: Callable[[int], None] | None = None, grace: float = GRACE_SECONDS) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.set_inheritable(False)  # a process that a handler starts must not hold our end open
        self._end = end or _signal_self
        self._grace = grace
        self._let_go = threading.Event()
        self.is_cut = False
        """The supervisor is gone, and every child of it stops."""

    def hold(self) -> None:
        """Watch it from a thread, because a handler may block the event loop."""
        threading.Thread(target=self.watch, name="lifeline", daemon=True).start()

    def watch(self) -> None:
        """Return when the supervisor is gone and this process had its time to stop."""
        with contextlib.suppress(OSError):  # reset: gone as well
            while self._socket.recv(64):
                pass
        self._socket.close()
        self.is_cut = True
        self._end(signal.SIGTERM)
        if not self._let_go.wait(self._grace):
            self._end(signal.SIGKILL)

    def say_ready(self) -> None:
        self._say(READY)

    def say_suspects(self) -> None:
        """There are suspects, for which the supervisor has a process of their own."""
        self._say(SUSPECTS)

    def let_go(self) -> None:
        """The process is stopping by itself: no need to kill it."""
        self._let_go.set()

    def _say(self, word: bytes) -> None:
        # The supervisor is gone, which the watching thread deals with. Or it is stopped, and has heaps to hear first.
        with contextlib.suppress(OSError):
            self._socket.send(word, socket.MSG_DONTWAIT)


def _signal_self(number: int) -> None:
    os.kill(os.getpid(), number)
