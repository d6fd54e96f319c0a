"""E-mail, over SMTP with TLS. All mails of one incident are a thread."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime

from landfast.alerting.content import Content, lines
from landfast.alerting.http_post import POST_STEP_SECONDS, is_here, trusting
from landfast.alerting.sink import SinkError, shown


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

    def send(self, content: Content) -> str:
        try:
            with self._connected() as server:
                if self.user:
                    server.login(self.user, self.password)
                refused = server.send_message(mail(content, self.sender, self.to))
        except smtplib.SMTPResponseException as error:
            told = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else ""
            raise SinkError(f"{error.smtp_code} {shown(told, [self.password])}".strip()) from None
        except smtplib.SMTPRecipientsRefused:
            raise SinkError(f"the server refuses all of {len(self.to)} recipients") from None
        except smtplib.SMTPException as error:
            raise SinkError(type(error).__name__) from None
        except (OSError, ValueError) as error:
            told = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise SinkError(f"no answer ({told})") from None
        return f"250 taken for {len(self.to) - len(refused)} of {len(self.to)} recipients"

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
