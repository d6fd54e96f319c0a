"""A stream that could lose what it acknowledged is refused, in one sentence that says what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast import config
from landfast.app.broker import examine_journal, open_drainer
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.domain.errors import ConfigError
from landfast.domain.ids import InboxId
from landfast.journals import jetstream_link, jetstream_stream
from landfast.journals.jetstream_address import read_address
from landfast.journals.jetstream_stream import RULES
from landfast.recovery.doctor import Check, Level
from landfast.testing.factory import deliveries
from tests.journals.jetstream_bench import SYNCED, Bench
from tests.shops import Shop, sqlite_shop

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "memory": ({"storage": "memory"}, "storage must be file"),
    "discard old": ({"discard": "old"}, "discard must be new"),
    "limits": ({"retention": "limits"}, "retention must be workqueue"),
    "interest": ({"retention": "interest"}, "retention must be workqueue"),
    "by age": ({"max_age": 60 * 10**9}, "max_age must be 0"),
    "per subject": ({"max_msgs_per_subject": 5}, "max_msgs_per_subject must be -1"),
    "no acknowledgement": ({"no_ack": True}, "no_ack must be false"),
    "lazy writes": ({"persist_mode": "async"}, "persist_mode must be default"),
    "other subjects": ({"subjects": ["orders.*"]}, "add it to its subjects"),
    "transformed": ({"subject_transform": {"src": "landfast.>", "dest": "elsewhere.>"}}, "remove subject_transform"),
}


@pytest.mark.req("R55")
@pytest.mark.parametrize(("settings", "fix"), WRONG.values(), ids=WRONG)
async def test_a_stream_that_may_lose_what_it_acknowledged_is_refused(
    bench: Bench, settings: dict[str, Any], fix: str
) -> None:
    own = {"subjects": [f"orders-{bench.name}.*"]} if "subjects" in settings else {}
    await bench.make_stream(**settings | own)
    before = (await bench.api(f"STREAM.INFO.{bench.name}"))["config"]
    with pytest.raises(ConfigError, match=f"journal: the stream {bench.name} .*{fix}"):
        await bench.journal()
    assert (await bench.api(f"STREAM.INFO.{bench.name}"))["config"] == before
    (check, *_) = await _doctor(bench.target)
    assert check.level is Level.FAIL and fix in check.found


async def test_a_transformed_message_would_be_acknowledged_and_found_by_no_drainer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the rule against it is for."""
    monkeypatch.setattr(jetstream_stream, "RULES", [rule for rule in RULES if rule.setting != "subject_transform"])
    await bench.make_stream(subject_transform={"src": "landfast.>", "dest": f"elsewhere-{bench.name}.>"})
    await (await bench.journal()).record(deliveries(1))
    assert await bench.messages() == 1
    assert await (await bench.backlog()).take(10) == []


async def test_a_stream_that_also_publishes_what_it_keeps_is_as_good_as_any(bench: Bench) -> None:
    """`republish` sends copies of what is stored, and changes nothing about it."""
    await bench.make_stream(republish={"src": ">", "dest": f"copies-{bench.name}.>"})
    await (await bench.journal()).record(deliveries(3))
    assert len(await (await bench.backlog()).take(10)) == 3


async def test_a_drainer_goes_on_taking_from_a_stream_that_became_unsafe(bench: Bench) -> None:
    """Whatever is still in it is safer in the inbox, also when the drainer has to connect anew."""
    await (await bench.journal()).record(deliveries(3))
    backlog = await bench.backlog()
    config = (await bench.api(f"STREAM.INFO.{bench.name}"))["config"]
    await bench.api(f"STREAM.UPDATE.{bench.name}", config | {"max_age": 3600 * 10**9})
    backlog._checked_at = -1  # as after a new connection
    assert len(await backlog.take(10)) == 3


@pytest.mark.req("R55")
@pytest.mark.parametrize("exists", [True, False], ids=["made by the operator", "not there yet"])
async def test_one_replica_is_refused_unless_the_operator_says_that_the_server_syncs(
    bench: Bench, exists: bool
) -> None:
    if exists:
        await bench.make_stream()
    unsaid = bench.target.removesuffix(SYNCED)
    with pytest.raises(ConfigError, match=r"give it 3 replicas .* sync_interval: always .* \?sync=always"):
        await bench.journal(target=unsaid)
    assert await bench.messages() == (0 if exists else -1)  # nothing is left behind that nobody may trust
    await (await bench.journal()).record(deliveries(1))
    assert await bench.messages() == 1


async def test_the_stream_that_is_made_is_the_one_that_is_asked_for(bench: Bench) -> None:
    await bench.journal()
    made = (await bench.api(f"STREAM.INFO.{bench.name}"))["config"]
    asked = {"storage": "file", "retention": "workqueue", "discard": "new", "duplicate_window": 120 * 10**9}
    assert {name: made[name] for name in asked} == asked
    assert made["subjects"] == [f"landfast.{bench.name}.*"]


async def test_another_inbox_is_refused_and_a_stream_of_the_operators_is_adopted(bench: Bench) -> None:
    """Two inboxes on one stream would take each other's events."""
    await bench.make_stream(max_bytes=10**8)
    await bench.journal()
    stranger = InboxId(b"another inbox ..")
    with pytest.raises(ConfigError, match="belongs to another inbox"):
        await bench.journal(inbox=stranger)
    assert (await bench.api(f"STREAM.INFO.{bench.name}"))["config"]["max_bytes"] == 10**8


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("nats://127.0.0.1/a.b", "'a.b' is no name for a stream"),
        ("nats://127.0.0.1/" + "x" * 33, "32 of them at most"),
        ("nats://127.0.0.1?sync=sometimes", r"'sync' of the address.*\?sync=always"),
        ("nats://127.0.0.1?replicas=1", "'replicas' of the address"),
    ],
)
def test_an_address_that_means_nothing_is_refused(target: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_address(target)


def test_an_address_names_servers_stream_and_what_the_operator_says() -> None:
    found = read_address("nats://me:hush%40@one:4222,two:4223/orders?sync=always")
    assert found.servers == ("nats://one:4222", "nats://two:4223")
    assert found.credentials == {"user": "me", "password": "hush@"}
    assert read_address("nats://s3cret@one").credentials == {"token": "s3cret"}
    assert (found.stream, found.is_synced, found.shown) == ("orders", True, "one:4222,two:4223")
    assert "hush" not in f"{found!r}{found.shown}"
    plain = read_address("tls://one")
    assert (plain.servers, plain.stream, plain.is_synced) == (("tls://one",), "landfast", False)
    several = config.load(environ={"LANDFAST_JOURNAL": "nats://me:hush@one:4222,two:4223/orders"})
    assert str(several.journal) == "nats://me@one:4222,two:4223/orders"
    with pytest.raises(ConfigError, match="LANDFAST_JOURNAL must be an address"):
        config.load(environ={"LANDFAST_JOURNAL": "nats://one:4222,:9/orders"})


async def test_the_doctor_says_how_the_journal_is(bench: Bench) -> None:
    assert await examine_journal(config.load(environ={})) == []
    (missing,) = await _doctor(bench.target)
    assert missing.level is Level.FAIL and f"there is no stream {bench.name}" in missing.found
    assert await bench.messages() == -1  # it only looks
    journal = await bench.journal()
    await journal.record(deliveries(3))
    well, backlog = await _doctor(bench.target)
    assert (well.level, backlog.level, backlog.found) == (Level.OK, Level.OK, "3 messages")


@pytest.mark.req("R53")
async def test_the_doctor_fails_when_the_broker_is_away(mortal: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jetstream_link, "CONNECT_SECONDS", 0.1)
    (check,) = await _doctor(mortal.target)
    assert check.level is Level.FAIL and "no connection" in check.found


async def test_commands_refuse_such_a_stream_with_one_sentence_and_exit_2(bench: Bench, tmp_path: Path) -> None:
    await bench.make_stream(storage="memory")
    shop = _shop(tmp_path, bench.target)
    for command in (["drain", "shop.py"], ["serve", "shop.py", "--port", "0"]):
        code, _, err = await shop.run(*command)
        assert code == 2
        assert f"the stream {bench.name} is kept in memory" in err and "Traceback" not in err


@pytest.mark.parametrize("journal", [None, "nats://127.0.0.1/a.b"], ids=["none", "malformed"])
async def test_a_drainer_without_a_journal_is_refused_before_anything_is_made(
    tmp_path: Path, journal: str | None
) -> None:
    given = {"LANDFAST_STORE": str(tmp_path / "inbox.db")} | ({"LANDFAST_JOURNAL": journal} if journal else {})
    with pytest.raises(ConfigError, match="journal"):
        async with open_drainer(config.load(environ=given), SystemClock(), SystemChance()):
            pass
    assert not (tmp_path / "inbox.db").exists()


async def _doctor(target: str) -> list[Check]:
    return list(await examine_journal(config.load(environ={"LANDFAST_JOURNAL": target})))


def _shop(folder: Path, target: str) -> Shop:
    shop = sqlite_shop(folder)
    shop.settings["LANDFAST_JOURNAL"] = target
    shop.write()
    return shop
