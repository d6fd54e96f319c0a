"""People sign in at an identity provider: who is let in, as what, and who is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from landfast import Inbox, config
from landfast.admin.access.limits import VISITS_AT_ONCE
from landfast.admin.access.sessions import COOKIE, SESSION_SECONDS
from landfast.admin.oidc import identity_provider as identity_provider_module
from landfast.admin.oidc.person import name_of, role_of
from landfast.admin.oidc.sign_in import ASKED_COOKIE, ASKED_SECONDS
from landfast.config.oidc import OidcSettings
from landfast.domain.access import Role
from landfast.domain.errors import ConfigError
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN
from tests.admin.conftest import HERE, Admin, serving
from tests.admin.identity_provider import CLIENT, SECRET, IdentityProvider, identity_provider

HTML = {"accept": "text/html"}
ROLES = {"sre": "admin", "support": "operator", "staff": "viewer"}
ADA = {"sub": "7", "email": "ada@example.com", "email_verified": True, "groups": ["staff", "support"]}


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as made:
        yield made


def settings(provider: IdentityProvider, **more: Any) -> dict[str, Any]:
    told = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": "env:OIDC_SECRET", "public_url": HERE}
    return {"oidc": {**told, "roles": ROLES, "domains": ["example.com"], **more}}


@pytest.fixture
async def admin(provider: IdentityProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Admin]:
    monkeypatch.setenv("OIDC_SECRET", SECRET)
    inbox = Inbox(store=f"sqlite:{tmp_path / 'i.db'}", ledger=f"sqlite:{tmp_path / 'l.db'}", admin=settings(provider))
    inbox.clock = ManualClock(DAWN)
    await inbox.migrate()
    async with serving(inbox) as made:
        yield made


def now(admin: Admin) -> dict[str, float]:
    at = admin.desk.now().timestamp()
    return {"iat": at, "exp": at + 300}


async def begun(admin: Admin, after: str = "/events") -> tuple[str, str]:
    """The page that the browser is led to, and the state that it names."""
    led = await admin.client.get("/sign-in/oidc", params={"next": after})
    assert led.status_code == 303
    page = led.headers["location"]
    return page, parse_qs(urlsplit(page).query)["state"][0]


async def back(admin: Admin, **query: str) -> httpx.Response:
    return await admin.client.get("/sign-in/oidc/callback", params=query)


async def signed_in(admin: Admin, provider: IdentityProvider, **claims: Any) -> httpx.Response:
    page, state = await begun(admin)
    code = provider.grants(page, {**now(admin), **ADA, **claims})
    return await back(admin, code=code, state=state)


async def test_somebody_with_a_group_is_let_in_with_its_role(admin: Admin, provider: IdentityProvider) -> None:
    assert (await admin.get("/api/overview")).status_code == 401, "the loopback is not open beside it"
    door = await admin.client.get("/events", headers=HTML, follow_redirects=True)
    assert "Sign in with 127.0.0.1" in door.text
    answer = await signed_in(admin, provider)
    assert (answer.status_code, answer.headers["location"]) == (303, "/events")
    session = next(each for each in answer.headers.get_list("set-cookie") if each.startswith(COOKIE))
    assert {"HttpOnly", "SameSite=Lax", "Path=/", f"Max-Age={SESSION_SECONDS}"} <= set(session.split("; "))
    assert (await admin.get("/events", **HTML)).status_code == 200
    (line,) = (await admin.get("/api/audit?action=sign-in")).json()["operations"]
    assert (line["who"], line["what"]["role"], line["result"]) == ("oidc ada@example.com", Role.OPERATOR, "done")
    # A change counts by the cookie alone, so it has to say that it is from here; and its role has to do.
    asked = {"kind": "source", "name": "shop"}
    assert (await admin.post("/api/pause", asked)).status_code == 403
    assert (await admin.post("/api/pause", asked, origin="https://evil.example")).status_code == 403
    assert (await admin.post("/api/pause", asked, origin=HERE)).status_code != 403
    assert (await admin.post("/api/retention/run", origin=HERE)).status_code == 403
    await admin.post("/api/session/end", origin=HERE)
    assert (await admin.get("/api/overview")).status_code == 401


async def test_a_session_ends_by_itself_and_with_the_settings_that_it_was_made_under(
    admin: Admin, provider: IdentityProvider
) -> None:
    await signed_in(admin, provider)
    cookie = admin.client.cookies[COOKIE]
    async with serving(admin.inbox) as same:
        assert (await same.get("/api/overview", cookie=f"{COOKIE}={cookie}")).status_code == 200
        forged = cookie.replace(".", ".A", 1)
        assert (await same.get("/api/overview", cookie=f"{COOKIE}={forged}")).status_code == 401
    store, ledger = (str(each) for each in (admin.inbox.settings.store, admin.inbox.settings.ledger))
    other = Inbox(store=f"sqlite:{store}", ledger=f"sqlite:{ledger}", admin=settings(provider, roles={"sre": "admin"}))
    other.clock = admin.inbox.clock
    async with serving(other) as changed:
        assert (await changed.get("/api/overview", cookie=f"{COOKIE}={cookie}")).status_code == 401
    assert admin.clock is not None
    admin.clock.advance(SESSION_SECONDS + 1)
    assert (await admin.get("/api/overview", cookie=f"{COOKIE}={cookie}")).status_code == 401


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another nonce": ({"nonce": "of somebody else"}, "oidc-token"),
    "another audience": ({"aud": "another client"}, "oidc-token"),
    "several audiences and no azp": ({"aud": [CLIENT, "another client"]}, "oidc-token"),
    "another azp": ({"azp": "another client"}, "oidc-token"),
    "another issuer": ({"iss": "https://evil.example"}, "oidc-token"),
    "expired": ({"exp": DAWN.timestamp() - 61}, "oidc-token"),
    "no end": ({"exp": None}, "oidc-token"),
    "from the future": ({"iat": DAWN.timestamp() + 61}, "oidc-token"),
    "no group with a role": ({"groups": ["sales", "*"]}, "oidc-role"),
    "another domain": ({"email": "ada@example.com.evil.example"}, "oidc-role"),
    "an address that nobody verified": ({"email_verified": False}, "oidc-role"),
}


async def _is_turned_away(admin: Admin, answer: httpx.Response, code: str) -> None:
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?failed={code}")
    assert COOKIE not in admin.client.cookies
    assert (await admin.get("/api/overview")).status_code == 401


@pytest.mark.parametrize(("claims", "code"), WRONG.values(), ids=WRONG.keys())
async def test_nobody_is_let_in_by_a_token_that_says_something_else(
    admin: Admin, provider: IdentityProvider, claims: dict[str, Any], code: str
) -> None:
    await _is_turned_away(admin, await signed_in(admin, provider, **claims), code)
    shown = await admin.client.get(f"/sign-in?failed={code}", headers=HTML)
    told = "add your group to [admin.oidc] roles" if code == "oidc-role" else "could not be proved"
    assert told in shown.text


def test_an_address_that_nobody_verified_gives_no_role() -> None:
    by_address = OidcSettings(claim="email", roles={"ada@example.com": Role.ADMIN})
    anybody = {"sub": "9", "email": "ada@example.com"}
    assert role_of({**anybody, "email_verified": True}, by_address) is Role.ADMIN
    assert [role_of({**anybody, **said}, by_address) for said in ({}, {"email_verified": False})] == [None, None]
    assert name_of(anybody) == "9"


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ({"alg": "none"}, None),
        ({"alg": "HS256"}, SECRET.encode()),
        ({}, ec.generate_private_key(ec.SECP256R1())),
        ({"kid": "unknown"}, None),
    ],
    ids=["alg none", "signed with the client's secret", "another key", "a key that is not published"],
)
async def test_nobody_is_let_in_by_a_token_that_the_provider_did_not_sign(
    admin: Admin, provider: IdentityProvider, header: dict[str, Any], key: Any
) -> None:
    page, state = await begun(admin)
    code = provider.grants(page, {**now(admin), **ADA}, header=header, key=key)
    await _is_turned_away(admin, await back(admin, code=code, state=state), "oidc-token")


async def test_a_state_counts_once_in_the_browser_that_began_it_and_for_ten_minutes(
    admin: Admin, provider: IdentityProvider
) -> None:
    page, state = await begun(admin)
    kept = admin.client.cookies[ASKED_COOKIE]
    code = provider.grants(page, {**now(admin), **ADA})
    admin.client.cookies.clear()
    await _is_turned_away(admin, await back(admin, code=code, state=state), "oidc-state")
    admin.client.cookies.set(ASKED_COOKIE, kept)
    await _is_turned_away(admin, await back(admin, code=code, state="another"), "oidc-state")
    assert (await back(admin, code=code, state=state)).headers["location"] == "/events"
    admin.client.cookies.clear()
    admin.client.cookies.set(ASKED_COOKIE, kept)
    again = provider.grants(page, {**now(admin), **ADA})
    await _is_turned_away(admin, await back(admin, code=again, state=state), "oidc-state")
    admin.client.cookies.clear()
    _, state = await begun(admin)
    assert admin.clock is not None
    admin.clock.advance(ASKED_SECONDS + 1)
    await _is_turned_away(admin, await back(admin, code=again, state=state), "oidc-state")


async def test_what_the_provider_refuses_lets_nobody_in(admin: Admin, provider: IdentityProvider) -> None:
    _, state = await begun(admin, "//evil.example")
    await _is_turned_away(admin, await back(admin, error="access_denied", state=state), "oidc-provider")
    _, state = await begun(admin)
    await _is_turned_away(admin, await back(admin, code="invented", state=state), "oidc-provider")
    page, state = await begun(admin, "//evil.example")
    code = provider.grants(page, {**now(admin), **ADA})
    assert (await back(admin, code=code, state=state)).headers["location"] == "/", "never to another host"


async def test_a_stranger_of_the_same_address_keeps_nobody_from_signing_in(
    admin: Admin, provider: IdentityProvider
) -> None:
    for _ in range(int(VISITS_AT_ONCE) + 1):
        await begun(admin)
        await back(admin, code="invented", state="invented")
    assert (await signed_in(admin, provider)).headers["location"] == "/events"
    for _ in range(int(VISITS_AT_ONCE)):
        _, state = await begun(admin)
        last = await back(admin, code="invented", state=state)
    assert last.headers["location"] == "/sign-in?failed=429", "but nobody has the provider asked without end"


async def test_a_long_address_keeps_nobody_from_signing_in(admin: Admin, provider: IdentityProvider) -> None:
    for after, led in (
        ("/" + "x" * 900, None),
        ("/" + "é" * 900, "/"),
        ("/" + '"' * 900, "/"),
        ("/" + "x" * 1001, "/"),
    ):
        page, state = await begun(admin, after)
        code = provider.grants(page, {**now(admin), **ADA})
        assert (await back(admin, code=code, state=state)).headers["location"] == (led or after)


async def test_a_provider_elsewhere_leads_nobody_to_plain_http_and_the_cookie_is_of_this_host(
    provider: IdentityProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = "https://login.example.com"
    document = {"issuer": issuer, "authorization_endpoint": f"{issuer}/begin"}

    async def told(_url: str) -> dict[str, Any]:
        return document

    monkeypatch.setattr(identity_provider_module, "fetch", told)
    table = settings(provider, issuer=issuer, public_url="https://landfast.example.com")
    inbox = Inbox(store=f"sqlite:{tmp_path / 'i.db'}", ledger=f"sqlite:{tmp_path / 'l.db'}", admin=table)
    await inbox.migrate()
    async with serving(inbox) as admin:
        led = await admin.client.get("/sign-in/oidc")
    assert led.headers["location"].startswith(f"{issuer}/begin?")
    kept = led.headers["set-cookie"]
    assert kept.startswith(f"__Host-{ASKED_COOKIE}=") and {"Secure", "Path=/"} <= set(kept.split("; "))
    assert "domain" not in kept.lower()
    document["authorization_endpoint"] = "http://127.0.0.1:8000/begin"
    async with serving(inbox) as admin:
        led = await admin.client.get("/sign-in/oidc")
    assert led.headers["location"] == "/sign-in?failed=oidc-provider"


async def test_a_document_that_names_another_issuer_is_not_believed(admin: Admin, provider: IdentityProvider) -> None:
    provider.named = "https://evil.example"
    for _ in range(3):
        led = await admin.client.get("/sign-in/oidc")
        assert led.headers["location"] == "/sign-in?failed=oidc-provider"
    assert provider.asked == 1, "and strangers do not have it asked again and again"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"issuer": "http://login.example.com"}, "issuer must be an address with https://"),
        ({"client_secret": "the secret itself"}, "client_secret must be env:NAME or file:PATH"),
        ({"roles": {"sre": "root"}}, "'sre' has the role 'root'; it must be one of viewer, operator, admin"),
        ({"roles": {}}, "roles is missing; write roles = "),
        ({"public_url": "http://landfast.example.com"}, "public_url must be an address with https://"),
        ({"rolls": {}}, "there is no key 'rolls'; did you mean 'roles'?"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_a_sentence(wrong: dict[str, Any], told: str) -> None:
    told_all = {"issuer": "https://login.example.com", "client_id": "landfast", "client_secret": "env:X"}
    table = {"oidc": {**told_all, "public_url": "https://landfast.example.com", "roles": ROLES, **wrong}}
    with pytest.raises(ConfigError) as refused:
        config.load(environ={}, overrides={"admin": table})
    assert told in str(refused.value)
