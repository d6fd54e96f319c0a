"""The listening socket: how it is opened, and how it ends without turning away anybody who has connected.

There is no good moment to just close it. The kernel completes handshakes by itself, a sender that has connected sends
at once, and closing resets whoever waits to be accepted. So the end has three steps:

    refuse_newcomers    nobody begins to connect any more, in any process that shares the socket
    see_in_the_last     everybody accepts until each handshake that had begun is complete
    close               nobody is left to be reset; a newcomer is told that we are gone
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import re
import select
import socket
import struct
from functools import partial
from pathlib import Path

from landfast.domain.errors import ConfigError

PORT_SETTING = "`port` (--port)"
"""What to change where the port is the reason that nobody can listen."""

BACKLOG_CONNECTIONS = 2048
"""Connections that the kernel holds for us while we are busy: a storm opens thousands at once."""

HANDSHAKE_SECONDS = 2.0
"""For a handshake that had begun. Of a SYN-ACK that is lost the kernel sends another after one second; the rest is for
the round trip. Only a sender that never completes it, or a flood of them, makes us wait that long."""

LOOK_SECONDS = 0.05
"""Between two looks at the handshakes. One look takes a few ms, more where there are 10,000 connections."""

QUIET_LOOKS = 2
"""Looks in a row that must find nothing: a SYN may be past the filter, and not in the table yet, at the first."""

LAST_TURNS = 100
"""Turns of the loop in which we accept who still waits, one or more in each. Where the kernel has no filter to keep
newcomers away, they never end by themselves; where siblings accept, who is left is theirs."""

_SO_ATTACH_FILTER = 26
"""Linux; Python has no name for it. `getsockopt` with the same number returns the filter that is attached."""

_DROP_SYN_WITHOUT_ACK = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load byte 13 of the TCP header, its flags
        (0x54, 0, 0, 0x12),  # of these SYN and ACK
        (0x15, 0, 1, 0x02),  # SYN alone: the next instruction, else the one after it
        (0x06, 0, 0, 0),  # drop
        (0x06, 0, 0, 0xFFFFFFFF),  # pass, every byte of it
    )
)
"""A program for the kernel's packet filter. It passes the ACK that completes a handshake, because that is for the
listener too. An accepted connection inherits it, and loses nothing by it."""

_TCP_TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
_READ_BYTES = 1 << 20
"""The kernel looks for its place in the table again with each read."""


def listen(host: str, port: int, *, setting: str = PORT_SETTING) -> socket.socket:
    """A listening socket, for one intake process or for several to share. Without SO_REUSEPORT: a second server on the
    same port is a mistake, and would silently take half of the webhooks."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise ConfigError(f"The host {host!r} is not known here: set `host` to an address of this machine.") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise ConfigError(_why_not(error, host, port, setting)) from None
    listener.setblocking(False)
    return listener


def refuse_newcomers(listener: socket.socket) -> None:
    """From now on nobody begins to connect, whichever process accepts. Who tries is refused at its second try, one
    second later, if the listener is closed by then."""
    program = ctypes.create_string_buffer(_DROP_SYN_WITHOUT_ACK)
    length = len(_DROP_SYN_WITHOUT_ACK) // 8
    with contextlib.suppress(OSError):  # not Linux: a few senders may see a reset, and come again
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", length, ctypes.addressof(program)))


async def see_in_the_last(listener: socket.socket, *, within: float) -> None:
    """Return when this process can close the listener. Its loop accepts meanwhile."""
    now = asyncio.get_running_loop().time
    began, quiet = now(), 0
    # Where newcomers are not refused, a sibling goes on accepting, and whoever comes is the sibling's.
    while _refuses_newcomers(listener) and quiet < QUIET_LOOKS and now() - began < within:
        may_come = now() - began < HANDSHAKE_SECONDS and _is_in_handshake(listener)
        # In this order: whoever completes its handshake between the two is found waiting.
        quiet = 0 if may_come or _has_waiting(listener) else quiet + 1
        await asyncio.sleep(LOOK_SECONDS)
    for _ in range(LAST_TURNS):
        if not _has_waiting(listener):
            break
        await asyncio.sleep(0)


def _refuses_newcomers(listener: socket.socket) -> bool:
    try:
        return bool(listener.getsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, len(_DROP_SYN_WITHOUT_ACK)))
    except OSError:
        return False


def _is_in_handshake(listener: socket.socket) -> bool:
    """Whether the kernel has sent somebody a SYN-ACK and waits for the ACK. If it does not say: yes."""
    try:
        with _TCP_TABLES[listener.family].open("rb", buffering=0) as file:
            table = b"".join(iter(partial(file.read, _READ_BYTES), b""))
    except OSError:
        return True
    local, syn_received = b":%04X" % listener.getsockname()[1], b"03"
    return re.search(local + rb" [0-9A-F]+:[0-9A-F]+ " + syn_received + b" ", table) is not None


def _has_waiting(listener: socket.socket) -> bool:
    """Whether somebody has connected and is not accepted yet."""
    waiting = select.poll()
    waiting.register(listener.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _why_not(error: OSError, host: str, port: int, setting: str = PORT_SETTING) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: stop the other server, or set another {setting}."
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} needs privileges that we do not have: set {setting} above 1023."
    return f"Cannot listen on {host} port {port} ({error.strerror}): set `host` to an address of this machine."
