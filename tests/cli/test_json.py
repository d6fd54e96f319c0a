"""`--json`: what is on stdout is JSON, all of it, and any reader takes it."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from landfast.app.stores import Stores
from landfast.domain.lifecycle import Signal
from landfast.domain.rates import LATENCY_BUCKETS, Meter, Rate, minute_of
from landfast.testing.factory import delivery
from tests.cli.conftest import Run
from tests.cli.crowd import fill
from tests.recovery.scenes import settle_all

SLOW = (*[0] * (LATENCY_BUCKETS - 1), 5)
"""Five that took longer than all that are told apart."""


async def slow(stores: Stores) -> None:
    minute = minute_of(datetime.now(UTC))
    await stores.inbox.add_rates(
        [
            Rate(minute, Meter.STORED, "shop", "order", count=5, histogram=SLOW),
            Rate(minute, Meter.DONE, "shop", "order", "create_order", count=5, histogram=SLOW),
        ]
    )


def test_a_handler_of_more_than_thirty_seconds_leaves_status_json(landfast: Run, folder: Path) -> None:
    (folder / "landfast.toml").write_text('[sources.shop]\nprovider = "stripe"\nsecrets = ["env:SHOP"]\n')
    fill(slow)
    said = json.loads(landfast("status", "--json").out, parse_constant=pytest.fail)
    (handler,) = [one for one in said["handlers"] if one["name"] == "create_order"]
    assert (handler["done"], handler["p50"], handler["p95"]) == (5, None, None)
    (source,) = [one for one in said["sources"] if one["name"] == "shop"]
    assert (source["stored"], source["ack_p95"]) == (5, None)


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


async def one_dead_and_one_held(stores: Stores) -> None:
    await stores.inbox.record([delivery("dead")])
    await settle_all(stores.inbox, Signal.BURY)
    await stores.inbox.record([delivery("held", hold="late")])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["replay", "state:dead"], {"replayed": 1}),
        (["held", "admit", "source:shop"], {"admitted": 1}),
        (["held", "discard", "source:shop"], {"discarded": 1}),
        (["erase", "source:shop"], {"erased": 2}),
        (["erase", "dead"], {"erased": 1}),
        (["retention", "unbind", "00" * 16], {"unbound": False}),
    ],
)
def test_a_question_is_asked_beside_the_json(
    command: list[str], said: dict[str, object], landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody sits at the keyboard, and stdout goes to jq."""
    (folder / "landfast.toml").write_text('[sources.shop]\nprovider = "stripe"\nsecrets = ["env:SHOP"]\n')
    fill(one_dead_and_one_held)
    monkeypatch.setattr(sys, "stdin", Keyboard("y\n"))
    ended = landfast(*command, "--json")
    assert said.items() <= ended.json.items()
    assert "? [y/N]:" in ended.err
