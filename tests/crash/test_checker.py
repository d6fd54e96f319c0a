"""The checker, against books and histories that are wrong on purpose: each must be named, and a good one must not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from landfast.domain.effect import EffectState
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome
from tests.crash.checker import Books, Staged, Stored, check
from tests.crash.history import Line, unknown

AT = ("evt", "create_order", 1)
AGAIN = ("evt", "create_order", 2)
FINISHED = (Signal.FINISH, State.DONE, 1)
REPLAYED = (Signal.REPLAY, State.READY, 2)
Change = Callable[[list[Line], Books], None]


def good() -> tuple[list[Line], Books]:
    """One event: acknowledged, processed, confirmed, and replayed by force."""
    lines = [
        Line("deliver", "invoke", "evt", 1, id=1, sha="abc"),
        Line("deliver", "ok", "evt", 1, id=1, sha="abc"),
        Line("perform", "invoke", "evt", 1, id=2, run=1, effect="k"),
        Line("perform", "ok", "evt", 1, id=2, run=1, effect="k"),
        Line("replay", "invoke", "evt", 1, id=3, forced=True),
        Line("replay", "ok", "evt", 1, id=3, forced=True),
        Line("perform", "ok", "evt", 1, id=4, run=2, effect="k"),
    ]
    history = (FINISHED, REPLAYED, (Signal.FINISH, State.DONE, 2))
    books = Books(
        events={"evt": Stored("abc", State.DONE, 2, ("create_order",), history)},
        receipts={AT: Outcome.DONE, AGAIN: Outcome.DONE},
        writes=Counter({AT: 1, AGAIN: 1}),
        effects=[
            Staged("k", "evt", "create_order", "confirm", 1, EffectState.DONE),
            Staged("k", "evt", "create_order", "confirm", 2, EffectState.DONE),
        ],
    )
    return lines, books


def event(**changed: object) -> Change:
    def change(_lines: list[Line], books: Books) -> None:
        books.events["evt"] = replace(books.events["evt"], **changed)  # type: ignore[arg-type]

    return change


def effect(number: int, **changed: object) -> Change:
    def change(_lines: list[Line], books: Books) -> None:
        books.effects[number] = replace(books.effects[number], **changed)  # type: ignore[arg-type]

    return change


def lose(_lines: list[Line], books: Books) -> None:
    books.events.clear()


def write_twice(_lines: list[Line], books: Books) -> None:
    books.writes[AT] += 1


def lose_the_writes(_lines: list[Line], books: Books) -> None:
    del books.writes[AT]


def lose_the_receipt(_lines: list[Line], books: Books) -> None:
    del books.receipts[AT]


def bury_what_wrote(_lines: list[Line], books: Books) -> None:
    books.receipts[AT] = Outcome.DEAD


def finish_without_a_receipt(_lines: list[Line], books: Books) -> None:
    books.receipts.clear()
    books.writes.clear()
    books.effects.clear()


def nobody_forced_it(lines: list[Line], _books: Books) -> None:
    lines[4:6] = [Line("replay", phase, "evt", 1, id=3) for phase in ("invoke", "ok")]


def nobody_asked_for_it(lines: list[Line], _books: Books) -> None:
    del lines[4:6]


def force_without_writes(_lines: list[Line], books: Books) -> None:
    del books.writes[AGAIN]
    books.receipts[AGAIN] = Outcome.DEAD


def never_perform(lines: list[Line], _books: Books) -> None:
    del lines[2:4]


def perform_what_was_rolled_back(lines: list[Line], _books: Books) -> None:
    lines.append(Line("perform", "invoke", "evt", 1, id=9, run=1, effect="never committed"))


def two_keys(lines: list[Line], books: Books) -> None:
    books.effects[1] = replace(books.effects[1], effect="other")
    lines.append(Line("perform", "ok", "evt", 1, id=9, run=2, effect="other"))


WRONG: dict[str, tuple[str, Change]] = {
    "acknowledged and not stored": ("I1", lose),
    "stored with other bytes": ("I1", event(sha="abd")),
    "written twice": ("I2", write_twice),
    "claimed for ever": ("I3", event(state=State.CLAIMED)),
    "delayed for ever": ("I3", event(state=State.DELAYED)),
    "held without a rule": ("I3", event(state=State.HELD)),
    "a receipt without its writes": ("I4", lose_the_writes),
    "writes without a receipt": ("I4", lose_the_receipt),
    "a tombstone with writes": ("I4", bury_what_wrote),
    "done without a receipt": ("I4", finish_without_a_receipt),
    "dead without a tombstone": ("I4", event(state=State.DEAD)),
    "repeated without force": ("I8", nobody_forced_it),
    "a run that nobody asked for": ("I8", nobody_asked_for_it),
    "a run that was skipped": ("I8", event(run=3)),
    "forced without writes": ("I8", force_without_writes),
    "an effect that was never performed": ("I9", never_perform),
    "an effect of a rolled-back transaction": ("I9", perform_what_was_rolled_back),
    "an effect that waits for ever": ("I9", effect(0, state=EffectState.CLAIMED)),
    "an effect under two keys": ("I9", two_keys),
    "an effect without a receipt": ("I9", effect(0, run=7)),
    "done from done": ("I11", event(history=(FINISHED, FINISHED))),
    "retried when it was done": ("I11", event(history=(FINISHED, (Signal.RETRY, State.DELAYED, 1)))),
    "a stale settle of an older run": ("I11", event(history=(FINISHED, REPLAYED, (Signal.FINISH, State.DONE, 1)))),
    "processed while it was held": ("I11", event(begins=State.HELD)),
    "admitted without being held": ("I11", event(history=((Signal.ADMIT, State.READY, 1), FINISHED))),
    "a state that its history does not lead to": ("I11", event(history=(FINISHED, REPLAYED), state=State.DEAD)),
}


def test_a_good_history_has_no_problem() -> None:
    assert check(*good()) == []


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_names(name: str) -> None:
    invariant, change = WRONG[name]
    lines, books = good()
    change(lines, books)
    found = check(lines, books)
    assert any(problem.startswith(f"{invariant}: ") for problem in found), found


def test_what_a_rule_holds_may_stay_held_or_be_admitted() -> None:
    held = Stored("abc", State.HELD, 1, ("create_order",), begins=State.HELD)
    assert check([], Books(events={"evt": held})) == []
    lines, books = good()
    admitted = (Signal.ADMIT, State.READY, 1)
    event(begins=State.HELD, history=(admitted, *books.events["evt"].history))(lines, books)
    assert check(lines, books) == []


def test_what_began_and_did_not_end_is_unknown_and_proves_nothing() -> None:
    lines, books = good()
    lost = Line("deliver", "invoke", "evt_2", 1, id=7, sha="def")
    assert unknown([*lines, lost]) == [Line("deliver", "unknown", "evt_2", 1, id=7, sha="def")]
    assert check([*lines, lost, *unknown([*lines, lost])], books) == []


def test_a_replay_whose_answer_was_lost_may_have_happened_or_not() -> None:
    lines, books = good()
    lines[5] = Line("replay", "unknown", "evt", 1, id=3, forced=True)
    assert check(lines, books) == []
    event(run=1, history=(FINISHED,))(lines, books)
    del books.receipts[AGAIN], books.writes[AGAIN], books.effects[1], lines[6]
    assert check(lines, books) == []
