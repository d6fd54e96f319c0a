"""`landfast events show --graph`, and what `effects list` says of steps that wait."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from landfast.app.stores import Stores
from landfast.domain import ids
from landfast.domain.arrival import Awaits
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.effect import EffectSettlement, EffectSignal, StagedEffect, Step
from landfast.domain.ids import HandlerName, WorkerId
from landfast.domain.outcome import ReceiptKey
from landfast.testing.conformance.ledger.desk import stage
from tests.cli.conftest import Run
from tests.cli.crowd import fill


async def blocked(stores: Stores) -> None:
    """a <charge> that is done, then a mail that is dead beside a server that is ready, and a report after both."""
    delivery = Delivery.of(
        "stripe", Identity("evt_1", "paid"), received_at=datetime.now(UTC), headers=b"[]", body=b'{"id":"evt_1"}'
    )
    await stores.inbox.record([delivery])
    of = ReceiptKey(ids.receipt_digest(stores.identity, "stripe", "evt_1"), HandlerName("sign_up"), 1)
    names = ("<charge>", "mail", "server", "report")
    keys = {name: str(ids.effect_key(of.digest, of.handler, name)) for name in names}
    after = {"mail": ("<charge>",), "server": ("<charge>",), "report": ("mail", "server")}
    context = msgspec.json.encode({"id": "00ff", "source": "stripe", "key": "evt_1", "type": "paid"})
    staged = [
        StagedEffect(
            keys[name],
            1,
            of.digest,
            of.handler,
            name,
            b"{}",
            context,
            Step(after=tuple(keys[each] for each in after.get(name, ())), leads=name != "report"),
        )
        for name in names
    ]
    await stage(stores.ledger, *staged)
    for number, ends in enumerate(({"<charge>": EffectSignal.FINISH}, {"mail": EffectSignal.BURY}), 1):
        token = ids.token(WorkerId(b"worker-1"), number)
        for held in await stores.ledger.claim(token=token, lease=30, limit=5):
            signal = ends.get(held.staged.name, EffectSignal.RELEASE)
            error = "SMTPError" if signal is EffectSignal.BURY else ""
            result = b"7" if signal is EffectSignal.FINISH else None
            settled = EffectSettlement(held.staged.key, 1, token, signal, error=error, result=result, is_step=True)
            assert all(await stores.ledger.settle([settled]))


def test_the_graph_of_an_event_is_a_tree_with_what_blocks_each(landfast: Run) -> None:
    fill(blocked)
    shown = landfast("events", "show", "evt_1", "--graph")
    assert shown.out.splitlines() == [
        "run 1",
        "  <charge>: done",
        "  ├─ mail: dead, SMTPError",
        "  │  └─ report (after mail, server): waiting, blocked by mail",
        "  └─ server: ready",
    ]
    (run,) = landfast("events", "show", "evt_1", "--graph", "--json").json
    (report,) = [node for node in run["nodes"] if node["label"] == "report"]
    assert (report["state"], report["after"], report["blocked_by"]) == ("waiting", ["mail", "server"], ["mail"])
    (charge,) = [row for row in landfast("events", "show", "evt_1", "--json").json["effects"] if row["result"]]
    assert (charge["name"], charge["result"]) == ("<charge>", 7)
    assert "effect   <charge> run 1: done, returned 7" in landfast("events", "show", "evt_1").out


def test_an_operator_has_the_steps_after_a_dead_one_go_on_without_it(landfast: Run) -> None:
    fill(blocked)
    (mail,) = landfast("effects", "--state", "dead", "--json").json["effects"]
    (server,) = landfast("effects", "--state", "ready", "--json").json["effects"]
    not_dead = landfast("effects", "skip", server["key"])
    assert (not_dead.code, "it is ready, not dead: only a dead effect can be skipped" in not_dead.err) == (1, True)
    assert "no effect has this key" in landfast("effects", "skip", "nobody").err
    skipped = landfast("effects", "skip", mail["key"][:8], "--why", "no such mailbox")
    assert (skipped.code, skipped.out) == (0, "the steps after it go on without it\n")
    assert landfast("events", "show", "evt_1", "--graph").out.splitlines()[2:4] == [
        "  ├─ mail: skipped",
        "  │  └─ report (after mail, server): waiting for server",
    ]
    assert landfast("effects", "skip", mail["key"], "--json").json == {"skipped": 0, "state": "done"}
    assert "it is done, and is not performed again" in landfast("effects", "retry", mail["key"]).err
    (line,) = landfast("audit", "list", "--action", "skip-effect", "--json").json["changes"]
    assert (line["why"], line["what"]["key"], line["ended"]["what"]["count"]) == ("no such mailbox", mail["key"], 1)


async def dead_and_awaited(stores: Stores) -> None:
    """Two that are dead: one whose result another takes, and one that stands for an event."""
    of = ReceiptKey(ids.receipt_digest(stores.identity, "stripe", "evt_1"), HandlerName("sign_up"), 1)
    keys = {name: str(ids.effect_key(of.digest, of.handler, name)) for name in ("account", "stripe:paid", "mail")}
    steps = {
        "account": Step(leads=True, gives=True),
        "stripe:paid": Step(leads=True, gives=True, arrival=Awaits("arrival:1", 60.0, 0.0)),
        "mail": Step(after=(keys["account"], keys["stripe:paid"]), inputs={"account": keys["account"]}),
    }
    context = msgspec.json.encode({"id": "00ff", "source": "stripe", "key": "evt_1", "type": "paid"})
    await stage(
        stores.ledger,
        *(StagedEffect(keys[name], 1, of.digest, of.handler, name, b"{}", context, steps[name]) for name in steps),
    )
    token = ids.token(WorkerId(b"worker-1"), 1)
    held = await stores.ledger.claim(token=token, lease=30, limit=5)
    buried = [EffectSettlement(each.staged.key, 1, token, EffectSignal.BURY, is_step=True) for each in held]
    assert [*await stores.ledger.settle(buried)] == [True, True]


def test_a_step_whose_result_others_take_is_skipped_only_with_one(landfast: Run) -> None:
    fill(dead_and_awaited)
    dead = {row["name"]: row["key"] for row in landfast("effects", "--state", "dead", "--json").json["effects"]}
    told = landfast("effects", "skip", dead["account"])
    assert (told.code, "account: a step after it takes what it returns; say what" in told.err) == (2, True)
    told = landfast("effects", "skip", dead["account"], "--result", "{7}")
    assert (told.code, "result: it is not JSON" in told.err) == (2, True)
    told = landfast("effects", "skip", dead["account"], "--result", f'"{"x" * 65_536}"')
    assert (told.code, "at most 65536 are kept" in told.err) == (2, True)
    told = landfast("effects", "skip", dead["stripe:paid"], "--result", "7")
    assert (told.code, "it stands for an event and returns nothing" in told.err) == (2, True)
    assert landfast("audit", "list", "--json").json["changes"] == [], "what is refused changes nothing"
    assert landfast("effects", "skip", dead["account"], "--result", '{"id": 7}').code == 0
    assert landfast("effects", "skip", dead["stripe:paid"]).code == 0
    rows = {row["name"]: row for row in landfast("effects", "list", "--json").json["effects"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "account": "done",
        "stripe:paid": "done",
        "mail": "ready",
    }


def test_the_graph_is_drawn_and_what_it_shows_is_escaped(landfast: Run, tmp_path: Path) -> None:
    fill(blocked)
    file = tmp_path / "graph.svg"
    assert landfast("events", "show", "evt_1", "--svg", str(file)).code == 0
    drawn = file.read_text()
    assert drawn.startswith("<svg ") and drawn.count("<rect") == 4 and drawn.count('marker-end="url(#arrow)"') == 4
    assert "&lt;charge&gt;" in drawn and "<charge>" not in drawn


def test_a_step_that_waits_says_what_blocks_it(landfast: Run) -> None:
    fill(blocked)
    (row,) = landfast("effects", "list", "--state", "waiting", "--json").json["effects"]
    assert (row["name"], row["error"], len(row["after"])) == ("report", "waiting, blocked by mail", 2)
    assert "blocked by mail" in landfast("effects", "list").out
