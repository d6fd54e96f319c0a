"""The ordinary path comes to what the general one comes to, for everything that anybody sends. `both_paths` compares."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from landfast.intake.ordinary import SHAPES_OF_A_SOURCE, STRANGE_ORDERS
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import signed_request
from tests.intake.both_paths import KINDS, BothPaths, Campaign, Path, source_of, sweep, wire_of
from tests.providers.oracle import NOW, Sent
from tests.providers.test_vectors import VECTORS, body_of, head_of, profile_of, secrets_of
from tests.providers.victims import NAMES, victim

SEED = int(os.environ.get("LANDFAST_SEED", "4"))
CASES = {"streams": 400, "forgeries": 1_000, "odd": 2_000}
LEAST_TAKEN = {"streams": 10, "forgeries": 5, "odd": 500}
"""Whoever takes nothing agrees with everybody."""

ORDINARY = {"stripe", "github", "shopify", "slack", "standard-webhooks", "svix", "clerk", "paddle", "generic"}
STEP = 6
"""Of the changes that the sweep knows, one in so many; `make soak` makes all of them."""


@pytest.mark.req("R1", "R2", "R3")
@pytest.mark.parametrize("kind", KINDS)
async def test_both_paths_agree_on_random_requests(kind: str) -> None:
    assert await Campaign(kind, SEED).run(CASES[kind]) > LEAST_TAKEN[kind]


@pytest.mark.req("R1", "R2")
async def test_both_paths_agree_on_every_provider_and_on_what_is_made_of_its_genuine_request() -> None:
    taken = {name for name in NAMES if await sweep(victim(name), step=STEP)}
    assert taken >= ORDINARY & set(NAMES)
    assert len(taken) > len(NAMES) / 2


@pytest.mark.parametrize("given", [{"is_strict": True}, {"hold": "by hand"}, {"memory": 1.0}], ids=str)
@pytest.mark.parametrize("name", ["stripe", "github", "svix"])
async def test_both_paths_agree_where_a_source_has_rules_of_its_own(name: str, given: dict[str, Any]) -> None:
    assert await sweep(victim(name), step=STEP, **given)


@pytest.mark.req("R1")
async def test_both_paths_agree_on_the_requests_that_providers_publish() -> None:
    posts = [each for each in VECTORS if each["method"] == "POST" and "error" not in each]
    taken = 0
    for number, vector in enumerate(posts):
        profile = profile_of(vector)
        tolerance = 1e12 if vector["now"] is None else vector["tolerance_seconds"] or 0.0
        url = vector.get("url") or ""
        source = Source(f"v{number}", profile, secrets_of(vector, profile), tolerance=tolerance, public_url=url)
        paths = BothPaths([source])
        paths.at(1_600_000_000 if vector["now"] is None else vector["now"])
        head = head_of(vector)
        sent = Sent(tuple(head.headers.pairs), body_of(vector), head.query if profile.needs_url else "", "POST")
        taken += await paths.send(wire_of(source.name, sent), what=str(vector["id"]))
        paths.check_ends()
    assert taken > 20


def _stripe(**given: Any) -> Source:
    return source_of(victim("stripe"), **given)


def _request(secret: str, *, now: float = NOW, extra: tuple[bytes, ...] = (), body: bytes = b'{"id":"evt_1"}') -> bytes:
    draft = signed_request("stripe", body, secret, now=now)
    headers = (
        *((name.encode(), value.encode()) for name, value in draft.headers.items()),
        *((each, b"1") for each in extra),
    )
    return wire_of("stripe", Sent(headers, body, "", "POST"))


async def test_secrets_that_overlap_count_while_they_are_active() -> None:
    secrets = (Secret("old", b"old", retired_at=NOW + 10), Secret("new", b"new", active_from=NOW))
    paths = BothPaths([_stripe(secrets=secrets)])
    taken = {}
    for secret in ("old", "new", "other"):
        for at in (-1.0, 0.0, 9.0, 10.0):
            paths.at(NOW + at)
            body = b'{"id":"%b%d"}' % (secret.encode(), at)
            taken[secret, at] = await paths.send(_request(secret, now=NOW + at, body=body), what=f"{secret} {at}")
    paths.check_ends()
    assert {case for case, is_taken in taken.items() if is_taken} == {
        *(("old", at) for at in (-1.0, 0.0, 9.0)),
        *(("new", at) for at in (0.0, 9.0, 10.0)),
    }


@pytest.mark.parametrize(
    "name", [b"Stripe-Signature", b"stripe-signature", b"Host", b"host", b"Content-Length", b"X-Any"]
)
async def test_a_header_that_stands_twice_is_not_ordinary(name: bytes) -> None:
    paths = BothPaths([replace(_stripe(), secrets=(Secret("one", b"one"),))])
    paths.at(NOW)
    twice = _request("one", extra=(name, b"X-Any") if name == b"X-Any" else (name,))
    assert not await paths.send(twice, what=name.decode())


@pytest.mark.parametrize(
    "given",
    [
        {"rate": 1.0},
        {"key_rate": 1.0},
        {"event_rate": 1.0},
        {"byte_rate": 1.0},
        {"allow_from": ("10.0.0.0/8",)},
        {"counts_repeats": True},
    ],
    ids=str,
)
async def test_a_source_with_quotas_or_gates_has_no_ordinary_requests(given: dict[str, Any]) -> None:
    path = Path([replace(_stripe(), secrets=(Secret("one", b"one"),), **given)], is_ordinary=True)
    path.desk.clock.advance(NOW - path.desk.clock.now().timestamp())
    await path.feed([_request("one")])
    assert not path.taken


@pytest.mark.parametrize("rules", [{"https_only": True}, {"most": 0}], ids=str)
async def test_what_admission_has_a_word_on_is_left_to_it(rules: dict[str, Any]) -> None:
    paths = BothPaths([replace(_stripe(), secrets=(Secret("one", b"one"),))], rules=rules)
    paths.at(NOW)
    assert not await paths.send(_request("one"), what=str(rules))


async def test_where_there_may_be_no_room_for_it_the_general_path_decides() -> None:
    path = Path([replace(_stripe(), secrets=(Secret("one", b"one"),))], is_ordinary=True, budget=3_000)
    path.desk.clock.advance(NOW - path.desk.clock.now().timestamp())
    intake, took = path.desk.intake, []
    path.desk.recorder.gate.clear()
    for number in range(8):
        request = _request("one", body=b'{"id":"%d","more":"%b"}' % (number, b"x" * 500))
        connection = path.open()
        before = path.taken
        connection.data_received(request)
        took.append(path.taken > before)
    assert took[0] and not took[-1]
    path.desk.recorder.gate.set()
    await path.desk.group.close()
    assert path.desk.is_balanced() and intake.in_flight == 0
    assert path.desk.count("stripe").rejected > 0


async def test_a_stranger_fills_no_memory_with_orders_of_headers_and_a_sender_little() -> None:
    path = Path([replace(_stripe(), secrets=(Secret("one", b"one"),))], is_ordinary=True)
    path.desk.clock.advance(NOW - path.desk.clock.now().timestamp())
    (made,) = path.desk.intake.ordinary.lines.values()
    orders = list(permutations([b"X-A", b"X-B", b"X-C", b"X-D", b"X-E"]))
    for secret, most in (("another", 0), ("one", SHAPES_OF_A_SOURCE)):
        for order in orders:
            await path.feed([_request(secret, extra=order)])
        assert len(made.shapes) == most
    assert len(orders) - STRANGE_ORDERS < path.taken < len(orders), "one in so many strangers is looked at"


async def test_the_last_answer_before_a_stop_closes_its_connection() -> None:
    paths = BothPaths([replace(_stripe(), secrets=(Secret("one", b"one"),))])
    paths.at(NOW)
    for path in (paths.ordinary, paths.general):
        path.connections.is_draining = True
    assert not await paths.send(_request("one"), what="draining")


def test_a_provider_whose_secret_is_a_public_key_has_no_ordinary_requests() -> None:
    target = victim("standard-webhooks+public")
    assert target.profile.ordinary(target.source.secrets, tolerance=300.0) is None
    assert provider("stripe").ordinary((Secret("none", b""),), tolerance=300.0) is None
    assert provider("stripe").ordinary((), tolerance=300.0) is None
