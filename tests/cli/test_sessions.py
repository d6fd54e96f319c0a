"""Who is signed in at an identity provider, and the end of one session."""

from __future__ import annotations

import time

from landfast.app.stores import Stores
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from tests.cli.conftest import Run
from tests.cli.crowd import HOSTILE, fill

HOUR = 3_600


async def two_sign_in(stores: Stores) -> None:
    for who, session, lasts in (("ada", "s_ada", HOUR), (f"eve{HOSTILE}", "s_eve", HOUR), ("old", "s_old", -1)):
        what = {"role": "operator", "issuer": "https://id", "session": session, "until": int(time.time()) + lasts}
        async with audited(stores.inbox, Action.SIGN_IN, who=f"oidc {who}", what=what, host="203.0.113.9"):
            pass


def test_sessions_are_listed_and_ended_one_by_one(landfast: Run) -> None:
    fill(two_sign_in)
    listed = landfast("sessions", "list")
    assert "\x1b" not in listed.out and "203.0.113.9" in listed.out
    (eve, ada) = landfast("sessions", "list", "--json").json["sessions"]
    assert (ada["session"], ada["who"], ada["role"], ada["from"]) == ("s_ada", "oidc ada", "operator", "203.0.113.9")
    ended = landfast("sessions", "end", "s_ada", "--why", "a lost laptop")
    assert (ended.code, ended.out) == (0, "ended the session of oidc ada\n")
    assert landfast("sessions", "list", "--json").json["sessions"] == [eve]
    for name in ("s_ada", "s_old", "nothing"):
        again = landfast("sessions", "end", name, "--why", "again")
        assert (again.code, again.err) == (1, f"landfast: no session is called {name!r}; see landfast sessions list\n")
    assert landfast("sessions", "end", "s_eve", "--why", "gone", "--json").json == {"ended": "s_eve"}
    log = landfast("audit", "list", "--json").out
    assert "a lost laptop" in log and "sign-out" in log


def test_where_nobody_is_signed_in_it_says_so(landfast: Run) -> None:
    async def nobody(_stores: Stores) -> None: ...

    fill(nobody)
    ended = landfast("sessions", "list")
    assert (ended.code, ended.out[:35]) == (0, "nobody is signed in at an identity ")
