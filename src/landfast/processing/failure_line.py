"""What is told of a failed attempt: a line in the log, and the error itself to whoever collects those."""

from __future__ import annotations

from functools import partial

from landfast import telemetry
from landfast.domain.outcome import SAME_TRACE, Attempt
from landfast.domain.verdict import RetryLater
from landfast.processing.handlers.error_text import logged, shown_trace
from landfast.processing.judge import Judgement, Ruling
from landfast.processing.work import Work
from landfast.telemetry.raised import raised


def tell_failure(work: Work, line: Attempt, error: BaseException, judgement: Judgement) -> None:
    # Without its message, which may hold what the sender sent. That is in the inbox, where erasure reaches it.
    place = logged(error)
    facts = {
        "handler": line.handler,
        "source": work.claim.source,
        "type": work.claim.type,
        "key": work.claim.key,
        "event": work.claim.event_id,
        "attempt": f"{line.number}/{work.handler.attempts}" if work.handler.attempts else line.number,
        "error": place,
        "then": "dead letter" if judgement.ruling is Ruling.BURY else f"{line.outcome} in {judgement.after:.1f} s",
    }
    detail = None if line.trace == SAME_TRACE else partial(shown_trace, error)
    telemetry.warn_in_detail("handler_failed", detail, **facts)
    if not issubclass(type(error), RetryLater):  # which is no failure: the handler asked for it
        raised("handler_failed", line.handler, place, error, facts)
