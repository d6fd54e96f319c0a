"""The presets of docs/howto/layers.md, taken from the page, opened on real servers (R7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from landfast import Event, Inbox, Transaction
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.intake.receive import Intake
from landfast.providers.signing import signed_request
from tests.nats import Nats
from tests.valkey import Valkey, valkey

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "layers.md"
LOW, HIGH, CRITICAL, JOURNAL = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
SECRETS = {
    "STRIPE_WEBHOOK_SECRET": "whsec_of_the_presets_0123456789",
    "BANK_WEBHOOK_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}


@pytest.fixture
def cache() -> Iterator[Valkey]:
    with valkey() as server:
        yield server


@pytest.fixture
def broker() -> Iterator[Nats]:
    server = Nats()
    with ExitStack() as stack:
        stack.callback(server.destroy)
        server.start()
        yield server


class Shop:
    """An inbox as the page sets it up, with addresses that are there."""

    def __init__(self, text: str, folder: Path, **settings: object) -> None:
        (folder / "landfast.toml").write_text(text)
        self.inbox = Inbox(folder / "landfast.toml", **settings)
        self.done: list[bytes] = []

        @self.inbox.on("stripe", "*")
        async def note(event: Event, _tx: Transaction) -> None:
            self.done.append(event.body)

    async def deliver(self, intake: Intake, source: str, body: bytes, *, id: str = "msg_1") -> Answer:  # noqa: A002
        settings = self.inbox.sources[source]
        now = self.inbox.clock.now().timestamp()
        key = SECRETS["STRIPE_WEBHOOK_SECRET" if source == "stripe" else "BANK_WEBHOOK_SECRET"]
        signed = signed_request(settings.provider, body, key, now=now, id=id)
        head = signed.head()
        request = Head(signed.method, f"/in/{source}", head.query, head.headers, len(signed.body))
        return await intake.respond(intake.admit(request), signed.body)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


async def states(shop: Shop) -> dict[State, int]:
    async with shop.inbox.archive() as archive:
        return {state: count for state, count in (await archive.census()).states.items() if count}


@pytest.mark.req("R7")
async def test_low_volume_rests_on_the_database_alone(database: str, tmp_path: Path) -> None:
    shop = Shop(LOW, tmp_path, store=database)
    settings = shop.inbox.settings
    assert (settings.redis, settings.journal, settings.spool) == (None, None, None)
    await shop.inbox.migrate()
    for _ in range(2):  # the second one knows nothing but what the database says
        async with shop.inbox.intake() as intake:
            assert (await shop.deliver(intake, "stripe", b'{"id":"evt_1","type":"a"}')).status == 200
    assert await states(shop) == {State.READY: 1}


@pytest.mark.req("R7")
async def test_high_volume_asks_the_shared_cache_before_the_database(
    database: str, tmp_path: Path, cache: Valkey
) -> None:
    shop = Shop(HIGH, tmp_path, store=database, redis=cache.address)
    await shop.inbox.migrate()
    async with shop.inbox.intake() as intake:
        assert b"stored" in (await shop.deliver(intake, "stripe", b'{"id":"evt_1","type":"a"}')).body
    for _ in range(10):  # nobody waits long for the cache: on a busy machine a mark may not get there at first
        async with shop.inbox.intake() as intake:
            assert b"duplicate" in (await shop.deliver(intake, "stripe", b'{"id":"evt_1","type":"a"}')).body
        if cache.kinds():
            break
    assert list(cache.kinds().values()) == [b"="]
    assert await states(shop) == {State.READY: 1}


@pytest.mark.req("R7")
async def test_critical_spools_caches_and_holds_another_body(database: str, tmp_path: Path, cache: Valkey) -> None:
    spool = tmp_path / "spool"
    shop = Shop(CRITICAL, tmp_path, store=database, redis=cache.address, spool=str(spool), spool_anywhere=True)
    await shop.inbox.migrate()
    async with shop.inbox.intake() as intake:
        for body in (b'{"type":"paid","amount":1}', b'{"type":"paid","amount":1}', b'{"type":"paid","amount":2}'):
            assert (await shop.deliver(intake, "bank", body)).status == 200
        # Stripe's bodies change by nature: another one is a duplicate.
        for body in (b'{"id":"evt_1","type":"a"}', b'{"id":"evt_1","type":"a","pending_webhooks":2}'):
            assert (await shop.deliver(intake, "stripe", body)).status == 200
    assert spool.is_dir()
    assert await states(shop) == {State.READY: 2, State.HELD: 1}
    async with shop.inbox.archive() as archive:
        (held,) = await archive.find(Filter(state=State.HELD), limit=2)
    assert (held.source, held.reason) == ("bank", "variant")


@pytest.mark.req("R7")
async def test_a_critical_journal_is_the_first_layer(
    database: str, tmp_path: Path, cache: Valkey, broker: Nats
) -> None:
    journal = f"{broker.url}/landfast?sync=always"
    shop = Shop(JOURNAL, tmp_path, store=database, redis=cache.address, journal=journal)
    assert shop.inbox.settings.spool is None
    await shop.inbox.migrate()
    async with shop.inbox.intake() as intake:
        for status in (b"stored", b"duplicate"):
            assert status in (await shop.deliver(intake, "stripe", b'{"id":"evt_1","type":"a"}')).body
    assert await states(shop) == {}  # acknowledged, and in the journal: no drainer runs


@pytest.mark.req("R7")
@pytest.mark.parametrize("text", [HIGH, CRITICAL])
def test_a_preset_without_the_layer_that_it_names_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text(re.sub(r"redis = .*\n", "", text))
    with pytest.raises(ConfigError, match="needs redis; write redis = "):
        Inbox(tmp_path / "landfast.toml")


def test_an_unknown_preset_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").write_text('preset = "ultra"\n')
    with pytest.raises(ConfigError, match="it must be one of low-volume, high-volume, critical"):
        Inbox(tmp_path / "landfast.toml")
