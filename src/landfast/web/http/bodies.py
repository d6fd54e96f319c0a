"""A request's body as it arrives, by length or in chunks. Sans-I/O; never more of it is kept than is allowed."""

from __future__ import annotations

import re
from enum import Enum, auto

from landfast.domain.errors import BodyTooLargeError, FramingError

LINE_LIMIT = 1024
"""Bytes of one chunk size line or trailer; real ones have under a hundred."""

OVERHEAD = 64 * 1024
"""Bytes of chunk framing beyond as many as there are of body. Without it a body of single-byte chunks would cost a
thousand times the work of a plain one."""

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t -~\x80-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")


class SizedBody:
    """A body whose length is known."""

    def __init__(self, length: int) -> None:
        # One growing array, not a list of pieces: a sender of single bytes would make us keep forty for each.
        self._left = length
        self._bytes = bytearray()
        self.size = 0

    def feed(self, data: bytes) -> bytes | None:
        """None while more is needed; then what came after the body."""
        piece = data[: self._left]
        self._bytes += piece
        self._left -= len(piece)
        self.size += len(piece)
        return None if self._left else data[len(piece) :]

    def whole(self) -> bytes:
        return bytes(self._bytes)


class _Expects(Enum):
    SIZE = auto()
    DATA = auto()
    END_OF_DATA = auto()
    TRAILER = auto()


class ChunkedBody:
    """A body in chunks, of at most `limit` bytes. Extensions and trailers are checked and dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._expects = _Expects.SIZE
        self._left = 0
        self._overhead = 0
        self._partial_line = b""
        self._bytes = bytearray()
        self.size = 0

    def feed(self, data: bytes) -> bytes | None:
        """None while more is needed; then what came after the body."""
        buffer = self._partial_line + data
        at = 0
        while at < len(buffer):
            if self._expects is _Expects.DATA:
                at += self._take_data(buffer[at : at + self._left])
                continue
            end = buffer.find(b"\r\n", at, at + LINE_LIMIT)
            if end < 0:
                break
            line = buffer[at:end]
            at = end + 2
            if self._take_line(line):
                return buffer[at:]
        self._partial_line = buffer[at:]
        if len(self._partial_line) >= LINE_LIMIT:
            raise FramingError("chunk line too long")
        return None

    def whole(self) -> bytes:
        return bytes(self._bytes)

    def _take_data(self, piece: bytes) -> int:
        self._bytes += piece
        self.size += len(piece)
        self._left -= len(piece)
        if not self._left:
            self._expects = _Expects.END_OF_DATA
        return len(piece)

    def _take_line(self, line: bytes) -> bool:
        """True for the empty line that ends the body."""
        self._overhead += len(line) + 2
        if self._overhead > OVERHEAD + self.size:
            raise FramingError("chunks too small")
        if self._expects is _Expects.SIZE:
            self._take_size(line)
        elif self._expects is _Expects.END_OF_DATA:
            if line:
                raise FramingError("chunk longer than its size")
            self._expects = _Expects.SIZE
        elif not line:
            return True
        elif not _TRAILER.fullmatch(line):
            raise FramingError("malformed trailer")
        return False

    def _take_size(self, line: bytes) -> None:
        size = _SIZE_LINE.fullmatch(line)
        if size is None:
            raise FramingError("malformed chunk size")
        self._left = int(size[1], 16)
        if self.size + self._left > self._limit:
            raise BodyTooLargeError("more than the limit in chunks")
        self._expects = _Expects.DATA if self._left else _Expects.TRAILER
