"""What systemd is told, where it started us and asked to be: `Type=notify` in deploy/landfast.service."""

from __future__ import annotations

import contextlib
import os
import socket
import time


class Notices:
    def __init__(self) -> None:
        # Taken out of the environment: what a handler starts must not speak for us.
        self._address = os.environ.pop("NOTIFY_SOCKET", "")

    def ready(self) -> None:
        self._tell("READY=1")

    def reloading(self) -> None:
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def _tell(self, what: str) -> None:
        if not self._address:
            return
        # "@" stands for the zero byte of an address that is no file. Who does not listen has no need to know.
        address = self._address.replace("@", "\0", 1) if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.sendto(what.encode(), address)
