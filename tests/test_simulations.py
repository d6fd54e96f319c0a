"""Beyond this machine: several regions, simulated, and the plan for rates that it cannot reach, computed."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from docs.explanation.regions import homes
from docs.explanation.regions.lives import live
from docs.explanation.regions.simulation import DESIGN, LARGE, WEAKENED, Regions, Row
from landfast.drivers import INBOX_CONNECTIONS, LEDGER_SPARE_CONNECTIONS
from landfast.inboxes.postgres.connection import RECORDING
from models.explore import explore
from simulations import capacity
from simulations.measured import measured
from simulations.plan import LIMITS, WORKER_CONNECTIONS, Asked, page_images, plan, reach, touched

ROOT = Path(__file__).resolve().parent.parent
SEED = 20_261_116
LIVES = 40
FAULTS = {
    "crash",
    "drop",
    "seal",
    "carry",
    "open",
    "hand_over",
    "forward",
    "arrive",
    "forget",
    "drain",
    "learn",
    "commit",
}


@pytest.mark.req("R56")
@pytest.mark.parametrize("row", DESIGN, ids=lambda row: row.name)
def test_one_home_for_each_key_holds_in_every_world_of_a_small_setting(row: Row) -> None:
    """`python -m docs.explanation.regions --deep` explores larger ones."""
    verdict = explore(row.model)
    assert not verdict.problem, f"{verdict.problem}: {' / '.join(verdict.trace)}"
    assert verdict.states > 1000 and row.holds


@pytest.mark.req("R56")
@pytest.mark.parametrize("row", WEAKENED, ids=lambda row: row.name)
def test_each_short_cut_between_regions_is_caught(row: Row) -> None:
    verdict = explore(row.model)
    assert not row.holds and verdict.problem
    twice, lost = "processed by two regions", "acknowledged and lost"
    expected = {"both_process": twice, "no_seal": twice, "answer_first": lost, "region_lost": lost}
    expected |= {"looks_before": "processed away from its home"}
    assert verdict.problem == expected.get(row.model.weakness, verdict.problem)


@pytest.mark.req("R56")
def test_random_lives_of_three_regions_end_with_every_acknowledged_key_processed_once() -> None:
    print(f"seeds {SEED} to {SEED + LIVES - 1}")
    happened: Counter[str] = Counter()
    for seed in range(SEED, SEED + LIVES):
        life = live(LARGE, seed=seed)
        assert not life.problem, f"seed {seed}: {life.problem}: {' / '.join(life.trace)}"
        happened.update(label.split(" ")[0] for label in life.trace)
    assert set(happened) >= FAULTS, "a fault did not fire"


def test_a_random_life_is_the_same_for_the_same_seed_and_meets_what_is_weak() -> None:
    assert live(LARGE, seed=SEED) == live(LARGE, seed=SEED)
    weak = Regions(regions=3, moves=4, keys=3, weakness="both_process")
    assert any(live(weak, seed=seed).problem == "processed by two regions" for seed in range(SEED, SEED + 5))


@pytest.mark.req("R56")
def test_a_region_that_joins_or_leaves_moves_only_the_slots_that_it_takes_or_had() -> None:
    before = homes.homes(("fra", "iad", "sin"))
    after = homes.homes(("fra", "iad"))
    assert len(before) == homes.SLOTS
    assert {slot for slot, home in enumerate(before) if home != after[slot]} == {
        slot for slot, home in enumerate(before) if home == "sin"
    }
    shares = Counter(before)
    assert min(shares.values()) > homes.SLOTS / 3 / 2, shares


def test_the_slot_of_a_key_is_the_same_everywhere_and_for_ever() -> None:
    assert [homes.slot("stripe", f"evt_{number}") for number in range(4)] == [63, 44, 60, 13]


@pytest.mark.req("R55")
def test_the_page_about_scaling_shows_what_the_script_prints_today() -> None:
    """`python -m simulations.capacity --page` writes them anew."""
    for path, text in capacity.pages().items():
        assert path.read_text() == text, f"{path.name}: run python -m simulations.capacity --page"
    page = (capacity.DOCS / capacity.PAGE).read_text()
    commands = [command for _, command, _ in capacity.BLOCK.findall(page)]
    assert any("--events-per-second 1000 10000 100000" in command for command in commands)
    assert any("--limits" in command for command in commands)


@pytest.mark.req("R55")
def test_every_figure_in_the_prose_of_the_page_stands_in_one_of_its_tables() -> None:
    page = (capacity.DOCS / capacity.PAGE).read_text()
    tables = "".join(found[0] for found in capacity.BLOCK.finditer(page))
    ten_thousand = plan(Asked(events_per_second=10_000), measured())
    computed_here = {
        f"{ten_thousand.wal_bytes_per_second * 300 / 1e9:.0f} GB",
        f"{ten_thousand.identity_index_bytes / 35 / 1e9:.0f} GB",
    }
    advice = {"100 GB"}
    prose = set(re.findall(r"[\d.,]*\d (?:[MGTP]B(?:/s)?|Mbit/s|[mb]illion)\b", capacity.BLOCK.sub("", page)))
    assert len(prose) > 8
    assert not {figure for figure in prose if figure not in tables} - computed_here - advice


@pytest.mark.req("R55")
def test_the_plan_for_ten_thousand_events_a_second_follows_from_what_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert capacity.main(["--events-per-second", "10000", "--retention-days", "90", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["plans"]
    cpu = found["measured"]["cpu"]["microseconds"]
    assert one["plan"]["postgres_cores"] == pytest.approx(10_000 * cpu["postgres_in_all"] / 1e6 / 0.7)
    assert one["plan"]["body_bytes"] == pytest.approx(
        10_000 * 86_400 * 90 * found["measured"]["postgres"]["bytes"]["body"]
    )
    assert one["plan"]["workers"] * one["asked"]["busy"] >= 10_000 * cpu["worker"] / 1e6
    assert WORKER_CONNECTIONS == RECORDING + INBOX_CONNECTIONS + 1 + 16 + LEDGER_SPARE_CONNECTIONS
    assert list(found["reaches"].values()) == sorted(found["reaches"].values())


def test_the_formula_for_full_page_images_agrees_with_those_that_were_counted() -> None:
    scale = measured().postgres.at_scale
    expected = touched(scale.index_pages.identity, scale.events) + touched(scale.index_pages.receipt, scale.events)
    assert scale.plain.page_images == pytest.approx(expected, rel=0.1)


def test_a_server_is_full_exactly_at_the_rate_that_is_told() -> None:
    asked, of = Asked(events_per_second=1), measured()
    for limit in LIMITS:
        rate = reach(limit, asked, of)
        below = plan(Asked(events_per_second=rate * 0.99), of)
        above = plan(Asked(events_per_second=rate * 1.05), of)
        assert getattr(below, limit.column) <= limit.most <= getattr(above, limit.column), limit.what


def test_shorter_generations_and_rarer_checkpoints_write_fewer_page_images() -> None:
    of = measured()
    today = page_images(Asked(events_per_second=10_000), of)
    daily = page_images(Asked(events_per_second=10_000, generation_days=1), of)
    rarer = page_images(Asked(events_per_second=10_000, generation_days=1, checkpoint_minutes=30), of)
    assert 2 >= today > daily > rarer > 0


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "inf", "many"])
def test_a_number_that_is_none_is_refused_in_one_sentence(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        capacity.main([f"--retention-days={wrong}"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"argument --retention-days: {wrong!r} must be a number above 0")


def test_the_pictures_can_be_read_on_light_and_on_dark_pages() -> None:
    for name in ("scaling.svg", "regions.svg"):
        drawn = (capacity.DOCS / name).read_text()
        assert "prefers-color-scheme: dark" in drawn
        assert not re.search(r'fill="#|stroke="#', drawn), "a colour that does not change with the page"
        assert name in "".join(page.read_text() for page in capacity.DOCS.glob("*.md"))


def test_the_rates_of_the_picture_lie_on_its_axis() -> None:
    asked, of = Asked(events_per_second=1), measured()
    assert all(2 < math.log10(reach(limit, asked, of)) < 6 for limit in LIMITS)
