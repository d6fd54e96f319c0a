"""E-mail, over SMTP with TLS. All mails of one incident are a thread."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime

from landfast import telemetry
from landfast.alerting.content import Content, lines
from landfast.alerting.http_post import POST_STEP_SECONDS, is_here, trusting
from landfast.alerting.sink import SinkError, shown

PERMANENT = 500
"""What a server refuses with a code from here on it refuses for good; below, it may be asked again."""

PARTLY_TRIES = 10
"""Of a mail that some recipients have: an hour, at the courier's pauses, which is as long as servers put strangers off.
What comes later of the same incident waits behind it, also for those who have it."""

PARTLY_KEPT = 100
"""Mails that are remembered as such: more incidents at once than anybody reads."""


@dataclass(frozen=True, slots=True)
class _Partly:
    have: frozenset[str] = frozenset()
    """Recipients that the server has taken the mail for."""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class EmailSink:
    name: str
    host: str
    port: int
    sender: str
    to: tuple[str, ...]
    is_tls: bool
    """From the first byte. Otherwise STARTTLS is asked for, and insisted on unless the server is this very machine."""
    user: str = ""
    password: str = field(default="", repr=False)
    kind: str = "email"
    _partly: dict[str, _Partly] = field(default_factory=dict, repr=False, compare=False)
    """Mails that some have and others not yet, by their ids. Lost with the process: then all get it again, under the
    same Message-ID."""

    def send(self, content: Content) -> str:
        before = self._partly.get(content.id, _Partly())
        left = [one for one in self.to if one not in before.have]
        try:
            with self._connected() as server:
                if self.user:
                    server.login(self.user, self.password)
                refused = server.send_message(mail(content, self.sender, self.to), to_addrs=left)
        except smtplib.SMTPRecipientsRefused as error:
            # Nobody has it, also of those whom the server was not asked about any more.
            refused = dict.fromkeys(left, (421, b"")) | error.recipients
        except smtplib.SMTPResponseException as error:
            raise SinkError(self._told(error.smtp_code, error.smtp_error)) from None
        except smtplib.SMTPException as error:
            raise SinkError(type(error).__name__) from None
        except (OSError, ValueError) as error:
            told = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise SinkError(f"no answer ({told})") from None
        have = before.have.union(left).difference(refused)
        return self._answer(content.id, _Partly(have, before.tries + 1), list(refused.values()))

    def _answer(self, notice: str, now: _Partly, refusals: Sequence[tuple[int, bytes]]) -> str:
        """SinkError while somebody shall be tried again."""
        self._partly.pop(notice, None)
        taken = f"250 taken for {len(now.have)} of {len(self.to)} recipients"
        if not refusals:
            return taken
        code, reason = min(refusals)  # one that may go away comes first
        told = f"the server refuses {len(refusals)} of {len(self.to)} recipients: {self._told(code, reason)}"
        if not now.have:
            raise SinkError(told)
        if code < PERMANENT and now.tries < PARTLY_TRIES:
            self._partly[notice] = now
            while len(self._partly) > PARTLY_KEPT:
                del self._partly[next(iter(self._partly))]
            raise SinkError(told)
        telemetry.warn("alert_recipients_refused", sink=self.name, notice=notice, error=told)
        return f"{taken}; {told}"

    def _told(self, code: int, reason: bytes | str) -> str:
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else ""
        return f"{code} {shown(text, [self.password])}".strip()

    def _connected(self) -> smtplib.SMTP:
        if self.is_tls:
            return smtplib.SMTP_SSL(self.host, self.port, timeout=POST_STEP_SECONDS, context=trusting())
        server = smtplib.SMTP(self.host, self.port, timeout=POST_STEP_SECONDS)
        try:
            server.ehlo()
            if server.has_extn("starttls"):
                server.starttls(context=trusting())
                server.ehlo()
        except BaseException:
            server.close()
            raise
        if not (is_here(self.host) or isinstance(server.sock, ssl.SSLSocket)):
            server.close()
            raise SinkError("the server offers no STARTTLS; use smtps://")
        return server


def mail(content: Content, sender: str, to: tuple[str, ...]) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = " ".join(content.title.split())
    made["From"], made["To"] = sender, ", ".join(to)
    made["Date"] = format_datetime(content.at)
    made["Message-ID"] = f"<{content.id}@landfast>"
    made["In-Reply-To"] = made["References"] = f"<{content.incident}@landfast>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content("\n".join([*lines(content), "", *(f"{name}: {value}" for name, value in content.figures.items())]))
    return made
