"""Receivers of alerts on this machine: over real HTTP, and over real SMTP with TLS."""

from __future__ import annotations

import asyncio
import base64
import email
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HttpReceiver:
    """Keeps what it is sent. `answers` are given one after the other, and then 200 with `ok`."""

    port: int = 0
    got: list[Received] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    status: int = 200
    hangs: asyncio.Event | None = None
    """While it is there and not set, nobody is answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[HttpReceiver]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if self.hangs is not None:
            await self.hangs.wait()
        self.got.append(Received(head[0].split(" ")[1], headers, body))
        status, text = self.answers.pop(0) if self.answers else (self.status, "ok")
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode())
        await writer.drain()
        writer.close()


@dataclass
class SmtpReceiver:
    """Speaks as much of SMTP as a client needs. With `starttls`, nothing is taken before TLS."""

    certificate: Path
    starttls: bool = True
    port: int = 0
    logins: list[tuple[str, str]] = field(default_factory=list)
    mails: list[Message] = field(default_factory=list)
    refuses: bool = False
    refusals: dict[str, list[str]] = field(default_factory=dict)
    """What is said next to each recipient; 250 once nothing is left to say."""
    recipients: list[list[str]] = field(default_factory=list)
    """Of each mail."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[SmtpReceiver]:
        server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=None if self.starttls else context(self.certificate)
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_secure, recipients = not self.starttls, list[str]()
        await _say(writer, "220 here")
        while line := (await reader.readline()).decode().strip():
            match line.partition(" ")[0].upper():
                case "EHLO":
                    offers = "250 AUTH PLAIN" if is_secure else "250 STARTTLS"
                    await _say(writer, f"250-here\r\n{offers}")
                case "STARTTLS":
                    await _say(writer, "220 go on")
                    await writer.start_tls(context(self.certificate))
                    is_secure = True
                case "AUTH":
                    _, user, password = base64.b64decode(line.split(" ")[2]).decode().split("\0")
                    self.logins.append((user, password))
                    await _say(writer, "535 no, not with that" if self.refuses else "235 welcome")
                case "RCPT" if is_secure:
                    name = line.partition("<")[2].partition(">")[0]
                    said = self.refusals.get(name) or ["250 ok"]
                    answer = said.pop(0)
                    if answer.startswith("250"):
                        recipients.append(name)
                    await _say(writer, answer)
                case "DATA" if is_secure:
                    await _say(writer, "354 go on")
                    text = await reader.readuntil(b"\r\n.\r\n")
                    self.mails.append(email.message_from_bytes(text[:-5]))
                    self.recipients.append(recipients)
                    await _say(writer, "250 taken")
                case "QUIT":
                    await _say(writer, "221 bye")
                    break
                case _:
                    await _say(writer, "250 ok" if is_secure else "530 TLS first")
        writer.close()


async def _say(writer: asyncio.StreamWriter, text: str) -> None:
    writer.write(f"{text}\r\n".encode())
    await writer.drain()


def context(certificate: Path) -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(certificate)
    return made


def self_signed(file: Path) -> Path:
    """A certificate for this machine, with its key, that trusts itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(plain + made.public_bytes(serialization.Encoding.PEM))
    return file
