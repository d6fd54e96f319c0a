"""When somebody is told: at once, again, at the end, and not while it is silenced."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from landfast.domain.alerts.alert import Alert, AlertName, Finding, Severity, Silence
from landfast.domain.alerts.states import Patience, Step, step

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PATIENCE = Patience(quiet=300, repeat=3600)
DISK = Finding(AlertName.DISK_LOW, "a", Severity.ERROR, "1 MiB is free.", "make room")


class Life:
    """One alert, from look to look."""

    def __init__(self) -> None:
        self.firing: list[Alert] = []
        self.silences: list[Silence] = []
        self._ids: Iterator[int] = count(1)

    def look(self, seconds: float, *found: Finding) -> list[str]:
        made: Step = step(
            self.firing,
            found,
            self.silences,
            NOW + timedelta(seconds=seconds),
            patience=PATIENCE,
            new_id=lambda: f"{next(self._ids):032}",
        )
        changed = {alert.incident: alert for alert in made.changed}
        known = {alert.incident: alert for alert in self.firing} | changed
        self.firing = [alert for alert in known.values() if alert.resolved_at is None]
        return [str(notice.kind) for notice in made.notices]


@pytest.fixture
def life() -> Life:
    return Life()


def test_it_is_told_at_once_and_then_less_and_less_often(life: Life) -> None:
    told = [(at, kind) for at in range(0, 40 * 3600, 900) for kind in life.look(at, DISK)]
    assert told[0] == (0, "firing")
    assert [at // 3600 for at, _ in told] == [0, 1, 3, 7, 15, 31]
    assert {kind for _, kind in told[1:]} == {"repeated"}


def test_it_is_resolved_once_it_was_quiet_for_a_while(life: Life) -> None:
    assert life.look(0, DISK) == ["firing"]
    assert [life.look(at) for at in (60, 200, 299)] == [[], [], []]
    assert life.look(300) == ["resolved"]
    assert life.firing == []
    assert life.look(400, DISK) == ["firing"], "the same later is another incident"


def test_what_comes_and_goes_is_one_incident(life: Life) -> None:
    told = [life.look(at, *([DISK] if at % 200 < 100 else [])) for at in range(0, 3000, 50)]
    assert [kinds for kinds in told if kinds] == [["firing"]]


def test_nobody_is_told_while_it_is_silenced_and_somebody_is_when_that_ends(life: Life) -> None:
    life.silences = [Silence("disk-low", "", NOW + timedelta(hours=2), "ada", "a move", NOW)]
    assert [life.look(at, DISK) for at in (0, 3600, 7199)] == [[], [], []]
    assert len(life.firing) == 1, "it is still looked for"
    assert life.look(7200, DISK) == ["firing"]


def test_a_silence_of_one_subject_leaves_the_others_alone(life: Life) -> None:
    life.silences = [Silence("disk-low", "b", NOW + timedelta(hours=2), "ada", "", NOW)]
    assert life.look(0, DISK) == ["firing"]


def test_whoever_has_heard_of_it_hears_of_its_end_silence_or_not(life: Life) -> None:
    life.look(0, DISK)
    life.silences = [Silence("disk-low", "a", NOW + timedelta(hours=2), "ada", "", NOW)]
    assert life.look(400) == ["resolved"]
    assert life.look(500, DISK) == []
    assert life.look(900) == [], "nobody has heard of that one"
