"""Which traces are made, and what is told in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, Sampler, TraceIdRatioBased

from landfast import telemetry
from landfast.domain.ids import event_id
from landfast.telemetry import tracing


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    sampler: Sampler | None = getattr(request, "param", None)
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def receive(number: int, traceparent: str | None = None) -> None:
    facts = {"key": f"evt_{number}", "source": "shop"}
    tracing.received(event_id("shop", f"evt_{number}"), facts, began=1.0, ended=2.0, traceparent=traceparent)


def test_where_nobody_has_set_it_up_nothing_is_made() -> None:
    def function() -> None: ...

    assert tracing.traced("x", b"1" * 16, dict, function, is_async=False) is function
    receive(1)


@pytest.mark.parametrize("exporter", [ParentBased(TraceIdRatioBased(0.25))], indirect=True)
def test_a_ratio_is_kept_and_whoever_sees_the_event_decides_alike(exporter: InMemorySpanExporter) -> None:
    for number in range(400):
        receive(number)
    sampled = {span.attributes["landfast.key"] for span in exporter.get_finished_spans() if span.attributes}
    assert 50 < len(sampled) < 150
    for number in range(400):
        tracing.traced("handle", event_id("shop", f"evt_{number}"), dict, lambda: None, is_async=False)()
    handled = {span.context.trace_id for span in exporter.get_finished_spans() if span.name == "handle"}
    assert len(handled) == len(sampled)


@pytest.mark.parametrize("exporter", [ALWAYS_OFF], indirect=True)
def test_a_sender_cannot_switch_tracing_on(exporter: InMemorySpanExporter) -> None:
    receive(1, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    assert not exporter.get_finished_spans()


def test_nonsense_is_no_link_and_a_hidden_key_is_not_told(exporter: InMemorySpanExporter) -> None:
    telemetry.redact(["key"])
    try:
        for nonsense in ("", "00-0-0-0", f"00-{'0' * 32}-{'0' * 16}-01", "\x00", "ff" * 40):
            receive(1, nonsense)
    finally:
        telemetry.redact([])
    spans = exporter.get_finished_spans()
    assert len(spans) == 5 and not any(span.links for span in spans)
    assert {span.attributes["landfast.key"] for span in spans if span.attributes} == {"[redacted]"}
    assert {(span.start_time, span.end_time) for span in spans} == {(1_000_000_000, 2_000_000_000)}
