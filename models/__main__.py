"""Explore the design, which must hold, and its weakened variants, each of which must be caught.

python -m models            within seconds: part of `make check`
python -m models --deep     more runs, workers and effects: a minute or two
python -m models --traces   and how each variant was caught
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from models.arrivals import Arrivals
from models.explore import Model, Verdict, explore
from models.graph import Graph
from models.intake import Intake
from models.lanes import Lane
from models.loops import Loops
from models.receipt_first import Design
from models.suspects import Suspects


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    model: Model[Any]
    holds: bool = True
    """What is expected of it."""


_FIRST = frozenset({0})
DESIGN = (
    Row("intake: two deliveries of one event", Intake()),
    Row("three workers, one handler", Design(workers=3)),
    Row("two workers, two handlers", Design(workers=2, handlers=2)),
    Row("two workers, two runs, old deploys", Design(workers=2, runs=2, deploys=True)),
    Row("one worker, two handlers, two runs", Design(workers=1, handlers=2, runs=2)),
    Row("one worker, two handlers, one removed", Design(workers=1, handlers=2, removes=True)),
    Row("two workers, an effect", Design(workers=2, effects=True)),
    Row("suspects in a process of their own", Suspects()),
    Row("suspects between the others", Suspects(run="between")),
    Row("a step after two others", Graph()),
    Row("a step that waits for another event", Arrivals()),
    Row("loops that end, a handler that cancels itself", Loops()),
    Row("a lane: the first event may fail and die", Lane(fails=_FIRST)),
    Row("a lane: it comes late as well", Lane(arrives=_FIRST, fails=_FIRST)),
    Row("a lane: dead is skipped", Lane(arrives=_FIRST, fails=_FIRST, block=False)),
    Row("a lane: two ordered handlers, one paused", Lane(workers=1, handlers=2, fails=_FIRST, pauses=1)),
    Row("a lane: the first event is held", Lane(held=_FIRST)),
    Row("a lane: the first event opens elsewhere", Lane(sealed=_FIRST)),
    Row("a lane: ordered while an old worker has it", Lane(untaken=_FIRST)),
    Row("a lane beside a handler without order", Lane(other_dies=True, fails=frozenset({1}))),
)
DEEP = (
    Row("a lane: three events, in any order", Lane(events=3, arrives=frozenset({0, 1, 2}), fails=_FIRST)),
    Row("a lane: three workers", Lane(workers=3, arrives=_FIRST, fails=_FIRST)),
    Row("a lane: two workers, two ordered handlers", Lane(handlers=2, fails=_FIRST)),
    Row("a lane: two handlers, late, paused", Lane(handlers=2, arrives=_FIRST, pauses=1)),
    Row("a lane: held, paused, dead is skipped", Lane(held=_FIRST, fails=_FIRST, pauses=1, block=False)),
    Row("two workers, two handlers, one removed", Design(workers=2, handlers=2, removes=True)),
    Row("two workers, three runs", Design(workers=2, runs=3)),
    Row("two workers, two runs, an effect", Design(workers=2, runs=2, effects=True)),
    Row("three workers, two runs", Design(workers=3, runs=2)),
)
_TWO_RUNS: dict[str, Any] = {"workers": 2, "runs": 2, "deploys": True}
WEAKENED = (
    Row("answers before it is durable", Intake("answer_first"), holds=False),
    Row("the cache knows it before it is durable", Intake("remember_first"), holds=False),
    Row("no unique key in the inbox", Intake("no_unique_key"), holds=False),
    Row("no receipt", Design(weakness="no_receipt"), holds=False),
    Row("the receipt in a second transaction", Design(weakness="receipt_later"), holds=False),
    Row("buries by the inbox's state, no tombstone", Design(weakness="bury_by_state"), holds=False),
    Row(
        "forgets a tombstone while another waits",
        Design(workers=1, handlers=2, removes=True, weakness="tombstone_forgotten"),
        holds=False,
    ),
    Row("buries without looking at what stands", Design(weakness="bury_unheeding"), holds=False),
    Row("buries without looking at earlier runs", Design(weakness="bury_in_its_run_only", **_TWO_RUNS), holds=False),
    Row("an unknown COMMIT judged a failure", Design(weakness="unknown_is_a_failure"), holds=False),
    Row("settles a failure without its token", Design(weakness="failure_without_token"), holds=False),
    Row("settles without its run", Design(weakness="settle_without_run", **_TWO_RUNS), holds=False),
    Row("an unforced replay that does not look", Design(weakness="replay_repeats", **_TWO_RUNS), holds=False),
    Row("an unforced replay that does not seal", Design(weakness="replay_without_seals", **_TWO_RUNS), holds=False),
    Row("performs an effect before the COMMIT", Design(weakness="effect_before_commit", effects=True), holds=False),
    Row("counts a crash against its neighbours", Suspects("counts_at_once"), holds=False),
    Row("runs suspects in groups", Suspects("suspects_in_groups"), holds=False),
    Row("runs other hands beside a suspect", Suspects("no_gate", run="between"), holds=False),
    Row("runs two suspects at a time", Suspects("two_at_a_time"), holds=False),
    Row("runs others in the suspects' process", Suspects("others_in_their_process"), holds=False),
    Row("kills a suspect's process at a stop", Suspects("killed_at_a_stop"), holds=False),
    Row("kills it at a stop where it runs between", Suspects("killed_at_a_stop", run="between"), holds=False),
    Row("finishes and frees in two transactions", Graph("in_two_transactions"), holds=False),
    Row("frees by a look at the others", Graph("looks_at_the_others"), holds=False),
    Row("any of them frees it", Graph("any_of_them_frees"), holds=False),
    Row("an arrival: nobody locks its row", Arrivals("no_lock"), holds=False),
    Row("an arrival: looks before it locks", Arrivals("looks_before_it_locks"), holds=False),
    Row("an arrival: what came before is not seen", Arrivals("never_looks_back"), holds=False),
    Row("an arrival: who waits is told afterwards", Arrivals("tells_afterwards"), holds=False),
    Row("an arrival: the deadline ends what is over", Arrivals("settles_what_is_over"), holds=False),
    Row("takes any cancellation for the stop", Loops("any_cancellation_is_the_stop"), holds=False),
    Row("takes the stop for the handler's", Loops("no_cancellation_is_the_stop"), holds=False),
    Row("a loop ends in silence", Loops("ends_in_silence"), holds=False),
    Row("waits for a loop that swallowed its cancellation", Loops("waits_for_all"), holds=False),
    Row("a lane: the mark is read without a lock", Lane(arrives=_FIRST, weakness="mark_without_lock"), holds=False),
    Row("a lane: the inbox says what is late", Lane(arrives=_FIRST, weakness="late_by_inbox"), holds=False),
    Row("a lane: claims by arrival", Lane(weakness="claims_by_arrival"), holds=False),
    Row("a lane: goes on after a failure", Lane(fails=_FIRST, weakness="failure_goes_on"), holds=False),
    Row("a lane: goes on after a COMMIT without answer", Lane(weakness="unknown_goes_on"), holds=False),
    Row("a lane: goes on after a pause", Lane(pauses=1, weakness="paused_goes_on"), holds=False),
    Row("a lane: what is paused does not hold it", Lane(pauses=1, weakness="paused_does_not_hold"), holds=False),
    Row("a lane: what is admitted does not hold it", Lane(held=_FIRST, weakness="admitted_does_not_hold"), holds=False),
    Row("a lane: what is given back is passed", Lane(sealed=_FIRST, weakness="given_back_is_passed"), holds=False),
    Row("a lane: the claim says who lets pass", Lane(untaken=_FIRST, weakness="claim_says_who_lets_pass"), holds=False),
    Row("a lane: queues without looking again", Lane(weakness="queues_without_looking"), holds=False),
    Row("a lane: promotes in a transaction of its own", Lane(weakness="promotes_afterwards"), holds=False),
    Row(
        "a lane: one of two handlers lets it go on",
        Lane(handlers=2, fails=_FIRST, weakness="one_of_two_passes"),
        holds=False,
    ),
    Row(
        "a lane: waits for a handler without order",
        Lane(other_dies=True, weakness="waits_for_every_handler"),
        holds=False,
    ),
)


def main(arguments: list[str]) -> int:
    wrong = 0
    for row in (*DESIGN, *(DEEP if "--deep" in arguments else ()), *WEAKENED):
        started = time.perf_counter()
        verdict = explore(row.model)
        seconds = time.perf_counter() - started
        is_right = row.holds == (not verdict.problem)
        wrong += not is_right
        print(f"{row.name:<44}{verdict.states:>9,} worlds {seconds:5.1f} s  {_result(row, verdict)}")  # noqa: T201 - a command prints
        if verdict.trace and ("--traces" in arguments or (row.holds and verdict.problem)):
            print(f"    {' / '.join(verdict.trace)}")  # noqa: T201 - a command prints
    print(f"models: {wrong} wrong" if wrong else "models: the design holds, every weakened variant is caught")  # noqa: T201 - a command prints
    return 1 if wrong else 0


def _result(row: Row, verdict: Verdict) -> str:
    if row.holds:
        return f"BROKEN: {verdict.problem}" if verdict.problem else "holds"
    return f"caught: {verdict.problem}" if verdict.problem else "NOT CAUGHT"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
