"""The proof: received = stored + duplicate + rejected, and every event that is done has its receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.route import Nothing
from landfast.recovery.audit import Report, Rest, at_once, nobody
from landfast.recovery.proof import prove


class Term(Answered):
    name: str
    value: int


class EquationView(Answered):
    """`left` is the sum of `right`."""

    name: str
    left: Term
    right: Sequence[Term]
    holds: bool
    note: str


class ProofView(Answered):
    at: datetime
    holds: bool
    lost: int
    doubled: int
    unproven: Sequence[str]
    """Some that are done and have no receipt, by source and key."""
    equations: Sequence[EquationView]
    effects: Mapping[str, int]
    began_at: int
    """The line of history from which on the ledger was asked: what was proven before is not asked for again."""
    walked_to: int
    looked_at: int


async def proof(desk: Desk, _asked: Nothing) -> ProofView:
    """Whether nothing was lost and nothing doubled: the equations, since the last proof."""
    return await work_out(desk)


async def work_out(desk: Desk, *, report: Report = nobody, rest: Rest = at_once) -> ProofView:
    """`report` and `rest` are as in `landfast.recovery.audit`: for who works it out beside others."""
    stores = await desk.stores()
    clock, chance = desk.inbox.clock, desk.inbox.chance
    found = await prove(stores.inbox, stores.ledger, clock=clock, chance=chance, report=report, rest=rest)
    return ProofView(
        at=desk.now(),
        holds=found.holds,
        lost=found.lost,
        doubled=found.doubled,
        unproven=found.unproven,
        equations=[
            EquationView(
                name=one.name,
                left=Term(name=one.left[0], value=one.left[1]),
                right=[Term(name=name, value=value) for name, value in one.right],
                holds=one.holds,
                note=one.note,
            )
            for one in found.equations
        ],
        effects={str(state): count for state, count in found.effects.items()},
        began_at=found.audit.began_at,
        walked_to=found.audit.walked_to,
        looked_at=found.audit.looked_at,
    )
