"""`/metrics` and the probes of a whole machine: several processes, one answer."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from landfast.app.metrics import READ_FROM_THE_INBOX
from landfast.demo.load import Answers, send_all
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from landfast.telemetry.metrics import FAMILIES
from tests.cli.test_health_port import ask
from tests.free_port import free_port
from tests.shops import ORDER, Shop, postgres_shop, sqlite_shop, until

EVENTS = 60
FAILING = """
from landfast import Backoff

@inbox.effect
async def thank(effect, order):
    pass

@inbox.on("stripe", "payment_intent.succeeded", name="fail_once", backoff=Backoff(first=0.1))
async def fail_once(event, tx):
    if event.attempt == 1 and event.key == "evt_0":
        raise ValueError("the first attempt fails")
    tx.stage(thank, order=event.key)
"""
DELIVERIES = "landfast_deliveries_total"
ATTEMPTS = "landfast_attempts_total"


class Scraped:
    """One answer of `/metrics`, as Prometheus reads it."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def sum(self, name: str, /, **labels: str) -> float:
        wanted = labels.items()
        return sum(sample.value for sample in self._samples if sample.name == name and wanted <= sample.labels.items())

    def counters(self) -> dict[tuple[str, str], float]:
        return {
            (sample.name, json.dumps(sample.labels, sort_keys=True)): sample.value
            for sample in self._samples
            if sample.name.endswith(("_total", "_bucket", "_count"))
        }


async def scrape(port: int) -> Scraped:
    status, text = await ask(port, "/metrics")
    assert status == 200
    return Scraped(text)


async def send(shop: Shop, serve: Serve, keys: list[str], *, each: int = 1) -> None:
    requests = [shop.sender.delivery(shop.sender.payment(key)) for key in keys for _ in range(each)]
    answers = await send_all(serve.port, requests, answers=Answers(), connections=8)
    assert answers.statuses == {200: len(requests)} and not answers.unanswered


@pytest.mark.req("R40")
async def test_two_intakes_and_a_worker_are_one_answer_also_after_one_was_killed(tmp_path: Path, database: str) -> None:
    shop, port = postgres_shop(tmp_path, database), free_port()
    shop.take_time()
    await shop.create_orders()
    shop.write(ORDER, FAILING)
    keys = [f"evt_{number}" for number in range(EVENTS)]
    async with shop.serving("--intakes", "2", "--metrics-port", str(port)) as serve:
        await send(shop, serve, keys, each=2)
        await until(lambda: shop.count(State.DONE), EVENTS)
        await until(lambda: effects(port), EVENTS)
        before = await scrape(port)
        assert before.sum(DELIVERIES, source="stripe", result="stored") == EVENTS
        assert before.sum(DELIVERIES, source="stripe", result="duplicate") == EVENTS
        assert before.sum("landfast_dedup_hits_total") == EVENTS

        killed, worker = serve.pids("intake")[0], await serve.worker()
        for pid in (killed, worker):
            os.kill(pid, signal.SIGKILL)
        await serve.until(lambda: {killed, worker} <= set(serve.deaths))
        at_once = await scrape(port)
        assert {name: value for name, value in before.counters().items() if at_once.counters()[name] < value} == {}
        await serve.until(lambda: len(serve.pids("intake")) == 2 and bool(serve.pids("worker")))

        await send(shop, serve, [f"evt_again_{number}" for number in range(EVENTS)])
        await until(lambda: shop.count(State.DONE), 2 * EVENTS)
        await until(lambda: effects(port), 2 * EVENTS)
        await until(lambda: done(port), 2 * EVENTS)
        after = await scrape(port)
    assert after.sum(DELIVERIES, source="stripe", result="stored") == 2 * EVENTS
    assert after.sum("landfast_ack_seconds_count") == 2 * EVENTS
    assert after.sum(ATTEMPTS, handler="create_order", outcome="done") >= 2 * EVENTS
    assert after.sum(ATTEMPTS, handler="fail_once", outcome="failed") >= 1
    assert after.sum("landfast_handler_seconds_count", handler="create_order") >= 2 * EVENTS
    assert after.sum("landfast_dedup_lookup_seconds_count", layer="memory") >= 1
    assert after.sum("landfast_dedup_misses_total", layer="inbox") == 2 * EVENTS
    assert after.sum("landfast_dedup_lookup_seconds_count", layer="inbox") >= 1
    assert after.sum("landfast_oldest_ready_seconds") == 0
    assert after.sum("landfast_source_last_seen_timestamp_seconds", source="stripe") > 1.7e9
    assert {sample.labels["name"] for sample in after.families["landfast_breaker_state"].samples} == {
        *("ledger", "handler:create_order", "handler:fail_once")
    }
    assert set(after.families) == {name.removesuffix("_total") for name in (*FAMILIES, *READ_FROM_THE_INBOX)}


async def done(port: int) -> float:
    return (await scrape(port)).sum("landfast_events", state="done")


async def effects(port: int) -> float:
    return (await scrape(port)).sum("landfast_effects_total", name="thank", outcome="done")


async def test_a_machine_of_workers_says_how_they_are(tmp_path: Path) -> None:
    shop, health, metrics = sqlite_shop(tmp_path), free_port(), free_port()
    await shop.create_orders()
    shop.write(ORDER)
    ports = ("--health-port", str(health), "--metrics-port", str(metrics))
    async with shop.serving("--role", "worker", *ports) as serve:
        await until(lambda: readiness(health), (200, {"ready": True, "worker": "ok"}))
        assert await ask(health, "/health") == (200, '{"status":"ok"}')
        assert (await ask(health, "/metrics"))[0] == 404, "whoever may probe need not see names"
        assert (await ask(metrics, "/ready"))[0] == 200
        assert (await scrape(metrics)).sum("landfast_events") == 0
        os.kill(await serve.worker(), signal.SIGKILL)
        await until(lambda: ask_status(health), 503)
        await until(lambda: readiness(health), (200, {"ready": True, "worker": "ok"}))


async def readiness(port: int) -> tuple[int, object]:
    status, body = await ask(port, "/ready")
    return status, json.loads(body)


async def ask_status(port: int) -> int:
    return (await ask(port, "/ready"))[0]


async def test_while_the_inbox_is_away_what_was_counted_is_told_and_the_rest_is_missing(tmp_path: Path) -> None:
    """A zero would look like good news."""
    shop, port = sqlite_shop(tmp_path), free_port()
    shop.take_time()
    shop.store = shop.ledger = "postgresql://127.0.0.1:1/nowhere"
    shop.settings |= {"LANDFAST_SPOOL": str(tmp_path / "spool"), "LANDFAST_SPOOL_ANYWHERE": "true"}
    shop.settings |= {"LANDFAST_METRICS_PORT": str(port)}
    shop.write(ORDER)
    async with shop.serving("--role", "intake") as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: spooled(port), 1)
        found = await scrape(port)
    assert found.sum(DELIVERIES, result="stored") == 1
    assert not set(READ_FROM_THE_INBOX) & set(found.families)


async def spooled(port: int) -> float:
    return (await scrape(port)).sum("landfast_spool_records")
