"""The yardstick: an empty answer to a POST under granian's RSGI, which is an empty server in Rust, one process."""

from __future__ import annotations

from typing import Any

from bench.servers import guard

_HEADERS = [("content-type", "application/json")]


async def app(_scope: Any, protocol: Any) -> None:
    await protocol()  # the body: whoever answers a POST has read it
    protocol.response_bytes(200, _HEADERS, b'{"status":"stored"}')


def main() -> None:
    from granian import Granian
    from granian.constants import Interfaces

    guard.end_with_our_parent()
    port = guard.free_port()
    guard.say(port)
    Granian(
        "bench.servers.yardstick:app",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.RSGI,
        workers=1,
        websockets=False,
        log_enabled=False,
    ).serve()


if __name__ == "__main__":
    main()
