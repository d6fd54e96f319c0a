"""From what each handler came to, to what the event comes to. Death is decided by the ledger, never by the inbox."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

from landfast import telemetry
from landfast.domain.errors import StoreError, UnexpectedError
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import NO_TRIES, Attempt, Claim, Outcome, Receipt, Settlement, Tries
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import ReceiptStore
from landfast.processing.control.retry_budget import RetryBudget
from landfast.processing.findings import Findings, Reason
from landfast.processing.handlers.error_text import MESSAGE_CHARACTERS, logged, name_of, text_of, trace_of
from landfast.processing.judge import Judgement, Ruling, judge
from landfast.processing.work import Buried, ClaimedEvent, Deferred, Done, Failed, Paused, Result, Spent, Work

SAME_TRACE = "(the same trace as the attempt before)"
"""Instead of one: an event that fails for three days has some 140 attempts, and traces are nine tenths of each."""

PAUSED_LOOK_SECONDS = 60.0
"""One handler of an event is switched off, and another has to be tried again: neither waits for the other longer."""

SLOW_NEIGHBOUR = "slow_neighbour"
"""Why an event is given back that was claimed with one that takes long."""

RECALLED = "recalled"
"""Why an event is given back that an operator took out of a worker's hand."""

GIVES_BACK = frozenset({"stopping", SLOW_NEIGHBOUR, RECALLED})
"""Reasons for which an event is ready again at once."""

_TRIED_AND_DONE = Tries(came_to=Outcome.DONE)
# Made once, because nearly every event comes to it.


@dataclass(slots=True)
class Conclusion:
    ledger: ReceiptStore
    clock: Clock
    chance: Chance
    budgets: dict[HandlerName, RetryBudget] = field(default_factory=dict)

    async def conclude(self, events: Sequence[ClaimedEvent]) -> list[Settlement]:
        """What each event comes to. Some were decided before anything ran."""
        decided = [event.settlement for event in events if event.settlement is not None]
        found = [self._findings(event.claim, event.results) for event in events if event.settlement is None]
        await self._bury(found)
        await self._look_back(found)
        return decided + [_settlement(findings) for findings in found]

    def _findings(self, claim: Claim, results: Mapping[Work, Result]) -> Findings:
        findings = Findings(claim, dict(claim.tries))
        for work, result in results.items():
            findings.digest = work.receipt.digest
            name = work.handler.name
            match result:
                case Done():
                    findings.tries[name] = _TRIED_AND_DONE
                    outcome = "done" if result.ran else "skipped"
                    findings.attempts.append(Attempt(name, work.event.attempt, outcome, _ms(result.seconds)))
                case Buried():
                    findings.tries[name] = Tries(came_to=Outcome.DEAD)
                    findings.tombstones.append((name, Reason.read(result.note)))
                case Spent():
                    findings.burials[work] = Reason(result.reason, message=result.message)
                case Deferred():
                    findings.delays.append(result.after)
                    findings.why = findings.why or Reason(result.why, message=result.message[:MESSAGE_CHARACTERS])
                case Paused():
                    findings.pauses.append(Reason(result.reason, message=result.message[:MESSAGE_CHARACTERS]))
                case Failed():
                    self._judge(findings, work, result)
                case _:
                    assert_never(result)
        return findings

    def _judge(self, findings: Findings, work: Work, failed: Failed) -> None:
        handler = work.handler
        before = findings.tries.get(handler.name, Tries())
        judgement = self._judgement(work, failed, before)
        line = _line(work, failed, judgement)
        digest = hashlib.sha256(line.trace.encode("utf-8", "replace")).hexdigest()[:16]
        if digest == before.trace and judgement.ruling is Ruling.RETRY:
            line = replace(line, trace=SAME_TRACE)
        findings.attempts.append(line)
        _log(work, line, failed.error, judgement)
        reason = Reason(judgement.reason, line.error, line.message)
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
                )
                findings.delays.append(after)
                findings.counted = True
                findings.why = reason
            case Ruling.BURY:
                findings.tries[handler.name] = Tries(before.count + 1, before.spent + failed.seconds)
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
                findings.tries[work.handler.name] = Tries(came_to=stands.outcome)
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
            findings = digests[receipt.key.digest]
            name, is_of_this_run = receipt.key.handler, receipt.key.run == findings.claim.run
            if receipt.outcome is Outcome.DEAD and is_of_this_run and name not in findings.buried:
                findings.tombstones.append((name, Reason.read(receipt.result or b"{}")))
            elif receipt.outcome is Outcome.DONE and receipt.key.run <= findings.claim.run:
                findings.tries[name] = _TRIED_AND_DONE
        for findings in digests.values():
            # The ledger was restored, and has forgotten it: the event has not.
            marked = (name for name, tries in findings.tries.items() if tries.came_to is Outcome.DEAD)
            findings.tombstones += [(name, Reason("tombstone")) for name in marked if name not in findings.buried]


def _was_claimed_before(claim: Claim) -> bool:
    return bool(claim.tries) or claim.suspect or claim.run > 1


def _settlement(findings: Findings) -> Settlement:
    claim = findings.claim
    signal, handler, why = Signal.FINISH, "", Reason()
    if findings.delays:
        signal, why = Signal.RETRY if findings.counted else Signal.POSTPONE, findings.why or why
        if why.reason in GIVES_BACK and not findings.counted:
            signal = Signal.RELEASE
        if findings.pauses:
            findings.delays.append(PAUSED_LOOK_SECONDS)
    elif findings.pauses:
        signal, why = Signal.PAUSE, findings.pauses[0]
    elif findings.tombstones:
        signal, (handler, why) = Signal.BURY, findings.tombstones[0]
    return Settlement(
        event_id=claim.event_id,
        run=claim.run,
        token=claim.token,
        signal=signal,
        due_in=min(findings.delays, default=0.0),
        tries=findings.tries if signal is not Signal.FINISH else NO_TRIES,
        attempts=tuple(findings.attempts),
        handler=handler,
        reason=why.reason,
        error=why.error,
        message=why.message,
        handlers=findings.done if signal is Signal.FINISH else (),
    )


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


def _log(work: Work, line: Attempt, error: BaseException, judgement: Judgement) -> None:
    # Without its message, which may hold what the sender sent. That is in the inbox, where erasure reaches it.
    telemetry.warn(
        "handler_failed",
        handler=line.handler,
        source=work.claim.source,
        type=work.claim.type,
        key=work.claim.key,
        event=work.claim.event_id,
        attempt=f"{line.number}/{work.handler.attempts}" if work.handler.attempts else line.number,
        error=logged(error),
        then="dead letter" if judgement.ruling is Ruling.BURY else f"{line.outcome} in {judgement.after:.1f} s",
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
