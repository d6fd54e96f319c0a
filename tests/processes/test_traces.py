"""From a delivery to its effect: one trace, and log lines that carry the event's key, in real processes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from landfast.demo.load import Connection
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from tests.shops import Shop, sqlite_shop, until

TRACING = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

class ToFile(SpanExporter):
    def export(self, spans):
        with open(f"spans-{os.getpid()}.jsonl", "a") as file:
            for span in spans:
                file.write(json.dumps({
                    "name": span.name, "trace": f"{span.context.trace_id:032x}", "span": f"{span.context.span_id:016x}",
                    "parent": f"{span.parent.span_id:016x}", "attributes": dict(span.attributes),
                    "links": [f"{link.context.trace_id:032x}" for link in span.links], "status": span.status.status_code.name,
                }) + "\\n")
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ToFile()))
trace.set_tracer_provider(provider)
"""
HANDLERS = """
from landfast import Backoff

@inbox.effect
def thank(effect, order):
    with trace.get_tracer("shop").start_as_current_span("mail"):
        pass

@inbox.on("stripe", "payment_intent.succeeded", backoff=Backoff(first=0.01))
async def create_order(event, tx):
    with trace.get_tracer("shop").start_as_current_span("look up"):
        await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)
    if event.attempt == 1:
        raise ValueError("4242424242424242")
    tx.stage(thank, order=event.key)
"""
KEY = "evt_traced"
THEIRS = "4bf92f3577b34da6a3ce929d0e0e4736"
SENT = f"traceparent: 00-{THEIRS}-00f067aa0ba902b7-01\r\n"


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(TRACING, HANDLERS)
    return shop


@pytest.mark.req("R44")
async def test_one_trace_leads_from_the_delivery_to_the_effect_and_each_line_of_the_log_has_the_key(shop: Shop) -> None:
    async with shop.serving("--log", "json") as serve:
        body = shop.sender.payment(KEY)
        for _ in range(2):
            connection = Connection(serve.port)
            request = shop.sender.delivery(body).replace(b"\r\n", b"\r\n" + SENT.encode(), 1)
            assert await connection.send(request) == 200
            connection.close()
        await until(lambda: shop.count(State.DONE), 1)
        await until(lambda: "mail" in [span["name"] for span in spans(shop.folder)], True)
        assert await serve.stop() == 0
    found = spans(shop.folder)
    event = event_id("stripe", KEY).hex()
    assert {span["trace"] for span in found} == {event}
    names = [span["name"] for span in found]
    assert sorted(names) == sorted(
        [
            *("landfast receive", "landfast receive", "look up", "landfast handle create_order"),
            *("look up", "landfast handle create_order", "mail", "landfast effect thank"),
        ]
    )
    ours = [span for span in found if span["name"].startswith("landfast")]
    known = {"landfast.event": event, "landfast.key": KEY, "landfast.source": "stripe"}
    assert all(known.items() <= span["attributes"].items() for span in ours)
    received = [span for span in ours if span["name"] == "landfast receive"]
    assert [span["attributes"]["landfast.result"] for span in received] == ["stored", "duplicate"]
    assert all(span["links"] == [THEIRS] for span in received), "linked, and never the parent"
    handled = [span for span in ours if "handle" in span["name"]]
    assert [span["attributes"]["landfast.attempt"] for span in handled] == [1, 2]
    assert [span["status"] for span in handled] == ["ERROR", "UNSET"]
    inner = {span["parent"] for span in found if span["name"] == "look up"}
    assert inner == {span["span"] for span in handled}, "what a handler calls is below it, in a task or a thread"
    assert [span["parent"] for span in found if span["name"] == "mail"] == [ours[-1]["span"]]
    assert "4242424242424242" not in json.dumps(found)
    _check_log(shop, event)


def _check_log(shop: Shop, event: str) -> None:
    lines = [json.loads(line) for line in (shop.folder / "serve.log").read_text().splitlines()]
    assert all({"time", "level", "process", "process_id", "message"} <= line.keys() for line in lines)
    about = {line["message"]: line for line in lines if line.get("event") == event}
    assert {"stored", "handler_failed", "handler_done", "effect_performed"} <= about.keys()
    assert {about[name]["key"] for name in ("stored", "handler_failed", "handler_done")} == {KEY}
    assert (about["stored"]["process"], about["handler_done"]["process"]) == ("intake", "worker")
    assert about["handler_failed"]["level"] == "warning" and isinstance(about["handler_done"]["ms"], float)
    assert "4242424242424242" not in json.dumps(lines)


def spans(folder: Path) -> list[dict[str, Any]]:
    """In the order in which each process ended them, intakes first."""
    files = sorted(folder.glob("spans-*.jsonl"), key=os.path.getctime)
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
