"""Lanes: what a claim may walk, and what goes on when an event is passed. There is one writer at a time, so nobody
has to be locked out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from landfast.domain.lane import Front, Lane
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim, looked_at_again
from landfast.inboxes.sqlite.statements import ask

Leased = Mapping[str, Any]
"""What a claim asks for: token, now, until, and a limit where it may pull."""

READY: Leased = {"token": None, "now": None, "until": None}


def advance(connection: apsw.Connection, lanes: Iterable[Lane]) -> None:
    """Where nothing earlier holds its first queued event, that is ready again, and as old as it was."""
    for source, lane in lanes:
        for body_seq, event in ask(connection, "lane_front", _named(source, lane) | {"state": State.QUEUED}):
            _promote(connection, body_seq, event, READY)


def walk(connection: apsw.Connection, leased: Sequence[int], asked: Leased) -> tuple[list[int], dict[Lane, Front]]:
    """What was claimed, with what is queued right after it where it has the front of its lane, and the front of each
    lane. A suspect runs alone, and pulls nothing along."""
    fronts = _fronts(connection, leased, asked)
    pulled: list[int] = []
    for (source, lane), front in fronts.items():
        if front.may_pull and len(pulled) < asked.get("limit", 0):
            limit = asked["limit"] - len(pulled)
            pulled += _pull(connection, _named(source, lane) | {"bound": front.at_work, "limit": limit}, asked)
    if pulled:
        fronts |= _fronts(connection, pulled, asked)
    return [*leased, *pulled], fronts


def look_again(
    connection: apsw.Connection, claims: Sequence[Claim], leased: Sequence[int], asked: Leased
) -> Sequence[Claim]:
    """What of a claim is left, where some of it was given back: that is not ours any more, and may hold its lane."""
    return looked_at_again(claims, _fronts(connection, leased, asked))


def _pull(connection: apsw.Connection, lane: dict[str, Any], asked: Leased) -> list[int]:
    pulled: list[int] = []
    for body_seq, event, state, suspect in ask(connection, "lane_queue", lane):
        if state != State.QUEUED or suspect:
            break
        pulled.append(_promote(connection, body_seq, event, asked))
    return pulled


def _promote(connection: apsw.Connection, body_seq: int, event: bytes, asked: Leased) -> int:
    lease = {name: asked[name] for name in READY}
    ((seq,),) = ask(connection, "lane_promote", {"body_seq": body_seq, "event_id": event, **lease})
    ask(connection, "leave_shelf", (body_seq, event))
    return int(seq)


def _fronts(connection: apsw.Connection, places: Sequence[int], asked: Leased) -> dict[Lane, Front]:
    """Of the lanes that these hold."""
    found = ask(connection, "lane_fronts", {"places": json.dumps(places), "token": asked["token"]})
    return {(source, lane): Front(*first) for source, lane, *first in found}


def _named(source: str, lane: str) -> dict[str, Any]:
    return {"source": source, "lane": lane}
