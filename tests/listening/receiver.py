"""What listens on the laptop: a real HTTP server that keeps each request as it came, and answers as it is told."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import PATIENCE_SECONDS


@dataclass(frozen=True)
class Came:
    path: str
    headers: dict[str, str]
    body: bytes

    def is_signed_with(self, secret: str) -> bool:
        """As Stripe signs."""
        parts = dict(part.split("=", 1) for part in self.headers["stripe-signature"].split(","))
        made = hmac.new(secret.encode(), parts["t"].encode() + b"." + self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(made, parts["v1"])


@dataclass
class Receiver:
    port: int
    answer: int = 200
    """0 for none: the connection is closed. -1: it hangs until the test is over."""
    came: list[Came] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def bodies(self) -> list[bytes]:
        return [one.body for one in self.came]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver(port)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.came.append(Came(self.path, headers, body))
            if receiver.answer == -1:
                receiver.is_over.wait(PATIENCE_SECONDS)
                return
            if receiver.answer:
                self.send_response(receiver.answer)
                self.send_header("content-length", "4")
                self.end_headers()
                self.wfile.write(b"told")

        def log_message(self, *_: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = False

        def handle_error(self, *_: Any) -> None: ...

    with Server(("127.0.0.1", port), Handler) as server:
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.is_over.set()
            server.shutdown()
            thread.join()
