"""What the person on call does: look, decide, replay, prove."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest
from rich.progress import Progress

from landfast.cli.output import safe
from landfast.operations import replay_jobs
from tests.cli.conftest import Run
from tests.cli.crowd import HOSTILE, fill, finish_all, one_hostile, three_dead_two_done

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_x"]\nallow_short_secret = true\n'


@pytest.fixture
def crowd(folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)  # it holds a secret
    fill(three_dead_two_done)


def test_events_are_listed_plainly_where_there_is_no_terminal(landfast: Run, crowd: None) -> None:
    ended = landfast("events", "list")
    headings, *rows = [line.split("\t") for line in ended.out.splitlines()]
    assert headings == ["id", "source", "type", "key", "state", "run", "received", "again", "why"]
    assert len(rows) == 5
    assert {row[4] for row in rows} == {"done", "dead"}
    assert "\x1b" not in ended.out


def test_a_listing_goes_on_from_its_cursor(landfast: Run, crowd: None) -> None:
    first = landfast("events", "list", "state:dead", "--limit", "2", "--json").json
    assert len(first["events"]) == 2
    rest = landfast("events", "list", "state:dead", "--limit", "2", "--after", first["next"], "--json").json
    keys = [event["key"] for event in first["events"] + rest["events"]]
    assert keys == ["dead_0002", "dead_0001", "dead_0000"]
    assert rest["next"] is None
    assert f"--after {first['next']}" in landfast("events", "list", "state:dead", "--limit", "2").err


def test_no_match_says_so_and_that_the_source_is_not_known(landfast: Run, crowd: None) -> None:
    ended = landfast("events", "list", "source:shpo")
    assert ended.out == "no event matches\n"
    assert ended.err == "landfast: note: no source is called 'shpo' now; did you mean 'shop'?\n"


def test_in_a_terminal_ids_and_times_stay_on_one_line(folder: Path, crowd: None) -> None:
    environment = {"FORCE_COLOR": "1", "PATH": "", "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "landfast", "events", "list"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder)
    text = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    ids = re.findall(r"^([0-9a-f]{12})… ", text, re.MULTILINE)
    assert len(ids) == 5
    assert len(re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\b", text)) == 5
    assert "+00:00" not in text


def test_the_beginning_of_an_id_names_an_event(landfast: Run, crowd: None) -> None:
    event = landfast("events", "list", "key:dead_0000", "--json").json["events"][0]["id"]
    for digits in (6, 12, 31):
        assert landfast("events", "show", event[:digits], "--json").json["key"] == "dead_0000"
        assert landfast("dead", "show", event[:digits], "--json").json["key"] == "dead_0000"
    few = landfast("events", "show", event[:5])
    assert few.code == 2
    assert "of an id at least its first 6 digits are needed" in few.err
    assert landfast("replay", event[:6]).out == "replayed\n"


def test_an_event_is_shown_with_its_history_and_receipts(landfast: Run, crowd: None) -> None:
    ended = landfast("events", "show", "done_0000")
    assert ended.code == 0
    assert "finish -> done" in ended.out
    assert "receipt  create_order run 1: done" in ended.out
    assert '{"id":"done_0000"}' in ended.out
    shown = landfast("events", "show", "shop/done_0000", "--json").json
    assert shown["state"] == "done"
    assert shown["body"] == '{"id":"done_0000"}'
    assert shown["receipts"] == [{"handler": "create_order", "run": 1, "outcome": "done", "result": None}]
    assert shown["effects"] == []


def test_an_event_is_shown_without_its_ledger_too(landfast: Run, crowd: None, folder: Path) -> None:
    (folder / "landfast-ledger.db").unlink()
    ended = landfast("events", "show", "dead_0000")
    assert ended.code == 0
    assert "ledger   not shown: there is no database" in ended.out
    assert "create_order attempt 1: bury" in ended.out
    assert "\n      Traceback ...\n" in ended.out


def test_no_such_event_is_exit_1(landfast: Run, crowd: None) -> None:
    for arguments in (("events", "show"), ("dead", "show"), ("replay",)):
        ended = landfast(*arguments, "nothing")
        assert ended.code == 1
        assert ended.err.startswith("landfast: no ")
    assert landfast("dead", "show", "done_0000").code == 1


@pytest.mark.req("R25")
def test_a_dead_letter_is_shown_with_all_that_is_known(landfast: Run, crowd: None) -> None:
    listed = landfast("dead", "list", "error:Integrity*", "--json").json["events"]
    assert [event["key"] for event in listed] == ["dead_0002", "dead_0001", "dead_0000"]
    shown = landfast("dead", "show", "dead_0000", "--json").json
    assert shown["replay_policy"] == "manual"
    assert isinstance(shown["headers"], list)
    wanted = {
        "key",
        "source",
        "body",
        "error",
        "trace",
        "attempts",
        "received_at",
        "first_failed_at",
        "died_at",
        "reason",
    }
    assert wanted <= set(shown)
    text = landfast("dead", "show", "dead_0000").out
    assert "Traceback ..." in text
    assert f"after the fix: landfast replay {shown['event_id']}" in text


def test_dead_list_refuses_another_state(landfast: Run, crowd: None) -> None:
    assert landfast("dead", "list", "state:done").code == 2


@pytest.mark.req("R26")
def test_a_filter_is_counted_then_replayed(landfast: Run, crowd: None) -> None:
    assert landfast("replay", "source:shop", "--preview").out == "3 would be replayed\n"
    dry = landfast("replay", "source:shop", "--dry-run")
    assert dry.out == "3 would be replayed\n"
    assert "no handler is known here, so none was run" in dry.err
    refused = landfast("replay", "source:shop")
    assert (refused.code, refused.err) == (
        2,
        "landfast: replay: 3 events match; add --yes to replay them without being asked\n",
    )
    assert landfast("replay", "source:shop", "--yes", "--rate", "1000").out == "3 replayed\n"
    assert landfast("replay", "source:shop", "--yes", "--json").json == {"replayed": 0}
    assert len(landfast("events", "list", "state:ready", "--json").json["events"]) == 3


def test_one_event_is_replayed_by_its_key(landfast: Run, crowd: None) -> None:
    assert "1 would be replayed" in landfast("replay", "dead_0000", "--preview").out
    assert landfast("replay", "dead_0000").out == "replayed\n"
    again = landfast("replay", "dead_0000")
    assert (again.code, again.out) == (1, "it is ready, on its way\n")
    history = landfast("events", "show", "dead_0000", "--json").json["history"]
    assert history[-1]["signal"] == "replay"
    assert history[-1]["who"]


def test_done_events_are_replayed_when_forced(landfast: Run, crowd: None) -> None:
    ended = landfast("replay", "state:done", "--force", "--yes", "--json").json
    assert (ended["replayed"], ended["state"], ended["message"]) == (2, "finished", "")
    assert {event["run"] for event in landfast("events", "list", "key:done_0000", "--json").json["events"]} == {2}


def test_a_replay_of_what_is_done_says_that_nothing_runs_again(landfast: Run, crowd: None) -> None:
    assert landfast("replay", "done_0000").out.startswith("replayed; no handler that is done runs again: that takes")
    assert landfast("replay", "state:done", "--yes").out.startswith("1 replayed; no handler that is done runs again")
    fill(finish_all)
    refused = landfast("replay", "done_0000", "--force")
    assert (refused.code, refused.out) == (2, "")
    assert "--force runs what is done AGAIN" in refused.err
    assert landfast("replay", "done_0000", "--force", "--yes").out == "replayed\n"


def test_in_a_terminal_it_asks_first(landfast: Run, crowd: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", lambda text, *, abort, err: asked.append((text, abort and err)))
    assert landfast("replay", "state:dead", "--force").out == "3 replayed\n"
    assert asked == [("3 events are dead. Run them AGAIN, with a second set of writes where it is done?", True)]


@pytest.mark.req("R26")
def test_ctrl_c_stops_a_replay_which_goes_on_where_it_was(
    landfast: Run, crowd: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_jobs, "STEP_EVENTS", 1)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Progress, "update", _interrupt_after_the_first)
        stopped = landfast("replay", "state:done", "--force", "--yes", "--why", "the fix is out")
    assert stopped.code == 130
    assert "stopped after 1 of 2; go on with: landfast replay resume " in stopped.err
    job = stopped.err.split()[-1]
    fill(finish_all)  # done once more, so the filter matches them again
    shown = landfast("replay", "show", job[:6], "--json").json
    assert (shown["state"], shown["replayed"], shown["total"], shown["why"]) == ("stopped", 1, 2, "the fix is out")
    assert landfast("replay", "resume", job).out == "2 replayed\n"
    runs = [event["run"] for event in landfast("events", "list", "key:done_0000", "--json").json["events"]]
    runs += [event["run"] for event in landfast("events", "list", "key:done_0001", "--json").json["events"]]
    assert runs == [2, 2]
    again = landfast("replay", "resume", job)
    assert (again.code, again.err) == (2, f"landfast: replay: job {job} is finished; there is nothing to go on with\n")
    listed = landfast("replay", "list").out.splitlines()
    assert listed[0].split("\t")[:4] == ["job", "state", "replayed", "of"]
    assert listed[1].split("\t")[:4] == [job, "finished", "2", "2"]


def test_a_replay_in_the_background_waits_for_a_worker_and_can_be_cancelled(landfast: Run, crowd: None) -> None:
    begun = landfast("replay", "state:dead", "--yes", "--background")
    job = begun.out.split()[1].rstrip(":")
    assert begun.out.startswith(f"job {job}: a worker carries it out")
    assert "no worker has taken it yet" in landfast("replay", "show", job).out
    assert landfast("replay", "cancel", job).out == "cancelled; it had replayed 0 events\n"
    assert landfast("replay", "cancel", job).code == 1
    assert landfast("replay", "resume", job).code == 2
    assert landfast("replay", "show", "ffff").err.startswith("landfast: replay: there is no job 'ffff'")


def _interrupt_after_the_first(_bar: Progress, _task: object, *, completed: int, told: str) -> None:
    if completed:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.req("R61")
def test_the_proof_is_printed_and_a_broken_one_is_exit_1(landfast: Run, crowd: None, folder: Path) -> None:
    ended = landfast("proof")
    assert ended.code == 0
    assert "holds  received 7 = stored 5 + duplicate 1 + rejected 1" in ended.out
    assert ended.out.endswith("lost 0   doubled 0\n")
    with closing(sqlite3.connect(folder / "landfast-ledger.db")) as ledger, ledger:
        ledger.execute("DELETE FROM landfast_receipt")
    ledger.close()
    ended = landfast("proof")
    assert ended.code == 1
    assert "FAILS  done 2 = with every receipt 0" in ended.out
    shown = landfast("proof", "--json").json
    assert (shown["holds"], shown["lost"], shown["unproven"]) == (False, 2, ["shop/done_0000", "shop/done_0001"])


def test_a_lost_ledger_is_recovered(landfast: Run, crowd: None, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "landfast-ledger.db")) as ledger, ledger:
        ledger.execute("DELETE FROM landfast_receipt")
    ledger.close()
    since = "2020-01-01"
    assert (
        "2 without a receipt, would be made ready" in landfast("recover", "ledger", "--since", since, "--dry-run").out
    )
    assert landfast("recover", "ledger", "--since", since).out == "2 done events, 2 without a receipt, 2 made ready\n"
    assert landfast("recover", "ledger", "--since", since, "--json").json["recovered"] == 0


def test_migrate_says_what_it_did(landfast: Run) -> None:
    assert landfast("migrate").out.startswith("applied inbox 0001_")
    assert landfast("migrate").out == "up to date\n"
    assert landfast("migrate", "--json").json == {"applied": []}


def test_the_doctor_is_content_or_exit_1(landfast: Run, crowd: None, folder: Path) -> None:
    ended = landfast("doctor")
    assert ended.code == 0
    assert "warn  dead events: 3\n      fix: " in ended.out
    assert "warn  source shop: secret '1' has 7 bytes, and under 16 it can be guessed" in ended.out
    (folder / "landfast.toml").write_text(SOURCE.replace("whsec_x", "env:NOT_SET_ANYWHERE"))
    (folder / "landfast-ledger.db").unlink()
    checks = {check["name"]: check for check in landfast("doctor", "--json").json["checks"]}
    assert checks["source shop"]["level"] == checks["ledger"]["level"] == "fail"
    assert "binding" not in checks
    (folder / "landfast.toml").write_text("prot = 1")
    ended = landfast("doctor")
    assert ended.code == 1
    assert ended.out == "fail  configuration: landfast.toml: there is no key 'prot'; did you mean 'port'?\n"


def test_the_doctor_knows_a_ledger_that_is_another(landfast: Run, crowd: None, folder: Path) -> None:
    assert landfast("migrate").code == 0
    for file in folder.glob("landfast-ledger.db*"):
        file.unlink()
    (folder / "landfast-ledger.db").touch()
    unmigrated = landfast("doctor")
    assert unmigrated.code == 1
    assert "fail  ledger: " in unmigrated.out
    assert landfast("migrate").code == 2  # it makes the tables, and then sees that it is not the one
    bound = landfast("doctor")
    assert bound.code == 1
    assert "fail  binding: the inbox is bound to the ledger" in bound.out


def test_hostile_text_cannot_move_the_cursor(landfast: Run, folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)  # it holds a secret
    fill(one_hostile)
    commands = (("events", "list"), ("events", "show", "evil"), ("dead", "show", "evil"), ("dead", "list"))
    for arguments in commands:
        for form in ((), ("--json",)):
            out = landfast(*arguments, *form).out
            assert "boo" in out
            assert "\x1b" not in out
            assert "\u202e" not in out
    assert json.loads(landfast("events", "show", "evil", "--json").out)["type"] == f"t{HOSTILE}"


def test_in_a_terminal_markup_is_only_text(folder: Path) -> None:
    code = "from landfast.cli.output import say_table; say_table(('a', 'b'), [('[bold]x[/bold]', '\\x1b[2J')])"
    environment = {"FORCE_COLOR": "1", "PATH": "", "TERM": "xterm", "COLUMNS": "80"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "[bold]x[/bold]" in ended.stdout
    assert "\\x1b[2J" in ended.stdout
    assert "\x1b[2J" not in ended.stdout


def test_what_cannot_be_printed_is_made_visible() -> None:
    assert safe("a\x00\x9b\n\u2066\U000e0001é") == "a\\x00\\x9b\\x0a\\u2066\\U000e0001é"
    assert safe("a\n\tb\r", lines=True) == "a\n\tb\\x0d"


def test_the_same_commands_work_on_postgresql(
    landfast: Run, folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)  # it holds a secret
    monkeypatch.setenv("LANDFAST_STORE", database)
    early = landfast("events", "list")
    assert (early.code, early.err.count("\n")) == (2, 1)
    assert early.err.endswith("; run landfast migrate; landfast doctor says more\n")
    assert landfast("doctor").out.count("run landfast migrate") == 1
    fill(three_dead_two_done)
    assert landfast("proof").code == 0
    assert landfast("doctor").code == 0
    assert landfast("events", "show", "done_0000", "--json").json["receipts"][0]["outcome"] == "done"
    assert landfast("dead", "show", "dead_0000", "--json").json["error"] == "IntegrityError"
    assert landfast("replay", "state:dead", "--yes", "--json").json["replayed"] == 3
    assert landfast("recover", "ledger", "--since", "2020-01-01", "--json").json["without_receipt"] == 0
