"""`landfast sources`: which secrets count, what is wrong with them, and how one is changed without a gap."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from landfast import config
from tests.cli.conftest import Run

LONG = "a secret that is long enough"
STRIPE = f'[sources.stripe]\nprovider = "stripe"\nsecrets = ["{LONG}"]\n'
ACME = f"""
[providers.acme]
signature = "header:X-Signature"
redelivery = {{ ends_on = "4xx other than 429" }}
[sources.acme]
provider = "acme"
secrets = ["{LONG}"]
"""


def write(text: str) -> None:
    Path("landfast.toml").write_text(text)
    Path("landfast.toml").chmod(0o600)  # it holds secrets


def later(days: float) -> str:
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.req("R2")
def test_secrets_are_listed_by_name_with_their_state_and_never_shown(landfast: Run) -> None:
    write(
        '[sources.shop]\nprovider = "stripe"\nsecrets = [\n'
        f'  {{ value = "{LONG} 1", name = "old", until = 2020-01-01T00:00:00Z }},\n'
        f'  {{ value = "env:NOT_READ", name = "now" }},\n'
        f'  {{ value = "{LONG} 3", name = "next", from = {later(2)} }},\n]\n'
        f'[sources.lab]\nprovider = "gitlab"\nsecrets = ["{LONG} 4"]\n'
    )
    ended = landfast("sources", "list", "--json")
    shop, lab = ended.json["sources"]
    assert [(each["name"], each["state"]) for each in shop["secrets"]] == [
        ("old", "retired"), ("now", "active"), ("next", "future"),
    ]  # fmt: skip
    assert [each["reference"] for each in shop["secrets"]] == [None, "env:NOT_READ", None]
    assert (shop["path"], shop["covers_body"], shop["retry_window_seconds"]) == ("/in/shop", "yes", 3 * 86400)
    assert lab["covers_body"] == "no"
    plain = landfast("sources", "list")
    assert plain.code == 0 and "'old' retired since 2020-01-01 00:00:00" in plain.out
    assert LONG not in ended.out + plain.out + ended.err + plain.err


def test_no_source_says_how_to_add_one(landfast: Run) -> None:
    assert "there is no source" in landfast("sources", "list").out
    ended = landfast("sources", "check")
    assert ended.code == 1
    assert "fail  sources: there is no source; no app was given: add --app module:inbox" in ended.out
    assert "fix: add one as [sources.NAME] in landfast.toml" in ended.out
    assert landfast("sources", "check", "--json").json["well"] is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STRIPE.replace("stripe", "gitlab"), "does not cover the body"),
        (STRIPE.replace(LONG, "short") + "allow_short_secret = true\n", "secret '1' has 5 bytes"),
        (STRIPE + STRIPE.replace("[sources.stripe]", "[sources.twin]"), "the same as secret '1' of source stripe"),
        (STRIPE + "tolerance = 5\n", "a clock that drifts is refused"),
        (STRIPE + "tolerance = 3600\n", "can be sent again"),
        (STRIPE.replace(f'"{LONG}"', f'{{ value = "{LONG}", until = UNTIL }}'), "its last secret ends at"),
        (ACME, "drops for good what is answered with 401"),
        (ACME.replace("redelivery", 'key = "header:X-Id"\nredelivery'), "the header X-Id, which is not signed"),
        (STRIPE.replace("stripe", "github") + 'dedup = "header:X-GitHub-Delivery"\n', "X-GitHub-Delivery, which is not"),
        (STRIPE.replace("stripe", "github") + 'dedup = "type+body"\n', "the type, which is not signed"),
        (STRIPE.replace("stripe", "github").replace(LONG, "ghp_0123456789abcdef"), "it is a token of GitHub's"),
        (STRIPE.replace("stripe", "shopify"), "X-Shopify-Topic or Shopify-Topic: a known body under another type is an event"),
    ],
)  # fmt: skip
def test_a_warning_says_what_and_how_to_mend_it(landfast: Run, text: str, words: str) -> None:
    write(text.replace("UNTIL", later(1)))
    ended = landfast("sources", "check")
    assert ended.code == 0, ended
    assert words in ended.out and "fix: " in ended.out
    assert LONG not in ended.out
    assert words in landfast("doctor").out


def test_what_is_not_signed_is_told_even_where_it_does_no_harm(landfast: Run) -> None:
    write(STRIPE.replace("stripe", "github"))
    told = "github does not sign the type, which stands in X-GitHub-Event: a known body under another type is held"
    assert told in landfast("sources", "check").out


def test_the_client_secret_of_a_shopify_app_is_what_signs(landfast: Run) -> None:
    write(STRIPE.replace("stripe", "shopify").replace(LONG, "shpss_0123456789abcdef"))
    assert "begins with" not in landfast("sources", "check").out


@pytest.mark.parametrize(
    "table",
    [
        'key = "body:id"\n',
        'key = "header:X-Id"\ncontent = "{header:X-ID}.{body}"\n',
        'key = "header:X-Id"\nid = "header:X-Id"\ncontent = "{id}.{body}"\n',
    ],
    ids=["in the body", "in the content", "as the signed id"],
)
def test_a_key_in_what_is_signed_is_no_warning(landfast: Run, table: str) -> None:
    write(ACME.replace("redelivery", f"{table}redelivery"))
    assert "which is not signed" not in landfast("sources", "check").out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STRIPE.replace(LONG, "env:NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set"),
        (STRIPE.replace(LONG, "short"), "under 16 it can be guessed"),
        (STRIPE.replace(LONG, "   "), "the secret is empty"),
        (STRIPE.replace(LONG, "sk_live_0123456789abcdef"), "begins with sk_: it is an API key of Stripe's"),
        (STRIPE.replace("stripe", "slack").replace(LONG, "xoxb-0123456789abcdef"), "begins with xoxb-: it is a token"),
        (STRIPE.replace("stripe", "shopify").replace(LONG, "shpat_0123456789abcdef"), "begins with shpat_"),
        (STRIPE.replace("stripe", "clerk").replace(LONG, "sk_test_0123456789abcdef"), "so it is an API key of Clerk's"),
        (STRIPE.replace("stripe", "adyen"), "not hexadecimal"),
        (STRIPE.replace('"stripe"', '"standard-webhooks"'), "not base64"),
        (STRIPE.replace('"stripe"', '"twilio"'), "public_url"),
        (STRIPE.replace(f'"{LONG}"', f'{{ value = "{LONG}", until = 2020-01-01T00:00:00Z }}'), "no secret is active"),
    ],
)
@pytest.mark.req("R2")
def test_what_cannot_work_is_exit_1(landfast: Run, text: str, words: str) -> None:
    write(text + '[sources.well]\nprovider = "stripe"\nsecrets = ["another that is long enough"]\n')
    ended = landfast("sources", "check", "--json")
    assert (ended.code, ended.json["well"]) == (1, False)
    levels = {check["name"]: check["level"] for check in ended.json["checks"]}
    assert levels["source well"] == "ok"
    assert words in ended.out
    assert not any(check["found"].startswith("source ") for check in ended.json["checks"])
    assert LONG not in ended.out


@pytest.mark.req("R2")
def test_rotate_prints_lines_that_work_and_changes_nothing(landfast: Run) -> None:
    before = '[sources.stripe]\nprovider = "stripe"\nsecrets = ["env:STRIPE_SECRET"]\n'
    write(before)
    plan = landfast("sources", "rotate", "stripe", "--json").json
    assert Path("landfast.toml").read_text() == before
    write('[sources.stripe]\nprovider = "stripe"\n' + "\n".join(plan["lines"]))
    old, new = config.load().sources["stripe"].secrets
    assert (old.value, new.value) == ("env:STRIPE_SECRET", "env:STRIPE_SECRET_2")
    # As long as Stripe tries again: what is under way is signed with the old one.
    assert abs(old.end - datetime.now(UTC).timestamp() - 3 * 86400) < 60
    again = landfast("sources", "rotate", "stripe", "--new", "file:/run/secrets/next", "--hours", "1", "--json").json
    write('[sources.stripe]\nprovider = "stripe"\n' + "\n".join(again["lines"]))
    assert [each.value for each in config.load().sources["stripe"].secrets][-1] == "file:/run/secrets/next"
    plain = landfast("sources", "rotate", "stripe")
    assert plain.code == 0 and "restart landfast serve" in plain.out
    assert plain.out.startswith(
        "1. Have a new secret made at Stripe, or choose one where Stripe lets you. Put it into file:/run/secrets/next_2.\n"
    )


def test_rotate_shows_no_secret_and_leaves_retired_ones_out(landfast: Run) -> None:
    write(
        f'[sources.stripe]\nprovider = "stripe"\nsecrets = ["{LONG}",'
        f' {{ value = "{LONG} 2", until = 2020-01-01T00:00:00Z }}]\n'
    )
    ended = landfast("sources", "rotate", "stripe")
    assert LONG not in ended.out
    assert ended.out.count("until = ") == 1
    lines = [line.strip() for line in ended.out.splitlines()]
    start, end = lines.index("secrets = ["), lines.index("]")
    assert len(tomllib.loads("\n".join(lines[start : end + 1]))["secrets"]) == 2


def test_rotate_for_a_source_in_the_code_prints_code(landfast: Run) -> None:
    Path("shop.py").write_text(
        "from landfast import Inbox\ninbox = Inbox()\n"
        'inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_SECRET"])\n'
    )
    ended = landfast("sources", "rotate", "stripe", "--app", "shop.py")
    assert ended.code == 0, ended
    assert "landfast sources check --app shop.py\n" in ended.out
    plan = landfast("sources", "rotate", "stripe", "--app", "shop.py", "--json").json
    first, *call = plan["lines"]
    names: dict[str, Any] = {}
    exec("\n".join([first, f"found = dict({chr(10).join(call)})"]), names)
    assert [each["value"] for each in names["found"]["secrets"]] == ["env:STRIPE_SECRET", "env:STRIPE_SECRET_2"]
    assert '{"value": "env:STRIPE_SECRET_2", "name": "stripe-secret-2"}' in ended.out


def test_rotate_checks_the_file_that_it_was_told_to_read(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("other.toml").write_text(STRIPE)
    monkeypatch.setenv("LANDFAST_CONFIG", "other.toml")
    out = landfast("sources", "rotate", "stripe").out
    assert "LANDFAST_CONFIG=other.toml landfast sources check\n" in out and "In other.toml, " in out


def test_a_setting_of_a_provider_is_no_misspelt_key(landfast: Run) -> None:
    write(STRIPE.replace("stripe", "braintree") + 'public_key = "integration"\n')
    assert landfast("sources", "check").code == 0
    write(STRIPE + 'tolerence = "300"\n')
    assert "did you mean 'tolerance'?" in landfast("sources", "check").err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("strip",), "sources rotate: there is no source 'strip'; did you mean 'stripe'?"),
        (("stripe", "--new", "hunter2"), "sources rotate: --new must be env:NAME or file:PATH"),
        (("shop", "--new", "env:SAME"), "sources rotate: --new env:SAME is where a secret of shop is now"),
        (("stripe", "--hours", "0"), "sources rotate: --hours 0 leaves no time in which both count"),
        (("stripe", "--hours", "-1"), "sources rotate: --hours -1 leaves no time in which both count"),
    ],
)
def test_a_mistake_is_one_sentence(landfast: Run, arguments: tuple[str, ...], sentence: str) -> None:
    write(STRIPE + STRIPE.replace(LONG, "env:SAME").replace("[sources.stripe]", "[sources.shop]"))
    ended = landfast("sources", "rotate", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"landfast: {sentence}")
    assert "hunter2" not in ended.err
