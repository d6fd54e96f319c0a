"""`landfast reconcile` at a provider over real HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.crowd import fill, three_dead_two_done
from tests.operations.provider import CREDENTIAL, Provider, running


@pytest.fixture
def provider(folder: Path) -> Iterator[Provider]:
    with running(Provider()) as made:
        (folder / "landfast.toml").write_text(
            f"""
[sources.shop]
provider = "stripe"
secrets = ["env:NOT_NEEDED_FOR_THIS"]
listing = {{ url = "{made.url}/v1/events?limit=100&created[gte]={{since_unix}}", credential = "file:key" }}
"""
        )
        (folder / "key").write_text(f"{CREDENTIAL}\n")
        fill(three_dead_two_done)
        yield made


@pytest.mark.req("R60")
def test_what_never_arrived_is_told_then_taken_in_and_written_down(landfast: Run, provider: Provider) -> None:
    created = int(time.time()) - 3600
    provider.events = [{"id": f"evt_{number}", "created": created, "type": "a.b"} for number in range(3)]
    provider.events.append({"id": "done_0000", "created": created, "type": "a.b"})
    dry = landfast("reconcile", "shop", "--since", "2h", "--dry-run")
    assert dry.code == 1
    assert "3 never arrived: 3 would be taken in" in dry.out
    assert "shop: 4 events listed since" in dry.out
    assert landfast("audit", "list", "--json").json == {"changes": []}

    done = landfast("reconcile", "shop", "--since", "2h", "--why", "the firewall", "--json")
    assert (done.code, done.json["known"], done.json["taken"]) == (0, 1, 3)
    assert sorted(one["key"] for one in done.json["events"]) == ["evt_0", "evt_1", "evt_2"]
    (line,) = landfast("audit", "list", "--json").json["changes"]
    assert (line["action"], line["why"]) == ("reconcile", "the firewall")
    assert sorted(line["ended"]["what"]["events"]) == sorted(one["id"] for one in done.json["events"])
    again = landfast("reconcile", "shop", "--since", "2h")
    assert (again.code, "0 never arrived: 0 taken in" in again.out) == (0, True)
    shown = landfast("events", "show", "evt_0", "--json").json
    assert shown["headers"][0][0] == "landfast-reconciled"
    assert CREDENTIAL not in str((dry, done, again, line, shown))


def test_a_provider_that_refuses_is_told_in_one_sentence(landfast: Run, provider: Provider, folder: Path) -> None:
    (folder / "key").write_text("sk_wrong")
    ended = landfast("reconcile", "shop")
    assert ended.code == 2
    told = "landfast: reconcile shop: of 127.0.0.1: it answers 401; check the credential of its listing"
    assert ended.err.startswith(told)
    assert "sk_wrong" not in ended.err
    failed = landfast("audit", "list", "--json").json["changes"][0]["ended"]
    assert (failed["result"], "401" in failed["what"]["error"]) == ("failed", True)


def test_an_odd_answer_is_told_in_one_sentence(landfast: Run, provider: Provider, folder: Path) -> None:
    settings = (folder / "landfast.toml").read_text()
    (folder / "landfast.toml").write_text(settings.replace("listing = {", 'listing = { next = "url:next", more = "",'))
    provider.answer = lambda *_: (200, {}, {"data": [], "next": "https://[oops/x"})  # type: ignore[method-assign]
    for more in ((), ("--dry-run",)):
        ended = landfast("reconcile", "shop", *more)
        assert ended.code == 2
        assert (
            ended.err == "landfast: reconcile: the list leads to an address that is none; check next of its listing\n"
        )
