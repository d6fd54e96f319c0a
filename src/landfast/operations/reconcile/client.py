"""Ask a provider's API, as politely as it wants: wait when it says so, and give up in the end."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from landfast.domain.errors import UserError
from landfast.ports.clock import Chance, Clock

STEP_SECONDS = 30.0
"""For each step of a connection: a page of a hundred events takes a provider a second or two."""

LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
"""A hundred events of the largest kind; what is larger is no list."""

TRIES_AT_MOST = 7
"""Of one request: with the waits between them, two minutes."""

LONGEST_WAIT_SECONDS = 900.0
"""What a provider may ask for. Whoever must come back later than that goes on with the next run."""

_LATER = frozenset({429, 500, 502, 503, 504})


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes


class Client:
    """It has no repr: it holds a credential. Nothing that it raises quotes one, or the query of an address."""

    __slots__ = ("_chance", "_clock", "_headers", "_name", "_origin", "requests")

    def __init__(self, name: str, url: str, headers: Mapping[str, str], *, clock: Clock, chance: Chance) -> None:
        self._name = name
        self._origin = _origin(url)
        self._headers = {**headers, "user-agent": "landfast"}
        self._clock = clock
        self._chance = chance
        self.requests = 0

    async def get(self, url: str) -> Answer:
        """UserError where there is no answer to be had."""
        try:
            if _origin(url) != self._origin:  # whoever answers must not send our credential elsewhere
                raise self._failed(f"the list leads to another host, {urlsplit(url).hostname}, which is not asked")
            return await self._tried(url)
        except (ValueError, http.client.InvalidURL):  # not told: it may quote the credential
            raise self._failed(_unsendable(self._headers)) from None

    async def _tried(self, url: str) -> Answer:
        for number in range(1, TRIES_AT_MOST + 1):
            why, wait = "", 0.0
            try:
                self.requests += 1
                answer = await asyncio.to_thread(_get, url, self._headers)
            except http.client.InvalidURL:
                raise
            except (OSError, http.client.HTTPException) as error:
                why = f"it does not answer ({type(error).__name__})"
            else:
                if answer.status == 200:
                    return answer
                if not _is_for_later(answer):
                    raise self._failed(f"it answers {answer.status}{_hint(answer.status)}")
                why, wait = f"it answers {answer.status}", _asked_wait(answer, self._clock.now().timestamp())
            if wait > LONGEST_WAIT_SECONDS:
                raise self._failed(f"{why}, and wants to be left alone for {wait:,.0f} s; run it again after that")
            if number < TRIES_AT_MOST:
                await self._clock.sleep(wait or 2 ** (number - 1) * (0.5 + self._chance.fraction()))
        raise self._failed(f"{why}, {TRIES_AT_MOST} times in a row; the next run goes on from here")

    def _failed(self, why: str) -> UserError:
        return UserError(f"reconcile {self._name}: of {self._origin[1]}: {why}")


def _get(url: str, headers: Mapping[str, str]) -> Answer:
    """In a thread. A redirect is another status than 200: it could lead anywhere."""
    parts = urlsplit(url)
    made = (
        http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=STEP_SECONDS, context=_trusting())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=STEP_SECONDS)
    )
    try:
        made.request("GET", f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/", headers=headers)
        response = made.getresponse()
        body = response.read(LARGEST_ANSWER_BYTES + 1)
    finally:
        made.close()
    if len(body) > LARGEST_ANSWER_BYTES:
        raise OSError("the answer is too large")
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def _unsendable(headers: Mapping[str, str]) -> str:
    """Why a request cannot even be written."""
    if all(_is_header(text) for text in headers.values()):
        return "the list leads to an address that is none; check url and next of its listing"
    return "its header cannot be sent; look for line breaks and odd letters in the credential of its listing"


def _is_header(text: str) -> bool:
    return text.isprintable() and text.encode("latin-1", "replace").decode("latin-1") == text


def _is_for_later(answer: Answer) -> bool:
    """GitHub answers 403 when its limit is reached, and says so in its headers."""
    is_limit = "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    return answer.status in _LATER or (answer.status == 403 and is_limit)


def _asked_wait(answer: Answer, now: float) -> float:
    """Seconds, 0 where the provider does not say."""
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    try:
        if after:
            return max(0.0, parsedate_to_datetime(after).timestamp() - now)
    except ValueError:
        return 0.0
    reset = answer.headers.get("x-ratelimit-reset", "")
    is_used_up = answer.headers.get("x-ratelimit-remaining") == "0"
    return max(0.0, float(reset) - now) if is_used_up and reset.isdecimal() else 0.0


def _hint(status: int) -> str:
    if status in {401, 403}:
        return "; check the credential of its listing, and what it may read"
    return "; check the url of its listing" if status in {301, 302, 307, 308, 404} else ""


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


@cache
def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context()
