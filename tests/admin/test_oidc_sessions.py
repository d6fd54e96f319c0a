"""Sessions of people: listed, ended one by one, and short, so that a role that was taken away does not count for long."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from landfast import Inbox, config
from landfast.admin.access.sessions import COOKIE
from landfast.admin.access.token_book import KNOWN_SECONDS
from landfast.domain.access import Role
from landfast.domain.errors import ConfigError
from landfast.operations import sessions
from tests.admin.conftest import HERE, Admin, serving
from tests.admin.identity_provider import IdentityProvider
from tests.admin.test_oidc import HTML, admin, begun, provider, settings, signed_in
from tests.inboxes.sqlite_bench import by_hand

__all__ = ["admin", "provider"]

GRACE = {"sub": "8", "email": "grace@example.com", "groups": ["sre"]}


def _forget(admin: Admin) -> None:
    assert admin.clock is not None
    admin.clock.advance(KNOWN_SECONDS + 1)


async def _cookie(admin: Admin, provider: IdentityProvider, **claims: object) -> dict[str, str]:
    """Of a browser of its own."""
    admin.client.cookies.clear()
    await signed_in(admin, provider, **claims)
    cookie = {"cookie": f"{COOKIE}={admin.client.cookies[COOKIE]}"}
    admin.client.cookies.clear()
    return cookie


async def test_an_admin_ends_one_session_and_no_other(admin: Admin, provider: IdentityProvider) -> None:
    ada, again = await _cookie(admin, provider), await _cookie(admin, provider)
    grace = await _cookie(admin, provider, **GRACE)
    listed = (await admin.get("/api/sessions", **grace)).json()["sessions"]
    assert [(one["who"], one["role"]) for one in listed] == [
        ("oidc grace@example.com", Role.ADMIN),
        *[("oidc ada@example.com", Role.OPERATOR)] * 2,
    ]
    assert (await admin.get("/api/sessions", **ada)).status_code == 403
    asked = {"session": listed[-1]["session"], "why": "a lost laptop"}
    assert (await admin.post("/api/sessions/end", asked, origin=HERE, **ada)).status_code == 403
    ended = await admin.post("/api/sessions/end", asked, origin=HERE, **grace)
    assert ended.json() == {"who": "oidc ada@example.com"}
    async with serving(admin.inbox) as other:  # as another process
        assert (await other.get("/api/overview", **ada)).status_code == 401
    _forget(admin)
    assert (await admin.get("/api/overview", **ada)).status_code == 401
    for cookie in (again, grace):
        assert (await admin.get("/api/overview", **cookie)).status_code == 200
    assert (await admin.post("/api/sessions/end", asked, origin=HERE, **grace)).status_code == 404, "it is over"
    (line,) = (await admin.get("/api/audit?action=sign-out", **grace)).json()["operations"]
    assert (line["who"], line["why"], line["what"]["of"]) == (
        "oidc grace@example.com",
        "a lost laptop",
        "oidc ada@example.com",
    )
    door = await admin.client.get("/events", headers={**HTML, **ada})
    assert door.headers["location"].startswith("/sign-in?"), "who was put out is not let in again without a word"


async def test_the_page_of_the_log_has_a_button_for_admins_alone(admin: Admin, provider: IdentityProvider) -> None:
    ada, grace = await _cookie(admin, provider), await _cookie(admin, provider, **GRACE)
    assert "Who is signed in" not in (await admin.get("/audit", **HTML, **ada)).text
    page = (await admin.get("/audit", **HTML, **grace)).text
    assert "Who is signed in" in page and "oidc ada@example.com" in page
    (session,) = [one.id for one in await sessions.open_sessions(admin.desk.archive, now=admin.desk.now())][1:]
    form = {"session": session, "back": "/audit"}
    answer = await admin.client.post("/do/api/sessions/end", data=form, headers={"origin": HERE, **grace})
    assert answer.status_code == 303
    _forget(admin)
    assert (await admin.get("/api/overview", **ada)).status_code == 401


async def test_who_signs_out_takes_the_cookie_out_of_every_hand(admin: Admin, provider: IdentityProvider) -> None:
    ada = await _cookie(admin, provider)
    assert (await admin.get("/api/overview", **ada)).status_code == 200
    await admin.post("/api/session/end", origin=HERE, **ada)
    _forget(admin)
    assert (await admin.get("/api/overview", **ada)).status_code == 401
    assert await sessions.open_sessions(admin.desk.archive, now=admin.desk.now()) == []


async def test_a_line_that_was_put_behind_the_end_of_the_log_hides_no_session_that_was_ended(
    admin: Admin, provider: IdentityProvider, tmp_path: Path
) -> None:
    ada = await _cookie(admin, provider)
    assert (await admin.get("/api/overview", **ada)).status_code == 200
    by_hand(
        tmp_path / "i.db",
        "INSERT INTO operator_log (seq, at, action, step, who, host, why, what, asked_by, digest)"
        " SELECT 1000000, at, action, step, who, host, why, what, asked_by, digest FROM operator_log WHERE seq = 1",
    )
    _forget(admin)
    assert (await admin.get("/api/overview", **ada)).status_code == 200
    await admin.post("/api/session/end", origin=HERE, **ada)
    _forget(admin)
    assert (await admin.get("/api/overview", **ada)).status_code == 401


async def test_after_an_hour_the_provider_is_asked_again_and_says_what_counts_now(
    admin: Admin, provider: IdentityProvider
) -> None:
    await signed_in(admin, provider)
    assert admin.clock is not None
    admin.clock.advance(59 * 60)
    assert (await admin.get("/events", **HTML)).status_code == 200
    admin.clock.advance(61)
    assert (await admin.get("/api/overview")).status_code == 401
    assert (await admin.get("/events", **HTML, landfast_look="5000")).status_code == 401, "its script opens it anew"
    led = await admin.client.get("/events?q=state:dead", headers=HTML)
    assert led.headers["location"] == "/sign-in/oidc?next=%2Fevents%3Fq%3Dstate%3Adead"
    page, _ = await begun(admin)
    assert page.startswith(provider.issuer)
    refused = await signed_in(admin, provider, groups=["left the team"])
    assert "failed=oidc-role" in refused.headers["location"]


async def test_who_shortens_sessions_ends_those_that_are_open(
    admin: Admin, provider: IdentityProvider, tmp_path: Path
) -> None:
    ada = await _cookie(admin, provider)
    for minutes, status in ((60, 200), (5, 401)):
        said = settings(provider, session_minutes=minutes)
        inbox = Inbox(store=f"sqlite:{tmp_path / 'i.db'}", ledger=f"sqlite:{tmp_path / 'l.db'}", admin=said)
        inbox.clock = admin.inbox.clock
        async with serving(inbox) as restarted:
            assert (await restarted.get("/api/overview", **ada)).status_code == status


async def test_a_stranger_is_led_to_the_door_and_not_to_the_provider(admin: Admin, provider: IdentityProvider) -> None:
    await signed_in(admin, provider)
    forged = admin.client.cookies[COOKIE].replace(".", ".A", 1)
    admin.client.cookies.clear()
    answer: httpx.Response = await admin.client.get("/events", headers={**HTML, "cookie": f"{COOKIE}={forged}"})
    assert answer.headers["location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("minutes", [4, 721, "60", 7.5])
def test_a_session_lasts_for_minutes_and_half_a_day_at_most(provider: IdentityProvider, minutes: object) -> None:
    with pytest.raises(ConfigError, match="session_minutes"):
        config.load(None, overrides={"admin": settings(provider, session_minutes=minutes)})
