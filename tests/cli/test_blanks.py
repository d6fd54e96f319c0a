"""A value with a blank, as a shell hands it over: `entity:"Jane Doe"` is one argument without its quotes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from landfast.app.stores import Stores
from landfast.testing.factory import delivery
from tests.cli.conftest import Ended, Run
from tests.cli.crowd import fill

JANE = ("source:shop", "entity:Jane Doe")


@pytest.fixture(autouse=True)
def held(folder: Path) -> None:
    async def of_two_people(stores: Stores) -> None:
        made = [delivery(key, entity=entity, hold="late") for key, entity in (("hers", "Jane Doe"), ("his", "Jane"))]
        await stores.inbox.record(made)

    (folder / "landfast.toml").write_text('[sources.shop]\nprovider = "stripe"\nsecrets = ["env:SHOP"]\n')
    fill(of_two_people)


def states(landfast: Run) -> dict[str, str]:
    return {event["key"]: event["state"] for event in landfast("events", "list", "--json").json["events"]}


def audited(ended: Ended) -> str:
    return json.dumps(ended.json["changes"][0]["what"], ensure_ascii=False)


def test_held_events_are_listed_admitted_and_discarded(landfast: Run) -> None:
    assert [event["key"] for event in landfast("held", "list", *JANE, "--json").json["events"]] == ["hers"]
    assert landfast("held", "admit", *JANE, "--dry-run", "--json").json == {"would_admit": 1}
    assert landfast("held", "discard", *JANE, "--yes", "--json").json == {"discarded": 1}
    assert states(landfast) == {"hers": "dead", "his": "held"}
    assert json.loads(audited(landfast("audit", "list", "--json"))) == {"filter": 'source:shop entity:"Jane Doe"'}


def test_a_held_event_is_admitted(landfast: Run) -> None:
    assert landfast("held", "admit", *JANE, "--yes", "--json").json == {"admitted": 1}
    assert states(landfast) == {"hers": "ready", "his": "held"}


def test_events_are_erased_and_no_word_of_the_name_is_in_the_operator_log(landfast: Run) -> None:
    assert landfast("erase", *JANE, "--dry-run", "--json").json == {"would_erase": 1}
    assert landfast("erase", *JANE, "--yes", "--json").json["erased"] == 1
    told = audited(landfast("audit", "list", "--json"))
    assert "source:shop entity:sha256-" in told
    assert "Jane" not in told and "Doe" not in told


def test_events_are_exported(landfast: Run, folder: Path) -> None:
    assert landfast("events", "export", *JANE, "--to", "hers.jsonl", "--json").json["exported"] == 1
    (line,) = (folder / "hers.jsonl").read_text().splitlines()
    assert json.loads(line)["key"] == "hers"


def test_top_reads_it_before_the_screen_is_taken(landfast: Run) -> None:
    assert "it needs a terminal" in landfast("top", *JANE).err
