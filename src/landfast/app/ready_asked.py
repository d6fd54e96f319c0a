"""Asks `/ready` of a running intake, as a load balancer would."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

ANSWER_SECONDS = 3.0
"""For an intake to answer: it has nothing to look up for it."""

ANSWER_BYTES = 64 * 1024


async def ask_ready(address: str) -> tuple[int, Mapping[str, Any]]:
    """Status and answer. OSError or TimeoutError where nobody answers, ValueError where what comes is no answer."""
    parts = urlsplit(address)
    context = None
    if parts.scheme == "https":
        # By its address and not by its name, which is on the certificate; nothing secret is said or believed.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with asyncio.timeout(ANSWER_SECONDS):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context)
        try:
            writer.write(f"GET {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n\r\n".encode())
            answer = b""
            while len(answer) < ANSWER_BYTES and (more := await reader.read(ANSWER_BYTES)):
                answer += more
        finally:
            writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(maxsplit=2)
    if len(words) < 2 or not words[1].isdigit():
        raise ValueError("no HTTP")
    try:
        told = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        told = {}
    return int(words[1]), told
