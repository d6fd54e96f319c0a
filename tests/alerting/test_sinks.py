"""What each sink sends, over real HTTP and real SMTP, and what it says when that fails. No secret is in any of it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from landfast.alerting import http_post
from landfast.alerting.content import Content
from landfast.alerting.mail import PARTLY_TRIES, EmailSink
from landfast.alerting.pagerduty import PagerDutySink
from landfast.alerting.senders import Senders
from landfast.alerting.sink import Sink, SinkError
from landfast.alerting.slack import SlackSink
from landfast.alerting.webhook import WebhookSink
from landfast.cli import main
from landfast.domain.alerts.alert import NoticeKind
from tests.alerting.desk import SECRET
from tests.alerting.receivers import HttpReceiver, SmtpReceiver, self_signed

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FIRING = Content(
    id="a" * 32,
    kind=NoticeKind.FIRING,
    incident="b" * 32,
    alert="failing-handler",
    subject="create_order",
    severity="error",
    sentence="40 of 40 attempts of create_order failed: <KeyError> & more.",
    fix="landfast pause create_order",
    figures={"failed": 40},
    since=NOW,
    at=NOW,
    runbook="https://wiki.example.com/failing-handler",
    inbox="c" * 32,
)
RESOLVED = msgspec.structs.replace(FIRING, id="d" * 32, kind=NoticeKind.RESOLVED, at=NOW + timedelta(minutes=7))


async def sent(sink: Sink, content: Content = FIRING) -> str:
    senders = Senders([sink])
    try:
        return await senders.send(sink.name, content)
    finally:
        senders.close()


async def test_slack_gets_a_text_in_which_nothing_is_markup_but_ours() -> None:
    async with HttpReceiver().listening() as slack:
        assert await sent(SlackSink("chat", slack.url)) == "200 ok"
        await sent(SlackSink("chat", slack.url), RESOLVED)
    first, last = (one.json["text"] for one in slack.got)
    assert first.startswith("*[firing] failing-handler/create_order*\n")
    assert "&lt;KeyError&gt; &amp; more" in first
    assert "Do: landfast pause create_order" in first
    assert "https://wiki.example.com/failing-handler" in first
    assert last.startswith("*[resolved] failing-handler/create_order*\nResolved after 7 minutes.")


async def test_a_webhook_is_signed_so_that_a_source_of_ours_would_take_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with HttpReceiver().listening() as hook:
        await sent(WebhookSink("hook", hook.url, SECRET))
    (got,) = hook.got
    (tmp_path / "body").write_bytes(got.body)
    headers = [part for name, value in got.headers.items() for part in ("--header", f"{name}: {value}")]
    asked = ["--provider", "standard-webhooks", "--secret", SECRET, "--body-file", str(tmp_path / "body")]
    assert main(["verify-signature", *asked, "--now", got.headers["webhook-timestamp"], "--json", *headers]) == 0
    assert json.loads(capsys.readouterr().out)["key"] == FIRING.id
    assert got.json["incident"] == FIRING.incident


async def test_pagerduty_opens_and_resolves_one_incident() -> None:
    async with HttpReceiver(status=202).listening() as pager:
        sink = PagerDutySink("pager", "R0UT1NGKEY", pager.url)
        await sent(sink)
        await sent(sink, RESOLVED)
    opened, ended = (one.json for one in pager.got)
    assert (opened["event_action"], ended["event_action"]) == ("trigger", "resolve")
    assert opened["dedup_key"] == ended["dedup_key"] == f"landfast-{FIRING.incident}"
    assert opened["routing_key"] == "R0UT1NGKEY"
    assert opened["payload"]["severity"] == "error"
    assert opened["payload"]["source"]
    assert len(opened["payload"]["summary"]) <= 1024
    assert opened["links"] == [{"href": FIRING.runbook, "text": "Runbook: failing-handler"}]


@pytest.mark.parametrize("starttls", [True, False])
async def test_mail_goes_over_tls_with_a_login_and_is_a_thread(
    starttls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    certificate = self_signed(tmp_path / "cert.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    http_post.trusting.cache_clear()
    async with SmtpReceiver(certificate, starttls=starttls).listening() as server:
        sink = EmailSink(
            "mail",
            host="127.0.0.1",
            port=server.port,
            sender="alerts@example.com",
            to=("ada@example.com", "grace@example.com"),
            is_tls=not starttls,
            user="alerts",
            password="a very secret word",
        )
        assert await sent(sink) == "250 taken for 2 of 2 recipients"
        await sent(sink, RESOLVED)
        server.refuses = True
        with pytest.raises(SinkError, match=r"^535 no, not with that$") as refused:
            await sent(sink)
    http_post.trusting.cache_clear()
    assert "secret word" not in f"{refused.value}{sink!r}"
    assert server.logins[0] == ("alerts", "a very secret word")
    first, last = server.mails
    assert first["Subject"] == "[firing] failing-handler/create_order"
    assert first["To"] == "ada@example.com, grace@example.com"
    assert first["Message-ID"] == f"<{FIRING.id}@landfast>"
    assert first["References"] == last["References"]
    assert "Do: landfast pause create_order" in first.get_payload()


@pytest.fixture
async def mail_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SmtpReceiver]:
    certificate = self_signed(tmp_path / "cert.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    http_post.trusting.cache_clear()
    async with SmtpReceiver(certificate, starttls=False).listening() as server:
        yield server
    http_post.trusting.cache_clear()


def to_two(server: SmtpReceiver) -> EmailSink:
    to = ("ada@example.com", "grace@example.com")
    return EmailSink("mail", host="127.0.0.1", port=server.port, sender="a@example.com", to=to, is_tls=True)


async def test_who_is_refused_for_now_gets_the_mail_later_and_nobody_else_gets_it_twice(
    mail_server: SmtpReceiver,
) -> None:
    mail_server.refusals = {"grace@example.com": ["450 4.2.0 greylisted, come again"] * 2}
    sink = to_two(mail_server)
    for _ in range(2):
        with pytest.raises(
            SinkError, match=r"^the server refuses 1 of 2 recipients: 450 4.2.0 greylisted, come again$"
        ):
            await sent(sink)
    assert await sent(sink) == "250 taken for 2 of 2 recipients"
    assert mail_server.recipients == [["ada@example.com"], ["grace@example.com"]]
    first, last = mail_server.mails
    assert first["Message-ID"] == last["Message-ID"]
    assert first["To"] == last["To"] == "ada@example.com, grace@example.com"
    # It was remembered no longer than it took.
    await sent(sink)
    assert mail_server.recipients[-1] == ["ada@example.com", "grace@example.com"]


async def test_who_is_refused_for_good_is_told_of_and_holds_up_nobody(
    mail_server: SmtpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    mail_server.refusals = {"grace@example.com": ["550 5.1.1 no such user"]}
    told = "the server refuses 1 of 2 recipients: 550 5.1.1 no such user"
    assert await sent(to_two(mail_server)) == f"250 taken for 1 of 2 recipients; {told}"
    assert f'alert_recipients_refused sink=mail notice={FIRING.id} error="{told}"' in caplog.text


async def test_who_is_refused_for_an_hour_holds_up_nobody_any_more(
    mail_server: SmtpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    mail_server.refusals = {"grace@example.com": ["452 4.2.2 mailbox full"] * PARTLY_TRIES}
    sink = to_two(mail_server)
    for _ in range(PARTLY_TRIES - 1):
        with pytest.raises(SinkError, match="mailbox full"):
            await sent(sink)
    assert (await sent(sink)).startswith("250 taken for 1 of 2 recipients; the server refuses 1 of 2")
    assert "alert_recipients_refused" in caplog.text
    assert mail_server.recipients == [["ada@example.com"]]


@pytest.mark.parametrize("answer", ["450 later", "550 never", "421 closing"])
async def test_a_mail_that_nobody_takes_is_tried_again(mail_server: SmtpReceiver, answer: str) -> None:
    mail_server.refusals = {"ada@example.com": [answer], "grace@example.com": [answer]}
    sink = to_two(mail_server)
    with pytest.raises(SinkError, match=f"^the server refuses 2 of 2 recipients: {answer[:3]}"):
        await sent(sink)
    mail_server.refusals = {}
    assert await sent(sink) == "250 taken for 2 of 2 recipients"
    assert mail_server.recipients == [["ada@example.com", "grace@example.com"]]


async def test_a_certificate_that_nobody_vouches_for_gets_no_password(tmp_path: Path) -> None:
    async with SmtpReceiver(self_signed(tmp_path / "cert.pem")).listening() as server:
        sink = EmailSink(
            "mail", host="127.0.0.1", port=server.port, sender="a@b", to=("c@d",), is_tls=False, user="u", password="p"
        )
        with pytest.raises(SinkError, match="no answer"):
            await sent(sink)
    assert server.logins == []


@pytest.mark.parametrize("answer", [(404, "no_service R0UT1NGKEY"), (500, ""), (301, "elsewhere")])
async def test_a_refusal_says_what_was_answered_and_no_secret(
    answer: tuple[int, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with HttpReceiver(answers=[answer, answer, answer]).listening() as receiver:
        secret_url = f"{receiver.url}/T000/B000/R0UT1NGKEY"
        for sink in (
            SlackSink("chat", secret_url),
            WebhookSink("hook", receiver.url, SECRET),
            PagerDutySink("pager", "R0UT1NGKEY", receiver.url),
        ):
            with pytest.raises(SinkError) as refused:
                await sent(sink)
            assert str(refused.value).startswith(str(answer[0]))
            assert SECRET not in f"{refused.value}{sink!r}"
            assert sink.name == "hook" or "R0UT1NGKEY" not in f"{refused.value}{sink!r}"
    assert "R0UT1NGKEY" not in caplog.text


async def test_nobody_there_is_an_error_without_the_address() -> None:
    async with HttpReceiver().listening() as receiver:
        pass
    for url in (f"{receiver.url}/secret", "http://127.0.0.1:1/a b\nsecret"):
        with pytest.raises(SinkError) as refused:
            await sent(SlackSink("chat", url))
        assert "secret" not in str(refused.value)


async def test_a_receiver_that_asks_for_patience_gets_it() -> None:
    async with HttpReceiver(answers=[(429, "slow down")]).listening() as slack:
        with pytest.raises(SinkError, match="429 slow down"):
            await sent(SlackSink("chat", slack.url))


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://hooks.example.com/x", True),
        ("http://127.0.0.1:9/x", True),
        ("http://[::1]:9/x", True),
        ("http://localhost/x", True),
        ("http://hooks.example.com/x", False),
        ("ftp://127.0.0.1/x", False),
        ("https://", False),
        ("https://a:99999999/", False),
        ("nothing", False),
    ],
)
def test_what_is_sent_goes_over_tls_or_stays_on_this_machine(url: str, is_safe: bool) -> None:
    assert http_post.is_safe_address(url) == is_safe
