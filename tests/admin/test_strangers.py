"""What somebody without a token can send: each is an answer of ours, says nothing that is not for strangers, and leaves
no traceback in the log."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from landfast.admin.app import make_app
from landfast.domain.access import Role
from tests.admin.conftest import HERE, Admin, shop

ELSEWHERE = "http://10.0.0.5:8421"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//[", "http://]"])
async def test_an_origin_that_is_no_address_is_a_foreign_one(admin: Admin, origin: str) -> None:
    answer = await admin.post("/api/pause", {"kind": "source", "name": "shop"}, origin=origin)
    assert (answer.status_code, await admin.desk.archive.switches()) == (403, [])


@pytest.mark.parametrize("path", ["//[", "//[::1", "/\\evil.example", "//evil.example", "https://[", ""])
async def test_a_way_on_that_is_no_path_leads_to_the_overview(admin: Admin, path: str) -> None:
    answer = await admin.client.get("/sign-in", params={"next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    for form in ("/theme", "/do/api/pause"):
        answer = await admin.client.post(form, data={"back": path})
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), form


@pytest.mark.parametrize("path", ["/theme", "/do/api/pause", "/do/each/api/events/{event}/replay"])
async def test_a_form_that_is_too_long_is_refused_in_words(admin: Admin, path: str) -> None:
    answer = await admin.client.post(path, content=b"a=" + b"b" * 70_000, headers=FORM)
    assert answer.status_code in (303, 413)
    assert answer.status_code == 303 or "65,536 bytes at most" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/sign-in-or-not", "/sign-in/", "/api/sessions", "/api/session/x", "/statics"])
async def test_only_what_signs_in_is_open_and_not_what_is_called_nearly_so(admin: Admin, path: str) -> None:
    await admin.token(Role.VIEWER)
    assert (await admin.get(path)).status_code == 401
    answer = await admin.get(path, accept="text/html")
    assert answer.status_code == 401 if path.startswith("/api/") else answer.headers["location"].startswith("/sign-in?")


async def test_a_stranger_is_not_told_where_the_inbox_is(tmp_path: Path) -> None:
    inbox = shop(store="postgresql://landfast:hunter2@127.0.0.1:1/inbox", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    app = make_app(inbox)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ELSEWHERE) as client,
    ):
        answers = [
            await client.get("/api/overview", headers={"authorization": "Bearer lf_x"}),
            await client.post("/api/session", json={"token": "lf_x"}),
        ]
    for answer in answers:
        assert (answer.status_code, "127.0.0.1" in answer.text, "hunter2" in answer.text) == (503, False, False)


@pytest.mark.parametrize("header", ["x_forwarded_proto", "x_forwarded_port", "cf_connecting_ip", "true_client_ip"])
async def test_whatever_a_proxy_adds_gives_it_away(admin: Admin, header: str) -> None:
    assert (await admin.get("/api/retention", **{header: "https"})).status_code == 403


async def test_without_a_token_nobody_comes_through_nginx_as_it_is_out_of_the_box(tmp_path: Path) -> None:
    """It says `Host: 127.0.0.1:8421` and nothing of whom it asks for; but it asks in HTTP/1.0."""
    inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    await inbox.migrate()
    app = make_app(inbox, is_loopback=True)

    async def older(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "http_version": "1.0"}, receive, send)

    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(older), base_url=HERE) as client,
    ):
        answer = await client.get("/api/retention")
    assert (answer.status_code, "through a proxy" in answer.text) == (403, True)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_handlers_are_not_run_dry_for_a_page_of_another_address(admin: Admin, site: str) -> None:
    """Another port of this machine is the same site to a browser, and not the same page."""
    for path in ("/api/replays/dry-run", "/replays/dry-run", "/replays/dry-run.json"):
        assert (await admin.get(path, sec_fetch_site=site)).status_code == 403, path
        for own in ("same-origin", "none"):
            assert (await admin.get(path, sec_fetch_site=own)).status_code == 200, (path, own)
