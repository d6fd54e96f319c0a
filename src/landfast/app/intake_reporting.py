"""What an intake says of itself in its heartbeat and its rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.app.disks import disks
from landfast.app.journal_chain import JournalChain
from landfast.app.reporting import Reporter
from landfast.config import Settings
from landfast.domain.census import SourceTally
from landfast.domain.rates import Meter
from landfast.intake.counting.tally import Tally
from landfast.intake.diagnosis.only_refusals import OnlyRefusals
from landfast.intake.receive import Intake
from landfast.ports.clock import Clock
from landfast.ports.inbox import Inbox


def intake_reporter(
    settings: Settings, inbox: Inbox, intake: Intake, tally: Tally, chain: JournalChain, clock: Clock
) -> Reporter:
    only_refusals = OnlyRefusals(intake.reports.refusals, clock)
    received: dict[str, SourceTally] = {}

    def gather() -> None:
        totals = tally.totals()
        for source, total in totals.items():
            # A handshake that a report lies in the middle of takes its one back in the next.
            if new := total.received - received.get(source, SourceTally()).received:
                intake.meters.count(Meter.RECEIVED, source, count=new)
        received.update(totals)
        only_refusals.look(totals)

    def doing() -> Mapping[str, Any]:
        now = intake.ready()
        known = {"ready": now.is_ready, "layers": dict(now.layers), "in_flight": intake.in_flight}
        address = {"address": intake.address} if intake.address else {}
        return {**known, **address, **chain.meters(), "secrets": intake.reports.uses(), "disks": disks(settings)}

    return Reporter(
        inbox,
        intake.meters,
        boot=inbox.boot,
        role="intake",
        clock=clock,
        doing=doing,
        gather=gather,
        refusals=intake.reports.refusals,
    )
