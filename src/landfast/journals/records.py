"""Records of a spool: how a request is written down, and how it is found again in a file that was damaged.

A segment is a mark of 16 bytes (how far it is drained), then records. A record is a header of 16 bytes (magic, length
of the body, CRC of the body, CRC of the header, each of four bytes), then the body: the deliveries of one request as
msgpack, by field name, so that a field that a later version adds needs a default. Both CRCs begin with the segment's
own seed, which no sender knows: a body that looks like records is not taken for them when a damaged header before it
has us search.

zlib's CRC32 and not CRC32C: it is in the standard library, and tells torn and flipped bytes apart just as well.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from landfast.domain.delivery import Delivery
from landfast.domain.errors import JournalUnavailableError

MARK_BYTES = 16
"""Bytes before the first record."""

MAGIC = b"\x8aLFR"
_HEADER = struct.Struct(">4sIII")
_MARK = struct.Struct(">4xQI")

LONGEST_RECORD_BYTES = 256 * 2**20
"""Bytes of a record, far above the largest body that any source may take: a length beyond it is none of ours."""

SEARCH_STEP_BYTES = 2**20
"""Bytes read at a time while the next whole header is searched for."""

Read = Callable[[int, int], bytes]
"""So many bytes from an offset; fewer at the end."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Delivery])


class Whole(NamedTuple):
    start: int
    end: int
    deliveries: Sequence[Delivery]


class Damaged(NamedTuple):
    """Bytes that are no record: torn, flipped, or written by a version that is not ours."""

    start: int
    end: int
    is_tail: bool
    """Nothing whole comes behind it."""


def encode(deliveries: Sequence[Delivery], *, seed: int) -> bytes:
    body = _encoder.encode(deliveries)
    if len(body) > LONGEST_RECORD_BYTES:  # it would be taken for damage when it is read
        raise JournalUnavailableError(f"a request of {len(body)} bytes is more than a spool can keep")
    head = struct.pack(">4sII", MAGIC, len(body), zlib.crc32(body, seed))
    return b"".join((head, zlib.crc32(head, seed).to_bytes(4), body))


def encode_mark(drained: int, *, seed: int) -> bytes:
    """How far a segment is drained. Not synced: an older one, or none, has records drained again, and the inbox knows
    them."""
    return _MARK.pack(drained, zlib.crc32(drained.to_bytes(8), seed))


def decode_mark(mark: bytes, *, seed: int) -> int:
    """Where the first record stands that is not drained."""
    if len(mark) < MARK_BYTES:
        return MARK_BYTES
    drained, crc = _MARK.unpack(mark)
    # Believed only when it is proven: one flipped bit in it would skip records.
    return drained if crc == zlib.crc32(drained.to_bytes(8), seed) and drained >= MARK_BYTES else MARK_BYTES


def find(read: Read, start: int, end: int, *, seed: int) -> Whole | Damaged:
    """What stands at `start`; `end` is where the segment's known bytes end."""
    length, crc = _header(read(_HEADER.size, start), seed) or (None, 0)
    if length is None:
        behind = _search(read, start + 1, end, seed)
        return Damaged(start, end if behind is None else behind, is_tail=behind is None)
    after = start + _HEADER.size + length
    if after > end:
        return Damaged(start, end, is_tail=True)
    body = read(length, start + _HEADER.size)
    try:
        if zlib.crc32(body, seed) == crc:
            return Whole(start, after, _decoder.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # whole, and yet not what we write: a later version's, perhaps
    return Damaged(start, after, is_tail=False)


def count(read: Read, start: int, end: int, *, seed: int) -> int:
    """How many records there are, by their headers, up to the first that is damaged."""
    records = 0
    while start < end and (header := _header(read(_HEADER.size, start), seed)) is not None:
        records += 1
        start += _HEADER.size + header[0]
    return records


def _header(header: bytes, seed: int) -> tuple[int, int] | None:
    """Length and CRC of the body, if this is a header."""
    if len(header) < _HEADER.size:
        return None
    magic, length, crc, own = _HEADER.unpack(header)
    is_ours = magic == MAGIC and own == zlib.crc32(header[:-4], seed) and length <= LONGEST_RECORD_BYTES
    return (length, crc) if is_ours else None


def _search(read: Read, start: int, end: int, seed: int) -> int | None:
    """Where the next whole header begins."""
    while start < end:
        piece = read(min(SEARCH_STEP_BYTES, end - start), start)
        at = piece.find(MAGIC)
        while at >= 0:
            if _header(read(_HEADER.size, start + at), seed) is not None:
                return start + at
            at = piece.find(MAGIC, at + 1)
        # A magic may lie across two pieces.
        start += max(len(piece) - len(MAGIC) + 1, 1)
    return None
