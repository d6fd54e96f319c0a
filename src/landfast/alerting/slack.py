"""Slack, through an incoming webhook: the address is the secret."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from landfast.alerting.content import Content, lines
from landfast.alerting.http_post import parts_of, post
from landfast.alerting.sink import SinkError, shown

TEXT_CHARACTERS = 3_000
"""That Slack shows in one piece."""


@dataclass(frozen=True, slots=True)
class SlackSink:
    name: str
    url: str = field(repr=False)
    kind: str = "slack"

    def send(self, content: Content) -> str:
        body = msgspec.json.encode({"text": text(content)})
        answered = post(self.url, body, {"content-type": "application/json; charset=utf-8"})
        told = f"{answered.status} {shown(answered.text, parts_of(self.url))}".strip()
        if answered.status != 200:
            raise SinkError(told, retry_after=answered.retry_after)
        return told


def text(content: Content) -> str:
    """In Slack's own markup, in which only three characters are special."""
    whole = "\n".join([f"*{_plain(content.title)}*", *map(_plain, lines(content))])
    return whole[:TEXT_CHARACTERS]


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
