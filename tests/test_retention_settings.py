"""How long things are kept, as the settings say it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.domain.errors import ConfigError
from landfast.domain.lifecycle import State
from landfast.domain.retention import DAY_SECONDS, EXPIRES, Ages, Retention, Standing, Verdict

pytestmark = pytest.mark.req("R43")

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_x"]\nallow_short_secret = true\n'
DAYS = DAY_SECONDS


def kept(folder: Path, text: str = "", **overrides: Any) -> Retention:
    file = folder / "landfast.toml"
    file.write_text(text)
    return Inbox(file, **overrides).retention


def test_bodies_stay_90_days_dead_letters_a_year_and_memory_35_days(tmp_path: Path) -> None:
    found = kept(tmp_path, SOURCE).of("shop")
    assert found == kept(tmp_path).default == Ages(90 * DAYS, 365 * DAYS, 90 * DAYS, 35 * DAYS)
    assert [found.row(state) for state in EXPIRES] == [90 * DAYS, 365 * DAYS, 90 * DAYS]


def test_a_source_may_differ_and_inherits_the_rest(tmp_path: Path) -> None:
    text = '[retention]\nbodies = "8w"\ndead = "forever"\n' + SOURCE + 'retention = { bodies = "36h" }\n'
    found = kept(tmp_path, text)
    assert (found.default.bodies, found.of("shop").bodies) == (56 * DAYS, 1.5 * DAYS)
    assert found.of("shop").dead == found.of("gone").dead == math.inf
    assert found.of("shop").row(State.DONE) == 35 * DAYS, "the memory is longer than the body"
    assert found.receipts == math.inf
    assert kept(tmp_path, text, retention={"bodies": "2d"}).default == Ages(bodies=2 * DAYS)


def test_a_variable_may_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDFAST_RETENTION", "bodies=30d, dead=8w")
    assert kept(tmp_path).default == Ages(30 * DAYS, 56 * DAYS)
    monkeypatch.setenv("LANDFAST_RETENTION", "30d")
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        kept(tmp_path)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('body = "9d"', "retention: there is no key 'body'; did you mean 'bodies'"),
        ("bodies = 90", "retention: bodies must be a number of hours, days or weeks"),
        ('bodies = "0d"', "retention: bodies must be a number of hours, days or weeks"),
        ('dead = "soon"', "retention: dead must be"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, written: str, told: str) -> None:
    for text in (f"[retention]\n{written}\n", f"{SOURCE}[sources.shop.retention]\n{written}\n"):
        with pytest.raises(ConfigError) as caught:
            kept(tmp_path, text)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_memory_that_is_shorter_than_the_senders_retries_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(SOURCE + 'retention = { memory = "2d" }\n')
    inbox = Inbox(tmp_path / "landfast.toml")
    for start in (inbox.worker, lambda: inbox.retention):
        with pytest.raises(ConfigError) as caught:
            start()
        sentence = (
            'source shop: retention.memory is 2 days, and stripe sends again for 3 days; write memory = "4d" or more'
        )
        assert str(caught.value) == sentence


async def test_intake_refuses_it_as_well(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(SOURCE + 'retention = { memory = "2d" }\n')
    with pytest.raises(ConfigError, match="sends again for 3 days"):
        async with Inbox(tmp_path / "landfast.toml").intake():
            pass


@pytest.mark.parametrize("state", list(State))
def test_only_what_is_over_can_leave(state: State) -> None:
    found = Retention(Ages(*4 * (DAYS,))).judge(Standing("shop", state, 1e12, 1, is_expired=False))
    assert found is (Verdict.ALL if state in EXPIRES else Verdict.NOTHING)


def test_receipts_outlive_identities_and_identities_outlive_bodies() -> None:
    for ages in (Ages(), Ages(1, 2, 3, 4), Ages(9, 9, 9, 1)):
        assert Retention(ages).receipts > ages.longest >= ages.row(State.DONE) >= ages.content(State.DONE)
