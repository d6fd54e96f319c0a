"""Wakeups between the processes of one host: a unix datagram to everybody who listens for this inbox."""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from landfast.domain.ids import InboxId
from landfast.wakeups.debounce import Debounce
from landfast.wakeups.local import LocalWakeup

LISTENERS = 16
"""Who listens takes the first free seat, and a nudge goes to all of them. SQLite is for one host with a few processes;
the seventeenth would poll."""


class DatagramWakeup:
    """On Linux in the abstract namespace, where a killed process leaves nothing behind; elsewhere, or where a `folder`
    is given, as files in it."""

    def __init__(self, inbox: InboxId, *, folder: Path | None = None, bell: LocalWakeup | None = None) -> None:
        """Who waits for something else besides brings the bell that it waits for."""
        if folder is None and sys.platform != "linux":
            folder = Path(tempfile.gettempdir())
        prefix = "\0" if folder is None else f"{folder}/"
        self._seats = [f"{prefix}landfast-{inbox.hex()}-{seat}" for seat in range(LISTENERS)]
        self._bell = bell or LocalWakeup()
        self._debounce: Debounce | None = None
        self._outlet: socket.socket | None = None
        self._inlet: socket.socket | None = None

    def nudge(self) -> None:
        if self._debounce is not None:
            self._debounce.ask()

    async def wait(self, seconds: float) -> None:
        await self._bell.wait(seconds)

    async def open(self) -> None:
        self._debounce = Debounce(self._send)
        with suppress(OSError):  # out of file descriptors: this process polls, and nobody is told
            self._outlet = _datagram_socket()
            self._inlet = _seated(self._seats)
        if self._inlet is not None:
            asyncio.get_running_loop().add_reader(self._inlet, self._receive)

    async def close(self) -> None:
        if self._debounce is not None:
            self._debounce.stop()
        if self._inlet is not None:
            asyncio.get_running_loop().remove_reader(self._inlet)
            _unlink(self._inlet.getsockname())
            self._inlet.close()
        if self._outlet is not None:
            self._outlet.close()
        self._debounce = self._inlet = self._outlet = None

    def _send(self) -> None:
        if self._outlet is not None:
            for seat in self._seats:
                # An empty seat refuses at once; one whose buffer is full has been told already.
                with suppress(OSError):
                    self._outlet.sendto(b"!", seat)

    def _receive(self) -> None:
        with suppress(OSError):
            while self._inlet is not None:
                self._inlet.recv(16)
                self._bell.nudge()


def _datagram_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)
    return made


def _seated(seats: list[str]) -> socket.socket | None:
    inlet = _datagram_socket()
    for seat in seats:
        _clear_if_left(seat)
        with suppress(OSError):
            inlet.bind(seat)
            return inlet
    inlet.close()
    return None


def _clear_if_left(seat: str) -> None:
    """A killed process leaves its file behind: one that refuses a connection is nobody's."""
    if not seat.startswith("\0") and Path(seat).is_socket():
        with _datagram_socket() as probe:
            try:
                probe.connect(seat)
            except ConnectionRefusedError:
                _unlink(seat)
            except OSError:
                return


def _unlink(name: str | bytes) -> None:
    if isinstance(name, str):  # names of the abstract namespace are bytes, and need no unlinking
        Path(name).unlink(missing_ok=True)
