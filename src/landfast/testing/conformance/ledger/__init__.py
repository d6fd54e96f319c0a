"""What every ledger driver must do: each sentence of `ports.ledger` and `ports.store` as a test.

class TestSqlite(LedgerConformance):
    @pytest.fixture
    async def desk(self, tmp_path): ...    # yields a Desk: a migrated, empty ledger, closed afterwards
"""

from __future__ import annotations

from landfast.testing.conformance.ledger.arrivals import ArrivalConformance
from landfast.testing.conformance.ledger.audits import AuditConformance
from landfast.testing.conformance.ledger.desk import BUSINESS, Desk
from landfast.testing.conformance.ledger.effects import EffectConformance
from landfast.testing.conformance.ledger.erase import EraseConformance
from landfast.testing.conformance.ledger.expiry import ExpiryConformance
from landfast.testing.conformance.ledger.grid import EffectGridConformance
from landfast.testing.conformance.ledger.lane_memory import LaneStateConformance, MarkConformance
from landfast.testing.conformance.ledger.receipts import ReceiptConformance, TombstoneConformance
from landfast.testing.conformance.ledger.replays import ReplayConformance
from landfast.testing.conformance.ledger.sql import SqlConformance
from landfast.testing.conformance.ledger.steps import StepConformance
from landfast.testing.conformance.ledger.store import StoreConformance
from landfast.testing.conformance.ledger.transactions import EndingConformance, GuardConformance, HandleConformance
from landfast.testing.conformance.ledger.writes import WritesConformance

__all__ = ["BUSINESS", "Desk", "LedgerConformance", "StackConformance"]


class StackConformance(
    ReceiptConformance,
    TombstoneConformance,
    ReplayConformance,
    MarkConformance,
    LaneStateConformance,
    HandleConformance,
    WritesConformance,
    SqlConformance,
    GuardConformance,
    EndingConformance,
    EffectConformance,
    StepConformance,
    ArrivalConformance,
    AuditConformance,
    EraseConformance,
    ExpiryConformance,
    StoreConformance,
):
    """For a stack that sends the statements of a ledger that keeps all of `LedgerConformance`: what each signal does to
    an effect is theirs to say, and not the stack's."""


class LedgerConformance(StackConformance, EffectGridConformance):
    """Subclass it and give it a `desk`."""
