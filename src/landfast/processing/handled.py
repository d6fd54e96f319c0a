"""What ran inside a transaction, and what each of its events came to by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from landfast.domain.arrival import Arrived
from landfast.domain.effect import StagedEffect
from landfast.domain.errors import UserError
from landfast.domain.lane_memory import StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.processing.handlers.results import encoded_result
from landfast.processing.handlers.stage import Stage
from landfast.processing.handlers.transaction import BlockingTransaction, Transaction
from landfast.processing.invoke import HandlerRaisedError
from landfast.processing.work import Buried, Done, Parked, Result, Spent, Superseded, Work

SUPERSEDED_NOTE = b'{"landfast":"superseded"}'
"""The result in a receipt without a handler: whoever finds it says the same of the event."""


@dataclass(slots=True)
class Handled:
    """What ran inside the transaction, to be committed with it."""

    seconds: dict[ReceiptKey, float] = field(default_factory=dict)
    results: list[tuple[ReceiptKey, bytes]] = field(default_factory=list)
    effects: list[StagedEffect] = field(default_factory=list)
    late: frozenset[ReceiptKey] = frozenset()
    """Those whose lane had gone on without them."""
    unused: set[ReceiptKey] = field(default_factory=set)
    """Of handlers that wrote nothing here and staged nothing, and did not say that they would not."""
    moved: set[ReceiptKey] = field(default_factory=set)
    """Of those after which an entity is in another state."""
    superseded: set[ReceiptKey] = field(default_factory=set)
    kept: dict[Work, Parked | Spent] = field(default_factory=dict)
    """Those that their lifecycle kept from running."""
    has_committed: bool = False

    def set_aside(self, work: Work, verdict: Superseded | Parked | Spent) -> None:
        if isinstance(verdict, Superseded):
            self.superseded.add(work.receipt)
            self.results.append((work.receipt, SUPERSEDED_NOTE))
        else:
            self.kept[work] = verdict

    def let_out(self, key: StateKey) -> list[Work]:
        """Those to look at again, because their entity has just moved. They are kept no longer: each is looked at once
        for all the moves before its turn, or it would run as often."""
        found = [work for work, kept in self.kept.items() if isinstance(kept, Parked) and kept.step.key == key]
        for work in found:
            del self.kept[work]
        return found

    @property
    def is_nothing(self) -> bool:
        """All of them were kept from running: there is nothing to commit."""
        return bool(self.kept) and not self.seconds and not self.superseded

    def has_reached(self, work: Work) -> bool:
        """Whether its receipt is to be committed."""
        return work.receipt in self.seconds or work.receipt in self.superseded

    def note(self, receipt: ReceiptKey, lent: Transaction | BlockingTransaction, stage: Stage, result: Any) -> None:
        """What the handler has asked for and what it returned. HandlerRaisedError where either cannot be committed."""
        try:
            lent.check_awaited()
        except UserError as error:
            raise HandlerRaisedError(error) from error
        if result is not None:
            self.results.append((receipt, encoded_result("handler", result)))
        self.effects.extend(stage.staged.values())


def results_of(works: Sequence[Work], found: dict[ReceiptKey, Receipt | None], handled: Handled) -> dict[Work, Result]:
    results: dict[Work, Result] = {}
    for work in works:
        receipt = found[work.receipt]
        if receipt is not None:
            results[work] = _found(receipt)
        elif work in handled.kept:
            results[work] = handled.kept[work]
        elif work.receipt in handled.superseded:
            results[work] = Done(ran=False, is_superseded=True)
        elif work.receipt in handled.seconds:
            results[work] = Done(
                handled.seconds[work.receipt],
                late=work.receipt in handled.late,
                wrote=work.receipt not in handled.unused,
                has_moved=work.receipt in handled.moved,
            )
    return results


def arrivals_of(works: Sequence[Work], handled: Handled) -> list[Arrived]:
    """What others may wait for, of the events whose handlers ran."""
    return [work.arrival for work in works if work.arrival is not None and work.receipt in handled.seconds]


def _found(receipt: Receipt) -> Done | Buried:
    """By somebody before us, who may have died before it could tell what it moved."""
    if receipt.outcome is not Outcome.DONE:
        return Buried(receipt.result or b"{}")
    if receipt.result == SUPERSEDED_NOTE:
        return Done(ran=False, is_superseded=True)
    return Done(ran=False, has_moved=True)
