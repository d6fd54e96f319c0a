"""A flow: the ready events of one source and type. Claims are shared among flows.

What is replayed is a flow of its own: a crowd of dead letters that an operator has processed again keeps nobody waiting
who comes in meanwhile, and does not wait for a backlog of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FLOWS_AT_MOST = 200
"""In one search, a few ms. Senders make up types; who has more of them is served in turn."""

Name = tuple[str, str, bool]
"""Source, type, and whether it is of replays."""

START: Name = ("", "", False)


class Flow(NamedTuple):
    source: str
    type: str
    first: int = 0
    """The place of its oldest ready event: a smaller one has waited longer. Only comparable within one inbox."""
    is_replay: bool = False
    """Of events in their second run or a later one."""

    @property
    def name(self) -> Name:
        return self.source, self.type, self.is_replay


class Look(NamedTuple):
    """What one look at the flows found."""

    flows: Sequence[Flow]
    is_all: bool
    """No other flow had a ready event. It is False where there was no room for more, or where the search for new ones
    was put off."""


class Round:
    """One look at the flows, in searches that go once around all of them at most, from where the look before ended."""

    def __init__(self, after: Name) -> None:
        self.after = self._began_after = after
        """Where the next search begins."""
        self._is_second_lap = after == START

    def is_over(self, searched: Sequence[Name]) -> bool:
        """After a search that brought these: whether there is no flow that none of the searches went by."""
        if len(searched) < FLOWS_AT_MOST:
            self.after = START
            was_second, self._is_second_lap = self._is_second_lap, True
            return was_second
        self.after = searched[-1]
        return self._is_second_lap and self._began_after != START and self.after >= self._began_after
