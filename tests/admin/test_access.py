"""Tokens, sessions, origins: whoever has no business here is turned away, and told why."""

from __future__ import annotations

import asyncio
import socket
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from landfast.admin.access import limits
from landfast.admin.access.headers import SECURITY_HEADERS
from landfast.admin.access.sessions import COOKIE, SESSION_SECONDS
from landfast.domain.access import Role, token_digest
from landfast.domain.errors import InboxUnavailableError
from tests.admin.conftest import HERE, Admin, serving, shop
from tests.patience import PATIENCE_SECONDS

PAUSE = {"kind": "source", "name": "shop"}


def cookie_of(answer: httpx.Response) -> str:
    return f"{COOKIE}={SimpleCookie(answer.headers['set-cookie'])[COOKIE].value}"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8421", "127.0.0.1.evil.example", "localhost.evil", ""])
async def test_without_a_token_a_name_that_is_not_this_machines_is_refused(admin: Admin, host: str) -> None:
    answer = await admin.get("/api/retention", host=host)
    assert (answer.status_code, "landfast tokens create" in answer.text) == (403, True)


@pytest.mark.parametrize("host", ["localhost", "localhost:8421", "127.0.0.1:1", "[::1]:8421", "[::1]", "LOCALHOST"])
async def test_under_its_own_names_this_machine_may_ask(admin: Admin, host: str) -> None:
    assert (await admin.get("/api/retention", host=host)).status_code == 200


@pytest.mark.parametrize("header", ["forwarded", "via", "x_forwarded_for", "x_forwarded_host", "x_real_ip"])
async def test_without_a_token_nobody_comes_through_a_proxy(admin: Admin, header: str) -> None:
    answer = await admin.get("/api/retention", **{header: "203.0.113.9"})
    assert (answer.status_code, "through a proxy" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": HERE},
        {"sec_fetch_site": "none"},
    ],
)
async def test_a_foreign_page_changes_nothing(admin: Admin, headers: dict[str, str]) -> None:
    assert (await admin.post("/api/pause", PAUSE, **headers)).status_code == 403
    assert not await admin.desk.archive.switches()


async def test_a_form_of_a_foreign_page_is_no_json_and_changes_nothing(admin: Admin) -> None:
    answer = await admin.client.post("/api/pause", content=b'{"kind":"source","name":"shop"}')
    assert (answer.status_code, await admin.desk.archive.switches()) == (415, [])


async def test_our_own_page_and_a_program_may_change_things(admin: Admin) -> None:
    assert (await admin.post("/api/pause", PAUSE, origin=HERE, sec_fetch_site="same-origin")).status_code == 200
    assert (await admin.post("/api/resume", PAUSE)).json() == {"was_paused": True, "events": 0}


async def test_a_script_of_another_site_reads_nothing(admin: Admin) -> None:
    assert (await admin.get("/api/events", sec_fetch_site="cross-site")).status_code == 403


async def test_beyond_the_loopback_nobody_gets_in_while_there_is_no_token(tmp_path: Path) -> None:
    inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    await inbox.migrate()
    async with serving(inbox, is_loopback=False) as admin:
        assert (await admin.get("/api/retention")).status_code == 401
        authorization = await admin.token(Role.VIEWER)
        async with serving(inbox, is_loopback=False) as later:
            assert (await later.get("/api/retention", authorization=authorization)).status_code == 200


async def test_a_revoked_token_and_its_sessions_end_and_the_door_stays_shut(admin: Admin) -> None:
    authorization = await admin.token(Role.VIEWER)
    signed_in = await admin.post("/api/session", {"token": authorization.removeprefix("Bearer ")})
    cookie = cookie_of(signed_in)
    assert (await admin.get("/api/retention", cookie=cookie)).status_code == 200
    assert await admin.desk.archive.revoke_token("the-viewer")
    admin.forget_tokens()
    for headers in ({"authorization": authorization}, {"cookie": cookie}, {}):
        assert (await admin.get("/api/retention", **headers)).status_code == 401, headers


async def test_a_session_is_for_our_own_pages_and_ends(admin: Admin) -> None:
    authorization = await admin.token(Role.OPERATOR)
    answer = await admin.post("/api/session", {"token": authorization.removeprefix("Bearer ")})
    assert answer.json() == {"name": "the-operator", "role": "operator"}
    said = answer.headers["set-cookie"]
    assert all(word in said for word in ("HttpOnly", "SameSite=Strict", "Path=/")) and "Secure" not in said
    cookie = cookie_of(answer)
    assert (await admin.post("/api/pause", PAUSE, cookie=cookie)).status_code == 403  # a browser says where it is from
    assert (await admin.post("/api/pause", PAUSE, cookie=cookie, origin="http://evil.example")).status_code == 403
    assert (await admin.post("/api/pause", PAUSE, cookie=cookie, origin=HERE)).status_code == 200
    assert admin.clock is not None
    admin.clock.advance(SESSION_SECONDS)
    assert (await admin.get("/api/retention", cookie=cookie)).status_code == 401


@pytest.mark.parametrize("change", ["digest", "until", "tag", "rest"])
async def test_a_cookie_that_somebody_wrote_is_none(admin: Admin, change: str) -> None:
    viewer, chief = await admin.token(Role.VIEWER), await admin.token(Role.ADMIN)
    answer = await admin.post("/api/session", {"token": viewer.removeprefix("Bearer ")})
    name, _, value = cookie_of(answer).partition("=")
    digest, until, tag = value.split(".")
    other = token_digest(chief.removeprefix("Bearer ")).hex()
    changed = {
        "digest": f"{other}.{until}.{tag}",
        "until": f"{digest}.{int(until) + 1}.{tag}",
        "tag": f"{digest}.{until}.{'0' * len(tag)}",
        "rest": "...",
    }[change]
    assert (await admin.get("/api/retention", cookie=f"{name}={changed}")).status_code == 401


@pytest.mark.parametrize(
    ("wanted", "led_to"),
    [
        ("/events?filter=state:dead", "/events?filter=state:dead"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
    ],
)
async def test_a_form_that_signs_in_leads_to_a_path_of_ours_and_nowhere_else(
    admin: Admin, wanted: str, led_to: str
) -> None:
    token = (await admin.token(Role.VIEWER)).removeprefix("Bearer ")
    answer = await admin.client.post("/api/session", data={"token": token, "next": wanted}, headers={"origin": HERE})
    assert (answer.status_code, answer.headers["location"]) == (303, led_to)


async def test_who_shows_wrong_tokens_again_and_again_is_slowed_down_and_a_right_one_is_not(admin: Admin) -> None:
    right = await admin.token(Role.VIEWER)
    for _ in range(int(limits.ATTEMPTS_AT_ONCE)):
        assert (await admin.get("/api/retention", authorization="Bearer lf_wrong")).status_code == 401
    refused = await admin.get("/api/retention", authorization="Bearer lf_wrong")
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    assert (await admin.post("/api/session", {"token": "lf_wrong"})).status_code == 429
    assert (await admin.get("/api/retention", authorization=right)).status_code == 200


async def test_one_token_asks_so_often_and_no_more(admin: Admin) -> None:
    busy, other = await admin.token(Role.VIEWER), await admin.token(Role.ADMIN)
    for _ in range(int(limits.REQUESTS_AT_ONCE)):
        assert (await admin.get("/api/nothing", authorization=busy)).status_code == 404
    assert (await admin.get("/api/nothing", authorization=busy)).status_code == 429
    assert (await admin.get("/api/nothing", authorization=other)).status_code == 404
    assert admin.clock is not None
    admin.clock.advance(1)
    assert (await admin.get("/api/nothing", authorization=busy)).status_code == 404


@pytest.mark.parametrize("path", ["/api/retention", "/api/events?limit=0", "/api/nothing", "/"])
async def test_every_answer_carries_the_headers_that_protect_a_browser(admin: Admin, path: str) -> None:
    answer = await admin.get(path)
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "unsafe-inline" not in answer.headers["content-security-policy"]


async def test_of_a_token_only_its_digest_is_kept(either: Admin) -> None:
    token = (await either.token(Role.VIEWER, "ci")).removeprefix("Bearer ")
    (kept,) = await either.desk.archive.tokens()
    assert (kept.name, kept.role, kept.created_by, kept.digest) == ("ci", Role.VIEWER, "ada", token_digest(token))
    assert token not in repr(kept)


async def test_the_operator_log_says_from_where_it_was_asked(admin: Admin) -> None:
    authorization = await admin.token(Role.OPERATOR)
    here = httpx.ASGITransport(admin.app)
    there = httpx.ASGITransport(admin.app, client=("10.0.0.9", 4711))
    for transport in (here, there):
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            answer = await client.post(
                "/api/pause", json={**PAUSE, "why": "x"}, headers={"authorization": authorization}
            )
            assert answer.status_code == 200
    found = (await admin.get("/api/audit?action=pause", authorization=authorization)).json()["operations"]
    assert [one["host"] for one in found] == ["10.0.0.9", socket.gethostname()]


async def test_a_stream_ends_with_its_token(admin: Admin) -> None:
    authorization = await admin.token(Role.VIEWER)
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    headers = [(b"host", b"127.0.0.1:8421"), (b"authorization", authorization.encode())]
    scope = {"type": "http", "method": "GET", "path": "/api/stream", "query_string": b"", "headers": headers}
    streaming = asyncio.create_task(admin.app(scope | {"client": ("10.0.0.9", 1)}, asyncio.Event().wait, sent.put))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while b"event: overview" not in (await sent.get()).get("body", b""):
                pass
            assert await admin.desk.archive.revoke_token("the-viewer")
            while not streaming.done():
                admin.forget_tokens()  # and the next look is due
                await asyncio.wait([streaming], timeout=0.01)
    finally:
        streaming.cancel()
    rest = [sent.get_nowait() for _ in range(sent.qsize())]
    assert (rest[-1]["body"], rest[-1]["more_body"]) == (b"", False)
    assert not any(b"event:" in message["body"] for message in rest)


async def test_a_mounted_dashboard_is_closed_with_its_host(tmp_path: Path) -> None:
    inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    await inbox.migrate()
    admin = inbox.admin()
    host = Starlette(routes=[Mount("/landfast", admin)], lifespan=admin.lifespan)
    async with host.router.lifespan_context(host):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=HERE) as client:
            shown = {"authorization": "Bearer lf_not_one"}
            assert (await client.get("/landfast/api/overview", headers=shown)).status_code == 401
        assert await admin.state.desk.archive.tokens() == []
    with pytest.raises(InboxUnavailableError):
        _ = admin.state.desk.archive
