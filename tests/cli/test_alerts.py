"""`landfast alerts`: what is wrong, who is told, who does not want to hear of it; and whether the sinks work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.domain.ids import BootId
from landfast.domain.message import Message
from landfast.testing.conformance.inbox.alerts import alert
from tests.alerting.desk import SECRET
from tests.alerting.receivers import HttpReceiver
from tests.cli.conftest import Run

SOURCE = '[sources.stripe]\nprovider = "stripe"\nsecrets = ["env:S"]\n'


@pytest.fixture
def firing(folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)

    async def fill() -> None:
        inbox = Inbox()
        await inbox.migrate()
        async with inbox.archive() as archive:
            who = BootId(b"evaluate")
            now = await archive.lead("alerts", who=who, lasting=60)
            assert now is not None
            told = alert(1, subject="stripe\x1b[2J", since=now, seen_at=now, told_at=now, told=1)
            ended = alert(2, since=now, seen_at=now, resolved_at=now)
            message = Message("notice", "team", "{}", told.incident, "firing")
            await archive.save_alerts([told, ended], [message], task="alerts", who=who)
            await archive.put_off_message(message, due_in=60, error="503 go away")

    asyncio.run(fill())


@pytest.mark.usefixtures("firing")
def test_what_is_wrong_is_listed_with_its_fix_and_its_runbook(landfast: Run) -> None:
    shown = landfast("alerts", "list")
    assert shown.code == 1
    assert "error  source-silent/stripe\\x1b[2J: Nothing came." in shown.out
    assert "fix: look" in shown.out
    assert "runbook: docs/runbooks/source-silent.md" in shown.out
    assert "not sent  team: tried 0 times: 503 go away" in shown.out
    assert "shop 2" not in shown.out
    assert "source-silent/shop 2" in landfast("alerts", "list", "--all").out
    told = landfast("alerts", "list", "--json", "--all").json
    assert (len(told["firing"]), len(told["resolved"]), told["unsent"][0]["sink"]) == (1, 1, "team")


@pytest.mark.usefixtures("firing")
def test_an_alert_is_silenced_and_told_again(landfast: Run) -> None:
    silenced = landfast("alerts", "silence", "source-silent", "--for", "2h", "--why", "a holiday")
    assert silenced.code == 0
    assert "landfast alerts unsilence source-silent ends it" in silenced.out
    listed = landfast("alerts", "list").out
    assert "silenced  source-silent until" in listed
    assert ": a holiday" in listed
    assert "told 1 times, silenced" in listed
    assert landfast("alerts", "unsilence", "source-silent").code == 0
    assert landfast("alerts", "unsilence", "source-silent").code == 1
    assert "a holiday" in landfast("audit", "list").out


@pytest.mark.usefixtures("firing")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("sorce-silent", "--for", "2h"), "there is no alert 'sorce-silent'; did you mean 'source-silent'?"),
        (("source-silent", "--for", "soon"), "--for takes an age such as 30m"),
        (("source-silent", "--for", "0s"), "give a time that is still to come"),
    ],
)
def test_a_mistake_is_one_sentence(landfast: Run, words: tuple[str, ...], says: str) -> None:
    ended = landfast("alerts", "silence", *words)
    assert ended.code == 2
    assert says in ended.err


async def test_every_sink_is_tried_and_says_what_it_answered(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with HttpReceiver().listening() as good, HttpReceiver(status=404).listening() as bad:
        (folder / "landfast.toml").write_text(
            f"""{SOURCE}
[alerts.sinks.team]
kind = "slack"
url = "env:SLACK"
[alerts.sinks.hook]
kind = "webhook"
url = "{bad.url}"
secret = "{SECRET}"
[alerts.sinks.pager]
kind = "pagerduty"
routing_key = "env:NOT_SET"
"""
        )
        monkeypatch.setenv("SLACK", good.url)
        shown = await asyncio.to_thread(landfast, "alerts", "test")
    assert shown.code == 1
    assert "ok    team (slack): 200 ok" in shown.out
    assert "fail  hook (webhook): 404 ok" in shown.out
    assert "fail  pager (pagerduty): alerts.sinks.pager: routing_key: the environment variable NOT_SET is not set" in (
        shown.out
    )
    assert "[test] test" in good.got[0].json["text"]
    assert good.url not in shown.out + shown.err


@pytest.mark.usefixtures("firing")
def test_the_doctor_looks_at_the_sinks(landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "whsec_x" * 5)
    checks = {check["name"]: check for check in landfast("doctor", "--json").json["checks"]}
    assert checks["alert sink team"]["found"] == "1 messages not taken: 503 go away"
    (folder / "landfast.toml").write_text(
        f'{SOURCE}[alerts.sinks.pager]\nkind = "pagerduty"\nrouting_key = "env:NONE"\n'
    )
    checks = {check["name"]: check for check in landfast("doctor", "--json").json["checks"]}
    assert checks["alert sink pager"]["level"] == "fail"
    assert "NONE is not set" in checks["alert sink pager"]["found"]


@pytest.mark.usefixtures("firing")
@pytest.mark.parametrize("settings", ["", "[alerts]\nenabled = false\n"])
def test_the_doctor_tells_a_function_of_on_dead_from_a_sink(
    landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    """It is called whether or not somebody looks for alerts."""

    async def fail() -> None:
        async with Inbox().archive() as archive:
            message = Message("death", "on_dead/open_a_ticket", "{}")
            await archive.walk_on("on_dead/open_a_ticket", seen=None, upto=0, messages=[message])
            await archive.put_off_message(message, due_in=60, error="KeyError at tickets.py:7")

    asyncio.run(fail())
    monkeypatch.setenv("S", "whsec_x" * 5)
    (folder / "landfast.toml").write_text(SOURCE + settings)
    checks = {check["name"]: check for check in landfast("doctor", "--json").json["checks"]}
    assert "alert sink on_dead/open_a_ticket" not in checks
    hook = checks["on_dead open_a_ticket"]
    assert (hook["level"], hook["found"]) == ("warn", "1 dead letters not taken: KeyError at tickets.py:7")
    assert "dead_hook_failed" in hook["fix"] and "alerts test" not in hook["fix"]
    assert "alerts" in checks if settings else "alert sink team" in checks


def test_without_a_sink_there_is_nothing_to_try(landfast: Run, folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    assert "write one as [alerts.sinks.NAME]" in landfast("alerts", "test").err


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"of": ["disk-low"]}, "alerts: there is no key 'of'; did you mean 'off'?"),
        ({"off": ["disc-low"]}, "there is no alert 'disc-low'; did you mean 'disk-low'?"),
        ({"every": 0}, "alerts: every is 0.0; it must be from 1 to 3600"),
        ({"sinks": {"a": {}}}, 'alerts.sinks.a: kind is missing; write kind = "slack"'),
        ({"sinks": {"a": {"kind": "irc"}}}, "kind is 'irc'; it must be one of slack"),
        ({"sinks": {"a": {"kind": "slack"}}}, "alerts.sinks.a: slack needs url"),
        ({"sinks": {"a": {"kind": "slack", "url": "x", "to": ["a@b"]}}}, "slack has no use for to; remove it"),
        ({"sinks": {"a": {"kind": "email", "server": "x", "sender": "a", "to": ["b"]}}}, "list of mail addresses"),
        ({"sinks": []}, "alerts.sinks must be tables"),
        ([], "alerts must be a table"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(folder: Path, table: Any, says: str) -> None:
    from landfast.domain.errors import ConfigError

    with pytest.raises(ConfigError) as refused:
        Inbox(alerts=table)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("sink", "says"),
    [
        ({"kind": "slack", "url": "http://hooks.example.com/secret"}, "url must be an https address"),
        ({"kind": "webhook", "url": "https://a.example", "secret": "secret"}, "secret must be whsec_ and base64"),
        (
            {"kind": "email", "server": "mail", "sender": "a@b", "to": ["a@b"]},
            "server must be an address such as smtps",
        ),
        ({"kind": "email", "server": "smtp://u:secret@h", "sender": "a@b", "to": ["a@b"]}, "server holds a password"),
    ],
)
def test_a_sink_that_cannot_be_used_is_told_and_stops_nothing(
    folder: Path, caplog: pytest.LogCaptureFixture, sink: dict[str, Any], says: str
) -> None:
    from landfast.app.alerts import plan_of

    inbox = Inbox(alerts={"sinks": {"a": sink}})
    assert plan_of(inbox.settings).sinks == ()
    assert says in caplog.text
    assert "secret@" not in caplog.text
    assert "/secret" not in caplog.text
    assert "secret" not in repr(inbox.settings.alerts).replace("smtp://u:secret@h", "")
