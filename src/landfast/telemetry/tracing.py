"""Traces, for whoever has set up OpenTelemetry: from a delivery to its effects, one trace for each event.

An event's id is 16 bytes that every process derives by itself, and so is a trace's. So the one is the other: intake,
workers, retries and replays agree on it, and nothing has to be stored. What a sender says about a trace of its own
(`traceparent`) is a link, and never believed.

Nothing is imported here. Where nobody has imported OpenTelemetry, nobody has set it up, and there is nothing to do.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from landfast.telemetry import shown

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
"""Version 00 of the W3C's Trace Context."""
_NANOSECONDS = 1_000_000_000


def is_on() -> bool:
    """Whether somebody has set it up in this process."""
    return _set_up() is not None


def received(
    event: bytes, facts: Mapping[str, Any], *, began: float, ended: float, traceparent: str | None = None
) -> None:
    """A delivery was answered; both times are Unix seconds."""
    if (api := _set_up()) is None or (parent := _context(api, event, "landfast receive")) is None:
        return
    link = _link(api, traceparent)
    span = _tracer(api).start_span(
        "landfast receive",
        context=parent,
        kind=api.SpanKind.SERVER,
        attributes=_attributes(event, facts),
        links=[] if link is None else [link],
        start_time=int(began * _NANOSECONDS),
    )
    span.end(int(ended * _NANOSECONDS))


def traced(
    name: str, event: bytes, facts: Callable[[], Mapping[str, Any]], function: Callable[[], Any], *, is_async: bool
) -> Callable[[], Any]:
    """The function inside a span that is the current one while it runs, so that what it calls is below it."""
    if (api := _set_up()) is None or (parent := _context(api, event, name)) is None:
        return function
    span = partial(_span, api, name, parent, _attributes(event, facts()))

    def call() -> Any:
        with span():
            return function()

    async def call_async() -> Any:
        with span():
            return await function()

    return call_async if is_async else call


@contextmanager
def _span(api: Any, name: str, parent: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    span = _tracer(api).start_span(name, context=parent, kind=api.SpanKind.CONSUMER, attributes=attributes)
    # Not its message, as in the log: it may hold what the sender sent.
    with api.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield
        except BaseException as error:
            kind = type(error).__name__
            span.set_attribute("error.type", kind)
            span.set_status(api.Status(api.StatusCode.ERROR, kind))
            raise


def _set_up() -> Any:
    """OpenTelemetry's API, if somebody has set it up in this process."""
    api = sys.modules.get("opentelemetry.trace")
    return api if api is not None and not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider) else None


def _tracer(api: Any) -> Any:
    return api.get_tracer("landfast")


def _context(api: Any, event: bytes, name: str) -> Any:
    """Below a span that nobody has made, in the trace of this event; None where it is not sampled. All processes come
    to the same decision, if the sampler decides by the trace's id as those of OpenTelemetry do."""
    empty = sys.modules["opentelemetry.context"].Context()
    trace = int.from_bytes(event, "big") or 1
    sampler = getattr(_tracer(api), "sampler", None)  # the SDK's; another SDK decides by the flag alone
    if sampler is not None and not sampler.should_sample(empty, trace, name).decision.is_sampled():
        return None
    parent = int.from_bytes(hashlib.sha256(event).digest()[:8], "big") or 1
    flags = api.TraceFlags(api.TraceFlags.SAMPLED)
    return api.set_span_in_context(api.NonRecordingSpan(api.SpanContext(trace, parent, True, flags)), empty)


def _link(api: Any, traceparent: str | None) -> Any:
    found = None if traceparent is None else _TRACEPARENT.fullmatch(traceparent.strip().lower())
    if found is None:
        return None
    trace, span, flags = (int(part, 16) for part in found.groups())
    context = api.SpanContext(trace, span, True, api.TraceFlags(flags))
    return api.Link(context) if context.is_valid else None


def _attributes(event: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"landfast.event": event.hex()} | {f"landfast.{name}": shown(name, value) for name, value in facts.items()}
