"""What a command came to, told on the page that follows it. It travels in a cookie that one page reads."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "landfast_notice"
TEXT_BYTES = 2_800
"""As base64 of JSON: browsers drop a cookie of more than 4,096 bytes, and nobody would be told anything."""

TONES = ("ok", "warn", "bad")


@dataclass(frozen=True, slots=True)
class Notice:
    tone: str
    text: str


def put(response: Response, notice: Notice) -> None:
    text = notice.text[:TEXT_BYTES]
    while len(packed := base64.urlsafe_b64encode(msgspec.json.encode([notice.tone, text]))) > TEXT_BYTES * 4 / 3:
        text = text[: len(text) * 3 // 4]
    response.set_cookie(COOKIE, packed.decode(), max_age=60, httponly=True, samesite="strict")


def notice_of(request: Request) -> Notice | None:
    """Whoever forges it is told his own words, as text."""
    try:
        tone, text = msgspec.json.decode(
            base64.urlsafe_b64decode(request.cookies.get(COOKIE, "")), type=tuple[str, str]
        )
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        return None
    return Notice(tone if tone in TONES else "warn", text)


def take(response: Response, request: Request) -> None:
    if COOKIE in request.cookies:
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
