"""Process 1 of a container: the kernel gives it every orphan to bury, and ignores signals that it has no handler for.

A server is no good at either. So process 1 stays a small one that does nothing else, and the server is its child.
"""

from __future__ import annotations

import os
import signal
import sys


def step_aside() -> None:
    """As process 1, go on in a child, and never return in this one. As any other, do nothing."""
    if os.getpid() == 1:
        split()


def split() -> None:
    """Return in a child. This process passes on every signal to it, buries all that die, and ends as it ends."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    child = os.fork()
    if child == 0:
        # A group of its own: Ctrl-C in the terminal reaches process 1 alone, which passes it on, once.
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os._exit(_attend(child))


def _attend(child: int) -> int:
    """The exit code of the child, as shells write it."""
    while True:
        # Blocked signals wait for us here, and none is lost between two of them.
        number = signal.sigwait(signal.valid_signals())
        if number != signal.SIGCHLD:
            os.kill(child, number)  # it is there: nobody else buries it
            continue
        code = _bury(child)
        if code is not None:
            return code


def _bury(child: int) -> int | None:
    """Everyone who has died by now; the exit code if the child is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            found = code if code >= 0 else 128 - code
