"""The benchmark runs from end to end. Its figures are not looked at: a test that is timed fails on a busy machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import deliveries, goals
from bench.rows import (
    acks,
    attacks,
    claim,
    crowd,
    fairness,
    herd,
    lanes,
    latency,
    layers,
    metrics,
    processing,
    stacks,
    verification,
)
from bench.stage import QUICK, ROOT
from landfast.app.sources import profile_of
from landfast.config import SourceSettings
from landfast.domain.delivery import Head, Headers
from landfast.ports.provider import Secret

HANGS_AFTER_SECONDS = 900
"""Only a run that hangs takes this long; a quiet machine needs about one minute, a busy one ten times that."""

STORES = ("PostgreSQL", "SQLite")
ROWS = {
    verification.SLOWEST,
    verification.RATIO,
    acks.YARDSTICK,
    acks.NOOP,
    acks.NAIVE,
    acks.POSTGRES,
    acks.SQLITE,
    acks.STORM,
    *(acks.SEALED.format(store) for store in STORES),
    acks.MEMORY,
    metrics.RATIO,
    *(latency.HALF.format(part, store) for part in ("p50", "p99") for store in STORES),
    *(latency.IDLE.format(store) for store in STORES),
    *(row.format(store) for row in (processing.BACKLOG, processing.SUSTAINED) for store in STORES),
    *(row.format(store) for row in processing.WRITTEN.values() for store in STORES),
    processing.NAIVE,
    layers.ALONE,
    layers.CACHED,
    layers.CACHE_DEAD,
    layers.STORE_DOWN,
    layers.INTAKES.format(2),
    crowd.ALONE,
    crowd.AMONG,
    attacks.CALM,
    *attacks.names(QUICK.attackers),
    attacks.REFUSED,
    attacks.MEMORY,
    attacks.FLOOR_CALM,
    attacks.FLOOR,
    *(fairness.ALONE.format(store) for store in STORES),
    fairness.BESIDE,
    claim.EMPTY,
    claim.FINISHED.format(QUICK.finished),
    claim.OPEN,
    *(row.format(store) for row in (lanes.PLAIN, lanes.ORDERED, lanes.HOT) for store in STORES),
    lanes.DATABASE,
    lanes.EVEN,
    lanes.BESIDE_HOT,
    lanes.NONE_WAIT,
    lanes.WAITING.format(QUICK.finished),
    lanes.FRESH,
    lanes.PINNED,
    herd.ATTEMPTS,
    herd.DONE_AFTER,
    herd.BUSIEST,
    *(name for limit in stacks.limits() for name in limit[:2]),
}


@pytest.mark.long
def test_a_quick_run_has_every_row_and_writes_what_it_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--generator", "own", "--out", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_AFTER_SECONDS, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads((tmp_path / "latest.json").read_text())
    assert {row["name"] for row in found["figures"]} == ROWS
    assert all(row["name"] in ended.stdout for row in found["figures"])
    unmeasured = {row["name"] for row in found["figures"] if row["value"] is None}
    assert unmeasured <= {acks.YARDSTICK}, "granian is a dependency of the benchmark alone"
    assert len(found["ratios"]) == sum(goal.row in ROWS for goal in goals.all_goals(QUICK.finished))
    assert (tmp_path / "latest.svg").read_text().startswith("<svg")


def test_the_deliveries_are_of_one_length_unlike_each_other_and_signed() -> None:
    made = list(deliveries.requests(20, name="event"))
    assert len(set(made)) == 20
    assert len({len(request) for request in made}) == 1
    head, _, body = made[0].partition(b"\r\n\r\n")
    pairs = [tuple(line.split(b": ", 1)) for line in head.split(b"\r\n")[1:]]
    headers = Headers((name, value) for name, value in pairs)
    stripe = profile_of(SourceSettings(name="stripe", provider="stripe", secrets=()))
    secret = Secret("bench", stripe.decode_secret(deliveries.SECRET))
    request = Head("POST", "/in/stripe", "", headers, len(body))
    assert stripe.verify(stripe.present(request), request, body, [secret]).secret is secret
    assert headers.get(b"content-length") == str(len(body)).encode()
