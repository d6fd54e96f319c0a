"""What a caller is told that gets no answer of the endpoint's own: `application/problem+json` (RFC 9457), with the
statuses of the IETF's draft on `Idempotency-Key`."""

from __future__ import annotations

import msgspec

from landfast.domain.answer import Answer
from landfast.domain.outcome import DISCARDED

CONTENT_TYPE = b"application/problem+json"
TYPE = "urn:landfast:problem:"
"""What a type begins with. The word behind it is for programs; title and detail are for people."""

_WORDS = {
    401: "not-verified",
    403: "forbidden",
    404: "not-found",
    405: "wrong-method",
    408: "too-slow",
    413: "body-too-large",
    415: "encoding-not-supported",
    429: "too-many",
    503: "try-again-later",
}


def problem(
    status: int,
    word: str,
    title: str,
    detail: str = "",
    *,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    close: bool = False,
    **more: str,
) -> Answer:
    told: dict[str, str | int] = {"type": f"{TYPE}{word}", "title": title, "status": status}
    told |= {name: text for name, text in {"detail": detail, **more}.items() if text}
    return Answer(status, msgspec.json.encode(told), CONTENT_TYPE, headers, close)


def as_problem(given: Answer) -> Answer:
    """A refusal that any source may give, in an endpoint's words."""
    if given.content_type == CONTENT_TYPE:
        return given
    try:
        title = str(msgspec.json.decode(given.body)["error"])
    except (msgspec.DecodeError, LookupError, TypeError):
        title = "it cannot be answered"
    word = _WORDS.get(given.status, "bad-request" if given.status < 500 else "failed")
    return problem(given.status, word, title, headers=given.headers, close=given.close)


KEY_MISSING = problem(
    400,
    "key-missing",
    "Idempotency-Key is missing",
    "send one Idempotency-Key of 1 to 255 visible ASCII characters, the same one with every retry of the same call",
)
TIMESTAMP_MISSING = problem(
    400,
    "timestamp-missing",
    "X-Request-Timestamp is missing",
    "send one X-Request-Timestamp: the time of this request, as unix seconds or RFC 3339",
)
OTHER_BODY = problem(
    422,
    "other-body",
    "Idempotency-Key is already used",
    "this key came with another body before; send that body again, or take another key",
)
UNKNOWN_CALL = problem(404, "not-found", "no such call", "nothing came under this key; send the call itself")
ANSWER_GONE = problem(
    410,
    "answer-gone",
    "the answer is gone",
    "the call was carried out, and its answer was erased or has outlived its retention; it does not run again",
)


def malformed(why: str) -> Answer:
    return problem(400, "malformed-body", "the body cannot be read", why)


def failed(event: str, reason: str) -> Answer:
    """Nothing of what the error said: its text may hold what is nobody's business but the operator's."""
    detail = "it ran and failed for good, and left nothing behind; landfast events show has the reason"
    if reason == DISCARDED:
        detail = "an operator discarded it, and it left nothing behind; landfast events show has the reason"
    return problem(500, "failed", "the call failed", detail, event=event, reason=reason)
