"""What a process counts, what several come to, and how it is printed."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from landfast.telemetry import metrics, pages
from landfast.telemetry.exposition import Reading, Sums, text
from landfast.telemetry.metrics import ACK, ATTEMPTS, DELIVERIES, FAMILIES, LAST_SEEN, SPOOL
from landfast.telemetry.page_folder import PageFolder
from landfast.telemetry.pages import Page, new_file, new_page


@pytest.fixture(autouse=True)
def own_page() -> Iterator[None]:
    """Whatever else this process has counted."""
    before = metrics.page()
    metrics.use(new_page())
    yield
    metrics.use(before)


def printed(sums: Sums, *readings: Reading) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """By name and labels, as Prometheus reads it."""
    return printed_text(text(sums, readings).decode())


def printed_text(told: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(told)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def summed(*living: Page) -> Sums:
    sums = Sums()
    for page in living:
        sums.add(page)
    return sums


def test_what_is_counted_is_printed_as_prometheus_reads_it() -> None:
    hostile = 'a"b\\c\nd'
    DELIVERIES.add("stripe", "stored", by=3)
    DELIVERIES.add(hostile, "rejected")
    for seconds in (0.0005, 0.001, 0.2, 99.0):
        ACK.observe(seconds)
    found = printed(summed(metrics.page()), Reading("landfast_events", "Events.", ("state",), {("done",): 1.5}))
    assert found["landfast_deliveries_total", (("result", "stored"), ("source", "stripe"))] == 3
    assert found["landfast_deliveries_total", (("result", "rejected"), ("source", hostile))] == 1
    assert found["landfast_ack_seconds_bucket", (("le", "0.001"),)] == 2
    assert found["landfast_ack_seconds_bucket", (("le", "0.25"),)] == 3
    assert found["landfast_ack_seconds_bucket", (("le", "+Inf"),)] == found["landfast_ack_seconds_count", ()] == 4
    assert math.isclose(found["landfast_ack_seconds_sum", ()], 99.2015)
    assert found["landfast_events", (("state", "done"),)] == 1.5


def test_every_metric_is_announced_before_anything_is_counted() -> None:
    announced = {family.name for family in text_string_to_metric_families(text(Sums()).decode())}
    assert announced == {name.removesuffix("_total") for name in FAMILIES}


@pytest.mark.req("R40")
def test_processes_are_summed_up_and_one_that_has_ended_goes_on_counting() -> None:
    one, other = new_page(), new_page()
    for page, at in ((one, 100.0), (other, 50.0)):
        metrics.use(page)
        ATTEMPTS.add("shop", "pay", "done", by=2)
        ACK.observe(0.003)
        SPOOL.set(7)
        LAST_SEEN.set(at, "shop")
    attempts = ("landfast_attempts_total", (("handler", "pay"), ("outcome", "done"), ("source", "shop")))
    before = printed(summed(one, other))
    assert before[attempts] == 4
    assert before["landfast_spool_records", ()] == 14

    ended = Sums()
    ended.add(one, has_ended=True)
    after = ended.copy()
    after.add(other)
    found = printed(after)
    assert found[attempts] == 4 and found["landfast_ack_seconds_count", ()] == 2
    assert found["landfast_source_last_seen_timestamp_seconds", (("source", "shop"),)] == 100.0
    assert found["landfast_spool_records", ()] == 7, "what it held in its spool another one counts now"
    assert printed(ended)[attempts] == 2, "a copy is a copy"


def test_a_page_that_is_full_drops_names_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SLOTS", pages.NAMELESS_SLOTS + 2)
    for number in range(4):
        DELIVERIES.add(f"source-{number}", "stored")
    ACK.observe(1.0)
    found = printed(summed(metrics.page()))
    assert len([name for name in found if name[0] == "landfast_deliveries_total"]) == 2


def test_another_reader_sees_each_number_and_the_last_note_at_once() -> None:
    file = new_file()
    metrics.use(Page(file))
    reader = Page(file)
    os.close(file)
    assert reader.note == b"" and not list(reader.series())
    DELIVERIES.add("stripe", "stored")
    assert [tuple(series) for series in reader.series()] == [
        ("landfast_deliveries_total", ("stripe", "stored"), (1.0,))
    ]
    for said in (b"one", b"a longer note", b"two"):
        metrics.page().note = said
        assert reader.note == said
    metrics.page().note = b"x" * (pages.NOTE_BYTES + 1)
    assert reader.note == b"two", "what does not fit is not said"


def test_a_process_that_forks_does_not_count_in_its_parents_page() -> None:
    DELIVERIES.add("stripe", "stored")
    child = os.fork()
    if child == 0:
        DELIVERIES.add("stripe", "stored", by=10)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    [series] = metrics.page().series()
    assert series.values == (1.0,)


@pytest.mark.req("R40")
def test_processes_without_a_supervisor_count_together_in_a_folder(tmp_path: Path) -> None:
    """As those of gunicorn, which forks them, kills them and forks others."""
    folder = PageFolder(tmp_path / "metrics")
    DELIVERIES.add("stripe", "stored")
    for _ in range(3):
        child = os.fork()
        if child == 0:
            DELIVERIES.add("stripe", "stored", by=10)
            SPOOL.set(5)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        assert printed(folder.sums()).get(("landfast_spool_records", ())) is None, "nobody alive has any"
    stored = ("landfast_deliveries_total", (("result", "stored"), ("source", "stripe")))
    assert printed(folder.sums())[stored] == 31
    files = {file.name.partition("-")[0] for file in (tmp_path / "metrics").iterdir()}
    assert len(list((tmp_path / "metrics").iterdir())) == 4, "who has started last has tidied up"
    assert files == {"process", "ended.page", "lock"}
    alive = subprocess.run(
        [sys.executable, "-c", JOINS, str(tmp_path / "metrics")], capture_output=True, text=True, check=True
    )
    assert printed_text(alive.stdout)[stored] == 131


@pytest.mark.req("R40")
def test_processes_that_were_forked_behind_pythons_back_count_together_too(tmp_path: Path) -> None:
    """As those of uWSGI, which tells Python nothing of its fork. What is mounted in each opens a loop of its own."""
    counted = subprocess.run(
        [sys.executable, "-c", FORKED_BY_C, str(tmp_path / "metrics")], capture_output=True, text=True, check=True
    )
    found = printed_text(counted.stdout)
    assert found[("landfast_deliveries_total", (("result", "stored"), ("source", "stripe")))] == 21
    assert found[("landfast_deliveries_total", (("result", "duplicate"), ("source", "stripe")))] == 4


FORKED_BY_C = """
import ctypes, os, sys
from landfast.app.loop_thread import LoopThread
from landfast.telemetry.exposition import text
from landfast.telemetry.metrics import DELIVERIES
from landfast.telemetry.page_folder import PageFolder

class Nothing:
    async def aclose(self): pass

folder, mounted = PageFolder(sys.argv[1]), LoopThread(Nothing)
children = []
for number in range(2):
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        mounted.here()
        if number:
            DELIVERIES.add("stripe", "duplicate", by=4)
        DELIVERIES.add("stripe", "stored", by=10)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
DELIVERIES.add("stripe", "stored")
print(text(folder.sums()).decode())
"""

JOINS = """
import sys
from landfast.telemetry.exposition import text
from landfast.telemetry.metrics import DELIVERIES
from landfast.telemetry.page_folder import PageFolder
folder = PageFolder(sys.argv[1])
DELIVERIES.add("stripe", "stored", by=100)
print(text(folder.sums()).decode())
"""
