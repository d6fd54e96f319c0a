"""Which group of handlers has its turn, and which handlers are kept free for a group that others overtake."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

OVERTAKEN_PATIENCE_SECONDS = 0.1
"""So long after others have overtaken a group, handlers are kept free for it: some claims of quick events, because its
turn may come in a moment anyway. With slow events the spans grow by themselves."""

KEPT_SPAN_TENTHS = 128
"""The longest span for which handlers are kept free, in tenths of a second: about 13 s. No event waits longer for a
handler that hangs and that it does not need. Two handlers that both run for longer are free together by chance only."""

REMEMBERED_LOOKS = 3
"""A group that so many looks did not find is taken for empty. A look brings 200 flows; where there are more, it finds a
group only now and then."""


class Sharer(NamedTuple):
    """A handler or a source, which has a share of the hands; or the replays, which have turns of their own."""

    kind: str
    name: str


Group = frozenset[Sharer]
"""The handlers of an event, and its source. Events that have the same ones wait together."""


def handlers_in(group: Group) -> Group:
    return frozenset(one for one in group if one.kind == "handler")


@dataclass(slots=True)
class Overtaken:
    since: float
    seen: int
    """The last look that found events of it."""


@dataclass(slots=True)
class Turns:
    _last: dict[Group, int] = field(default_factory=dict)
    """The number of the choice that took it last."""
    _choices: int = 0
    _looks: int = 0
    _overtaken: dict[Group, Overtaken] = field(default_factory=dict)

    def last(self, group: Group) -> int:
        return self._last.get(group, 0)

    def kept(self, groups: Collection[Group], *, full: Group, slow: Group, now: float) -> Mapping[Sharer, Group]:
        """Which handlers are kept free, and for which group. An event with two handlers needs both at the same moment.
        A hand that is done with one of them would take it again, and that moment would never come."""
        self._looked(groups)
        kept: dict[Sharer, Group] = {}
        for group, found in sorted(self._overtaken.items(), key=lambda each: each[1].since):
            wanted = handlers_in(group)
            if _is_kept(now - found.since) and wanted.isdisjoint(kept):
                # A handler that hangs keeps nobody else waiting: quick ones are kept once the slow ones are free.
                held_up = wanted & slow if wanted & slow & full else wanted
                kept.update(dict.fromkeys(held_up, group))
        return kept

    def took(self, chosen: Group, groups: Collection[Group], *, now: float) -> None:
        for group in groups:
            if self.last(group) < self.last(chosen):
                self._overtaken.setdefault(group, Overtaken(now, self._looks))
        self._overtaken.pop(chosen, None)
        self._choices += 1
        self._last[chosen] = self._choices

    def _looked(self, groups: Collection[Group]) -> None:
        self._looks += 1
        for group in groups:
            if found := self._overtaken.get(group):
                found.seen = self._looks
        for group in [one for one, found in self._overtaken.items() if self._looks - found.seen > REMEMBERED_LOOKS]:
            del self._overtaken[group]


def _is_kept(seconds: float) -> bool:
    """Whether handlers are kept free for a group that was overtaken so long ago: in the 2nd tenth of a second, in the
    5th to 8th, the 17th to 32nd, and so on. So nobody is kept waiting for longer than the group has waited, as one of
    its handlers may hang; and one of these spans is longer than its handlers run."""
    tenths = int(seconds / OVERTAKEN_PATIENCE_SECONDS)
    if tenths < 2 * KEPT_SPAN_TENTHS:
        return tenths.bit_length() % 2 == 1
    return tenths // KEPT_SPAN_TENTHS % 2 == 0
