from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from landfast import Effect, Event, Inbox, Transaction
from landfast.app import stores
from landfast.app.sources import profile_of
from landfast.app.stores import open_stores
from landfast.domain.errors import BoundElsewhereError, ConfigError, InboxUnavailableError, UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import WorkerId
from landfast.domain.lifecycle import State
from landfast.processing.worker import Worker
from landfast.testing import TestInbox
from landfast.testing.signing import sample, sign
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_bGFuZGZhc3Q="
PAID = "payment_intent.succeeded"


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    inbox = Inbox(store=str(tmp_path / "inbox.db"))
    inbox.source("stripe", provider="stripe", secrets=[SECRET])
    return inbox


def with_orders(inbox: Inbox) -> Inbox:
    @inbox.on("stripe", PAID)
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("CREATE TABLE IF NOT EXISTS orders (payment TEXT)")
        await tx.execute("INSERT INTO orders VALUES ($1)", event.data["data"]["object"]["id"])

    return inbox


async def handler(event: Event, tx: Transaction) -> None: ...


# What users write


def test_a_registered_function_is_returned_unchanged(inbox: Inbox) -> None:
    assert inbox.on("stripe", "*")(handler) is handler
    assert inbox.registry.handlers[0].name == "handler"

    async def send(effect: Effect, order: int) -> None: ...

    assert inbox.effect(send) is send
    assert inbox.effect(name="other", attempts=2)(send) is send
    assert {name: effect.attempts for name, effect in inbox.registry.effects.items()} == {"send": None, "other": 2}
    assert send.__landfast_effect__ == "other"  # type: ignore[attr-defined]


def nothing() -> None: ...
def three(event: Event, tx: Transaction, more: int) -> None: ...
async def generator(event: Event, tx: Transaction) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("function", [nothing, generator])
def test_a_handler_must_take_event_and_tx(inbox: Inbox, function: Callable[..., Any]) -> None:
    sentence = rf"handler {function.__name__}: it must be a function that takes \(event, tx\) and does not yield"
    with pytest.raises(ConfigError, match=sentence):
        inbox.on("stripe", "*")(function)


def test_a_handler_asks_for_nothing_that_the_ledger_cannot_give(inbox: Inbox) -> None:
    with pytest.raises(
        ConfigError, match="handler three: the SQLite ledger has nothing to give for its parameter 'more'"
    ):
        inbox.on("stripe", "*")(three)


def test_an_effect_must_take_itself(inbox: Inbox) -> None:
    with pytest.raises(ConfigError, match=r"effect nothing: it must be a function that takes \(effect, \.\.\.\)"):
        inbox.effect(nothing)


def order_first(order_id: int, effect: Any) -> None: ...
def annotated(it: Effect, order_id: int) -> None: ...
def positional(it: Any, /, order_id: int) -> None: ...
def any_of_them(*args: Any, **more: Any) -> None: ...


def test_the_first_parameter_of_an_effect_is_the_effect(inbox: Inbox) -> None:
    with pytest.raises(
        ConfigError, match=r"effect order_first: its first parameter .* is called 'order_id'; put effect"
    ):
        inbox.effect(order_first)
    for function in (annotated, positional, any_of_them):
        assert inbox.effect(function) is function


def test_a_function_without_a_name_needs_one(inbox: Inbox) -> None:
    with pytest.raises(ConfigError, match="needs name="):
        inbox.on("stripe", "*")(lambda event, tx: None)
    inbox.on("stripe", "*", name="named")(lambda event, tx: None)


def test_an_unknown_provider_is_refused_with_the_nearest(inbox: Inbox, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"source shop: there is no provider 'strip': did you mean 'stripe'\?"):
        inbox.source("shop", provider="strip", secrets=["x"])
    (tmp_path / "landfast.toml").write_text('[sources.shop]\nprovider = "strip"\nsecrets = ["x"]')
    with pytest.raises(ConfigError, match="source shop: there is no provider 'strip'"):
        Inbox()


@pytest.mark.req("R29")
def test_an_ordered_handler_needs_a_source_that_names_an_entity() -> None:
    inbox = Inbox()
    inbox.source("shop", provider="generic", secrets=["a secret of sixteen bytes and more"], header="X-Signature")
    inbox.on("shop", "*", name="sync", ordered=True)(lambda event, tx: None)
    sentence = (
        r"^handler sync: ordered=True needs an entity, and source shop names none;"
        r' say where it stands, such as ordered_by="data\.object\.id", in the source$'
    )
    with pytest.raises(ConfigError, match=sentence):
        inbox.worker()


@pytest.mark.req("R29")
def test_a_source_says_by_what_its_events_are_ordered() -> None:
    inbox = Inbox()
    inbox.source("shop", provider="stripe", secrets=["x"], ordered_by="data.object.customer")
    assert profile_of(inbox.sources["shop"]).entity == "data.object.customer"
    with pytest.raises(ConfigError, match=r"^source market: 'data\.' is no place in a request"):
        inbox.source("market", provider="stripe", secrets=["x"], ordered_by="data.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ordered": True, "on_dead": "wait"}, """on_dead is 'wait'; it is "block" or "skip\""""),
        ({"on_dead": "skip"}, "on_dead is for ordered ones; add ordered=True, or remove it"),
    ],
)
def test_what_a_dead_letter_does_to_its_lane_is_checked(inbox: Inbox, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^handler sync: {re.escape(sentence)}$"):
        inbox.on("stripe", "*", name="sync", **options)(lambda event, tx: None)


OWN = '[providers.acme]\nsignature = "header:X"\n'


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("acm", r"there is no provider 'acm'; did you mean 'acme'\?"),
        ("bla", r"there is no provider 'bla': describe it as \[providers.bla\] in landfast.toml"),
    ],
)
def test_a_provider_of_ones_own_is_suggested_too_and_nothing_that_is_not_near(
    tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / "landfast.toml").write_text(f'{OWN}[sources.shop]\nprovider = "{name}"\nsecrets = ["x"]')
    with pytest.raises(ConfigError, match=sentence):
        Inbox()
    (tmp_path / "landfast.toml").write_text(OWN)
    with pytest.raises(ConfigError, match=sentence):
        Inbox().source("shop", provider=name, secrets=["x"])


def test_a_provider_that_is_described_in_the_file_may_be_used_in_the_code(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(OWN.replace("acme", "strip"))
    inbox = Inbox()
    inbox.source("shop", provider="strip", secrets=["x"])
    inbox.source("paid", provider="stripe", secrets=["x"])  # near to one of ours, and there
    assert inbox.sources["shop"].described == {"signature": "header:X"}
    assert inbox.sources["paid"].described is None


def test_a_source_is_declared_once(inbox: Inbox) -> None:
    with pytest.raises(ConfigError, match="source stripe: it is there already; keep it in"):
        inbox.source("stripe", provider="stripe", secrets=["x"])


def test_a_source_without_a_list_of_secrets_is_refused(inbox: Inbox) -> None:
    wrong: list[Any] = ["whsec_x", []]
    for secrets in wrong:
        with pytest.raises(ConfigError, match="source shop: secrets"):
            inbox.source("shop", provider="stripe", secrets=secrets)


def test_a_handler_for_a_source_that_does_not_exist_is_refused(inbox: Inbox) -> None:
    inbox.on("strpie", "*")(handler)
    for start in (inbox.intake, inbox.worker):
        with pytest.raises(ConfigError, match=r"handler handler: there is no source 'strpie'; did you mean 'stripe'\?"):
            start()


def test_a_handler_for_what_its_source_ignores_is_told_at_start(inbox: Inbox, caplog: pytest.LogCaptureFixture) -> None:
    inbox.source("shop", provider="stripe", secrets=[SECRET], ignore=["charge.*", "ping"])
    for pattern in ("charge.*", "charge.refunded", "*", "p*"):
        inbox.on("shop", pattern, name=f"on {pattern}")(handler)
    inbox.worker()
    told = [record.getMessage() for record in caplog.records if "handler_ignored" in record.getMessage()]
    assert len(told) == 2, "one that takes more than what is ignored goes on"
    assert "on charge.*" in told[0] and "'charge.*'" in told[0] and "source shop" in told[0]
    assert "on charge.refunded" in told[1]


def test_an_inbox_without_a_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no source; add one with"):
        Inbox(store=str(tmp_path / "inbox.db")).intake()


def test_asgi_takes_inline_or_apart(inbox: Inbox) -> None:
    with pytest.raises(ConfigError, match="asgi: workers is 'both'; it is 'inline' or 'apart'"):
        inbox.asgi(workers="both")  # type: ignore[arg-type]


# Opening


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("env:NOT_SET_ANYWHERE", "the environment variable NOT_SET_ANYWHERE is not set"),
        ("env:EMPTY", "the secret is empty"),
        ("file:none.txt", "the file none.txt cannot be read"),
        ("file:empty.txt", "the secret is empty"),
    ],
)
async def test_a_secret_that_is_missing_or_empty_stops_the_intake(
    inbox: Inbox, reference: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EMPTY", " ")
    (tmp_path / "empty.txt").write_text("\n")
    inbox.source("shop", provider="stripe", secrets=[SECRET, reference])
    with pytest.raises(ConfigError, match=f"source shop: secret 2.*{sentence}"):
        async with inbox.intake():
            pass


async def test_a_reader_makes_no_database_where_none_is(inbox: Inbox, tmp_path: Path) -> None:
    for reader in (inbox.archive, inbox.stores):
        with pytest.raises(UserError, match=r"there is no database .*\.db yet; run landfast migrate"):
            async with reader():
                pass
    assert not list(tmp_path.glob("*.db"))  # noqa: ASYNC240 - nothing else runs here


async def test_an_inbox_is_bound_to_its_ledger_and_refuses_another(inbox: Inbox, tmp_path: Path) -> None:
    assert await inbox.migrate()
    assert await inbox.migrate() == []
    other = Inbox(store=str(tmp_path / "inbox.db"), ledger=str(tmp_path / "other.db"))
    sentence = (
        r"ledger: the inbox .*inbox\.db is bound to the ledger \w+, but .*other\.db is \w+; point ledger \(LANDFAST_"
    )
    with pytest.raises(BoundElsewhereError, match=sentence):
        await other.migrate()
    with pytest.raises(BoundElsewhereError):
        async with open_stores(other.settings, other.clock, other.chance, migrate=True):
            pass


async def test_a_lifespan_is_entered_once_per_worker_and_left_in_the_opposite_order(inbox: Inbox) -> None:
    seen = []

    @inbox.lifespan
    async def first() -> AsyncIterator[None]:
        seen.append("first in")
        yield
        seen.append("first out")

    @inbox.lifespan
    @asynccontextmanager
    async def second() -> AsyncIterator[None]:
        seen.append("second in")
        yield
        seen.append("second out")

    async with inbox.worker(WorkerId(b"worker-1")) as worker:
        await worker.drain()
        assert seen == ["first in", "second in"]
    assert seen == ["first in", "second in", "second out", "first out"]


async def test_the_same_application_runs_on_postgresql(database: str) -> None:
    inbox = Inbox(store=database)
    inbox.source("stripe", provider="stripe", secrets=[SECRET])
    with_orders(inbox)
    app = inbox.asgi()
    answers = [await _post(app) for _ in range(3)]
    assert [answer.json()["status"] for answer in answers] == ["stored", "duplicate", "duplicate"]
    await _until_done(inbox)
    await app.aclose()


# In a test, and in somebody else's application


@pytest.mark.req("R5", "R20", "R21")
async def test_a_test_inbox_delivers_and_drains(inbox: Inbox) -> None:
    performed = []

    @inbox.effect
    async def confirm(effect: Effect, payment: str) -> None:
        performed.append((payment, effect.event["key"]))

    @inbox.on("stripe", PAID)
    async def create_order(event: Event, tx: Transaction) -> None:
        payment = event.data["data"]["object"]["id"]
        await tx.execute("INSERT INTO orders VALUES ($1)", payment)
        tx.stage(confirm, payment=payment)

    before = inbox.settings
    async with TestInbox(inbox) as t:
        t.ledger.execute("CREATE TABLE orders (payment TEXT)")
        first = await t.deliver("stripe", type=PAID, id="evt_1")
        again = await t.deliver("stripe", type=PAID, id="evt_1")
        assert (first.status, first.is_new, again.status, again.is_new) == (200, True, 200, False)
        assert first.event == again.event
        await t.drain()
        assert t.ledger.execute("SELECT count(*) FROM orders").fetchone()[0] == 1
        assert performed == [("pi_1LandfastSample0001", "evt_1")]
        (event,) = await t.archive.find(Filter(), limit=2)
        assert (event.key, event.state) == ("evt_1", State.DONE)
        with pytest.raises(UserError, match="no source 'shop'"):
            await t.deliver("shop")
    assert inbox.settings is before


async def test_time_passes_when_a_test_says_so(inbox: Inbox) -> None:
    tries = []

    @inbox.on("stripe", "*")
    def flaky(event: Event, tx: Any) -> None:
        tries.append(event.attempt)
        if len(tries) == 1:
            raise TimeoutError

    async with TestInbox(inbox) as t:
        await t.deliver("stripe", {"id": "evt_1", "type": "x"})
        await t.deliver("stripe", b"not json")
        await t.drain(raises=False)
        assert tries == [1]
        assert {type(failure.error).__name__ for failure in t.errors} == {"TimeoutError", "HandlerFailedError"}
        t.advance(3600)
        await t.drain()
        assert tries == [1, 2]
        states = {event.state for event in await t.archive.find(Filter(), limit=5)}
        assert states == {State.DONE, State.DEAD}


async def test_a_drain_raises_what_a_handler_or_an_effect_raised(inbox: Inbox) -> None:
    @inbox.effect
    async def confirm(effect: Effect) -> None:
        raise LookupError("no such customer")

    @inbox.on("stripe", PAID)
    async def create_order(event: Event, tx: Transaction) -> None:
        tx.stage(confirm)
        if event.key == "evt_2":
            raise KeyError("amount")

    async with TestInbox(inbox) as t:
        await t.deliver("stripe", type=PAID, id="evt_1")
        with pytest.raises(LookupError, match="no such customer") as caught:
            await t.drain()
        assert "confirm" in caught.value.__notes__[0]
        await t.deliver("stripe", type=PAID, id="evt_2")
        with pytest.raises(KeyError, match="amount"):
            await t.drain()
        await t.drain()  # what was raised is not raised again


async def test_mounted_where_no_lifespan_is_forwarded_it_opens_at_the_first_request(inbox: Inbox) -> None:
    mounted = with_orders(inbox).asgi()
    host = FastAPI()
    host.mount("/hooks", mounted)
    answers = await asyncio.gather(*(_post(host, "/hooks/in/stripe") for _ in range(5)))
    assert sorted(answer.json()["status"] for answer in answers) == ["duplicate"] * 4 + ["stored"]
    await _until_done(inbox)
    await mounted.aclose()
    await mounted.aclose()


async def test_with_a_lifespan_it_opens_and_closes_with_its_host(inbox: Inbox) -> None:
    app = inbox.asgi(workers="apart")
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    said: asyncio.Queue[Any] = asyncio.Queue()
    living = asyncio.create_task(app({"type": "lifespan"}, heard.get, said.put))
    await heard.put({"type": "lifespan.startup"})
    assert await said.get() == {"type": "lifespan.startup.complete"}
    assert (await _post(app)).json()["status"] == "stored"
    await heard.put({"type": "lifespan.shutdown"})
    assert await said.get() == {"type": "lifespan.shutdown.complete"}
    await living
    async with inbox.archive() as archive:
        census = await archive.census()
        assert (census.running_boots, census.unclean_boots) == (0, 0)
        assert census.states[State.READY] == 1  # workers="apart": nobody took it up here


def test_a_host_that_is_imported_hears_of_a_missing_secret_at_once(inbox: Inbox) -> None:
    inbox.source("shop", provider="stripe", secrets=["env:NOT_SET_ANYWHERE"])
    with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE is not set"):
        inbox.asgi()
    with pytest.raises(ConfigError, match="there is no source"):
        Inbox(store="other.db").asgi()


async def test_a_host_is_told_why_the_inbox_cannot_open(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SET_FOR_A_WHILE", SECRET)
    inbox.source("shop", provider="stripe", secrets=["env:SET_FOR_A_WHILE"])
    app = inbox.asgi()
    monkeypatch.delenv("SET_FOR_A_WHILE")
    said: asyncio.Queue[Any] = asyncio.Queue()

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    await app({"type": "lifespan"}, receive, said.put)
    answer = await said.get()
    assert answer["type"] == "lifespan.startup.failed"
    assert "SET_FOR_A_WHILE is not set" in answer["message"]
    refused = await _post(app)
    assert (refused.status_code, refused.json()) == (503, {"error": "try again later"})
    (line,) = [each for each in caplog.records if "SET_FOR_A_WHILE is not set" in each.getMessage()]
    assert line.exc_info is None


async def test_while_the_store_is_away_a_mounted_inbox_answers_503_and_then_opens(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = stores.make_inbox, []

    def away_at_first(*arguments: Any) -> Any:
        tries.append(arguments)
        if len(tries) == 1:
            raise InboxUnavailableError("the store is away")
        return real(*arguments)

    monkeypatch.setattr(stores, "make_inbox", away_at_first)
    app = inbox.asgi(workers="apart")
    answer = await _post(app)
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) in range(1, 31)
    assert (await _post(app)).status_code == 200
    await app.aclose()


async def test_when_the_inline_worker_fails_the_next_request_opens_everything_anew(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()

    async def fail(_worker: Worker) -> None:
        failed.set()
        raise RuntimeError("the worker is broken")

    with monkeypatch.context() as broken:
        broken.setattr(Worker, "run", fail)
        app = with_orders(inbox).asgi()
        assert (await _post(app)).status_code == 200
        await failed.wait()
        assert app._life is not None
        await app._life.close()
    assert (await _post(app)).json()["status"] == "duplicate"
    await _until_done(inbox)
    await app.aclose()


async def _post(app: Any, path: str = "/in/stripe") -> httpx.Response:
    now = Inbox().clock.now().timestamp()
    body = sample("stripe", PAID, id="evt_1", day=now)
    headers = sign("stripe", body, SECRET, now=now)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://inbox") as client:
        return await client.post(path, content=body, headers=headers)


async def _until_done(inbox: Inbox) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), inbox.archive() as archive:
        while not await archive.count(Filter(state=State.DONE), at_most=1):
            await asyncio.sleep(0.02)


@pytest.mark.req("R4")
async def test_a_source_chooses_what_makes_two_deliveries_one_event(inbox: Inbox) -> None:
    for name, dedup in {"by_body": "body", "by_fields": "fields:type,data.order", "by_hmac": "hmac:id"}.items():
        options = {"dedup_key": "k"} if dedup.startswith("hmac") else {}
        inbox.source(name, provider="stripe", secrets=[SECRET], dedup=dedup, **options)
    first = {"id": "evt_1", "type": "paid", "data": {"order": 1, "nonce": 1}}
    other_nonce = {"id": "evt_1", "type": "paid", "data": {"order": 1, "nonce": 2}}
    other_order = {"id": "evt_2", "type": "paid", "data": {"order": 2, "nonce": 2}}
    async with TestInbox(inbox) as t:
        found = {
            source: [(await t.deliver(source, body)).is_new for body in (first, other_nonce, first, other_order)]
            for source in inbox.sources
        }
        assert found == {
            "stripe": [True, False, False, True],  # the sender's id; and every source has its own
            "by_body": [True, True, False, True],
            "by_fields": [True, False, False, True],
            "by_hmac": [True, True, False, True],
        }
