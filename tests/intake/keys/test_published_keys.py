"""Published keys by address: fetched from a real server over TLS, kept, and bounded."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.errors import OverloadedError, UnverifiedError
from landfast.domain.ids import BootId
from landfast.intake.counting.tally import Tally
from landfast.intake.keys.fetch import LARGEST_DOCUMENT_BYTES, certified, fetch_https
from landfast.intake.keys.key_folder import KeptKey, KeyFolder
from landfast.intake.keys.published_keys import (
    FAILURE_SECONDS,
    FETCHES_AT_ONCE,
    FETCHES_PER_MINUTE,
    FETCHES_WITH_CREDENTIALS_PER_MINUTE,
    KEPT_DOCUMENTS,
    KEY_LIFETIME_SECONDS,
    REQUESTS_WAITING_FOR_A_KEY,
    PublishedKeys,
)
from landfast.intake.keys.waiting import WaitingForKey
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.provider import KeyNeeded, Secret
from landfast.providers.profile import Profile
from landfast.providers.schemes.algorithms import encode
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.signing import signed_request
from landfast.testing.clock import ManualClock
from tests.intake.desk import CountingWakeup, MemoryRecorder
from tests.patience import PATIENCE_SECONDS

PRIVATE = ec.generate_private_key(ec.SECP256R1())
PEM = PRIVATE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def jwks() -> bytes:
    numbers = PRIVATE.public_key().public_numbers()
    coordinates = {name: encode(getattr(numbers, name).to_bytes(32), "base64url") for name in ("x", "y")}
    return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", **coordinates}]}).encode()


class Shelf:
    """An HTTPS server with documents on it."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, bytes]] = []
        authority = trustme.CA()
        shelf = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["content-length"])))

            def _answer(self, sent: bytes) -> None:
                shelf.asked.append((self.path, sent))
                status, document = shelf.documents.get(self.path, (404, b""))
                self.send_response(status)
                self.send_header("content-length", str(len(document)))
                if status == 302:
                    self.send_header("location", "/keys")
                self.end_headers()
                self.wfile.write(document)

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its own name

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(served)
        self._server.socket = served.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=partial(self._server.serve_forever, 0.01))
        self._thread.start()
        self.url = f"https://localhost:{self._server.server_port}"
        self.context = ssl.create_default_context()
        authority.configure_trust(self.context)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fetch(self, url: str, post: bytes | None) -> bytes:
        return fetch_https(url, post, context=self.context)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    yield shelf
    shelf.close()


async def had(
    keys: PublishedKeys,
    url: str,
    *,
    is_outdated: bool = False,
    is_fixed: bool = False,
    post: bytes | None = None,
    owner: str = "",
) -> Exception | None:
    told: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    needed = KeyNeeded(url, is_outdated=is_outdated, post=post, is_fixed=is_fixed)
    refusal = keys.need(needed, told.set_result, owner=owner)
    return await told if refusal is None else refusal


async def test_a_document_is_fetched_once_and_used_until_its_time_is_over(shelf: Shelf) -> None:
    clock = ManualClock()
    keys = PublishedKeys(clock, shelf.fetch)
    url = f"{shelf.url}/keys#one"
    shelf.documents["/keys"] = (200, b"the keys")
    assert await asyncio.gather(*(had(keys, url) for _ in range(5))) == [None] * 5
    assert keys[url] == b"the keys" and list(keys) == [url]
    assert shelf.asked == [("/keys", b"")]
    clock.advance(KEY_LIFETIME_SECONDS + 1)
    assert url not in keys


async def test_a_post_is_sent_as_it_is(shelf: Shelf) -> None:
    shelf.documents["/get"] = (200, b"{}")
    assert await had(PublishedKeys(ManualClock(), shelf.fetch), f"{shelf.url}/get", post=b'{"key_id":"k"}') is None
    assert shelf.asked == [("/get", b'{"key_id":"k"}')]


@pytest.mark.parametrize(
    ("status", "document"), [(404, b""), (302, b""), (500, b"x"), (200, b"x" * (LARGEST_DOCUMENT_BYTES + 1))]
)
async def test_what_cannot_be_had_is_tried_again_later_and_not_at_once(
    shelf: Shelf, status: int, document: bytes
) -> None:
    clock = ManualClock()
    keys = PublishedKeys(clock, shelf.fetch)
    shelf.documents["/odd"] = (status, document)
    url = f"{shelf.url}/odd"
    assert isinstance(await had(keys, url), OverloadedError)
    assert isinstance(await had(keys, url), OverloadedError)
    assert len(shelf.asked) == 1 and url not in keys
    shelf.documents["/odd"] = (200, b"now")
    clock.advance(FAILURE_SECONDS + 1)
    assert await had(keys, url) is None and keys[url] == b"now"


async def test_a_server_that_nobody_vouches_for_gives_no_key(shelf: Shelf) -> None:
    shelf.documents["/keys"] = (200, b"the keys")
    assert isinstance(await had(PublishedKeys(ManualClock()), f"{shelf.url}/keys"), OverloadedError)
    assert isinstance(await had(PublishedKeys(ManualClock()), shelf.url.replace("https", "http")), OverloadedError)


async def test_whatever_goes_wrong_everybody_who_waits_is_told_and_the_address_is_free_again() -> None:
    def surprising(_url: str, _post: bytes | None = None) -> bytes:
        raise ZeroDivisionError("nobody thought of this one")

    def lost(_: Exception | None) -> None:
        raise ZeroDivisionError("the connection is gone")

    clock = ManualClock()
    keys = PublishedKeys(clock, surprising)
    keys.need(KeyNeeded("https://keys.example/"), lost)
    assert isinstance(await had(keys, "https://keys.example/"), OverloadedError)
    clock.advance(FAILURE_SECONDS + 1)
    assert isinstance(await had(keys, "https://keys.example/"), OverloadedError)


async def test_strangers_cannot_make_us_fetch_without_end(shelf: Shelf) -> None:
    keys = PublishedKeys(ManualClock(), shelf.fetch)
    for number in range(FETCHES_PER_MINUTE + 20):
        assert isinstance(await had(keys, f"{shelf.url}/{number}"), OverloadedError)
    assert len(shelf.asked) == FETCHES_PER_MINUTE


async def test_invented_addresses_of_one_provider_cost_no_other_its_keys(shelf: Shelf) -> None:
    keys = PublishedKeys(ManualClock(), shelf.fetch)
    for number in range(FETCHES_PER_MINUTE + 5):
        await had(keys, f"{shelf.url}/invented/{number}", owner="paypal")
    shelf.documents["/keys"] = shelf.documents["/fixed"] = (200, b"the keys")
    assert isinstance(await had(keys, f"{shelf.url}/keys", owner="paypal"), OverloadedError)
    assert await had(keys, f"{shelf.url}/keys", owner="aws-sns") is None
    assert await had(keys, f"{shelf.url}/fixed", owner="paypal", is_fixed=True) is None


async def test_fetches_that_hang_keep_no_other_providers_key_waiting() -> None:
    hanging, done = threading.Event(), asyncio.Event()

    def fetch(url: str, _post: bytes | None) -> bytes:
        if "slow" in url:
            hanging.wait(PATIENCE_SECONDS)
        return b"the keys"

    keys = PublishedKeys(ManualClock(), fetch)
    for number in range(FETCHES_AT_ONCE):
        assert keys.need(KeyNeeded(f"https://slow.example/{number}"), lambda _: done.set(), owner="paypal") is None
    refused = keys.need(KeyNeeded("https://slow.example/more"), lambda _: None, owner="paypal")
    assert isinstance(refused, OverloadedError)
    assert await had(keys, "https://other.example/", owner="aws-sns") is None
    assert await had(keys, "https://fixed.example/", owner="paypal", is_fixed=True) is None
    assert not done.is_set()
    hanging.set()
    await done.wait()


async def test_credentials_are_sent_for_few_unknown_key_ids(shelf: Shelf) -> None:
    keys = PublishedKeys(ManualClock(), shelf.fetch)
    for number in range(20):
        await had(keys, f"{shelf.url}/get#{number}", post=b"credentials", owner="plaid")
    assert len(shelf.asked) == FETCHES_WITH_CREDENTIALS_PER_MINUTE


async def test_a_fixed_address_is_fetched_before_the_first_request(shelf: Shelf) -> None:
    intake, _, profile, clock = a_desk(shelf)
    shelf.documents["/keys"] = (200, jwks())
    intake.fetch_keys()
    while not shelf.asked:
        await asyncio.sleep(0)
    shelf.documents.clear()
    assert (await delivered(intake, profile, clock)).status == 200


async def test_keys_are_kept_over_a_restart(shelf: Shelf, tmp_path: Path) -> None:
    clock, folder = ManualClock(), KeyFolder(tmp_path / "keys", most=KEPT_DOCUMENTS)
    shelf.documents["/keys"] = (200, b"the keys")
    url = f"{shelf.url}/keys"
    assert await had(PublishedKeys(clock, shelf.fetch, folder), url) is None
    assert [each.stat().st_mode & 0o077 for each in (tmp_path / "keys", *(tmp_path / "keys").iterdir())] == [0, 0]
    shelf.documents.clear()
    clock.advance(KEY_LIFETIME_SECONDS / 2)
    again = PublishedKeys(clock, shelf.fetch, folder)
    assert again[url] == b"the keys"
    again.fetch_ahead(url, "google")
    assert len(shelf.asked) == 1
    clock.advance(KEY_LIFETIME_SECONDS)
    assert url not in again
    assert url not in PublishedKeys(clock, shelf.fetch, folder)


async def test_after_a_restart_strangers_cost_nobody_a_key_that_was_had_before(shelf: Shelf, tmp_path: Path) -> None:
    """Also where it is too old to count: its address is known, so it is asked for whatever else was."""
    clock, folder = ManualClock(), KeyFolder(tmp_path, most=KEPT_DOCUMENTS)
    shelf.documents["/keys"] = (200, b"the keys")
    url = f"{shelf.url}/keys"
    assert await had(PublishedKeys(clock, shelf.fetch, folder), url, owner="paypal") is None
    clock.advance(10 * KEY_LIFETIME_SECONDS)
    keys = PublishedKeys(clock, shelf.fetch, folder)
    for number in range(FETCHES_PER_MINUTE + 1):
        assert isinstance(await had(keys, f"{shelf.url}/{number}", owner="paypal"), OverloadedError)
    assert await had(keys, url, owner="paypal") is None
    assert keys[url] == b"the keys"


def test_a_kept_key_counts_for_its_own_address_and_only_when_it_can_be_read(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path, most=2)
    for number in range(3):
        folder.keep(KeptKey(f"https://keys.example/{number}", b"the keys", float(number)))
    assert len(list(tmp_path.iterdir())) == 2
    first, second = sorted(tmp_path.iterdir())
    second.write_bytes(first.read_bytes())
    assert len(list(folder.load())) == 1
    first.write_bytes(b"\xc1")
    assert list(folder.load()) == []
    ahead = KeptKey("https://keys.example/9", b"the keys", ManualClock().now().timestamp() + 10 * KEY_LIFETIME_SECONDS)
    folder.keep(ahead)
    clock = ManualClock()
    keys = PublishedKeys(clock, folder=folder)
    assert ahead.address in keys
    clock.advance(KEY_LIFETIME_SECONDS + 1)
    assert ahead.address not in keys


async def test_a_key_that_cannot_be_kept_counts_all_the_same(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"a file")
    keys = PublishedKeys(ManualClock(), shelf.fetch, KeyFolder(tmp_path / "keys", most=KEPT_DOCUMENTS))
    shelf.documents["/keys"] = (200, b"the keys")
    assert await had(keys, f"{shelf.url}/keys") is None
    assert keys[f"{shelf.url}/keys"] == b"the keys"


async def test_only_so_many_requests_wait_for_one_key(shelf: Shelf) -> None:
    keys = PublishedKeys(ManualClock(), shelf.fetch)
    shelf.documents["/keys"] = (200, b"the keys")
    asked = await asyncio.gather(*(had(keys, f"{shelf.url}/keys") for _ in range(REQUESTS_WAITING_FOR_A_KEY + 10)))
    assert (
        asked.count(None) == REQUESTS_WAITING_FOR_A_KEY
        and sum(isinstance(each, OverloadedError) for each in asked) == 10
    )
    assert keys[f"{shelf.url}/keys"] == b"the keys"


async def test_strangers_who_ask_for_what_is_not_there_cost_nobody_the_key_that_is(shelf: Shelf) -> None:
    clock = ManualClock()
    keys = PublishedKeys(clock, shelf.fetch)
    shelf.documents["/keys"] = (200, b"the keys")
    url = f"{shelf.url}/keys"
    assert await had(keys, url) is None
    for number in range(KEPT_DOCUMENTS + FETCHES_PER_MINUTE):
        if number % (FETCHES_PER_MINUTE - 5) == 0:
            clock.advance(61)
        assert isinstance(await had(keys, f"{shelf.url}/{number}"), OverloadedError)
    assert keys[url] == b"the keys"
    clock.advance(KEY_LIFETIME_SECONDS)
    for number in range(FETCHES_PER_MINUTE + 1):
        assert isinstance(await had(keys, f"{shelf.url}/late/{number}"), OverloadedError)
    assert await had(keys, url) is None and keys[url] == b"the keys"


async def test_a_set_of_keys_that_cannot_be_renewed_counts_to_the_end_of_its_time(shelf: Shelf) -> None:
    clock = ManualClock()
    keys = PublishedKeys(clock, shelf.fetch)
    shelf.documents["/keys"] = (200, b"the keys")
    url = f"{shelf.url}/keys"
    assert await had(keys, url) is None
    shelf.documents["/keys"] = (500, b"")
    clock.advance(61)
    assert isinstance(await had(keys, url, is_outdated=True), OverloadedError)
    assert isinstance(await had(keys, url, is_outdated=True), UnverifiedError)  # and is not asked for again at once
    assert keys[url] == b"the keys" and len(shelf.asked) == 2
    clock.advance(KEY_LIFETIME_SECONDS - 60)
    assert url not in keys


async def test_a_key_id_that_a_fresh_set_does_not_have_is_a_forgers(shelf: Shelf) -> None:
    clock = ManualClock()
    keys = PublishedKeys(clock, shelf.fetch)
    shelf.documents["/keys"] = (200, b"the keys")
    url = f"{shelf.url}/keys"
    assert await had(keys, url) is None
    assert isinstance(await had(keys, url, is_outdated=True), UnverifiedError)
    clock.advance(61)
    assert await had(keys, url, is_outdated=True) is None
    assert len(shelf.asked) == 2


def test_a_certificate_must_be_of_our_time_and_where_it_is_asked_for_of_a_name_and_a_root() -> None:
    pem = trustme.CA().issue_cert("messageverificationcerts.paypal.com").cert_chain_pems[0].bytes()
    now = ManualClock().now()
    certified(pem, None, now)
    with pytest.raises(ValueError, match="does not hold"):
        certified(pem, "messageverificationcerts.paypal.com", now)
    with pytest.raises(ValueError, match="no certificate"):
        certified(b"{}", "messageverificationcerts.paypal.com", now)
    with pytest.raises(ValueError, match="expired"):
        certified(pem, None, now.replace(year=1990))


def a_desk(shelf: Shelf) -> tuple[Intake, MemoryRecorder, Profile, ManualClock]:
    clock, recorder, seen = ManualClock(), MemoryRecorder(), LocalSeen()
    scheme = JwtScheme(
        header="X-Jwt", algorithms=("ES256",), body_claim="sha", time_claim="iat", keys=f"{shelf.url}/keys", secret_claim="iss", claims={"iss": "sender"}
    )  # fmt: skip
    profile = Profile(name="made-up", scheme=scheme, key="body", type="body:type")
    intake = Intake(
        [Source("made-up", profile, (Secret("whom", b"sender"),))],
        recorder=GroupCommit(recorder, seen=seen, wakeup=CountingWakeup()),
        seen=seen,
        tally=Tally(recorder, boot=BootId(b"boot-one"), clock=clock, sources=["made-up"]),
        clock=clock,
        keys=PublishedKeys(clock, shelf.fetch),
    )
    return intake, recorder, profile, clock


async def delivered(intake: Intake, profile: Profile, clock: ManualClock, body: bytes = b'{"type":"made"}') -> Answer:
    now = clock.now().timestamp()
    draft = signed_request(profile, body, f"sender\n{PEM}", now=now, url="https://hooks.example.com/in/made-up")
    return await intake.respond(intake.admit(draft.head()), body)


@pytest.mark.req("R1")
async def test_a_request_waits_for_the_key_that_it_names_and_is_then_stored(shelf: Shelf) -> None:
    intake, recorder, profile, clock = a_desk(shelf)
    shelf.documents["/keys"] = (200, jwks())
    first = await delivered(intake, profile, clock)
    assert (first.status, json.loads(first.body)["status"]) == (200, "stored")
    again = await delivered(intake, profile, clock)
    assert json.loads(again.body)["status"] == "duplicate"
    assert len(shelf.asked) == 1 and len(recorder.events) == 1


@pytest.mark.req("R1")
async def test_while_the_key_is_not_to_be_had_the_sender_is_asked_to_come_again(shelf: Shelf) -> None:
    intake, recorder, profile, clock = a_desk(shelf)
    answer = await delivered(intake, profile, clock)
    assert answer.status == 503 and dict(answer.headers).get(b"retry-after")
    assert not recorder.events


@pytest.mark.req("R1")
async def test_a_key_that_did_not_sign_is_refused_after_it_was_fetched(shelf: Shelf) -> None:
    intake, recorder, profile, clock = a_desk(shelf)
    shelf.documents["/keys"] = (200, jwks().replace(b'"x"', b'"z"'))
    assert (await delivered(intake, profile, clock)).status == 401
    assert not recorder.events


@pytest.mark.req("R1")
async def test_a_request_that_gives_way_as_its_key_arrives_is_not_taken_for_a_forged_one(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one turn of the loop: its bytes are gone, and it is refused a moment later."""
    goes_on, fetch = threading.Event(), shelf.fetch

    def slow(url: str, post: bytes | None) -> bytes:
        assert goes_on.wait(PATIENCE_SECONDS)
        return fetch(url, post)

    monkeypatch.setattr(shelf, "fetch", slow)
    intake, recorder, profile, clock = a_desk(shelf)
    shelf.documents["/keys"] = (200, jwks())
    running = asyncio.ensure_future(delivered(intake, profile, clock))
    while not intake.unproven.total:
        await asyncio.sleep(0)
    (waiting,) = intake.unproven._held
    assert isinstance(waiting, WaitingForKey)
    waiting.give_way()
    waiting.go_on(None)
    goes_on.set()
    assert (await running).status == 503
    assert not recorder.events and intake.unproven.total == 0
    assert (await delivered(intake, profile, clock)).status == 200
