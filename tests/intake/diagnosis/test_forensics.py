"""Why a signature was refused: one test for each cause. What the operator reads, and what the sender never does."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.intake.diagnosis import case, guesser, reports
from landfast.intake.diagnosis.case import Case, Diagnosis
from landfast.intake.diagnosis.forensics import diagnose
from landfast.intake.diagnosis.reports import Reports
from landfast.intake.source import Source
from landfast.intake.verify import present, verify
from landfast.ports.provider import Provider, Secret
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.schemes.algorithms import Hmac
from landfast.testing.clock import ManualClock
from landfast.testing.signing import sample, signed_request
from tests.intake.desk import Desk
from tests.patience import PATIENCE_SECONDS
from tests.providers.keypairs import pair

NOW = 1_767_323_045.0
WITHIN = PATIENCE_SECONDS
TEXT = "the secret of the sender"
URL = "https://hooks.example.com/in/twilio"
DATA = {"id": "evt_1", "type": "a/b & c", "name": "Zoë", "amount": 1.0, "n": [1, 2], "b": {"z": 1, "a": 2}}
COMPACT = json.dumps(DATA, separators=(",", ":"), ensure_ascii=False).encode()


def source_of(name: str = "stripe", *secrets: Secret, url: str = "", source: str = "shop") -> Source:
    profile = provider(name)
    return Source(source, profile, secrets or (Secret("current", profile.decode_secret(TEXT)),), public_url=url)


def signed(body: bytes, name: str = "stripe", secret: str = TEXT, *, now: float = NOW, url: str = "") -> Head:
    return signed_request(name, body, secret, now=now, url=url).head()


def with_header(head: Head, name: bytes, value: bytes | None) -> Head:
    pairs = [(key, old) for key, old in head.headers if key != name]
    added = [] if value is None else [(name, value)]
    return Head(head.method, head.path, head.query, Headers([*pairs, *added]), head.content_length)


def value_of(head: Head, name: bytes) -> bytes:
    value = head.headers.get(name)
    assert value is not None
    return value


def why(
    head: Head,
    body: bytes | None,
    source: Source | None = None,
    *,
    others: Iterable[Source] = (),
    known: Iterable[Provider] = PROFILES.values(),
    now: float = NOW,
) -> Diagnosis:
    """Only of what is refused; and nothing that is secret is in the sentence."""
    chosen = source or source_of()
    with pytest.raises(UnverifiedError):
        verify(chosen, present(chosen, head, now=now), head, body or b"", now=now)
    found = diagnose(Case(chosen, head, body, now, tuple(others), known))
    assert TEXT not in found.sentence and "Zo" not in found.sentence
    assert not re.search(r"[0-9a-f]{32}", found.sentence)
    return found


@pytest.mark.req("R63")
def test_no_header() -> None:
    found = why(Head("POST", "/in/shop"), COMPACT)
    assert found.cause == "no-header"
    assert "Stripe-Signature is missing" in found.sentence


@pytest.mark.req("R63")
def test_a_malformed_header() -> None:
    assert why(with_header(signed(COMPACT), b"stripe-signature", b"nonsense"), COMPACT).cause == "malformed-header"


@pytest.mark.req("R63")
@pytest.mark.parametrize(("name", "header", "ours", "theirs"), [("stripe", b"stripe-signature", b"v1=", b"v0=")])
def test_an_unknown_version(name: str, header: bytes, ours: bytes, theirs: bytes) -> None:
    head = signed(COMPACT, name)
    old = with_header(head, header, value_of(head, header).replace(ours, theirs))
    found = why(old, COMPACT, source_of(name))
    assert (found.cause, "the version v0" in found.sentence) == ("unknown-version", True)


@pytest.mark.req("R63")
@pytest.mark.parametrize("body", [COMPACT, None], ids=["with its body", "before its body was read"])
def test_a_timestamp_that_is_off(body: bytes | None) -> None:
    found = why(signed(COMPACT, now=NOW - 412), body)
    assert found.cause == "timestamp"
    assert "412 s before our clock" in found.sentence and "tolerance is 300 s" in found.sentence
    assert found.is_ours == (body is not None)
    assert ("it came very late" in found.sentence) == (body is not None)


@pytest.mark.req("R63")
def test_a_timestamp_of_the_future_did_not_come_late() -> None:
    found = why(signed(COMPACT, now=NOW + 86400), COMPACT)
    assert (found.cause, "86400 s after our clock" in found.sentence) == ("timestamp", True)
    assert found.sentence.endswith("a clock is off")


@pytest.mark.req("R63")
def test_a_timestamp_in_milliseconds() -> None:
    head = signed(COMPACT)
    value = re.sub(rb"t=(\d+)", rb"t=\g<1>000", value_of(head, b"stripe-signature"))
    found = why(with_header(head, b"stripe-signature", value), COMPACT)
    assert (found.cause, "milliseconds" in found.sentence) == ("timestamp", True)


@pytest.mark.req("R63")
def test_a_timestamp_in_the_body_that_is_off() -> None:
    profile = replace(provider("github"), signed_at_place="body:at")
    source = Source("shop", profile, (Secret("current", TEXT.encode()),), tolerance=300)
    body = b'{"at": %d}' % (NOW - 1000)
    found = why(signed(body, "github"), body, source)
    assert (found.cause, "time in the body is 1000 s before" in found.sentence) == ("timestamp", True)


@pytest.mark.req("R63")
def test_no_secret_matches() -> None:
    found = why(signed(COMPACT, secret="somebody else's"), COMPACT)
    assert (found.cause, found.is_ours) == ("no-secret-matches", False)
    assert "'current'" in found.sentence


@pytest.mark.req("R63")
def test_a_retired_secret_and_one_of_the_future() -> None:
    new = Secret("new", b"something else")
    for secret, cause, words in (
        (Secret("old", TEXT.encode(), retired_at=NOW - 60), "retired-secret", "retired at 2026-01-02 03:03:05Z"),
        (Secret("next", TEXT.encode(), active_from=NOW + 60), "future-secret", "counts only from 2026-01-02 03:05:05Z"),
    ):
        found = why(signed(COMPACT), COMPACT, source_of("stripe", secret, new))
        assert (found.cause, found.is_ours, words in found.sentence) == (cause, True, True)


@pytest.mark.req("R63")
def test_no_secret_is_active() -> None:
    source = source_of("stripe", Secret("old", b"something else", retired_at=NOW - 60))
    assert why(signed(COMPACT), COMPACT, source).cause == "no-secret-active"


@pytest.mark.req("R63")
@pytest.mark.parametrize("name", ["stripe", "github"])
def test_another_sources_secret_and_another_sources_request(name: str) -> None:
    other = source_of(name, source="club")
    source = source_of("stripe", Secret("current", b"something else"))
    found = why(signed(COMPACT, name), COMPACT, source, others=[other])
    assert (found.cause, found.is_ours, "'club'" in found.sentence) == ("other-source", True, True)


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("sent", "cause", "words"),
    [
        (json.dumps(DATA, ensure_ascii=False), "body-reserialised", "as signed it was compact"),
        (json.dumps(DATA, separators=(",", ":"), sort_keys=True, ensure_ascii=False), None, ""),
        (json.dumps(DATA, indent=2), "body-reserialised", "as signed it was compact"),
        (COMPACT.decode() + "\n", "body-newline", "a trailing newline was added"),
        (COMPACT.decode() + "\r\n", "body-newline", "newline was added"),
        ("\ufeff" + COMPACT.decode(), "body-bom", "a byte order mark was added"),
        (json.dumps(DATA, separators=(",", ":")), "body-reencoded", "its characters became unicode escapes"),
    ],
)
def test_a_body_that_was_changed_on_the_way(sent: str, cause: str | None, words: str) -> None:
    """What cannot be found again, as the order of keys that were sorted, is not claimed to be."""
    found = why(signed(COMPACT), sent.encode())
    assert found.cause == (cause or "no-secret-matches")
    assert words in found.sentence


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("original", "words"),
    [
        (json.dumps(DATA), "spaced, in ASCII"),
        (json.dumps(DATA, ensure_ascii=False), "spaced"),
        (json.dumps(DATA, sort_keys=True, separators=(",", ":"), ensure_ascii=False), "with its keys sorted"),
        (json.dumps(DATA, sort_keys=True), "spaced, with its keys sorted, in ASCII"),
        (json.dumps(DATA, separators=(",", ":")).replace("/", "\\/"), "slashes escaped, as PHP does"),
        (COMPACT.decode().replace("&", "\\u0026"), "as Go does"),
        (COMPACT.decode().replace("1.0", "1"), "as JavaScript does"),
        (json.dumps(DATA, indent=4, ensure_ascii=False), "indented by 4"),
    ],
)
def test_the_body_was_written_anew(original: str, words: str) -> None:
    found = why(signed(original.encode()), COMPACT)
    assert (found.cause, words in found.sentence) == ("body-reserialised", True), found


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("original", "arrived", "cause", "words"),
    [
        ("Zoë".encode("latin-1"), "Zoë".encode(), "body-reencoded", "was latin-1 and became UTF-8"),
        ("Zoë".encode(), "Zoë".encode("latin-1"), "body-reencoded", "was UTF-8 and became latin-1"),
        (b'{"n":"Zo\\u00eb"}', '{"n":"Zoë"}'.encode(), "body-reencoded", "unicode escapes became characters"),
        (b"\xef\xbb\xbf{}", b"{}", "body-bom", "byte order mark was taken away"),
        (b"{}\n", b"{}", "body-newline", "trailing newline was taken away"),
        (b"{}\r\n", b"{}", "body-newline", "(CRLF) was taken away"),
        (b"{\n}", b"{\r\n}", "body-line-ends", "were LF and became CRLF"),
        (b"{\r\n}", b"{\n}", "body-line-ends", "were CRLF and became LF"),
    ],
)
def test_the_body_was_encoded_anew(original: bytes, arrived: bytes, cause: str, words: str) -> None:
    found = why(signed(original), arrived)
    assert (found.cause, found.is_ours, words in found.sentence) == (cause, True, True), found


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("original", "arrived"),
    [
        (COMPACT, json.dumps(COMPACT.decode()).encode()),
        (repr(DATA).encode(), COMPACT),
        (b'{"a":1}', b"payload=%7B%22a%22%3A1%7D"),
        (b'{"a":"1","b":"2"}', b"a=1&b=2"),
    ],
    ids=["a string in JSON", "a printed object", "the field of a form", "a form as JSON"],
)
def test_the_parsed_body_was_signed(original: bytes, arrived: bytes) -> None:
    assert why(signed(original), arrived).cause == "body-parsed"


@pytest.mark.req("R63")
@pytest.mark.parametrize("body", [COMPACT, None], ids=["with its body", "before its body was read"])
@pytest.mark.parametrize(
    ("name", "header"), [("shopify", b"x-shopify-hmac-sha256"), ("github", b"x-hub-signature-256")]
)
def test_the_right_digest_in_the_wrong_encoding(name: str, header: bytes, body: bytes | None) -> None:
    digest = hmac.digest(TEXT.encode(), COMPACT, "sha256")
    spelt = digest.hex().encode() if name == "shopify" else b"sha256=" + base64.b64encode(digest)
    found = why(with_header(signed(COMPACT, name), header, spelt), body, source_of(name))
    assert (found.cause, found.is_ours) == ("signature-encoding", body is not None)
    has, wanted = ("hex", "base64") if name == "shopify" else ("base64", "hex")
    assert f"it is written in {has}, and {name} writes it in {wanted}" in found.sentence


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("theirs", "headers"),
    [
        ("http://hooks.example.com/in/twilio", {}),
        ("https://hooks.example.com/in/twilio/", {}),
        ("https://hooks.example.com:8443/in/twilio", {"X-Forwarded-Port": "8443"}),
        ("https://shop.example.com/in/twilio", {"Host": "shop.example.com"}),
        ("https://front.example.com/in/twilio", {"X-Forwarded-Host": "front.example.com, inner", "Host": "inner:8420"}),
        ("https://front.example.com/hooks/twilio", {"Host": "front.example.com"}),
    ],
)
def test_the_wrong_url_behind_a_proxy(theirs: str, headers: dict[str, str]) -> None:
    draft = signed_request("twilio", b"a=1", TEXT, now=NOW, url=theirs)
    draft.headers |= headers
    found = why(draft.head(), draft.body, source_of("twilio", url=URL))
    assert (found.cause, found.is_ours) == ("wrong-url", True), found
    assert f"for the address {theirs}, and public_url says {URL}" in found.sentence


@pytest.mark.req("R63")
def test_another_providers_scheme_with_our_secret_and_without() -> None:
    ours = why(signed(COMPACT, "github"), COMPACT)
    assert (ours.cause, ours.is_ours, "as github does" in ours.sentence) == ("other-provider", True, True)
    theirs = why(signed(COMPACT, "shopify", "somebody else's"), COMPACT)
    assert (theirs.cause, theirs.is_ours, "shopify" in theirs.sentence) == ("other-provider", False, True)


@pytest.mark.req("R63")
def test_a_wrong_signature_beside_an_older_one_that_is_right_is_not_another_providers() -> None:
    """Intercom signs with SHA-1 in the header that GitHub has beside its own."""
    old = b"sha1=" + hmac.digest(TEXT.encode(), COMPACT, "sha1").hex().encode()
    head = with_header(signed(COMPACT, "github", "somebody else's"), b"x-hub-signature", old)
    found = why(head, COMPACT, source_of("github"))
    assert (found.cause, found.is_ours) == ("no-secret-matches", False), found


@pytest.mark.req("R63")
@pytest.mark.parametrize(
    ("name", "given", "used", "words"),
    [
        ("stripe", f"{TEXT} \n", TEXT, "without the white space"),
        ("stripe", f'"{TEXT}"', TEXT, "without the quotes"),
        ("stripe", f" '{TEXT}'\n", TEXT, "without the quotes"),
        ("stripe", "whsec_bGFuZGZhc3QtdGVzdC1zZWNyZXQ=", "landfast-test-secret", "decoded from base64"),
        ("stripe", TEXT.encode().hex(), TEXT, "decoded from hex"),
    ],
)
def test_the_secret_in_another_form(name: str, given: str, used: str, words: str) -> None:
    source = source_of(name, Secret("current", given.encode()))
    found = why(signed(COMPACT, name, used), COMPACT, source)
    assert (found.cause, words in found.sentence) == ("secret-form", True), found


@pytest.mark.req("R63")
def test_a_public_key_that_is_another_and_a_body_that_was_changed() -> None:
    private, public = pair("ed25519")
    name = "discord-interactions"
    profile = provider(name)
    source = Source("shop", profile, (Secret("current", profile.decode_secret(public)),))
    head = signed(COMPACT, name, private)
    assert why(head, COMPACT + b"\n", source).cause == "body-newline"
    assert why(head, b"{}", source).cause == "no-secret-matches"


@pytest.mark.req("R63")
def test_a_refusal_costs_a_fixed_number_of_hmacs_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    check = Hmac.check

    def counting(self: Hmac, key: bytes, content: Any, signatures: Any) -> bool:
        counted.append(len(content))
        return check(self, key, content, signatures)

    monkeypatch.setattr(Hmac, "check", counting)
    secrets = [Secret(f"{number}", b"secret number %d" % number) for number in range(200)]
    others = [source_of("stripe", *secrets, source=f"other{number}") for number in range(50)]
    for size in (10, 5_000, 60_000, 1_000_000):
        body = json.dumps({"id": "x" * size}).encode()
        head = signed(body, secret="somebody else's")
        diagnose(Case(source_of("stripe", *secrets), head, body, NOW, others, PROFILES.values()))
        assert 0 < len(counted) <= case.MOST_HMACS or size > 100_000
        assert sum(counted) <= 1.1 * case.MOST_BYTES
        counted.clear()


@pytest.mark.req("R63")
@given(
    st.binary(max_size=300),
    st.lists(st.tuples(st.sampled_from([b"Stripe-Signature", b"Host"]), st.binary(max_size=80))),
)
def test_whatever_is_sent_there_is_a_diagnosis_and_never_an_acceptance(
    body: bytes, pairs: list[tuple[bytes, bytes]]
) -> None:
    head = Head("POST", "/in/shop", "", Headers(pairs))
    found = diagnose(Case(source_of(url=URL), head, body, NOW, [source_of("github")], PROFILES.values()))
    assert found.cause and not found.is_ours
    with pytest.raises(UnverifiedError):
        present(source_of(), head, now=NOW)


@pytest.mark.req("R63")
async def test_the_operator_reads_the_cause_and_the_sender_the_same_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    body = sample("stripe")
    head = desk.head(body)
    with caplog.at_level(logging.INFO, "landfast"):
        answer = await desk.intake.respond(desk.intake.admit(head), body + b"\n")
        desk.intake.reports.guesser.finish()
    assert (answer.status, answer.body) == (401, UnverifiedError.answer.body)
    (line,) = [record for record in caplog.records if record.message.startswith("rejected")]
    assert line.levelname == "WARNING"
    assert "cause=body-newline" in line.message and "'first'" in line.message
    assert desk.count().rejected == 1 and desk.is_balanced()


@pytest.mark.req("R63")
async def test_a_guess_that_takes_long_delays_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """The guesser is held, and everybody else is answered; its line comes when it is let go."""
    go_on = threading.Event()

    def slow() -> Iterable[Provider]:
        assert go_on.wait(WITHIN)
        return ()

    desk = Desk()
    desk.intake.reports = Reports(desk.sources, clock=desk.clock, known=slow)
    try:
        with caplog.at_level(logging.INFO, "landfast"):
            async with asyncio.timeout(WITHIN / 2):
                with pytest.raises(UnverifiedError):
                    desk.intake.admit(Head("POST", "/in/stripe"))
                assert (await desk.deliver(sample("stripe"))).status == 200
            assert "cause=" not in caplog.text
            go_on.set()
            desk.intake.reports.guesser.finish()
        assert "cause=" in caplog.text
    finally:
        go_on.set()


@pytest.mark.req("R63")
async def test_few_refusals_wait_for_the_guesser_and_the_others_are_logged_in_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()

    def slow() -> Iterable[Provider]:
        assert go_on.wait(WITHIN)
        return ()

    clock = ManualClock()
    told = Reports([source_of()], clock=clock, known=slow)
    try:
        with caplog.at_level(logging.INFO, "landfast"):
            for _ in range(2 * guesser.UNFINISHED_AT_MOST):
                clock.advance(1)
                told.unverified(source_of(), Head("POST", "/"), None, UnverifiedError("no"))
            assert len(caplog.records) == guesser.UNFINISHED_AT_MOST
            assert "cause=" not in caplog.text
            go_on.set()
            told.guesser.finish()
        assert sum("cause=" in record.message for record in caplog.records) == guesser.UNFINISHED_AT_MOST
    finally:
        go_on.set()


@pytest.mark.req("R63")
async def test_a_flood_is_diagnosed_once_a_second_and_its_rest_in_short(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    with caplog.at_level(logging.INFO, "landfast"):
        for _ in range(20):
            with pytest.raises(UnverifiedError):
                desk.intake.admit(Head("POST", "/in/stripe"))
        desk.intake.reports.guesser.finish()
        assert sum("cause=" in record.message for record in caplog.records) == 1
        desk.clock.advance(1)
        with pytest.raises(UnverifiedError):
            desk.intake.admit(Head("POST", "/in/stripe"))
        desk.intake.reports.guesser.finish()
    assert sum("cause=" in record.message for record in caplog.records) == 2


@pytest.mark.req("R63")
async def test_all_sources_together_are_diagnosed_a_few_times_a_second(caplog: pytest.LogCaptureFixture) -> None:
    sources = [source_of(source=f"source{number}") for number in range(20)]
    told = Reports(sources, clock=ManualClock())
    with caplog.at_level(logging.INFO, "landfast"):
        for source in sources:
            told.unverified(source, Head("POST", "/"), None, UnverifiedError("no"))
        told.guesser.finish()
    assert sum("cause=" in record.message for record in caplog.records) == reports.DIAGNOSES_PER_SECOND
    assert len(caplog.records) == 20


@pytest.mark.req("R63")
async def test_a_diagnosis_that_fails_costs_no_more_than_itself(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterable[Provider]:
        raise RuntimeError("a bug")

    told = Reports([source_of()], clock=ManualClock(), known=broken)
    told.unverified(source_of(), Head("POST", "/"), None, UnverifiedError("the short reason"))
    told.guesser.finish()
    assert any("diagnosis_failed" in record.message for record in caplog.records)


@pytest.mark.req("R2")
async def test_the_log_names_each_secret_in_use_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    with caplog.at_level(logging.INFO, "landfast"):
        for number in range(3):
            assert (await desk.deliver(sample("stripe", id=f"evt_{number}"))).status == 200
        assert [r.message for r in caplog.records if "secret_in_use" in r.message] == [
            "secret_in_use source=stripe secret=first"
        ]
        desk.clock.advance(reports.SECRET_LINE_SECONDS)
        await desk.deliver(sample("stripe", id="evt_9"))
    assert sum("secret_in_use" in record.message for record in caplog.records) == 2
    await desk.group.close()


def test_every_provider_has_a_diagnosis_for_a_stranger() -> None:
    """Whatever the scheme, no guess raises, and a stranger's request is never taken for ours."""
    for name, profile in PROFILES.items():
        assert isinstance(profile, Profile)
        text = Secret("current", b"the secret of the sender")
        case = Case(Source(name, profile, (text,), public_url=URL), signed(COMPACT, secret="x"), COMPACT, NOW)
        case.known = PROFILES.values()
        found = diagnose(case)
        assert found.cause and not found.is_ours, name
