"""What a failed attempt means. Pure: the error, the counts so far and a drawn fraction go in, a judgement comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Any

import msgspec

from landfast.domain.backoff import Backoff
from landfast.domain.errors import StagingError, VerdictError
from landfast.domain.fault import Fault
from landfast.domain.outcome import Tries
from landfast.domain.verdict import GiveUp, RetryLater, WaitFor

TRANSIENT_STATUSES = frozenset({408, 409, 423, 425, 429})

AWAY_STATUSES = frozenset({408, 429})
"""Together with 5xx: the answers of a service that cannot serve anybody now. 409, 423 and 425 are about one request."""

AWAY_CLASS_NAMES = frozenset(
    {"ConnectionError", "TimeoutError", "DeadlineError", "gaierror"}  # Python's own, requests', ours
    | {"TransportError", "Timeout", "ClientConnectionError"}  # httpx's, requests', aiohttp's
)
"""Classes, by name, that say of themselves or of their heirs: there was no answer. By name, because the clients are the
user's dependencies, not ours."""

ASKED_DELAY_SECONDS_AT_MOST = 365 * 86_400.0
"""A year: a longer wait is a typing mistake, and a date so far away that a database cannot hold it is none."""


class Ruling(Enum):
    RETRY = auto()
    """A counted attempt; try again after the delay."""
    BURY = auto()
    """A counted attempt, and the last one."""
    POSTPONE = auto()
    """Not the event's fault: no attempt is counted."""


@dataclass(frozen=True, slots=True)
class Judgement:
    ruling: Ruling
    after: float = 0.0
    reason: str = ""
    charged: float | None = None
    """Seconds of `after` that the backoff's total is charged with; all of them unless it is set."""


def judge(
    error: BaseException,
    *,
    fault: Fault,
    tries: Tries,
    attempts: int | None,
    backoff: Backoff,
    seconds: float,
    now: datetime,
    fraction: float,
) -> Judgement:
    """`tries` are those before this attempt; `seconds` is how long this one ran."""
    if isinstance(error, GiveUp):
        return Judgement(Ruling.BURY, reason="gave_up")
    if fault in (Fault.INFRASTRUCTURE, Fault.SCHEMA, Fault.OWN_CONNECTION):
        return Judgement(Ruling.POSTPONE, after=1.0, reason=fault.name.lower())
    if _is_permanent(error):
        return Judgement(Ruling.BURY, reason="permanent")
    count = tries.count + 1
    if attempts is not None and count >= attempts:
        return Judgement(Ruling.BURY, reason="attempts_exhausted")
    after, charged = asked_delay(error, now), None
    if after is None:
        after = backoff.delay(count, fraction=fraction)
    elif isinstance(error, RetryLater):
        # The handler knows how long to wait, so its wait costs no more than ours would. It can be longer than the
        # total, and as many of them as of ours use the total up.
        charged = min(after, backoff.ceiling(count))
    if tries.spent + seconds + (after if charged is None else charged) > backoff.total:
        return Judgement(Ruling.BURY, reason="time_exhausted")
    return Judgement(Ruling.RETRY, after=after, reason="failed", charged=charged)


def is_away(error: BaseException) -> bool:
    """Whether it says that something the handler depends on does not answer any question."""
    if isinstance(error, WaitFor):
        return True
    status = http_status(error)
    if status is not None:
        return status >= 500 or status in AWAY_STATUSES
    return any(kind.__name__ in AWAY_CLASS_NAMES for kind in type(error).__mro__)


def _is_permanent(error: BaseException) -> bool:
    status = http_status(error)
    if status is not None:
        return 400 <= status < 500 and status not in TRANSIENT_STATUSES
    if isinstance(error, msgspec.ValidationError | StagingError | VerdictError):
        return True
    # By name, because pydantic is the user's dependency, not ours.
    kind = type(error)
    return kind.__name__ == "ValidationError" and kind.__module__.split(".")[0] in ("pydantic", "pydantic_core")


def asked_delay(error: BaseException, now: datetime) -> float | None:
    """The delay that the error itself asks for: a verdict's, or a Retry-After header's, which is at most a day."""
    if isinstance(error, RetryLater) and error.until is not None:
        return min(max(0.0, (error.until - now).total_seconds()), ASKED_DELAY_SECONDS_AT_MOST)
    if isinstance(error, RetryLater | WaitFor):
        return min(error.after, ASKED_DELAY_SECONDS_AT_MOST)
    headers = _attribute(_attribute(error, "response"), "headers") or _attribute(error, "headers")
    text = _header(headers, "Retry-After") if http_status(error) is not None else None
    if text is None:
        return None
    return max(0.0, min(86_400.0, _retry_after(text, now)))


def _retry_after(text: str, now: datetime) -> float:
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return 1.0
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


def http_status(error: BaseException) -> int | None:
    """The status that an HTTP client's error carries: httpx and requests on `.response`, aiohttp on itself."""
    for holder in (_attribute(error, "response"), error):
        for name in ("status_code", "status"):
            status = _attribute(holder, name)
            if isinstance(status, int) and not isinstance(status, bool):
                return int(status)
    return None


def _header(headers: Any, name: str) -> str | None:
    get = _attribute(headers, "get")
    value = get(name) if callable(get) else None
    return value if isinstance(value, str) else None


def _attribute(holder: Any, name: str) -> Any:
    """What a user's error class says of itself, if it does not raise."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a class that we do not know
        return None
