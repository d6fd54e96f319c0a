"""Where nobody is sent: an address inside, however it is written, and whatever its name meant a moment ago."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest

from landfast import Inbox
from landfast.app.forwards_checkup import examine_targets
from landfast.domain.lifecycle import State
from landfast.domain.verdict import WaitFor
from landfast.forwarding.guard import objection
from landfast.recovery.doctor import Level
from landfast.testing import TestInbox
from tests.alerting.receivers import HttpReceiver
from tests.forwarding.test_forward import SECRET, states

INSIDE = [
    "127.0.0.1",
    "127.8.9.10",
    "10.0.0.7",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:0001::1",
    "2001:0:a9fe:a9fe::1",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
]


@pytest.mark.req("R66")
@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_not_connected_to_unless_it_is_allowed(address: str) -> None:
    found = ipaddress.ip_address(address)
    assert objection(found, [])
    assert not objection(found, [ipaddress.ip_network(address)])


TUNNELS = {
    "::ffff:10.0.0.7": "10.0.0.0/8",
    "64:ff9b::a00:7": "10.0.0.0/8",
    "2002:a00:7::1": "10.0.0.0/8",
    "2001:0:a00:1:0:0:f5ff:fff8": "10.0.0.0/8",
}
"""IPv6 addresses that lead to 10.0.0.7. The last is Teredo's: its relay is 10.0.0.1, and the end is written inverted."""


@pytest.mark.req("R66")
def test_what_a_tunnel_leads_to_is_allowed_where_all_of_it_is() -> None:
    for address, network in TUNNELS.items():
        assert not objection(ipaddress.ip_address(address), [ipaddress.ip_network(network)]), address
    # The relay is allowed, and the end is the address where clouds keep their credentials.
    mixed = ipaddress.ip_address("2001:0:a00:1:0:0:5601:5601")
    assert objection(mixed, [ipaddress.ip_network("10.0.0.0/8")])
    assert objection(mixed, [ipaddress.ip_network("169.254.169.254/32")])


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_a_public_address_is_connected_to(address: str) -> None:
    assert not objection(ipaddress.ip_address(address), [])


@pytest.mark.req("R66")
def test_plain_http_goes_to_what_is_allowed_and_to_no_other_public_address() -> None:
    public, own = ipaddress.ip_address("93.184.216.34"), ipaddress.ip_address("10.0.0.7")
    allow = [ipaddress.ip_network("10.0.0.0/8")]
    assert not objection(public, allow)
    assert objection(public, allow, is_plain=True)
    assert not objection(own, allow, is_plain=True)


@pytest.mark.req("R66")
async def test_doctor_tells_of_a_name_that_turns_public_and_is_for_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(_host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.0.9", port))]

    # Looked at and not sent to: if this failed, a test would send something out of this machine.
    inbox = forwarding_to("inside.example.com", 80, allow=["10.0.0.0/8"])
    monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
    (check,) = await examine_targets(inbox.forwards.values())
    monkeypatch.undo()
    assert check.level is Level.FAIL
    assert "http: is only for what allow names" in check.found


def forwarding_to(host: str, port: int, **options: Any) -> Inbox:
    inbox = Inbox()
    inbox.source("shop", provider="standard-webhooks", secrets=[SECRET])
    given: dict[str, Any] = {"source": "shop", "secrets": [SECRET], "attempts": 1, **options}
    inbox.forward("target", url=f"http://{host}:{port}/hook", **given)
    return inbox


@pytest.mark.req("R66")
async def test_a_name_that_means_this_machine_is_not_connected_to_and_no_event_dies_of_it() -> None:
    async with HttpReceiver().listening() as service:
        inbox = forwarding_to("localhost", service.port, allow=["10.0.0.0/8"])
        async with TestInbox(inbox) as test:
            await test.deliver("shop", {"type": "order.created"}, id="msg_1")
            await test.drain(raises=False)
            assert isinstance(test.errors[0].error, WaitFor)
            assert "a loopback address" in str(test.errors[0].error)
            assert State.DEAD not in await states(test)
        (check,) = await examine_targets(inbox.forwards.values())
        assert (check.level, service.got) == (Level.FAIL, [])
        assert "127.0.0.1, a loopback address" in check.found


@pytest.mark.req("R66")
async def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever controls the name answers something harmless first, and something inside from then on."""
    asked = list[str]()

    async with HttpReceiver().listening() as harmless:

        def rebinding(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
            asked.append(str(host))
            address = "127.0.0.1" if len(asked) == 1 else "127.0.0.99"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        inbox = forwarding_to("rebinding.example.com", harmless.port, allow=["127.0.0.1"])
        async with TestInbox(inbox) as test:
            await test.deliver("shop", {"type": "order.created"}, id="msg_1")
            monkeypatch.setattr(socket, "getaddrinfo", rebinding)
            await test.drain()
            monkeypatch.undo()
    assert [one for one in asked if not one.startswith("127.")] == ["rebinding.example.com"]
    assert len(harmless.got) == 1
    assert harmless.got[0].headers["host"] == f"rebinding.example.com:{harmless.port}"
