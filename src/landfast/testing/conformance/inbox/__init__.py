"""What every inbox driver must do: each sentence of `ports.inbox` and `ports.store` as a test.

class TestSqlite(InboxConformance):
    @pytest.fixture
    async def bench(self, tmp_path): ...    # yields a Bench: a migrated, empty inbox, closed afterwards
"""

from __future__ import annotations

from landfast.testing.conformance.inbox.alerts import AlertConformance
from landfast.testing.conformance.inbox.audit import AuditConformance
from landfast.testing.conformance.inbox.bench import Bench
from landfast.testing.conformance.inbox.claim import ClaimConformance
from landfast.testing.conformance.inbox.claim_event import ClaimEventConformance
from landfast.testing.conformance.inbox.counts import CountConformance
from landfast.testing.conformance.inbox.erase import EraseConformance
from landfast.testing.conformance.inbox.failures import FailureConformance
from landfast.testing.conformance.inbox.find import FindConformance
from landfast.testing.conformance.inbox.grid import GridConformance
from landfast.testing.conformance.inbox.held import HeldConformance
from landfast.testing.conformance.inbox.jobs import JobConformance
from landfast.testing.conformance.inbox.lane_ends import LaneEndConformance
from landfast.testing.conformance.inbox.lanes import LaneConformance
from landfast.testing.conformance.inbox.memory import MemoryConformance
from landfast.testing.conformance.inbox.operate import OperateConformance
from landfast.testing.conformance.inbox.operator_log import OperatorLogConformance
from landfast.testing.conformance.inbox.parked import ParkedConformance
from landfast.testing.conformance.inbox.proofs import ProofConformance
from landfast.testing.conformance.inbox.rates import RatesConformance
from landfast.testing.conformance.inbox.reconciliation import ReconciliationConformance
from landfast.testing.conformance.inbox.record import RecordConformance
from landfast.testing.conformance.inbox.retention import RetentionConformance
from landfast.testing.conformance.inbox.room import RoomConformance
from landfast.testing.conformance.inbox.settle import SettleConformance
from landfast.testing.conformance.inbox.store import StoreConformance
from landfast.testing.conformance.inbox.suspect import SuspectConformance
from landfast.testing.conformance.inbox.tokens import TokenConformance
from landfast.testing.conformance.inbox.turnstile import TurnstileConformance
from landfast.testing.conformance.inbox.unhandled import UnhandledConformance

__all__ = ["Bench", "InboxConformance"]


class InboxConformance(
    RecordConformance,
    CountConformance,
    AuditConformance,
    ClaimConformance,
    ClaimEventConformance,
    SuspectConformance,
    GridConformance,
    SettleConformance,
    LaneConformance,
    LaneEndConformance,
    UnhandledConformance,
    OperateConformance,
    HeldConformance,
    ParkedConformance,
    ProofConformance,
    EraseConformance,
    RetentionConformance,
    FindConformance,
    FailureConformance,
    JobConformance,
    MemoryConformance,
    AlertConformance,
    RatesConformance,
    OperatorLogConformance,
    ReconciliationConformance,
    TokenConformance,
    RoomConformance,
    TurnstileConformance,
    StoreConformance,
):
    """Subclass it and give it a `bench`."""
