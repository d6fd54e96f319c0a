"""The comparison with others: what it draws, and that a peer that is not there is a row that says so."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from bench.peers import LANDFAST, PEERS, drawing, environments
from bench.peers.__main__ import Beside
from bench.peers.environments import NotInstalledError
from bench.peers.kills import Survived

MACHINE = {"cpu": "a & b", "kernel": "Linux", "date": "today"}


def test_a_program_that_is_missing_is_told_in_one_line() -> None:
    with pytest.raises(NotInstalledError, match="no-such-program is not on this machine"):
        environments._run("no-such-program")
    with pytest.raises(NotInstalledError, match="false failed: it said nothing"):
        environments._run("false")


def test_the_picture_has_a_bar_for_each_and_the_reason_of_who_has_none() -> None:
    rows = [
        Beside(name=LANDFAST, done_per_second=2000.0, survived=Survived(1000, 0, 0)),
        Beside(name="other <1>", done_per_second=100.0, survived=Survived(900, 3, 1)),
        Beside(name="absent", why_not="npm is not on this machine"),
    ]
    drawn = drawing.picture(MACHINE, rows)
    texts = [each.text for each in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "other <1>" in texts and "3 lost, 1 doubled" in texts and "2,000" in texts
    assert "not measured" in texts and "not tried" in texts


def test_every_peer_but_landfast_says_where_it_is_better() -> None:
    assert [peer.name for peer in PEERS if not peer.better] == [LANDFAST]
