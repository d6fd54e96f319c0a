"""Ports for servers that tests start, which are chosen before anybody listens there."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from random import SystemRandom

FIRST = 10_000
LAST = 32_767
"""Linux gives no connection a port below, unless it is set to."""


def free_port() -> int:
    """One that nobody listens on, and that this test run gives to nobody else before it has gone through thousands. Not
    one of those that the kernel chooses itself: before its server is there, or while it restarts, any connection on the
    machine could get that."""
    return next(port for port in _ports if _is_free(port))


def _share() -> Iterator[int]:
    """Of this process of the test run. From anywhere: another run on the same machine has the same share."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = range(FIRST + worker, _last() + 1, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    start = SystemRandom().randrange(len(ports))
    return cycle([*ports[start:], *ports[:start]])


def _last() -> int:
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:  # not Linux
        return LAST
    return lowest - 1 if lowest > 2 * FIRST else LAST  # where the kernel takes nearly all, there is nothing better


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))  # on every address: servers listen on one of them, or on all
        except OSError:
            return False
    return True


_ports = _share()
