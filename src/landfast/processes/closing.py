"""The end of a listening socket: nobody new gets in, and nobody who is in already is turned away."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct

SO_ATTACH_FILTER = 26
"""Linux; Python has no name for it."""

_DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)
"""One instruction of the kernel's packet filter: return 0, keep no byte."""


def refuse_new(listener: socket.socket) -> None:
    """From now on nothing reaches the listener, in any process that shares it.

    Without this there is no good moment to close it. The kernel completes handshakes by itself, and a sender that has
    connected sends its request at once; closing resets whoever waits to be accepted, and as long as we accept, others
    come. So: first this, then accept what waits, then close. Who knocks meanwhile is refused at the next knock.
    """
    program = ctypes.create_string_buffer(_DROP_EVERYTHING)
    with contextlib.suppress(OSError):  # not Linux: a few senders may see a reset, and come again
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))
