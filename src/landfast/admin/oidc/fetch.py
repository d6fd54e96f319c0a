"""Ask the identity provider: one small document at a time, in a thread, with limits."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from landfast.config.oidc import is_safe
from landfast.domain.json_limits import read_json

STEP_SECONDS = 3.0
"""For each step of a connection."""

WHOLE_SECONDS = 10.0
"""For all of it: somebody looks at a white page meanwhile."""

DOCUMENT_BYTES = 256 * 1024
"""A set of keys has some thousands, and an answer with tokens too."""


class FetchFailedError(Exception):
    """The identity provider did not answer, or not with what was asked for."""


async def fetch(url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object at this address. FetchFailedError for everything else."""
    document = await raw(url, form, headers)
    try:
        read = read_json(document)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise FetchFailedError(f"{url} answered with no JSON object")
    return read


async def raw(url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    if not is_safe(url):
        raise FetchFailedError("the identity provider names an address without https")
    try:
        async with asyncio.timeout(WHOLE_SECONDS):
            return await asyncio.to_thread(_ask, url, form, dict(headers or {}))
    except (OSError, http.client.HTTPException) as error:  # a timeout is an OSError
        raise FetchFailedError(f"{url}: {error or type(error).__name__}") from error


def _ask(url: str, form: bytes | None, headers: dict[str, str]) -> bytes:
    """A redirect is another status than 200: it could lead anywhere."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=STEP_SECONDS)
    headers["accept"] = "application/json"
    if form is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
    try:
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection.request("GET" if form is None else "POST", target, form, headers)
        response = connection.getresponse()
        document = response.read(DOCUMENT_BYTES + 1)
    finally:
        connection.close()
    if response.status != 200 or len(document) > DOCUMENT_BYTES:
        raise OSError(f"status {response.status} with {len(document)} bytes")
    return document
