"""Which addresses a target may have. A name that suddenly means something inside must not lead us there.

A name is resolved once for each try, each of its addresses is looked at, and the connection goes to one of those: who
controls the name cannot give another answer to a second question, because there is none.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from landfast.thread_calls import Ending, ending_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_IPV4_AT_THE_END = (
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64
    ipaddress.IPv6Network("::/96"),
    ipaddress.IPv6Network("::ffff:0:0:0/96"),  # what stateless translators use
)
_NAT64_OF_A_NETWORK = ipaddress.IPv6Network("64:ff9b:1::/48")
"""Inside of a network by definition (RFC 8215), and where the IPv4 address stands in it is that network's choice."""


async def resolved(host: str, port: int) -> Sequence[Address]:
    """All addresses of a name, in the resolver's order; OSError where it has none."""
    found = await _looked_up(host, port)
    # A link-local address comes with its interface, which no connection of ours needs: it is refused, or named exactly.
    return list(dict.fromkeys(ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found))


def objection(address: Address, allow: Sequence[Network], *, is_plain: bool = False) -> str:
    """Why it is not connected to; nothing where it may be. What is plain HTTP goes to what is allowed alone."""
    inside = list(_inside(address))
    # A tunnel has an end and a relay. That one of them is allowed says nothing about the other.
    if _is_in(address, allow) or (inside and all(_is_in(one, allow) for one in inside)):
        return ""
    public = "a public address, and http: is only for what allow names" if is_plain else ""
    return next((what for one in [address, *inside] if (what := _kind(one))), public)


async def _looked_up(host: str, port: int) -> Any:
    """What `getaddrinfo` finds, from a daemon thread of its own. A resolver that hangs keeps nobody then: a loop that
    ends, and a process, wait for the threads of an executor. Such a thread ends when the resolver gives up; there are
    few, because a target whose name is not found in time is asked for once in a while only."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Ending] = loop.create_future()

    def look_up() -> None:
        ending = ending_of(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
        with suppress(RuntimeError):  # the loop is closed, and nobody waits for an answer
            loop.call_soon_threadsafe(_tell, answer, ending)

    threading.Thread(target=look_up, name="landfast-resolver", daemon=True).start()
    found, error = await answer
    if error is not None:
        raise error
    return found


def _tell(answer: asyncio.Future[Ending], ending: Ending) -> None:
    if not answer.done():  # its time was up
        answer.set_result(ending)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _kind(address: Address) -> str:
    kinds = {
        "a loopback address": address.is_loopback,
        "a link-local address, where clouds keep their credentials": address.is_link_local,
        "a multicast address": address.is_multicast,
        # Python calls the site-local ones of IPv6 global, which were given up and are still routed.
        "a private address": not address.is_global
        or (isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address in _NAT64_OF_A_NETWORK)),
    }
    return next((kind for kind, applies in kinds.items() if applies), "")


def _inside(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if _is_in(address, _IPV4_AT_THE_END) and int(address) > 1:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    yield from (one for one in (address.ipv4_mapped, address.sixtofour) if one is not None)
    if address.teredo is not None:
        yield from address.teredo
