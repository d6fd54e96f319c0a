"""One POST over HTTP/1.1, to an address that was looked at. No redirect is followed, little of an answer is read."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import SplitResult

import httptools

from landfast.domain.errors import NoAnswerError
from landfast.forwarding.guard import Address

KEPT_BYTES = 4 * 1024
"""Of an answer's body, kept as the result: enough for an id, or for the beginning of an error."""

READ_BYTES_AT_MOST = 1024 * 1024
"""Of an answer. What is longer is not read to its end: its status is known."""

HEAD_BYTES_AT_MOST = 64 * 1024
"""Until the end of an answer's headers."""

CONNECT_SECONDS = 5.0
"""For each address, so that one that is dead leaves time for the next."""

_CHUNK_BYTES = 16 * 1024


@dataclass(slots=True)
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    """Names in small letters."""
    body: bytes = b""
    """The beginning of it."""
    is_headed: bool = False
    is_whole: bool = False


async def post(url: SplitResult, addresses: Sequence[Address], headers: Mapping[str, str], body: bytes) -> Answer:
    """Whatever the status is. NoAnswerError where there is none."""
    try:
        reader, writer = await _connected(url, addresses)
    except (OSError, ssl.CertificateError) as error:
        raise NoAnswerError(f"no connection to {url.hostname} ({_told(error)})") from error
    try:
        writer.write(_head(url, headers, len(body)) + body)
        with suppress(ConnectionError):  # it may have answered before it had read all: that answer is read
            await writer.drain()
        return await _read(reader, url)
    except NoAnswerError:
        raise
    except (OSError, httptools.HttpParserError) as error:
        raise NoAnswerError(f"no HTTP answer of {url.hostname} ({_told(error)})") from error
    finally:
        writer.transport.abort()


async def _connected(
    url: SplitResult, addresses: Sequence[Address]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    is_tls = url.scheme == "https"
    port = url.port or (443 if is_tls else 80)
    given = {"ssl": trusting(), "server_hostname": url.hostname} if is_tls else {}
    for number, address in enumerate(addresses, 1):
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(str(address), port, **given)  # type: ignore[arg-type]
        except OSError:
            if number == len(addresses):
                raise
    raise NoAnswerError(f"{url.hostname} has no address")


def _head(url: SplitResult, headers: Mapping[str, str], length: int) -> bytes:
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    lines = {"host": url.netloc.rpartition("@")[2], **headers, "content-length": str(length), "connection": "close"}
    return "".join(
        [f"POST {target} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in lines.items()), "\r\n"]
    ).encode("ascii")


async def _read(reader: asyncio.StreamReader, url: SplitResult) -> Answer:
    reading = _Reading()
    parser = httptools.HttpResponseParser(reading)
    reading.status_of = parser.get_status_code
    count = 0
    while not reading.answer.is_whole and count < READ_BYTES_AT_MOST:
        chunk = await reader.read(_CHUNK_BYTES)
        if not chunk:
            break
        count += len(chunk)
        try:
            parser.feed_data(chunk)
        except httptools.HttpParserError:
            if not reading.answer.is_whole:  # what comes after an answer is none of it
                raise
        if not reading.answer.is_headed and count > HEAD_BYTES_AT_MOST:
            raise NoAnswerError(f"the headers of {url.hostname} do not end")
    answer = reading.answer
    is_framed = answer.headers.keys() & {"content-length", "transfer-encoding"}
    if not answer.is_headed or (is_framed and not answer.is_whole and count < READ_BYTES_AT_MOST):
        raise NoAnswerError(f"{url.hostname} closed the connection before its answer was whole")
    return answer


class _Reading:
    """What the parser calls."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.status_of: Callable[[], int] = lambda: 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.answer.is_whole:
            return
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self.answer.is_whole:  # a second answer, to nothing that was asked
            return
        self.answer.status = self.status_of()
        self.answer.is_headed = self.answer.status >= 200

    def on_body(self, part: bytes) -> None:
        if not self.answer.is_whole:
            self.answer.body += part[: KEPT_BYTES - len(self.answer.body)]

    def on_message_complete(self) -> None:
        if self.answer.status < 200:  # 100 and 103 come before the answer itself
            self.answer = Answer()
        else:
            self.answer.is_whole = True


def _told(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else "") or type(error).__name__


@cache
def trusting() -> ssl.SSLContext:
    """The roots of the system."""
    return ssl.create_default_context()
