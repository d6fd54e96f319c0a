"""Origin: which address a request came from, and whether it came over HTTPS.

The connection itself is a fact. Headers are believed only if they come from a proxy that the operator has named:
anybody can write an X-Forwarded-For, and would choose the address that an allow-list looks at.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from landfast.domain.delivery import Head, Headers

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Origin(NamedTuple):
    address: Address | None
    """None where nobody can say: a Unix socket, or a proxy that writes `unknown`. It is in no network."""
    is_secure: bool


class Networks:
    """Some addresses and networks, checked when the settings were read."""

    def __init__(self, written: Iterable[str]) -> None:
        self._networks: tuple[Network, ...] = tuple(ip_network(each) for each in written)

    def __contains__(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)

    def __bool__(self) -> bool:
        return bool(self._networks)


def origin_of(head: Head, trusted: Networks) -> Origin:
    """The sender itself, seen through the proxies that are trusted."""
    peer = address_of(head.peer)
    if peer not in trusted:
        return Origin(peer, head.is_secure)
    client, hops = _client(peer, head.headers, trusted)
    protocols = _listed(head.headers, b"x-forwarded-proto")
    # Each proxy may add one: the client's own stands beside its address. Where there are fewer, the leftmost is what
    # the outermost proxy of ours has written.
    is_secure = protocols[-min(hops, len(protocols))].lower() == "https" if protocols else head.is_secure
    return Origin(client, is_secure)


def address_of(text: str) -> Address | None:
    """As sockets and proxies write it: bare, `192.0.2.7:5000`, `[2001:db8::7]:5000`, or IPv4 inside IPv6."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv4Address):
        return found
    return found.ipv4_mapped or IPv6Address(int(found))  # without a zone: it may be any text, and names a cable of ours


def _client(peer: Address | None, headers: Headers, trusted: Networks) -> tuple[Address | None, int]:
    """Its address, and where that stands from the right. Each proxy adds the address that it was called from on the
    right. So the first from there that is none of ours is the last that one of ours has seen; everything left of it is
    what a stranger says."""
    client, hops = peer, 0
    for text in reversed(_listed(headers, b"x-forwarded-for")):
        client, hops = address_of(text), hops + 1
        if client not in trusted:
            break
    return client, max(hops, 1)


def _listed(headers: Headers, name: bytes) -> list[str]:
    """All values of a header, over all its lines, from left to right."""
    lines = [value.decode("latin-1") for each, value in headers if each == name]
    return [value.strip() for value in ",".join(lines).split(",")] if lines else []
