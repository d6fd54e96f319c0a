"""Handshakes slower than the loopback's: a sender that the server's SYN-ACK does not reach until it is let through.

The sender's own socket drops it, with a filter of the kernel; any Linux can do that, and needs no privileges for it. For
the server it looks like any sender far away: its SYN came, it was answered, and the ACK takes its time.
"""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import struct
from pathlib import Path

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)
SYN_RECEIVED = "03"


def begin_to_connect(port: int) -> socket.socket:
    """A socket in the middle of its handshake."""
    sender = socket.socket()
    sender.setblocking(False)
    drop_everything(sender)
    assert sender.connect_ex(("127.0.0.1", port)) == errno.EINPROGRESS
    return sender


def drop_everything(at: socket.socket) -> None:
    """Nothing that is sent to it reaches it."""
    program = ctypes.create_string_buffer(DROP_EVERYTHING)
    at.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


def let_through(sender: socket.socket) -> None:
    """The server repeats its SYN-ACK one second after the first, and now it arrives."""
    sender.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def is_connected(sender: socket.socket, *, within: float) -> bool:
    """Wait for the end of `connect`."""
    _, writable, _ = select.select([], [sender], [], within)
    return bool(writable) and sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def handshakes(port: int) -> int:
    """How many on this port the kernel waits for the last ACK of."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == SYN_RECEIVED for row in rows)
