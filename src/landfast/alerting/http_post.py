"""One POST over HTTP. It blocks, follows no redirect, and tells nothing of the address: that may be a secret itself."""

from __future__ import annotations

import http.client
import ipaddress
import re
import ssl
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from landfast.alerting.sink import SinkError

POST_STEP_SECONDS = 10.0
"""For each step of a connection: Slack and PagerDuty answer within one."""

LARGEST_ANSWER_BYTES = 16 * 1024
"""What is longer is no answer to a notice."""


SECRET_CHARACTERS = 6
"""Of a part of an address that is not shown. A shorter one is a word such as `hook`, and guessed anyway."""


class Answered(NamedTuple):
    status: int
    text: str
    retry_after: float


def is_safe_address(url: str) -> bool:
    """Over TLS, or to this very machine: what is sent names sources, handlers and errors."""
    try:
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            return False
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(parts.hostname))


def parts_of(url: str) -> list[str]:
    """What of an address may be a secret: all of it, and each part of its path and query."""
    parts = urlsplit(url)
    return [
        url,
        *(word for word in re.split(r"[/?&=]", f"{parts.path}?{parts.query}") if len(word) >= SECRET_CHARACTERS),
    ]


def is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answered:
    """Whatever the status is. SinkError where there is no answer."""
    parts = urlsplit(url)
    try:
        connection = _connection(parts.scheme, parts.hostname or "", parts.port)
        try:
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            connection.request("POST", target, body, {"user-agent": "landfast", **headers})
            response = connection.getresponse()
            text = response.read(LARGEST_ANSWER_BYTES).decode("utf-8", "replace")
        finally:
            connection.close()
    except http.client.HTTPException as error:  # its text may quote the path
        raise SinkError(f"no HTTP answer ({type(error).__name__})") from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise SinkError(f"no answer ({told})") from None
    return Answered(response.status, text, _seconds(response.getheader("retry-after")))


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=POST_STEP_SECONDS, context=trusting())
    return http.client.HTTPConnection(host, port, timeout=POST_STEP_SECONDS)


def _seconds(retry_after: str | None) -> float:
    try:
        return min(max(0.0, float(retry_after or 0)), 3_600.0)
    except ValueError:  # a date: the backoff is about as long
        return 0.0


@cache
def trusting() -> ssl.SSLContext:
    """The roots of the system."""
    return ssl.create_default_context()
