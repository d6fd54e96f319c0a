"""`landfast verify-signature`: every published request through the command, and what an operator asks of it."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from landfast import config
from landfast.providers import provider
from landfast.providers.catalogue import PROFILES
from landfast.testing.sender_secrets import pair_for
from landfast.testing.signing import sample, signed_request
from tests.cli.conftest import Ended, Run
from tests.providers.test_vectors import SETTINGS, VECTORS, body_of

NOW = 1_767_323_045
SECRET = "whsec_for this test alone"
BODY = sample("stripe", "invoice.paid", id="evt_1")
SIGNED = signed_request("stripe", BODY, SECRET, now=NOW).headers["Stripe-Signature"]
HEADER = f"Stripe-Signature: {SIGNED}"


def ask(landfast: Run, *more: str, body: bytes = BODY, header: str = HEADER, secret: str = SECRET) -> Ended:
    Path("body").write_bytes(body)
    request = ("--header", header, "--body-file", "body")
    return landfast("verify-signature", "--provider", "stripe", "--secret", secret, *request, *more)


def arguments(vector: dict[str, Any]) -> list[str]:
    """The command for a published request, as the issue writes it."""
    name = vector["provider"]
    named = ("secret", "secret_secondary", "public_key", "certificate_pem", "webhook_id")
    secrets = [*(vector.get("secrets") or ()), *(vector[each] for each in named if each in vector)]
    if vector["provider"] == "aws-sns":  # a certificate alone is everybody's: a source names its topics
        secrets.append(json.loads(vector["body"])["TopicArn"])
    url = vector.get("url") or vector.get("request_path") or ""
    url += f"?{urlencode(vector['query'])}" if vector.get("query") else ""
    settings = dict(SETTINGS.get(name, {}))
    if "key_id" in vector:
        settings |= {setting.removesuffix("?"): vector["key_id"] for setting in PROFILES[name].settings}
    given = {"--provider": [name], "--method": [vector["method"]], "--body-file": ["body"], "--secret": secrets}
    given |= {"--url": [url] if url else [], "--setting": [f"{key}={value}" for key, value in settings.items()]}
    given |= {"--header": [f"{key}: {value}" for key, value in vector["headers"].items()]}
    given |= {"--now": [str(vector["now"])] if vector["now"] is not None else []}
    given |= {"--tolerance": [str(vector["tolerance_seconds"])] if vector["tolerance_seconds"] else []}
    return [word for option, values in given.items() for value in values for word in (option, value)]


@pytest.mark.req("R1", "R2")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["id"]))
def test_every_published_request_is_judged_by_the_command_as_its_publisher_says(
    landfast: Run, vector: dict[str, Any]
) -> None:
    Path("body").write_bytes(body_of(vector))
    ended = landfast("verify-signature", "--json", *arguments(vector))
    if vector["kind"] == "challenge":
        assert ended.code == 0
        assert ended.json["challenge"]["body"] == vector["expected_response"]
    elif vector.get("secret") == "":
        assert (ended.code, ended.json["valid"]) == (2, False)  # no request is judged by an empty secret
    else:
        assert (ended.code, ended.json["valid"]) == ((0, True) if vector["expected_valid"] else (1, False)), ended
    assert ended.json.get("reason")


@pytest.mark.req("R54")
@pytest.mark.parametrize("name", PROFILES)
def test_what_we_sign_for_a_provider_the_command_finds_valid(landfast: Run, name: str) -> None:
    profile = PROFILES[name]
    url = "https://hooks.example.com/in/source"
    settings = [setting.removesuffix("?") for setting in profile.settings]
    options: dict[str, Any] = dict.fromkeys(settings, "a value")
    given = provider(name, **options)
    body = sample(given, now=NOW)
    pair = pair_for(given, url=url)
    draft = signed_request(given, body, pair.signing, now=NOW, url=url)
    Path("body").write_bytes(draft.body)
    secrets = []
    for number, text in enumerate(pair.secrets):
        Path(f"secret{number}").write_text(text)
        secrets += ["--secret", f"file:secret{number}"]
    headers = [word for key, value in draft.headers.items() for word in ("--header", f"{key}: {value}")]
    more = [word for setting in settings for word in ("--setting", f"{setting}=a value")]
    command = ["--provider", name, *secrets, *headers, *more, "--url", draft.url, "--body-file", "body", "--json"]
    ended = landfast("verify-signature", *command, "--method", draft.method)
    assert ended.code == 0, ended
    assert [event["type"] for event in ended.json["events"]] == [profile.samples[0].type]


def test_a_genuine_request_is_told_with_what_it_brings(landfast: Run) -> None:
    ended = ask(landfast, "--now", str(NOW), "--json")
    assert ended.code == 0
    told = ended.json
    assert (told["valid"], told["key"], told["type"]) == (True, "evt_1", "invoice.paid")
    assert told["secret"] == "1" and told["occurred_at"] and told["entity"]
    plain = ask(landfast, "--now", str(NOW))
    assert plain.out.startswith("valid\n") and "evt_1" in plain.out


def test_a_changed_body_is_exit_1_and_says_why(landfast: Run) -> None:
    ended = ask(landfast, body=BODY + b"\n")
    assert ended.code == 1
    assert ended.out.startswith("not valid\n")
    assert "a trailing newline was added" in ended.out
    assert SECRET not in ended.out + ended.err


def test_an_old_request_is_judged_at_its_own_time_unless_a_time_is_given(landfast: Run) -> None:
    assert ask(landfast).code == 0
    assert ask(landfast, "--json").json["age_seconds"] > 0
    for more in (("--now", str(NOW + 301)), ("--tolerance", "300"), ("--now", str(NOW + 1), "--tolerance", "0")):
        ended = ask(landfast, *more, "--json")
        assert (ended.code, ended.json["cause"]) == (1, "timestamp"), more
    assert ask(landfast, "--now", str(NOW + 301), "--tolerance", "302").code == 0


def test_secrets_come_by_reference_and_several_are_tried(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", SECRET)
    Path("secret").write_text(SECRET + "\n")
    assert ask(landfast, secret="env:A_SECRET").code == 0
    assert ask(landfast, secret="file:secret").code == 0
    assert ask(landfast, "--secret", SECRET, "--json", secret="x").json["secret"] == "2"


def test_the_body_may_come_from_stdin(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BODY)))
    ended = landfast(
        "verify-signature", "--provider", "stripe", "--secret", SECRET, "--header", HEADER, "--body-file", "-"
    )
    assert ended.code == 0


def test_each_event_of_a_batch_is_told(landfast: Run) -> None:
    Path("landfast.toml").write_text(
        '[providers.acme]\nsignature = "header:X-Sig"\nitems = "body:events"\nkey = "item:id"\ntype = "item:type"\n'
    )
    body = json.dumps({"events": [{"id": "1", "type": "a"}, {"id": "2", "type": "b"}]}).encode()
    Path("body").write_bytes(body)
    acme = provider("acme", described=config.load().providers["acme"])
    headers = signed_request(acme, body, SECRET, now=NOW).headers
    more = ("--secret", SECRET, "--header", f"X-Sig: {headers['X-Sig']}", "--body-file", "body")
    ended = landfast("verify-signature", "--provider", "acme", *more, "--json")
    assert [(event["key"], event["type"]) for event in ended.json["events"]] == [("1", "a"), ("2", "b")]
    assert "event 2" in landfast("verify-signature", "--provider", "acme", *more).out
    wrong = landfast("verify-signature", "--provider", "acne", *more)
    assert (wrong.code, "did you mean 'acme'?" in wrong.err) == (2, True)


def test_a_source_of_ours_is_asked_for_by_its_name(landfast: Run) -> None:
    Path("landfast.toml").write_text(
        f'[sources.shop]\nprovider = "stripe"\nsecrets = [{{value = "{SECRET}", name = "old", until = 2026-01-01T00:00:00Z}}'
        ', {value = "another one of this source", name = "new"}]\n'
        '[sources.club]\nprovider = "stripe"\nsecrets = ["a secret of the other source"]\n'
    )
    Path("body").write_bytes(BODY)
    more = ("--body-file", "body", "--now", str(NOW), "--json", "--header")
    retired = landfast("verify-signature", "--source", "shop", *more, HEADER)
    assert (retired.code, retired.json["cause"]) == (1, "retired-secret")
    other = signed_request("stripe", BODY, "a secret of the other source", now=NOW).headers["Stripe-Signature"]
    mixed = landfast("verify-signature", "--source", "shop", *more, f"Stripe-Signature: {other}")
    assert (mixed.json["cause"], "'club'" in mixed.json["reason"]) == ("other-source", True)
    unknown = landfast("verify-signature", "--source", "shp", *more, HEADER)
    assert (unknown.code, "did you mean 'shop'?" in unknown.err) == (2, True)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--provider", "strip"), "--provider: there is no provider 'strip'; did you mean 'stripe'?"),
        (("--header", "no colon"), "verify-signature: --header 'no colon' needs a name and a value"),
        (("--secret", ""), "landfast: --secret, number 2: the secret is empty"),
        (("--secret", "   "), "landfast: --secret, number 2: the secret is empty"),
        (("--secret", "env:NOT_THERE"), "landfast: --secret, number 2: the environment variable NOT_THERE is not set"),
        (("--secret", "file:not-there"), "landfast: --secret, number 2: the file not-there cannot be read"),
        (("--secret", "evn:NOT_THERE"), "landfast: --secret, number 2: 'evn' before the colon is no kind of reference"),
        (("--provider", "bla"), "there is no provider 'bla': describe it as [providers.bla]"),
        (("--now", "yesterday"), "--now 'yesterday' must be unix seconds, such as 1767225600"),
        (("--now", "nan"), "--now 'nan' must be unix seconds"),
        (("--now", "-5"), "--now '-5' must be unix seconds"),
        (("--now", f"{NOW}000"), f"in seconds, {NOW}000 milliseconds are {NOW}"),
        (
            ("--body-file", "nowhere"),
            "--body-file 'nowhere' cannot be read (No such file or directory); save the raw body",
        ),
        (("--setting", "x"), "verify-signature: --setting 'x' needs NAME=VALUE"),
        (("--setting", "x=1"), "takes no option 'x'"),
        (("--source", "shop"), "--source has its own provider, secrets and settings"),
        (("--now", "1e300"), "--now '1e300' must be unix seconds"),
    ],
)
def test_misuse_is_one_sentence_and_exit_2(landfast: Run, more: tuple[str, ...], sentence: str) -> None:
    ended = ask(landfast, *more)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("landfast: ") and ended.err.count("\n") == 1
    assert sentence in ended.err


def test_a_missing_option_or_file_is_misuse(landfast: Run) -> None:
    assert landfast("verify-signature", "--provider", "stripe").code == 2
    Path("body").write_bytes(b"")
    ended = landfast("verify-signature", "--provider", "stripe", "--body-file", "body")
    assert (ended.code, "--secret is missing" in ended.err) == (2, True)


def test_a_refusal_that_may_come_from_something_unsaid_says_so(landfast: Run) -> None:
    Path("body").write_bytes(b"a=1")
    ended = landfast(
        "verify-signature", "--provider", "twilio", "--secret", SECRET, "--body-file", "body", "--json",
        "--header", "X-Twilio-Signature: MC9LQ1RSNkRMcEtta0FmOG11elo=",
    )  # fmt: skip
    assert (ended.code, "give --url" in ended.json["reason"]) == (1, True)


def test_an_only_secret_has_no_number(landfast: Run) -> None:
    assert ask(landfast, secret="env:NOT_THERE").err.startswith(
        "landfast: --secret: the environment variable NOT_THERE"
    )


def test_of_an_old_request_that_is_genuine_a_note_says_that_a_server_would_refuse_it(landfast: Run) -> None:
    note = ask(landfast, "--json").json["note"]
    assert re.fullmatch(r"landfast serve would refuse it now: it is [\d.,]+ d old, and tolerance is 5 min", note)
    assert "note" not in ask(landfast, "--now", str(NOW), "--json").json
    ahead = signed_request("stripe", BODY, SECRET, now=4_000_000_000).headers["Stripe-Signature"]
    assert "it is of a time that comes in" in ask(landfast, "--json", header=f"Stripe-Signature: {ahead}").json["note"]


def test_the_age_is_told_at_the_time_that_is_asked_about(landfast: Run) -> None:
    for seconds in (10, 86400, -86400):
        assert ask(landfast, "--now", str(NOW + seconds), "--json").json["age_seconds"] == seconds


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (SIGNED.replace("v1=", ""), "holds no well-formed signature"),
        (SIGNED.partition(",")[2], "needs exactly one timestamp"),
        (SIGNED.rpartition("=")[2], "needs exactly one timestamp"),
    ],
    ids=["without v1=", "without t=", "without both"],
)
def test_a_malformed_header_is_answered_with_the_form_that_it_should_have(
    landfast: Run, header: str, words: str
) -> None:
    told = ask(landfast, "--json", header=f"Stripe-Signature: {header}").json
    assert told["cause"] == "malformed-header"
    assert words in told["reason"] and "it should look like Stripe-Signature: t=TIME,v1=HEX" in told["reason"]


def test_another_provider_is_corrected_where_it_was_said(landfast: Run) -> None:
    github = signed_request("github", BODY, SECRET, now=NOW).headers["X-Hub-Signature-256"]
    header = f"X-Hub-Signature-256: {github}"
    sentence = "it is signed as github does, with our secret: correct {}, which is stripe"
    assert ask(landfast, "--json", header=header).json["reason"] == sentence.format("--provider")
    Path("landfast.toml").write_text(f'[sources.shop]\nprovider = "stripe"\nsecrets = ["{SECRET}"]\n')
    told = landfast("verify-signature", "--source", "shop", "--header", header, "--body-file", "body", "--json").json
    assert told["reason"] == sentence.format("the source's provider")


def test_a_header_that_the_type_needs_is_asked_for(landfast: Run) -> None:
    headers = signed_request("github", BODY, SECRET, now=NOW, type="push").headers
    Path("body").write_bytes(BODY)
    command = ["--provider", "github", "--secret", SECRET, "--body-file", "body", "--json"]
    command += ["--header", f"X-Hub-Signature-256: {headers['X-Hub-Signature-256']}"]
    told = landfast("verify-signature", *command).json
    assert (told["valid"], told["type"]) == (True, "")
    assert told["note"] == "type needs the header X-GitHub-Event: give it with --header"
    assert "note" not in landfast("verify-signature", *command, "--header", "X-GitHub-Event: push").json


def test_a_secret_in_the_command_is_warned_of_and_one_on_stdin_is_not(
    landfast: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ask(landfast)
    assert (told.code, "can be read by others on this machine; give env:NAME" in told.err) == (0, True)
    assert SECRET not in told.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SECRET.encode() + b"\n")))
    told = ask(landfast, secret="-")
    assert (told.code, told.err) == (0, "")
    both = landfast("verify-signature", "--provider", "stripe", "--secret", "-", "--body-file", "-")
    assert (both.code, "cannot both be -" in both.err) == (2, True)
