"""From what each handler came to, to what the event comes to. Death is decided by the ledger, never by the inbox."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

from landfast import telemetry
from landfast.domain.errors import StoreError, UnexpectedError
from landfast.domain.ids import HandlerName
from landfast.domain.metering import Meters
from landfast.domain.outcome import (
    NO_WRITES,
    SAME_TRACE,
    SUPERSEDED,
    Attempt,
    Claim,
    Outcome,
    Receipt,
    Settlement,
    Tries,
)
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import ReceiptStore
from landfast.processing.control.retry_budget import RetryBudget
from landfast.processing.failure_line import tell_failure
from landfast.processing.findings import Findings, Reason
from landfast.processing.handlers.error_text import (
    MESSAGE_CHARACTERS,
    logged,
    name_of,
    source_line,
    text_of,
    trace_of,
)
from landfast.processing.judge import Judgement, Ruling, judge
from landfast.processing.metering import count_outcomes
from landfast.processing.settlements import settlement_of
from landfast.processing.work import (
    Behind,
    Buried,
    ClaimedEvent,
    Deferred,
    Done,
    Failed,
    Parked,
    Paused,
    Result,
    Spent,
    Work,
)
from landfast.telemetry import metrics

COVER_WRITES = "write on tx, or on the session that it is given; if it is meant to write nothing, on(..., writes=False)"


@dataclass(slots=True)
class Conclusion:
    ledger: ReceiptStore
    clock: Clock
    chance: Chance
    budgets: dict[HandlerName, RetryBudget] = field(default_factory=dict)
    seen_writing: set[HandlerName] = field(default_factory=set)
    """Handlers that have used their transaction, and those that were warned of because they had not."""
    meters: Meters = field(default_factory=lambda: Meters(metrics.counted))

    async def conclude(self, events: Sequence[ClaimedEvent]) -> list[Settlement]:
        """What each event comes to. Some were decided before anything ran."""
        decided = [event.settlement for event in events if event.settlement is not None]
        left = [event for event in events if event.settlement is None]
        found = [self._findings(event.claim, event.results) for event in left]
        await self._bury(found)
        await self._look_back(found)
        telemetry.info_each("handler_done", _done(events))
        settlements = decided + [
            settlement_of(findings, event.ordered) for findings, event in zip(found, left, strict=True)
        ]
        count_outcomes(self.meters, events, settlements)
        return settlements

    def _findings(self, claim: Claim, results: Mapping[Work, Result]) -> Findings:
        findings = Findings(claim, dict(claim.tries))
        for work, result in results.items():
            findings.digest = work.receipt.digest
            name = work.handler.name
            match result:
                case Done():
                    self._note_done(findings, work, result)
                case Buried():
                    findings.came_to(name, Outcome.DEAD)
                    findings.tombstones.append((name, Reason.read(result.note)))
                case Spent():
                    findings.burials[work] = Reason(result.reason, message=result.message)
                case Deferred():
                    findings.waits(name, result, now=self.clock.now())
                    findings.delays.append(result.after)
                    findings.why = findings.why or Reason(result.why, message=result.message[:MESSAGE_CHARACTERS])
                case Parked():
                    findings.parks.append(result)
                    findings.parked.append(name)
                    findings.tries[name] = replace(findings.tries.get(name, Tries()), parked=result.since)
                case Paused():
                    findings.waits(name, result, now=self.clock.now())
                    findings.pauses.append(Reason(result.reason, message=result.message[:MESSAGE_CHARACTERS]))
                case Behind():
                    findings.is_behind = True
                case Failed():
                    self._judge(findings, work, result)
                case _:
                    assert_never(result)
        return findings

    def _note_done(self, findings: Findings, work: Work, done: Done) -> None:
        name = work.handler.name
        findings.came_to(name, Outcome.DONE)
        findings.is_superseded |= done.is_superseded
        if done.has_moved and work.step is not None:
            findings.stirs.append(work.step.reason)
        self._look_at_writes(name, done, findings)
        line = Attempt(name, work.event.attempt, _outcome(done), _ms(done.seconds), is_late=done.late)
        findings.attempts.append(line)

    def _look_at_writes(self, handler: HandlerName, done: Done, findings: Findings) -> None:
        """Warn once of a handler that is done, and has never used its transaction in this process: most likely it
        writes on a connection of its own, and writes again with each attempt."""
        if not done.wrote:
            findings.is_unwritten = True
            if handler not in self.seen_writing:
                telemetry.warn("no_writes", handler=handler, fix=COVER_WRITES)
        if done.ran:
            self.seen_writing.add(handler)

    def _judge(self, findings: Findings, work: Work, failed: Failed) -> None:
        handler = work.handler
        before = findings.tries.get(handler.name, Tries())
        judgement = self._judgement(work, failed, before)
        line = _line(work, failed, judgement)
        digest = hashlib.sha256(line.trace.encode("utf-8", "replace")).hexdigest()[:16]
        if digest == before.trace and judgement.ruling is Ruling.RETRY:
            line = replace(line, trace=SAME_TRACE)
        findings.attempts.append(line)
        tell_failure(work, line, failed.error, judgement)
        reason = Reason(judgement.reason, line.error, line.message, handler.name, source_line(failed.error))
        match judgement.ruling:
            case Ruling.POSTPONE:
                findings.delays.append(judgement.after)
                findings.why = reason
            case Ruling.RETRY:
                budget = self.budgets.setdefault(handler.name, RetryBudget())
                after = budget.delay(judgement.after, now=self.clock.monotonic())
                due = self.clock.now() + timedelta(seconds=after)
                uncharged = 0.0 if judgement.charged is None else judgement.after - judgement.charged
                findings.tries[handler.name] = Tries(
                    before.count + 1,
                    before.spent + failed.seconds + after - uncharged,
                    due,
                    attempts=handler.attempts,
                    total=handler.backoff.total,
                    trace=digest,
                    is_alone=before.is_alone,
                    parked=before.parked,
                    away=before.away,
                )
                findings.delays.append(after)
                findings.counted = True
                findings.why = reason
            case Ruling.BURY:
                spent = before.spent + failed.seconds
                findings.tries[handler.name] = Tries(
                    before.count + 1, spent, is_alone=before.is_alone, away=before.away
                )
                findings.burials[work] = reason
            case _:
                assert_never(judgement.ruling)

    def _judgement(self, work: Work, failed: Failed, before: Tries) -> Judgement:
        handler = work.handler

        def judged(error: BaseException) -> Judgement:
            return judge(
                error,
                fault=failed.fault,
                tries=before,
                attempts=handler.attempts,
                backoff=handler.backoff,
                seconds=failed.seconds,
                now=self.clock.now(),
                fraction=self.chance.fraction(),
            )

        try:
            return judged(failed.error)
        except BaseException as unexpected:  # noqa: BLE001 - to judge an error is to read it, and its class is the user's
            telemetry.error("not_judged", event=work.claim.event_id, handler=handler.name, error=logged(unexpected))
            return judged(UnexpectedError())

    async def _bury(self, found: Sequence[Findings]) -> None:
        """Commit the tombstones. A conflict means that somebody finished it after all: then it is done, not dead.

        Crash before the COMMIT: the lease expires, and the next claim comes to the same judgement. After it: the next
        claim finds the tombstone and only settles.
        """
        for findings in found:
            for work, reason in findings.burials.items():
                forced = frozenset({work.receipt} if findings.claim.forced else ())
                try:
                    tombstone = Receipt(work.receipt, Outcome.DEAD, reason.note())
                    [stands] = await self.ledger.bury([tombstone], forced=forced)
                except StoreError as error:
                    findings.delays.append(1.0)
                    findings.counted = True  # its next attempt is its last again, whatever the count says
                    findings.why = replace(reason, message=f"{reason.message} (not buried yet: {error})")
                    continue
                findings.came_to(work.handler.name, stands.outcome)
                if stands.outcome is Outcome.DEAD:
                    findings.tombstones.append((work.handler.name, reason))

    async def _look_back(self, found: Sequence[Findings]) -> None:
        """A handler that ran in an earlier claim may be gone from the code by now. Its tombstone still makes the event
        a dead letter, and its receipt still is one of those that make it done."""
        digests = {
            findings.digest: findings
            for findings in found
            if findings.digest is not None and findings.is_over and _was_claimed_before(findings.claim)
        }
        if not digests:
            return
        try:
            receipts = await self.ledger.receipts(list(digests))
        except StoreError as error:
            for findings in digests.values():
                findings.delays.append(1.0)
                findings.why = Reason("infrastructure", message=str(error))
            return
        for receipt in receipts:
            digests[receipt.key.digest].note(receipt)
        for findings in digests.values():
            findings.look_at_others()
            # The ledger was restored, and has forgotten it: the event has not.
            marked = (name for name, tries in findings.tries.items() if tries.came_to is Outcome.DEAD)
            findings.tombstones += [(name, Reason("tombstone")) for name in marked if name not in findings.buried]


def _outcome(done: Done) -> str:
    if done.is_superseded:
        return SUPERSEDED
    return "skipped" if not done.ran else "done" if done.wrote else NO_WRITES


def _done(events: Sequence[ClaimedEvent]) -> Iterator[dict[str, object]]:
    for event in events:
        claim = event.claim
        for work, result in event.results.items():
            if isinstance(result, Done) and result.ran:
                facts: dict[str, object] = {"handler": work.handler.name, "source": claim.source, "type": claim.type}
                yield facts | {"key": claim.key, "event": claim.event_id, "ms": round(result.seconds * 1000, 1)}


def _was_claimed_before(claim: Claim) -> bool:
    # One that only had to wait has come to nothing yet.
    has_tried = any(made != Tries(away=made.away) for made in claim.tries.values())
    return has_tried or claim.suspect or claim.run > 1


def _line(work: Work, failed: Failed, judgement: Judgement) -> Attempt:
    return Attempt(
        handler=work.handler.name,
        number=work.event.attempt,
        outcome={Ruling.RETRY: "retry", Ruling.BURY: "dead", Ruling.POSTPONE: "postpone"}[judgement.ruling],
        milliseconds=_ms(failed.seconds),
        error=name_of(failed.error),
        message=text_of(failed.error),
        trace=trace_of(failed.error),
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
