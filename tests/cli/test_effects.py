"""`landfast effects`: a dead effect is seen, with its error, and performed again."""

from __future__ import annotations

from landfast.app.stores import Stores
from landfast.domain import ids
from landfast.domain.effect import EffectSettlement, EffectSignal
from landfast.domain.ids import WorkerId
from landfast.domain.outcome import Tries
from landfast.testing.conformance.ledger.desk import effect, key, stage
from tests.cli.conftest import Run
from tests.cli.crowd import fill


async def two_dead_one_ready(stores: Stores) -> None:
    named = [effect(name, of=key(name), context=b'{"id":"00ff"}') for name in ("mail", "fax", "later")]
    await stage(stores.ledger, *named[:2])
    token = ids.token(WorkerId(b"worker-1"), 1)
    claimed = await stores.ledger.claim(token=token, lease=30, limit=5)
    await stores.ledger.settle(
        [
            EffectSettlement(
                one.staged.key,
                one.staged.run,
                token,
                EffectSignal.BURY,
                tries=Tries(8),
                error="OSError",
                message="away",
            )
            for one in claimed
        ]
    )
    await stage(stores.ledger, named[2])


def test_effects_are_listed_with_their_event_and_error(landfast: Run) -> None:
    fill(two_dead_one_ready)
    shown = landfast("effects", "list")
    assert shown.code == 0 and "mail" in shown.out and "00ff" in shown.out and "OSError: away" in shown.out
    rows = landfast("effects", "list", "--state", "dead", "--json").json["effects"]
    assert sorted(row["name"] for row in rows) == ["fax", "mail"]
    assert rows[0]["attempts"] == 8 and isinstance(rows[0]["arguments"], dict)


def test_one_dead_effect_or_all_of_them_are_made_ready_again(landfast: Run) -> None:
    fill(two_dead_one_ready)
    (first, *_) = landfast("effects", "list", "--state", "dead", "--json").json["effects"]
    assert landfast("effects", "retry", first["key"]).out == "1 effect is ready again\n"
    assert landfast("effects", "retry", "--all", "--json").json == {"retried": 1, "not_dead": {}}
    none = landfast("effects", "retry", "--all")
    assert (none.code, none.out) == (1, "no effect is dead\n")
    assert landfast("effects", "list", "--state", "dead", "--json").json["effects"] == []


def test_a_retry_of_nothing_in_particular_is_refused(landfast: Run) -> None:
    refused = landfast("effects", "retry")
    assert refused.code == 2 and "--all" in refused.err


def test_a_key_may_be_cut_short_and_what_is_not_dead_is_told(landfast: Run) -> None:
    fill(two_dead_one_ready)
    (first, second) = landfast("effects", "--state", "dead", "--json").json["effects"]
    (later,) = landfast("effects", "--state", "ready", "--json").json["effects"]
    assert landfast("effects", "retry", first["key"][:8]).out == "1 effect is ready again\n"
    again = landfast("effects", "retry", first["key"], later["key"])
    assert again.code == 1 and again.out == "" and again.err.count("it is ready, and is performed without") == 2
    assert "no effect has this key" in landfast("effects", "retry", second["key"][:5]).err
    assert landfast("effects", "retry", "nobody", "--json").json == {"retried": 0, "not_dead": {"nobody": None}}
