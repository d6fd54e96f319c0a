"""An answer as HTTP/1.1 bytes, ready for one write."""

from __future__ import annotations

from http import HTTPStatus

from landfast.domain.answer import Answer

NO_CONTENT = 204
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_STATUS_LINES[498] = b"HTTP/1.1 498 Invalid Token\r\n"  # in no RFC; GoCardless asks for it


def render(answer: Answer, *, closes: bool, is_head: bool = False) -> bytes:
    extra = b"".join([b"%s: %s\r\n" % header for header in answer.headers]) if answer.headers else b""
    if answer.status == NO_CONTENT:  # it ends with its headers, and RFC 9110 forbids a length in them
        return b"%s%s%s\r\n" % (_STATUS_LINES[NO_CONTENT], extra, b"connection: close\r\n" if closes else b"")
    return b"%scontent-type: %s\r\ncontent-length: %d\r\nx-content-type-options: nosniff\r\n%s%s\r\n%s" % (
        _STATUS_LINES[answer.status],
        answer.content_type,
        len(answer.body),
        extra,
        b"connection: close\r\n" if closes else b"",
        b"" if is_head else answer.body,
    )
