"""How many processes, bytes and connections a rate of events takes, from what was measured.

python -m simulations.capacity --events-per-second 10000 --retention-days 90
python -m simulations.capacity --events-per-second 1000 10000 100000 --json
python -m simulations.capacity --limits --retention-days 7       at which rate one server is full, and of what
python -m simulations.capacity --page                            write the tables and pictures of the docs anew
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from simulations import pictures
from simulations.measured import Measured, measured
from simulations.plan import (
    HANDS,
    INTAKE_CONNECTIONS,
    LIMITS,
    WORKER_CONNECTIONS,
    Asked,
    Plan,
    plan,
    reaches,
    touched,
    two_figures,
)

DOCS = Path(__file__).resolve().parent.parent / "docs" / "explanation"
PAGE = "scaling.md"
BLOCK = re.compile(r"(<!-- python -m simulations\.capacity (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)
"""A table in the page: the command that prints it, and what it printed."""

Shown = Callable[[Plan], str]


def _bytes(size: float) -> str:
    for unit, much in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= much:
            return f"{_figures(size / much)} {unit}"
    return f"{size:.0f} B"


def _figures(number: float) -> str:
    """Two or three figures: what a plan can know."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _count(number: float) -> str:
    for word, much in (("billion", 1e9), ("million", 1e6)):
        if number >= much:
            return f"{_figures(number / much)} {word}"
    return f"{_figures(number)}"


ROWS: Mapping[str, Shown] = {
    "intake processes (cores in use)": lambda it: f"{it.intakes} ({_figures(it.intake_cores)})",
    "worker processes (cores in use)": lambda it: f"{it.workers} ({_figures(it.worker_cores)})",
    "cores for PostgreSQL": lambda it: _figures(it.postgres_cores),
    "connections to PostgreSQL, at most": lambda it: f"{it.connections:,}",
    "network in": lambda it: f"{_figures(it.ingress_mbit)} Mbit/s",
    "rows written": lambda it: f"{_count(it.rows_per_second)} /s",
    "full-page images for one event": lambda it: f"{it.page_images_per_event:.2f}",
    "WAL of one event": lambda it: _bytes(it.wal_bytes_per_event),
    "WAL": lambda it: f"{_bytes(it.wal_bytes_per_second)}/s",
    "dead rows in the hot table between two vacuums": lambda it: _count(it.dead_versions),
    "identities": lambda it: f"{_count(it.identities)}, {_bytes(it.identity_bytes)}",
    "of that their index": lambda it: _bytes(it.identity_index_bytes),
    "bodies": lambda it: _bytes(it.body_bytes),
    "history": lambda it: _bytes(it.history_bytes),
    "receipts": lambda it: _bytes(it.receipt_bytes),
    "disk in all": lambda it: _bytes(it.disk_bytes),
    "partitions, one week of bodies": lambda it: f"{it.partitions}, {_bytes(it.partition_bytes)}",
    "Valkey": lambda it: f"{_count(it.seen_keys)} keys, {_bytes(it.seen_bytes)}",
    "JetStream, disk of each node": lambda it: _bytes(it.journal_bytes),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.page:
        for path, text in pages().items():
            path.write_text(text)
            print(f"written: docs/explanation/{path.name}")  # noqa: T201 - a command prints
        return 0
    print(printed(given), end="")  # noqa: T201 - a command prints
    return 0


def printed(given: argparse.Namespace) -> str:
    of = measured()
    asked = [_asked(given, rate) for rate in given.events_per_second]
    if given.json:
        found = [{"asked": dataclasses.asdict(it), "plan": dataclasses.asdict(plan(it, of))} for it in asked]
        whole = {"measured": of, "plans": found, "reaches": reaches(asked[0], of)}
        return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"
    if given.costs:
        return costs_table(of)
    if given.wal:
        return wal_table(asked[0], of)
    if given.limits:
        return limits_table(asked[0], of)
    return plan_table([plan(it, of) for it in asked])


def costs_table(of: Measured) -> str:
    cpu, pg, scale = of.cpu.microseconds, of.postgres, of.postgres.at_scale
    computed = touched(scale.index_pages.identity, scale.events) + touched(scale.index_pages.receipt, scale.events)
    saved = 1 - scale.compressed.wal_bytes / scale.plain.wal_bytes
    rows = {
        f"processor time: intake, worker, PostgreSQL in all ({of.cpu.date[:10]})": (
            f"{cpu.intake:.0f}, {cpu.worker:.0f}, {cpu.postgres_in_all:.0f} microseconds"
        ),
        "a duplicate, at intake": f"{cpu.duplicate:.0f} microseconds, and next to nothing in PostgreSQL",
        "one intake process, acknowledged": f"{of.cpu.measured_per_second.acks:,.0f} events/s",
        "one intake, one worker, from webhook to settled": f"{of.cpu.measured_per_second.end_to_end:,.0f} events/s",
        f"disk: body, history ({of.date})": f"{pg.bytes.body:,.0f}, {pg.bytes.history:,.0f} bytes",
        "disk: identity, receipt, with indexes of millions": (
            f"{scale.identity_bytes:.0f}, {scale.receipt_bytes:.0f} bytes"
        ),
        "hot table, while the event waits": f"{pg.hot_bytes:.0f} bytes",
        f"WAL: record, process ({pg.batch} events a COMMIT)": (
            f"{pg.wal_bytes.record:,.0f}, {pg.wal_bytes.process:,.0f} bytes, without full-page images"
        ),
        f"WAL just after a checkpoint, {scale.identities:,} identities behind it": (
            f"{scale.plain.wal_bytes:,.0f} bytes; with `wal_compression` {scale.compressed.wal_bytes:,.0f} "
            f"({saved:.0%} less)"
        ),
        "a full-page image": f"{pg.image_bytes:,.0f} bytes",
        f"images of {scale.events:,} events: counted, by our formula": f"{scale.plain.page_images:,}, {computed:,.0f}",
        "JetStream file store, on each replica": f"{of.jetstream.disk_bytes:,.0f} bytes a message",
        "Valkey": f"{of.valkey.key_bytes:.0f} bytes a key",
        f"connections: an intake, a worker with {HANDS} hands": f"at most {INTAKE_CONNECTIONS}, {WORKER_CONNECTIONS}",
    }
    return "\n".join(["| One event | Measured |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows.items())]) + "\n"


def plan_table(plans: Sequence[Plan]) -> str:
    head = " | ".join(f"{it.events_per_second:,.0f} events/s" for it in plans)
    lines = [f"| | {head} |", "|---" * (len(plans) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(map(shown, plans))} |" for name, shown in ROWS.items()]
    return "\n".join(lines) + "\n"


def limits_table(asked: Asked, of: Measured) -> str:
    by_name = {limit.what: limit for limit in LIMITS}
    lines = ["| One server has | assumed, because | full at |", "|---|---|---|"]
    for name, rate in reaches(asked, of).items():
        limit = by_name[name]
        lines.append(f"| {name} | {limit.unit}: {limit.because} | {two_figures(rate):,} events/s |")
    return "\n".join(lines) + "\n"


def wal_table(asked: Asked, of: Measured) -> str:
    rare = dataclasses.replace(asked, checkpoint_minutes=30)
    choices = {
        "as asked": asked,
        "a checkpoint every 30 minutes": rare,
        "keys for 3 days": dataclasses.replace(asked, dedup_days=3),
        "digests in daily generations": dataclasses.replace(asked, generation_days=1),
        "both: daily generations, a checkpoint every 30 minutes": dataclasses.replace(rare, generation_days=1),
    }
    lines = [f"| At {asked.events_per_second:,.0f} events/s | images for one event | WAL |", "|---|---|---|"]
    for name, choice in choices.items():
        it = plan(choice, of)
        lines.append(f"| {name} | {it.page_images_per_event:.2f} | {_bytes(it.wal_bytes_per_second)}/s |")
    return "\n".join(lines) + "\n"


def pages() -> Mapping[Path, str]:
    """The page with its tables as they are printed today, and the pictures."""
    page = DOCS / PAGE
    of = measured()
    return {
        page: BLOCK.sub(lambda block: f"{block[1]}\n{_of_command(block[2])}\n{block[3]}", page.read_text()),
        DOCS / "scaling.svg": pictures.reaches_picture(_reaches_by_retention(of)),
        DOCS / "regions.svg": pictures.regions_picture(),
    }


def _of_command(command: str) -> str:
    return printed(_parser().parse_args(shlex.split(command)))


def _reaches_by_retention(of: Measured) -> Mapping[str, Mapping[str, float]]:
    days = {
        "bodies 90 days, keys 35": Asked(events_per_second=1),
        "bodies 7 days, keys 7": Asked(events_per_second=1, retention_days=7, dedup_days=7),
    }
    return {name: reaches(asked, of) for name, asked in days.items()}


def _asked(given: argparse.Namespace, rate: float) -> Asked:
    chosen = {field.name: getattr(given, field.name) for field in dataclasses.fields(Asked)}
    return Asked(**chosen | {"events_per_second": rate})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulations.capacity", description=__doc__.partition("\n")[0])
    usual = Asked(events_per_second=10_000)
    rates: Any = parser.add_argument("--events-per-second", type=_positive, nargs="+", default=[10_000.0], metavar="N")
    rates.help = "one column for each (10000)"
    for name, text in {
        "retention-days": "of bodies, history and receipts",
        "dedup-days": "for which a key is known again",
        "generation-days": "of digests in one index; today all of them lie in one",
        "checkpoint-minutes": "between two checkpoints of PostgreSQL",
        "redelivered": "duplicates for each event",
        "seen-hours": "that a key stays in the seen cache",
        "outage-minutes": "that the broker holds what comes in",
        "busy": "share of a core that one plans to use",
    }.items():
        default = getattr(usual, name.replace("-", "_"))
        shown = "" if default is None else f" ({default:g})"
        parser.add_argument(f"--{name}", type=_positive, default=default, metavar="N", help=text + shown)
    parser.add_argument("--costs", action="store_true", help="what one event costs, as it was measured")
    parser.add_argument("--limits", action="store_true", help="at which rate one server is full, and of what")
    parser.add_argument("--wal", action="store_true", help="what settings and layouts do to the WAL")
    parser.add_argument("--json", action="store_true", help="everything, for machines")
    parser.add_argument("--page", action="store_true", help="write docs/explanation/scaling.md and its pictures anew")
    return parser


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
