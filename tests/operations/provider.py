"""A provider with an API of its own, over real HTTP: it pages, repeats itself, mixes its order up and has rate limits."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

CREDENTIAL = "sk_test_of_reconcile"
PAGE = 100


@dataclass
class Provider:
    events: list[dict[str, Any]] = field(default_factory=list)
    """Newest first."""
    troubles: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Statuses and headers of the next answers, before any that is right."""
    asked: list[str] = field(default_factory=list)
    url: str = ""
    secret: bytes = b"github-secret-of-a-test"
    style: str = ""
    """How the API of a sender of one's own pages: cursor, page or url."""

    def answer(self, path: str, credential: str | None) -> tuple[int, dict[str, str], Any]:
        self.asked.append(path)
        if credential != f"Bearer {CREDENTIAL}":
            return 401, {}, {"error": "who are you?"}
        if self.troubles:
            return (*self.troubles.pop(0), {"error": "later"})
        parts = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/v1/events":
            return 200, {}, self._stripe(query)
        if parts.path == "/own":
            return 200, {}, self._own(query)
        _, _, delivery = parts.path.partition("/deliveries")
        return self._github_delivery(delivery) if delivery else self._github(query)

    def _stripe(self, query: dict[str, str]) -> Any:
        events = [event for event in self.events if event["created"] >= int(query["created[gte]"])]
        after = query.get("starting_after")
        start = 0 if after is None else 1 + [event["id"] for event in events].index(after)
        page = events[start : start + min(PAGE, int(query["limit"]))]
        # Not in order but for the last one, which is where the next page begins; and the first one of all once more.
        shown = [*page[:-1][::-1], *events[: 1 if start else 0], *page[-1:]]
        return {"object": "list", "data": shown, "has_more": start + len(page) < len(events)}

    def _own(self, query: dict[str, str]) -> Any:
        number = int(query.get("cursor") or query.get("page") or 1)
        page = self.events[(number - 1) * 2 : number * 2]
        more = number * 2 < len(self.events)
        following = {"cursor": {"next": str(number + 1) if more else None}, "page": {}}.get(self.style)
        address = {"links": {"next": f"/own?cursor={number + 1}" if more else None}}
        return {"result": {"events": page}} | (address if following is None else following)

    def _github(self, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        start = int(query.get("cursor", 0))
        listed = [
            {"id": number, "guid": event["guid"], "delivered_at": event["at"], "event": "push", "status_code": 502}
            for number, event in list(enumerate(self.events))[start : start + 3]
        ]
        more = start + 3 < len(self.events)
        link = {"Link": f'<{self.url}/repos/o/r/hooks/1/deliveries?cursor={start + 3}>; rel="next"'} if more else {}
        return 200, link, listed

    def _github_delivery(self, place: str) -> tuple[int, dict[str, str], Any]:
        event = self.events[int(place.removeprefix("/"))]
        digest = hmac.new(self.secret, event["bytes"], hashlib.sha256).hexdigest()
        headers = {
            "X-GitHub-Delivery": event["guid"],
            "X-GitHub-Event": "push",
            "X-Hub-Signature-256": f"sha256={digest}",
            "content-type": event.get("content_type", "application/json"),
        }
        return 200, {}, {"id": int(place[1:]), "request": {"headers": headers, "payload": event["payload"]}}


def own_settings(provider: Provider, way: str, *, name: str = "acme") -> str:
    """The tables of a sender of one's own, whose list is at `/own`. `way` is how one gets to its next page."""
    return f"""
[providers.{name}]
signature = "header:Acme-Signature"
key = "header:Acme-Event"
type = "always:order"

[sources.{name}]
provider = "{name}"
secrets = ["whsec_test_of_reconcile"]
reconcile = "6h"

[sources.{name}.listing]
url = "{provider.url}/own?of={name}&from={{since}}"
credential = "{CREDENTIAL}"
items = "result.events"
next = "{way}"
time = "created"
body = "event"
headers = {{ Acme-Event = "{{id}}" }}
"""


@contextmanager
def running(provider: Provider) -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, found = provider.answer(self.path, self.headers.get("Authorization"))
            body = found if isinstance(found, bytes) else json.dumps(found, indent=1).encode()
            self.send_response(status)
            for name, text in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
