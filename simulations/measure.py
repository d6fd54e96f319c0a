"""Measure what one event costs in bytes, and keep it in measured.json, from which `simulations.capacity` computes.

python -m simulations.measure        a minute; starts PostgreSQL, JetStream and Valkey from the wheels of the tests

Processor time comes from the last `make bench`, whose machine and date are kept beside it.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.machine import describe
from simulations import engines
from simulations.samples import BODY, deliveries
from simulations.through_postgres import measure_postgres

ROOT = Path(__file__).resolve().parent
MEASURED = ROOT / "measured.json"
BENCH = ROOT.parent / "bench" / "results" / "latest.json"

MESSAGES = 5_000
CPU = {
    "intake": ("acks of new events, PostgreSQL", "server"),
    "postgres_of_intake": ("acks of new events, PostgreSQL", "store"),
    "duplicate": ("acks of one event again and again (the storm)", "server"),
    "worker": ("end to end, sent and processed at once, PostgreSQL", "worker"),
    "postgres_in_all": ("end to end, sent and processed at once, PostgreSQL", "store"),
}
"""Microseconds of processor time for one event: the row of the benchmark, and whose."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="landfast-measure-") as folder:
        machine = {"cpu": describe(Path(folder))["cpu"], "cores": os.cpu_count(), "python": platform.python_version()}
        found: dict[str, Any] = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": machine,
            "body_bytes": len(BODY),
            "postgres": asyncio.run(measure_postgres(_say)),
            "jetstream": asyncio.run(
                engines.measure_jetstream(Path(folder) / "nats", deliveries("stream", MESSAGES), _say)
            ),
            "valkey": engines.measure_valkey(Path(folder) / "valkey", _say),
            "cpu": processor_time(msgspec.json.decode(BENCH.read_bytes())),
        }
    MEASURED.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    _say(f"written to {MEASURED.name}; now: python -m simulations.capacity --page")
    return 0


def processor_time(bench: dict[str, Any]) -> dict[str, Any]:
    rows = {row["name"]: row for row in bench["figures"]}
    spent = {name: rows[row]["detail"]["cpu_microseconds_each"][whose] for name, (row, whose) in CPU.items()}
    rates = {"acks": rows[CPU["intake"][0]]["value"], "end_to_end": rows[CPU["worker"][0]]["value"]}
    return {"date": bench["machine"]["date"], "microseconds": spent, "measured_per_second": rates}


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command prints


if __name__ == "__main__":
    sys.exit(main())
