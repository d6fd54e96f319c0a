"""The rules, each at its edge: what they find, and what they leave alone."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from landfast.config.alerts import AlertSettings
from landfast.domain.alerts.alert import AlertName, Finding
from landfast.domain.alerts.observation import Counted, Observation, Pulse
from landfast.domain.alerts.rules import RULES, findings
from landfast.domain.alerts.thresholds import DEFAULTS, Thresholds
from landfast.domain.alerts.volumes import QUARTER, WEEK, Past, Volume, quarter_of, quarters_wanted, volumes
from landfast.domain.rates import Meter, Rate
from landfast.domain.switch import Switch, SwitchKind

NOW = datetime(2026, 3, 2, 9, 37, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def seen(*counts: tuple[int, Meter, str, str, str, int], **more: Any) -> Observation:
    """Rows of minutes ago, meter, source, handler, detail and count."""
    recent: dict[datetime, Counter[Counted]] = {}
    for ago, meter, source, handler, detail, count in counts:
        minute = NOW.replace(second=0, microsecond=0) - ago * MINUTE
        recent.setdefault(minute, Counter())[Counted(meter, source, handler, detail)] += count
    return Observation(at=NOW, recent=recent, **more)


def weeks(counts: dict[tuple[Meter, str], int], *, of: int = 4, since: timedelta = timedelta(0)) -> Past:
    """As many in each quarter of the same day of so many earlier weeks, and of the last day until `since` ago."""
    known = [q for q in quarters_wanted(NOW) if q < quarter_of(NOW) and q > NOW - WEEK * of - timedelta(days=2)]
    found = [Volume(q, meter, name, count) for q in known for (meter, name), count in counts.items() if q < NOW - since]
    return Past.of(known, found)


def found(observation: Observation, limits: Thresholds = DEFAULTS) -> dict[str, Finding]:
    return {f"{one.name}/{one.subject}": one for one in findings(observation, limits)}


def names(observation: Observation, limits: Thresholds = DEFAULTS) -> set[str]:
    return set(found(observation, limits))


def test_nothing_is_found_in_an_inbox_that_nobody_uses() -> None:
    assert findings(seen()) == []


def test_the_settings_have_the_defaults_of_the_rules() -> None:
    given = AlertSettings()
    assert Thresholds(**{name: getattr(given, name) for name in Thresholds.__dataclass_fields__}) == DEFAULTS


def test_every_alert_has_a_rule_but_the_one_that_cannot_have_one() -> None:
    assert {*RULES} == {*AlertName} - {AlertName.INBOX_AWAY}


@pytest.mark.parametrize("count", [4, 5])
def test_five_dead_letters_of_a_source_are_growth(count: int) -> None:
    told = found(seen((3, Meter.DEAD, "stripe", "create_order", "KeyError", count)))
    assert ("dead-letters/stripe" in told) == (count == 5)
    if told:
        assert "KeyError (5)" in told["dead-letters/stripe"].sentence


def test_dead_letters_that_come_one_by_one_are_growth_too_while_they_come() -> None:
    slowly = [(ago, Meter.DEAD, "stripe", "", "", 1) for ago in range(0, 60, 6)]
    assert "dead-letters/stripe" in names(seen(*slowly))
    assert names(seen(*[row for row in slowly if row[0] >= 16])) == set()


def test_a_handler_fails_when_half_of_its_attempts_do() -> None:
    bad = (1, Meter.FAILED, "stripe", "create_order", "KeyError", 10)
    assert names(seen(bad, (1, Meter.DONE, "stripe", "create_order", "", 10))) == {"failing-handler/create_order"}
    assert names(seen(bad, (1, Meter.DONE, "stripe", "create_order", "", 11))) == set()


def test_a_rare_handler_fails_when_three_attempts_did_and_none_succeeded() -> None:
    bad = (9, Meter.FAILED, "stripe", "create_order", "KeyError", 3)
    assert names(seen(bad)) == {"failing-handler/create_order"}
    assert names(seen(bad, (2, Meter.DONE, "stripe", "create_order", "", 1))) == set()


def test_only_refusals_at_a_source_name_the_cause_and_one_acceptance_clears_them() -> None:
    refused = (0, Meter.REJECTED, "stripe", "", "unverified", 200)
    told = found(seen(refused))
    assert {*told} == {"only-refusals/stripe"}
    assert "unverified (200)" in told["only-refusals/stripe"].sentence
    known = found(seen(refused, causes={"stripe": {"unverified": 198, "timestamp": 190, "no-header": 10}}))[
        "only-refusals/stripe"
    ]
    assert known.sentence.endswith("in 5 minutes: timestamp, no-header.")
    assert "NTP" in known.fix
    assert names(seen(refused, (0, Meter.DUPLICATE, "stripe", "", "seen", 1))) == set()
    assert names(seen((0, Meter.REJECTED, "", "", "unknown_source", 200))) == set(), "no source of ours"


def test_a_busy_source_that_takes_nothing_in_any_more_is_told_within_a_minute() -> None:
    busy = [(ago, Meter.STORED, "stripe", "", "", 100) for ago in range(1, 20)]
    refused = (0, Meter.REJECTED, "stripe", "", "unverified", 30)
    told = found(seen(*busy, refused))
    assert {*told} == {"only-refusals/stripe"}
    assert (
        told["only-refusals/stripe"].sentence == "All 30 requests to stripe were refused since 09:37Z: unverified (30)."
    )
    assert names(seen(*busy[:2], refused)) == set(), "one that comes now and then may just not have come"


def test_a_flood_of_unproven_requests_is_told_beside_good_traffic() -> None:
    good = (0, Meter.STORED, "stripe", "", "", 5)
    assert names(seen(good, (1, Meter.REJECTED, "stripe", "", "unverified", 300))) == {"unverified-flood/stripe"}
    assert names(seen(good, (1, Meter.REJECTED, "stripe", "", "unverified", 299))) == set()
    assert names(seen((1, Meter.REJECTED, "", "", "unknown_source", 300))) == {"unverified-flood/"}


@pytest.mark.req("R41")
def test_eleven_thousand_orders_in_a_quarter_of_an_hour_are_too_many_and_three_never_are() -> None:
    past = weeks({(Meter.DONE, "create_order"): 12, (Meter.STORED, "stripe"): 12})
    orders = [(ago, Meter.DONE, "stripe", "create_order", "", 750) for ago in range(15)]
    told = found(seen(*orders, past=past))
    assert {*told} == {"volume-high/create_order"}
    assert "11,250 events in 15 minutes; 12 are usual at this time of earlier weeks" in (
        told["volume-high/create_order"].sentence
    )
    quiet = weeks({(Meter.DONE, "create_order"): 0})
    assert names(seen((0, Meter.DONE, "stripe", "create_order", "", 3), past=quiet)) == set()
    assert names(seen(*orders)) == set(), "nobody knows yet what is usual"


def test_a_busy_time_of_every_week_is_usual_and_one_odd_week_is_not() -> None:
    sale = {quarter_of(NOW) - number * WEEK for number in range(1, 5)}
    often = Past.of(*_with(weeks({(Meter.STORED, "shop"): 10}), sale, 5_000))
    once = Past.of(*_with(weeks({(Meter.STORED, "shop"): 10}), {quarter_of(NOW) - WEEK}, 5_000))
    now = (2, Meter.STORED, "shop", "", "", 5_000)
    assert names(seen(now, past=often)) == set()
    assert names(seen(now, past=once)) == {"volume-high/shop"}


def _with(past: Past, quarters: set[datetime], count: int) -> tuple[frozenset[datetime], list[Volume]]:
    known = {**past.counts[Meter.STORED, "shop"], **dict.fromkeys(quarters, count)}
    return past.counted, [Volume(quarter, Meter.STORED, "shop", found) for quarter, found in known.items()]


def test_the_last_day_says_what_is_usual_until_there_are_weeks() -> None:
    day = weeks({(Meter.STORED, "shop"): 40}, of=0)
    assert names(seen((2, Meter.STORED, "shop", "", "", 1_000), past=day)) == {"volume-high/shop"}
    assert names(seen((2, Meter.STORED, "shop", "", "", 150), past=day)) == set()
    an_hour = Past.of(*_with(Past(frozenset(day.counted), {(Meter.STORED, "shop"): {}}), set(), 0))
    assert names(seen((2, Meter.STORED, "shop", "", "", 1_000), past=an_hour)) == set()


def test_too_few_are_told_where_many_are_usual() -> None:
    past = weeks({(Meter.STORED, "shop"): 200, (Meter.DONE, "create_order"): 200})
    few = (1, Meter.STORED, "shop", "", "", 20)
    told = names(seen(few, past=past))
    assert told == {"volume-low/shop", "volume-low/create_order"}
    assert names(seen(few, past=weeks({(Meter.STORED, "shop"): 25}))) == set(), "chance alone does that"


def test_a_storm_of_duplicates_is_told_unless_it_is_usual() -> None:
    storm = ((1, Meter.DUPLICATE, "stripe", "", "seen", 11_246), (1, Meter.STORED, "stripe", "", "", 1))
    told = found(seen(*storm))
    assert "11,246 of 11,247 deliveries" in told["duplicate-storm/stripe"].sentence
    assert names(seen(*storm, past=weeks({(Meter.DUPLICATE, "stripe"): 10_000}))) == set()
    assert names(seen((1, Meter.DUPLICATE, "stripe", "", "seen", 300), (1, Meter.STORED, "stripe", "", "", 100))) == (
        set()
    )


def test_duplicates_that_always_came_and_do_not_any_more_are_missed() -> None:
    past = weeks({(Meter.DUPLICATE, "stripe"): 20, (Meter.STORED, "stripe"): 100})
    now = [(ago, Meter.STORED, "stripe", "", "", 7) for ago in range(60)]
    told = found(seen(*now, past=past))
    assert "not one duplicate; about 84 would be usual" in told["duplicates-gone/stripe"].sentence
    assert names(seen(*now, (30, Meter.DUPLICATE, "stripe", "", "inbox", 1), past=past)) == set()
    assert names(seen(*now, past=weeks({(Meter.STORED, "stripe"): 100}))) == set(), "it never had any"


def test_a_layer_that_knows_no_duplicate_any_more_is_missed() -> None:
    before = (40, Meter.DUPLICATE, "stripe", "", "seen", 500)
    now = (3, Meter.DUPLICATE, "stripe", "", "inbox", 100)
    told = found(seen(before, now, (3, Meter.STORED, "stripe", "", "", 100)))
    assert "The layer seen knows no duplicate of stripe any more" in told["duplicates-gone/stripe"].sentence
    warmer = ((40, Meter.DUPLICATE, "stripe", "", "inbox", 500), (3, Meter.DUPLICATE, "stripe", "", "seen", 100))
    assert names(seen(*warmer, (3, Meter.STORED, "stripe", "", "", 100))) == set(), "a cache that is back is good news"
    assert names(seen(before, now, (3, Meter.DUPLICATE, "stripe", "", "seen", 5), (3, Meter.STORED, "stripe", "", "", 99))) == (
        set()
    )  # fmt: skip


@pytest.mark.req("R41")
def test_a_source_is_silent_by_its_own_rhythm() -> None:
    silent = timedelta(minutes=50)
    heard = {"stripe": NOW - silent}
    past = weeks({(Meter.STORED, "stripe"): 20}, since=silent)
    told = found(seen(heard=heard, past=past))
    assert "Nothing came from stripe for 50 minutes" in told["source-silent/stripe"].sentence
    assert names(seen(heard={"stripe": NOW - timedelta(minutes=10)}, past=past)) == set(), "not for long"
    assert names(seen(heard=heard, past=weeks({(Meter.STORED, "stripe"): 1}, since=silent))) == set(), "it is rare"


def test_a_source_that_was_silent_at_this_time_of_an_earlier_week_is_not_silent_now() -> None:
    silent = timedelta(hours=3)
    past = weeks({(Meter.STORED, "stripe"): 20}, since=silent)
    counts = past.counts[Meter.STORED, "stripe"]
    holiday = {q: n for q, n in counts.items() if not NOW - 2 * WEEK - silent <= q < NOW - 2 * WEEK}
    assert names(seen(heard={"stripe": NOW - silent}, past=past)) == {"source-silent/stripe"}
    quiet = Past(past.counted, {(Meter.STORED, "stripe"): holiday})
    assert names(seen(heard={"stripe": NOW - silent}, past=quiet)) == set()


def test_a_new_source_is_silent_only_when_its_longest_pause_is_outdone() -> None:
    for silent, told in ((timedelta(minutes=50), False), (timedelta(minutes=90), True)):
        past = weeks({(Meter.STORED, "stripe"): 5}, of=0, since=silent)
        assert bool(names(seen(heard={"stripe": NOW - silent}, past=past))) == told
    young = weeks({(Meter.STORED, "stripe"): 5}, of=0, since=timedelta(hours=14))
    short = {q: n for q, n in young.counts[Meter.STORED, "stripe"].items() if q > NOW - timedelta(hours=20)}
    past = Past(young.counted, {(Meter.STORED, "stripe"): short})
    assert names(seen(heard={"stripe": NOW - timedelta(hours=14)}, past=past)) == set(), "six hours are no rhythm"


def test_an_event_that_nobody_has_tried_for_five_minutes_waits_too_long() -> None:
    worker = Pulse("worker", "a", NOW)
    late = seen(untried_since=NOW - timedelta(minutes=6), pulses=[worker])
    assert found(late)["oldest-waiting/"].figures["seconds"] == 360
    assert names(seen(untried_since=NOW - timedelta(minutes=4), pulses=[worker])) == set()


def test_machines_tell_of_their_spool_their_clock_and_their_disk() -> None:
    sick = Pulse("intake", "a", NOW, spool_records=7, free_bytes=10**8, skew_seconds=-400)
    well = Pulse("intake", "b", NOW, free_bytes=10**10, skew_seconds=2)
    told = found(seen(pulses=[sick, well]))
    assert {*told} == {"spool-in-use/a", "clock-skew/a", "disk-low/a"}
    assert (told["disk-low/a"].severity, told["clock-skew/a"].severity) == ("critical", "error")
    gone = Pulse("intake", "a", NOW - 2 * MINUTE, spool_records=7)
    assert names(seen(pulses=[gone, well])) == set(), "what it said then may be so no longer"


def test_nobody_alive_is_told_of_a_role_that_somebody_had() -> None:
    alive, gone = Pulse("intake", "a", NOW), Pulse("worker", "a", NOW - 2 * MINUTE)
    told = found(seen(pulses=[alive, gone]))
    assert {*told} == {"nobody-alive/worker"}
    assert told["nobody-alive/worker"].severity == "critical"
    assert names(seen(pulses=[alive])) == set(), "it takes in only"
    assert names(seen(pulses=[alive], untried_since=NOW - 2 * MINUTE)) == {"nobody-alive/worker"}
    assert names(seen(pulses=[alive, Pulse("worker", "a", NOW - timedelta(days=2))])) == set()


def test_an_open_breaker_is_told_and_a_pause_is_not() -> None:
    breaker = Switch(SwitchKind.BREAKER, "handler:create_order", "no such table", "w", NOW)
    assert names(seen(switches=[breaker])) == {"breaker-open/handler:create_order"}
    (told,) = findings(seen(switches=[breaker]), DEFAULTS)
    assert told.sentence.startswith(f"The breaker handler:create_order opened on {NOW:%Y-%m-%d}"), "true ever after"
    assert names(seen(switches=[Switch(SwitchKind.SOURCE, "stripe", "", "ada", NOW)])) == set()


def test_thresholds_can_be_moved_and_rules_switched_off() -> None:
    dead = seen((3, Meter.DEAD, "stripe", "", "", 5))
    assert names(dead, Thresholds(dead_letters=6)) == set()
    assert findings(dead, off={"dead-letters"}) == []


def test_rates_are_added_up_by_the_quarter_without_their_types() -> None:
    start = quarter_of(NOW)
    rates = [
        Rate(start, Meter.STORED, "shop", "a", count=2),
        Rate(start + 14 * MINUTE, Meter.STORED, "shop", "b", count=3),
        Rate(start + 15 * MINUTE, Meter.STORED, "shop", "b", count=4),
        Rate(start, Meter.DONE, "shop", "a", "create_order", count=5),
        Rate(start, Meter.RECEIVED, "shop", count=9),
        Rate(start, Meter.STORED, "shop", count=100, seconds=3600),
    ]
    assert volumes(rates) == [
        Volume(start, Meter.DONE, "create_order", 5),
        Volume(start, Meter.STORED, "shop", 5),
        Volume(start + QUARTER, Meter.STORED, "shop", 4),
    ]
