"""From what each handler came to, to what the event comes to. Death is decided by the ledger, never by the inbox."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

import msgspec

from landfast import telemetry
from landfast.domain.errors import StoreError, UnexpectedError
from landfast.domain.ids import HandlerName, ReceiptDigest
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import NO_TRIES, Attempt, Claim, Outcome, Receipt, Settlement, Tries
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.processing.budget import RetryBudget
from landfast.processing.error_text import MESSAGE_AT_MOST, logged, name_of, text_of, trace_of
from landfast.processing.judge import Judgement, Ruling, judge
from landfast.processing.work import Buried, Deferred, Done, Failed, Paused, Result, Spent, Work

SAME_TRACE = "(the same trace as the attempt before)"
"""Instead of one: an event that fails for three days has some 140 attempts, and traces are nine tenths of each."""

LOOKS_AGAIN = 60.0
"""Seconds until an event is looked at of which one handler is switched off and another has to be tried again: neither
waits for the other longer than this."""

SLOW_NEIGHBOUR = "slow_neighbour"
"""Why an event is given back that was claimed with one that takes long."""

RECALLED = "recalled"
"""Why an event is given back that an operator took out of a worker's hand."""

GIVES_BACK = frozenset({"stopping", SLOW_NEIGHBOUR, RECALLED})
"""Reasons for which an event is ready again at once."""

_TRIED_AND_DONE = Tries(came_to=Outcome.DONE)
# Made once, because nearly every event comes to it.


@dataclass(slots=True)
class Tomb:
    """A handler that is to be buried, or was."""

    reason: str = ""
    error: str = ""
    message: str = ""

    @classmethod
    def read(cls, note: bytes) -> Tomb:
        try:
            return msgspec.json.decode(note, type=cls)
        except msgspec.MsgspecError:  # written by somebody else, or by another version
            return cls("tombstone", message=note.decode("utf-8", "replace")[:MESSAGE_AT_MOST])

    def note(self) -> bytes:
        return msgspec.json.encode({"reason": self.reason, "error": self.error, "message": self.message})


@dataclass(slots=True)
class Docket:
    """One event's case, filled in handler by handler."""

    claim: Claim
    tries: dict[HandlerName, Tries]
    digest: ReceiptDigest | None = None
    attempts: list[Attempt] = field(default_factory=list)
    burials: dict[Work, Tomb] = field(default_factory=dict)
    """To be committed as tombstones."""
    tombs: list[tuple[str, Tomb]] = field(default_factory=list)
    """Committed tombstones, with their handlers."""
    pauses: list[Tomb] = field(default_factory=list)
    """Handlers that are switched off, each with its switch."""
    delays: list[float] = field(default_factory=list)
    counted: bool = False
    """At least one of the delays follows a counted attempt."""
    why: Tomb | None = None
    """Why it waits, for whoever looks at it meanwhile."""

    @property
    def is_over(self) -> bool:
        return not self.delays and not self.pauses

    @property
    def done(self) -> tuple[HandlerName, ...]:
        return tuple([name for name, tries in self.tries.items() if tries.came_to is Outcome.DONE])

    @property
    def buried(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.tombs)


@dataclass(slots=True)
class Conclusion:
    ledger: Ledger
    clock: Clock
    chance: Chance
    budgets: dict[HandlerName, RetryBudget] = field(default_factory=dict)

    async def conclude(self, cases: Sequence[tuple[Claim, Mapping[Work, Result]]]) -> list[Settlement]:
        dockets = [self._open(claim, results) for claim, results in cases]
        await self._bury(dockets)
        await self._look_back(dockets)
        return [_settlement(docket) for docket in dockets]

    def _open(self, claim: Claim, results: Mapping[Work, Result]) -> Docket:
        docket = Docket(claim, dict(claim.tries))
        for work, result in results.items():
            docket.digest = work.receipt.digest
            name = work.handler.name
            match result:
                case Done():
                    docket.tries[name] = _TRIED_AND_DONE
                    outcome = "done" if result.ran else "skipped"
                    docket.attempts.append(Attempt(name, work.event.attempt, outcome, _ms(result.seconds)))
                case Buried():
                    docket.tries[name] = Tries(came_to=Outcome.DEAD)
                    docket.tombs.append((name, Tomb.read(result.note)))
                case Spent():
                    docket.burials[work] = Tomb(result.reason, message=result.message)
                case Deferred():
                    docket.delays.append(result.after)
                    docket.why = docket.why or Tomb(result.why, message=result.message[:MESSAGE_AT_MOST])
                case Paused():
                    docket.pauses.append(Tomb(result.reason, message=result.message[:MESSAGE_AT_MOST]))
                case Failed():
                    self._judge(docket, work, result)
                case _:
                    assert_never(result)
        return docket

    def _judge(self, docket: Docket, work: Work, failed: Failed) -> None:
        handler = work.handler
        before = docket.tries.get(handler.name, Tries())
        judgement = self._judgement(work, failed, before)
        line = _line(work, failed, judgement)
        digest = hashlib.sha256(line.trace.encode("utf-8", "replace")).hexdigest()[:16]
        if digest == before.trace and judgement.ruling is Ruling.RETRY:
            line = replace(line, trace=SAME_TRACE)
        docket.attempts.append(line)
        _log(work, line, failed.error, judgement)
        tomb = Tomb(judgement.reason, line.error, line.message)
        match judgement.ruling:
            case Ruling.POSTPONE:
                docket.delays.append(judgement.after)
                docket.why = tomb
            case Ruling.RETRY:
                budget = self.budgets.setdefault(handler.name, RetryBudget())
                after = budget.delay(judgement.after, now=self.clock.monotonic())
                due = self.clock.now() + timedelta(seconds=after)
                uncharged = 0.0 if judgement.charged is None else judgement.after - judgement.charged
                docket.tries[handler.name] = Tries(
                    before.count + 1,
                    before.spent + failed.seconds + after - uncharged,
                    due,
                    attempts=handler.attempts,
                    total=handler.backoff.total,
                    trace=digest,
                )
                docket.delays.append(after)
                docket.counted = True
                docket.why = tomb
            case Ruling.BURY:
                docket.tries[handler.name] = Tries(before.count + 1, before.spent + failed.seconds)
                docket.burials[work] = tomb
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

    async def _bury(self, dockets: Sequence[Docket]) -> None:
        """Commit the tombstones. A conflict means that somebody finished it after all: then it is done, not dead.

        Crash before the COMMIT: the lease expires, and the next claim comes to the same judgement. After it: the next
        claim finds the tombstone and only settles.
        """
        for docket in dockets:
            for work, tomb in docket.burials.items():
                forced = frozenset({work.receipt} if docket.claim.forced else ())
                try:
                    tombstone = Receipt(work.receipt, Outcome.DEAD, tomb.note())
                    [stands] = await self.ledger.bury([tombstone], forced=forced)
                except StoreError as error:
                    docket.delays.append(1.0)
                    docket.counted = True  # its next attempt is its last again, whatever the count says
                    docket.why = replace(tomb, message=f"{tomb.message} (not buried yet: {error})")
                    continue
                docket.tries[work.handler.name] = Tries(came_to=stands.outcome)
                if stands.outcome is Outcome.DEAD:
                    docket.tombs.append((work.handler.name, tomb))

    async def _look_back(self, dockets: Sequence[Docket]) -> None:
        """A handler that ran in an earlier claim may be gone from the code by now. Its tombstone still makes the event
        a dead letter, and its receipt still is one of those that make it done."""
        digests = {
            docket.digest: docket
            for docket in dockets
            if docket.digest is not None and docket.is_over and _was_claimed_before(docket.claim)
        }
        if not digests:
            return
        try:
            receipts = await self.ledger.receipts(list(digests))
        except StoreError as error:
            for docket in digests.values():
                docket.delays.append(1.0)
                docket.why = Tomb("infrastructure", message=str(error))
            return
        for receipt in receipts:
            docket = digests[receipt.key.digest]
            name, is_of_this_run = receipt.key.handler, receipt.key.run == docket.claim.run
            if receipt.outcome is Outcome.DEAD and is_of_this_run and name not in docket.buried:
                docket.tombs.append((name, Tomb.read(receipt.result or b"{}")))
            elif receipt.outcome is Outcome.DONE and receipt.key.run <= docket.claim.run:
                docket.tries[name] = _TRIED_AND_DONE
        for docket in digests.values():
            # The ledger was restored, and has forgotten it: the event has not.
            marked = (name for name, tries in docket.tries.items() if tries.came_to is Outcome.DEAD)
            docket.tombs += [(name, Tomb("tombstone")) for name in marked if name not in docket.buried]


def _was_claimed_before(claim: Claim) -> bool:
    return bool(claim.tries) or claim.suspect or claim.run > 1


def _settlement(docket: Docket) -> Settlement:
    claim = docket.claim
    if docket.delays:
        signal, who, tomb = Signal.RETRY if docket.counted else Signal.POSTPONE, "", docket.why
        if docket.why is not None and docket.why.reason in GIVES_BACK and not docket.counted:
            signal = Signal.RELEASE
        if docket.pauses:
            docket.delays.append(LOOKS_AGAIN)
    elif docket.pauses:
        signal, who, tomb = Signal.PAUSE, "", docket.pauses[0]
    elif docket.tombs:
        signal, (who, tomb) = Signal.BURY, docket.tombs[0]
    else:
        signal, who, tomb = Signal.FINISH, "", None
    return Settlement(
        event_id=claim.event_id,
        run=claim.run,
        token=claim.token,
        signal=signal,
        due_in=min(docket.delays, default=0.0),
        tries=docket.tries if signal is not Signal.FINISH else NO_TRIES,
        attempts=tuple(docket.attempts),
        handler=who,
        reason=tomb.reason if tomb else "",
        error=tomb.error if tomb else "",
        message=tomb.message if tomb else "",
        handlers=docket.done if signal is Signal.FINISH else (),
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
