"""A request's body as it arrives, by length or in chunks. Sans-I/O; never more of it is kept than is allowed."""

from __future__ import annotations

import re

from landfast.domain.errors import BodyTooLargeError, FramingError

LINE_LIMIT = 1024
"""Bytes of one chunk size line or trailer; real ones have under a hundred."""

TRAILER_LIMIT = 100
"""Trailers of one body: as many as headers may be. Senders of webhooks send none."""

CHUNKS_IN_A_TURN = 64
"""Chunks read before others have their turn: they cost about as much as a request of 2 KB does."""

SMALL_CHUNKS = 512
MEAN_CHUNK_BYTES = 256
"""Once a body has had that many chunks, they must have this many bytes on average. A chunk of one byte costs thousands
of times what a byte of a plain body does, and nobody has to sign anything for it. Senders that write chunks use buffers
of 1 to 64 KiB. One that writes a line or a field at a time stays below the number of chunks with 40 KB of body."""

_SIZE_LINE = rb"([0-9A-Fa-f]{1,8})[ \t]{0,99}(?:;[\t -~\x80-\xff]{0,900})?\r\n"
_FIRST_SIZE = re.compile(_SIZE_LINE)
_NEXT_SIZE = re.compile(rb"\r\n" + _SIZE_LINE)
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")


PIECE_BYTES = 64 * 1024
"""What arrives is kept in pieces of at least so many bytes: a sender of single bytes would make us keep forty for each.
And not in one array: one of megabytes is copied as it grows, and given back to the kernel, for milliseconds in which
nobody else has a turn."""


class Pieces:
    """Bytes in the order in which they came."""

    __slots__ = ("_last", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # those of a bytearray would be joined without letting others go on
        self._last = bytearray()
        """Small ones, together."""

    def add(self, piece: bytes) -> None:
        if len(piece) >= PIECE_BYTES and not self._last:
            self._pieces.append(piece)
            return
        self._last += piece
        if len(self._last) >= PIECE_BYTES:
            self._pieces.append(bytes(self._last))
            self._last = bytearray()

    def whole(self) -> bytes:
        """All of them, put together once: the pieces are let go of."""
        if self._last:
            self._pieces.append(bytes(self._last))
            self._last = bytearray()
        whole = b"".join(self._pieces)
        self._pieces = [whole]
        return whole


class SizedBody:
    """A body whose length is known."""

    has_more_to_read = False

    def __init__(self, length: int) -> None:
        self._left = length
        self._bytes = Pieces()
        self.size = 0

    @property
    def is_whole(self) -> bool:
        return not self._left

    def feed(self, data: bytes) -> bytes:
        """Take what belongs to the body; what is left over."""
        piece = data[: self._left]
        self._bytes.add(piece)
        self._left -= len(piece)
        self.size += len(piece)
        return data[len(piece) :]

    def whole(self) -> bytes:
        return self._bytes.whole()


class ChunkedBody:
    """A body in chunks, of at most `limit` bytes. Extensions and trailers are checked and dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = 0
        self._chunks = 0
        self._trailers = 0
        self._size_line = _FIRST_SIZE
        self._bytes = Pieces()
        self._is_at_trailers = False
        self.is_whole = False
        self.has_more_to_read = False
        """What is left over holds more than this turn may take."""
        self.size = 0

    def feed(self, data: bytes) -> bytes:
        """Take what belongs to the body, for one turn; what is left over. Unless the body is whole, or has more to
        read, that is the beginning of a line: feed it again, with what follows."""
        at = 0
        self.has_more_to_read = False
        for _ in range(CHUNKS_IN_A_TURN):
            if self._left:
                at += self._take_data(data[at : at + self._left])
                if self._left:
                    return b""
            if self._is_at_trailers:
                return self._read_trailers(data[at:])
            line = self._size_line.match(data, at)
            if line is None:
                self._check_beginning(data[at : at + LINE_LIMIT])
                return data[at:]
            at = line.end()
            self._begin_chunk(int(line[1], 16))
        self.has_more_to_read = True
        return data[at:]

    def whole(self) -> bytes:
        return self._bytes.whole()

    def _take_data(self, piece: bytes) -> int:
        self._bytes.add(piece)
        self.size += len(piece)
        self._left -= len(piece)
        return len(piece)

    def _begin_chunk(self, size: int) -> None:
        if self.size + size > self._limit:
            raise BodyTooLargeError("more than the limit in chunks")
        self._chunks += 1
        if size and self._chunks > SMALL_CHUNKS + self.size // MEAN_CHUNK_BYTES:
            raise FramingError("chunks too small")
        self._left = size
        self._is_at_trailers = not size
        self._size_line = _NEXT_SIZE

    def _check_beginning(self, line: bytes) -> None:
        """Whether this can become a size line, with the end of the chunk before it."""
        if self._size_line is _NEXT_SIZE:
            if not b"\r\n".startswith(line[:2]):
                raise FramingError("chunk longer than its size")
            line = line[2:]
        if b"\n" in line:
            raise FramingError("malformed chunk size")
        if len(line) >= LINE_LIMIT - 2:
            raise FramingError("chunk line too long")

    def _read_trailers(self, data: bytes) -> bytes:
        while (end := data.find(b"\n", 0, LINE_LIMIT)) >= 0:
            line, data = data[: end + 1], data[end + 1 :]
            if line == b"\r\n":
                self.is_whole = True
                return data
            self._trailers += 1
            if self._trailers > TRAILER_LIMIT or not line.endswith(b"\r\n") or not _TRAILER.fullmatch(line[:-2]):
                raise FramingError("malformed trailer")
        if len(data) >= LINE_LIMIT:
            raise FramingError("trailer too long")
        return data
