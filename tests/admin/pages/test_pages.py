"""Every page without a browser: what it asks, what it says when that fails, and that its forms are commands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from landfast.admin.access.guard import LOOK_HEADER
from landfast.admin.app import make_app
from landfast.admin.live import Live
from landfast.admin.pages import shared
from landfast.admin.pages.ask import QUESTIONS
from landfast.admin.pages.commands import _command
from landfast.admin.pages.frame import TEMPLATE
from landfast.admin.pages.part import Part
from landfast.admin.pages.static_files import FILES
from landfast.admin.pages.table import PAGES
from landfast.admin.problems import Problem
from landfast.admin.questions.events import EventCount, EventsPage
from landfast.domain.access import Role
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.operations import tokens
from landfast.testing.clock import ManualClock, SeededChance
from tests.admin.pages.storefront import Storefront
from tests.admin.pages.strangers import STRANGE, strange_event

HTML = {"accept": "text/html"}
STYLE = FILES["landfast.css"].decode()


class Page(HTMLParser):
    """What a page is made of, as far as the tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, *names: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[Storefront]:
    """A shop with events in several states."""
    made = Storefront(tmp_path)
    async with made.stocked():
        for number in range(6):
            await made.payment(number, has_email=number % 2 == 0)
        await made.payment(60, kind="customer.subscription.updated", status="incomplete")
        await made.payment(60 + 97, kind="customer.subscription.updated")
        await made.payment(70, kind="invoice.paid")
        await made.drain()
        made.shift(minutes=10)
        await made.drain()
        yield made


@pytest.fixture
async def visitor(front: Storefront) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(front.shop.inbox, is_loopback=True)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8421", headers=HTML) as client:
        yield client
    await app.state.desk.close()


async def _paths(front: Storefront) -> list[str]:
    dead = (await front.stores.inbox.find(Filter(), limit=9))[-2]
    named = {"event": dead.event_id.hex(), "event:path": dead.event_id.hex(), "source": "stripe", "job": "000000"}
    return [re.sub(r"{([a-z:]+)}", lambda found: named[found[1]], page.path) for page in PAGES]


async def test_every_page_is_there_as_html_and_as_json(visitor: httpx.AsyncClient, front: Storefront) -> None:
    for path in await _paths(front):
        expected = 200 if "000000" not in path else 400
        query = "?q=state:dead" if path.startswith("/replays/") else ""
        drawn = await visitor.get(f"{path}{query}")
        assert drawn.status_code == expected, path
        told = await visitor.get(f"{path if path != '/' else '/overview'}.json{query}")
        asked = await visitor.get(f"{path}{query}", headers={"accept": "application/json"})
        assert told.status_code == asked.status_code == expected
        assert told.json().keys() == asked.json().keys() != set()


async def test_a_page_has_nothing_that_the_policy_forbids_and_all_that_a_reader_needs(
    visitor: httpx.AsyncClient, front: Storefront
) -> None:
    for path in [*await _paths(front), "/replays/new?q=state:dead", "/sources/stripe?rotate=1", "/events?q=sate:dead"]:
        answer = await visitor.get(path)
        page = Page(answer.text)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert not [each for _, each in page.tags if "style" in each or any(name.startswith("on") for name in each)], (
            path
        )
        assert all(each.get("src") for each in page.all("script")) and not page.all("style"), path
        assert len(page.all("h1")) == 1 and len(page.all("main")) == 1 and len(page.all("title")) >= 1, path
        assert page.all("html")[0]["lang"] == "en"
        labelled = {each.get("for") for each in page.all("label")}
        fields = [each for each in page.all("input", "select", "textarea") if each.get("type") != "hidden"]
        assert all(each.get("id") in labelled or each.get("aria-label") for each in fields), path
        assert all(each.get("aria-label") or each.get("aria-hidden") for each in page.all("svg") if "role" in each), (
            path
        )
        ids = [each["id"] for _, each in page.tags if "id" in each]
        assert len(ids) == len(set(ids)), f"{path}: an id stands twice"


async def test_what_strangers_send_is_text(visitor: httpx.AsyncClient, front: Storefront) -> None:
    """In bodies, headers, types, keys, entities and errors: every tag of a page is one of ours."""
    for number, payload in enumerate(STRANGE):
        assert await strange_event(front, number, payload) == 200
    await front.drain()
    strange = await front.stores.inbox.find(Filter(), limit=len(STRANGE))
    for path in ["/events", "/dead", "/failures", "/", *(f"/events/{event.event_id.hex()}" for event in strange)]:
        page = Page((await visitor.get(path)).text)
        assert not page.all("img", "iframe", "style", "math", "b onmouseover"), path
        assert len(page.all("script")) == 1 and not [each for _, each in page.tags if "onload" in each], path


async def test_every_form_is_a_command_that_there_is(visitor: httpx.AsyncClient, front: Storefront) -> None:
    found = set()
    for path in [*await _paths(front), "/replays/new?q=state:dead"]:
        for form in Page((await visitor.get(path)).text).all("form"):
            if form["action"].startswith("/do/") if "action" in form else False:
                assert form["method"] == "post"
                action = form["action"].removeprefix("/do").removeprefix("/each").replace("{event}", "x")
                found.add(_command(action)[0].name)
    assert {"replays.replay_event", "replays.start", "switches.pause", "events.discard", "events.erase"} <= found


async def test_a_filter_that_cannot_be_read_is_pointed_at(visitor: httpx.AsyncClient) -> None:
    answer = await visitor.get("/events", params={"q": "source:stripe sate:dead"})
    assert answer.status_code == 400
    pointed = re.search(r"<pre>(.*?)\n(.*?)</pre>", answer.text, re.DOTALL)
    assert pointed is not None
    assert pointed[1][pointed[2].index("^") :].startswith("sate")
    assert "the question failed" in answer.text


def test_a_list_that_was_cut_short_says_so() -> None:
    """And never that there is nothing."""
    cut = EventsPage(events=[], next="x", searched=20_000, back_to=datetime(2026, 11, 17, 6, tzinfo=UTC))
    counted = EventCount(number=0, is_more=False, searched=20_000)
    shown = {
        "events": Part(cut),
        "count": Part(counted),
        "next_url": "/events?after=x",
        "first_url": "",
        "turned_url": "",
    }
    template = TEMPLATE.from_string(
        "{% import 'parts.html' as parts with context %}{{ parts.searched(events.value, next_url) }}{{ parts.among(count.value) }}"
    )
    told = template.render(root="", here="/", **shown)
    assert "Only the newest 20,000 events were looked at, back to" in told
    assert 'href="/events?after=x">Look further back' in told and "among the newest 20,000" in told


async def test_pages_of_a_list_follow_each_other_without_a_gap(visitor: httpx.AsyncClient, front: Storefront) -> None:
    seen: list[str] = []
    path: str | None = "/events?limit=2"
    while path:
        text = (await visitor.get(path)).text
        seen += re.findall(r'data-row="([0-9a-f]{32})"', text)
        following = re.search(r'<a rel="next" href="([^"]+)"', text)
        path = following[1].replace("&amp;", "&") if following else None
    everything = [event.event_id.hex() for event in await front.stores.inbox.find(Filter(), limit=100)]
    assert seen == everything


async def test_a_form_does_it_and_tells_once(visitor: httpx.AsyncClient, front: Storefront) -> None:
    asked = {"kind": "handler", "name": "create_order", "back": "/handlers?x=1", "why": "we look into it"}
    done = await visitor.post("/do/api/pause", data=asked)
    assert (done.status_code, done.headers["location"]) == (303, "/handlers?x=1")
    assert [one.why for one in await front.stores.inbox.switches()] == ["we look into it"]
    assert "create_order is paused" in (await visitor.get("/handlers")).text
    assert "create_order is paused;" not in (await visitor.get("/handlers")).text, "and not again"


@pytest.mark.parametrize(
    ("path", "fields", "told"),
    [
        ("/do/api/pause", {"kind": "handler", "name": "create_ordr"}, "did you mean"),
        ("/do/api/nothing", {}, "there is no command"),
        ("/do/api/replays", {"filter": "state:dead", "confirm": "many"}, "confirm"),
        ("/do/api/replays", {"filter": "state:dead", "confirm": "999"}, "look again"),
    ],
)
async def test_what_did_not_work_is_told_on_the_page(
    visitor: httpx.AsyncClient, path: str, fields: dict[str, str], told: str
) -> None:
    answer = await visitor.post(path, data=fields | {"back": "//evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert told in (await visitor.get("/")).text


async def test_a_dead_letter_is_discarded_with_a_reason(visitor: httpx.AsyncClient, front: Storefront) -> None:
    event = (await front.stores.inbox.find(Filter(state=State.DEAD), limit=1))[0].event_id
    await visitor.post("/do/api/events/discard", data={"events": event.hex()})
    assert "say why" in (await visitor.get("/")).text
    await visitor.post("/do/api/events/discard", data={"events": event.hex(), "why": "a test of the sender's"})
    record = await front.stores.inbox.show(event)
    assert record is not None and record.summary.state is State.DONE
    assert "closed by an operator" in (await visitor.get(f"/events/{event.hex()}")).text


async def test_a_foreign_link_starts_no_dry_run(visitor: httpx.AsyncClient, front: Storefront) -> None:
    event = (await front.stores.inbox.find(Filter(state=State.DEAD), limit=1))[0].event_id.hex()
    refused = await visitor.get(f"/events/{event}/dry-run", headers={"sec-fetch-site": "cross-site"})
    assert refused.status_code == 403 and "handlers are not run for it" in refused.text
    assert (await visitor.get(f"/events/{event}/dry-run")).status_code == 200
    # Nor does the script of the page that says so, or one that stays open: handlers run when somebody opens the page.
    for path in (f"/events/{event}/dry-run", "/replays/dry-run?q=state:dead", f"/events/{event}/curl"):
        assert (await visitor.get(path, headers={LOOK_HEADER: "5000"})).status_code == 400
        assert 'data-stream=""' in (await visitor.get(path)).text
    assert 'data-stream=""' in refused.text


async def test_events_that_were_chosen_one_by_one_are_replayed(visitor: httpx.AsyncClient, front: Storefront) -> None:
    found = await front.stores.inbox.find(Filter(state=State.DEAD), limit=3)
    ids = [event.event_id.hex() for event in found]
    looked = await visitor.get("/replays/new", params={"event": [*ids, "nobody_knows"]})
    assert "3 events chosen" in looked.text and "no event &#39;nobody_knows&#39;" in looked.text
    form = {"event": [*ids, ids[0]], "why": "mended", "back": "/dead"}
    await visitor.post("/do/each/api/events/{event}/replay", data=form)
    assert "3 events done; not the others: it is ready, on its way already" in (await visitor.get("/dead")).text
    assert await front.stores.inbox.count(Filter(state=State.DEAD), at_most=9) == 0


async def test_a_form_of_a_foreign_page_does_nothing(visitor: httpx.AsyncClient, front: Storefront) -> None:
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        asked = {"kind": "handler", "name": "create_order"}
        assert (await visitor.post("/do/api/pause", data=asked, headers=headers)).status_code == 403
    assert not await front.stores.inbox.switches()


async def test_a_viewer_is_offered_no_change_and_allowed_none(visitor: httpx.AsyncClient, front: Storefront) -> None:
    token = await _token(front, Role.VIEWER)
    visitor.headers["authorization"] = f"Bearer {token}"
    for path in await _paths(front):
        actions = {form.get("action", "") for form in Page((await visitor.get(path)).text).all("form")}
        assert not [each for each in actions if each.startswith("/do/")], path
    refused = await visitor.post("/do/api/pause", data={"kind": "handler", "name": "create_order"})
    assert refused.status_code == 303 and not await front.stores.inbox.switches()


async def test_whoever_shows_no_token_is_led_to_where_one_does(visitor: httpx.AsyncClient, front: Storefront) -> None:
    token = await _token(front, Role.OPERATOR)
    led = await visitor.get("/events?q=state:dead")
    assert led.status_code == 303
    page = await visitor.get(led.headers["location"])
    assert 'name="token"' in page.text and 'value="/events?q=state:dead"' in page.text
    wrong = await visitor.post("/api/session", data={"token": "lf_wrong", "next": "/events"})
    assert wrong.status_code == 303
    assert "This token is not valid" in (await visitor.get(wrong.headers["location"])).text
    right = await visitor.post("/api/session", data={"token": token, "next": "/events?q=state:dead"})
    assert right.headers["location"] == "/events?q=state:dead"
    assert "Sign out" in (await visitor.get("/events?q=state:dead")).text


async def test_it_is_mounted_below_a_path_of_the_users_application(front: Storefront) -> None:
    app = make_app(front.shop.inbox, is_loopback=True)
    transport = httpx.ASGITransport(Starlette(routes=[Mount("/ops", app)]))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8421", headers=HTML) as client:
        text = (await client.get("/ops/events?limit=2")).text
        addresses = [each.get("href") or each.get("action") for each in Page(text).all("a", "link", "form")]
        assert all(each.startswith(("/ops/", "#")) for each in addresses if each), addresses
        following = re.search(r'<a rel="next" href="([^"]+)"', text)
        assert following is not None and (await client.get(following[1].replace("&amp;", "&"))).status_code == 200
        paused = await client.post("/ops/do/api/pause", data={"kind": "source", "name": "stripe", "back": "/sources"})
        assert paused.headers["location"] == "/ops/sources"
    await app.state.desk.close()


async def test_a_mistyped_address_is_told_to_people_and_to_programs(visitor: httpx.AsyncClient) -> None:
    page = await visitor.get("/evnets")
    assert page.status_code == 404 and "There is nothing at <code>/evnets</code>" in page.text
    for path, accept in (("/evnets", "application/json"), ("/api/evnets", "text/html")):
        told = await visitor.get(path, headers={"accept": accept})
        assert told.status_code == 404 and told.json()["title"] == "Not Found"


async def test_colours_are_chosen_without_a_script(visitor: httpx.AsyncClient) -> None:
    assert (await visitor.post("/theme", data={"theme": "dark", "back": "/proof"})).headers["location"] == "/proof"
    assert 'data-theme="dark"' in (await visitor.get("/proof")).text
    await visitor.post("/theme", data={"theme": "auto"})
    assert "data-theme" not in (await visitor.get("/proof")).text


async def test_an_event_can_be_taken_away_as_curl_and_as_a_test(visitor: httpx.AsyncClient, front: Storefront) -> None:
    event = (await front.stores.inbox.find(Filter(key="evt_1Nq00001"), limit=1))[0].event_id.hex()
    curl = (await visitor.get(f"/events/{event}/curl.json")).json()["answer"]["text"]
    assert "Stripe-Signature: t=" in curl and '"id":"evt_1Nq00001"' in curl
    assert "def test_stripe_payment_intent_succeeded_evt_1nq00001" in (await visitor.get(f"/events/{event}/test")).text


async def test_those_who_wait_for_a_question_that_fails_do_not_ask_it_again() -> None:
    clock, goes_on = ManualClock(), asyncio.Event()
    asked: list[int] = []
    answers = shared.Shared(clock, Live(clock))

    async def ask() -> Part:
        asked.append(len(asked))
        await goes_on.wait()
        return Part(problem=Problem(status=503, title="Away", detail="it is away"))

    waiting = [asyncio.create_task(answers.get("overview", 5.0, ask)) for _ in range(50)]
    await asyncio.sleep(0)
    goes_on.set()
    assert all(part.problem for part in await asyncio.gather(*waiting)) and asked == [0]
    await answers.get("overview", 5.0, ask)
    assert asked == [0, 1], "whoever comes later does"


async def test_many_dashboards_ask_as_often_as_one() -> None:
    clock, asked = ManualClock(), 0
    answers = shared.Shared(clock, Live(clock))

    async def ask() -> Part:
        nonlocal asked
        asked += 1
        return Part(asked)

    assert [(await answers.get("proof", 20, ask)).value for _ in range(50)] == [1] * 50
    clock.advance(21)
    assert (await answers.get("proof", 20, ask)).value == 2


def test_pages_ask_questions_that_there_are() -> None:
    sources = (Path(shared.__file__).parent).glob("*.py")
    asked = {
        name for file in sources for name in re.findall(r'ask(?:\.shared)?\(\s*"([a-z_]+\.[a-z_]+)"', file.read_text())
    }
    assert asked <= set(QUESTIONS)
    assert len(asked) > 15


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted([_luminance(one), _luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", range(3), ids=["light", "dark", "dark by choice"])
def test_every_text_can_be_read(theme: int) -> None:
    """4.5 to 1, as WCAG asks for text of this size."""
    blocks = re.findall(r"\{\s*color-scheme: \w+;(.*?)\}", STYLE, re.DOTALL)
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", blocks[theme]))
    pairs = [
        (ink, ground)
        for ink in ("ink", "ink-2", "ink-3", "bad", "accent")
        for ground in ("ground", "surface", "sunken")
    ]
    pairs += [
        (tone, ground)
        for tone in ("ok", "warn", "bad", "held", "info", "idle")
        for ground in ("surface", f"{tone}-soft")
    ]
    pairs += [("accent-ink", "accent"), ("accent", "accent-soft"), ("ink", "accent-soft")]
    low = {pair: _contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert not {pair: round(value, 2) for pair, value in low.items() if value < 4.5}


async def _token(front: Storefront, role: Role) -> str:
    chance = SeededChance(3)
    return await tokens.create(front.stores.inbox, "ada", role, lasting=None, who="test", why="", chance=chance)
