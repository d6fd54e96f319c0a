"""The address of a journal on JetStream: `nats://user:password@host:4222,host:4222/stream?sync=always`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from landfast.domain.errors import ConfigError

STREAM = "landfast"
"""The stream of an address without a path."""

OPTIONS = {("sync", "always"): "is_synced", ("foreign", "take"): "takes_foreign"}
"""What may stand behind the `?`, and what it sets."""

LONGEST_NAME = 32
"""Letters of a stream's name: it is part of every subject, and of a folder's name at the server."""


@dataclass(frozen=True, slots=True, repr=False)
class BrokerAddress:
    """It has no repr: it may hold a password."""

    servers: tuple[str, ...]
    """One is enough: it names the others of its cluster. Several, so that any of them may be down at the start."""
    credentials: Mapping[str, str]
    """`user` and `password`, or a `token`, or nothing."""
    shown: str
    """The servers, as they may be told."""
    stream: str = STREAM
    is_synced: bool = False
    """The operator says that the server fsyncs before it acknowledges. No client can ask it."""
    takes_foreign: bool = False
    """The operator says that messages without a MAC are of an older Landfast: while they upgrade, and no longer."""

    def subject(self, lane: str) -> str:
        return f"landfast.{self.stream}.{lane}"


def read_address(target: str) -> BrokerAddress:
    """What is wrong with it is a ConfigError that repeats nothing of what may be a password."""
    parts = urlsplit(target)
    credentials, _, hosts = parts.netloc.rpartition("@")
    stream = parts.path.strip("/") or STREAM
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}", stream):
        raise ConfigError(
            f"journal: {stream!r} is no name for a stream; after the host write one of letters, digits, '-' and '_', "
            f"{LONGEST_NAME} of them at most, such as nats://127.0.0.1:4222/{STREAM}"
        )
    return BrokerAddress(
        servers=tuple(f"{parts.scheme}://{host}" for host in hosts.split(",")),
        credentials=_credentials(credentials),
        shown=hosts,
        stream=stream,
        **_options(parts.query),
    )


def _credentials(text: str) -> dict[str, str]:
    user, colon, password = text.partition(":")
    if colon:
        return {"user": unquote(user), "password": unquote(password)}
    return {"token": unquote(user)} if user else {}


def _options(query: str) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for option in parse_qsl(query, keep_blank_values=True):
        if option not in OPTIONS:
            raise ConfigError(
                f"journal: the option {option[0]!r} of the address, or its value, means nothing to Landfast; take it"
                " out: there is only ?sync=always, which says that the server runs with sync_interval: always, and"
                " foreign=take, which believes messages of a Landfast from before there was a MAC"
            )
        found[OPTIONS[option]] = True
    return found
