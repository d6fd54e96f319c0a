"""What every inbox driver must do: each sentence of `ports.inbox` and `ports.store` as a test.

class TestSqlite(InboxConformance):
    @pytest.fixture
    async def bench(self, tmp_path): ...    # yields a Bench: a migrated, empty inbox, closed afterwards
"""

from __future__ import annotations

from landfast.testing.conformance.inbox.audit import AuditConformance
from landfast.testing.conformance.inbox.bench import Bench
from landfast.testing.conformance.inbox.claim import ClaimConformance
from landfast.testing.conformance.inbox.counts import CountConformance
from landfast.testing.conformance.inbox.erase import EraseConformance
from landfast.testing.conformance.inbox.find import FindConformance
from landfast.testing.conformance.inbox.grid import GridConformance
from landfast.testing.conformance.inbox.held import HeldConformance
from landfast.testing.conformance.inbox.memory import MemoryConformance
from landfast.testing.conformance.inbox.operate import OperateConformance
from landfast.testing.conformance.inbox.proofs import ProofConformance
from landfast.testing.conformance.inbox.record import RecordConformance
from landfast.testing.conformance.inbox.settle import SettleConformance
from landfast.testing.conformance.inbox.store import StoreConformance
from landfast.testing.conformance.inbox.suspect import SuspectConformance
from landfast.testing.conformance.inbox.unhandled import UnhandledConformance

__all__ = ["Bench", "InboxConformance"]


class InboxConformance(
    RecordConformance,
    CountConformance,
    AuditConformance,
    ClaimConformance,
    SuspectConformance,
    GridConformance,
    SettleConformance,
    UnhandledConformance,
    OperateConformance,
    HeldConformance,
    ProofConformance,
    EraseConformance,
    FindConformance,
    MemoryConformance,
    StoreConformance,
):
    """Subclass it and give it a `bench`."""
