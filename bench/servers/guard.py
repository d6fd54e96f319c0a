"""What every server here has in common: it says where it is, and ends with whoever started it."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading


def end_with_our_parent() -> None:
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def say(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def chosen_port() -> int:
    """Of a server that is killed and started again, and has to be where it was; 0 for any."""
    return int(os.environ.get("BENCH_PORT", "0"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listener(port: int = 0) -> socket.socket:
    listening = socket.create_server(("127.0.0.1", port), backlog=2048)
    listening.setblocking(False)
    return listening


def _wait_for_the_end() -> None:
    # Not through sys.stdin: its lock would be held for ever in a child that is forked meanwhile.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
