"""The one transition table, and what must be true of it."""

from landfast.domain.lifecycle import (
    COUNTED,
    GUARDS,
    MOVES,
    PLACES,
    RECEIPT_SIGNALS,
    TIMED,
    TOKEN_SIGNALS,
    TRANSITIONS,
    Place,
    Signal,
    State,
    after,
    from_states,
)

RECORDED = {State.READY, State.HELD}
"""Where an event begins."""


def test_every_state_is_reached_from_where_an_event_begins() -> None:
    reached, frontier = set(RECORDED), list(RECORDED)
    while frontier:
        state = frontier.pop()
        for (begin, _), end in TRANSITIONS.items():
            if begin is state and end not in reached:
                reached.add(end)
                frontier.append(end)
    assert reached == set(State)


def test_from_every_state_done_can_be_reached_so_nothing_is_stuck_for_ever() -> None:
    can = {State.DONE}
    while True:
        more = {begin for (begin, _), end in TRANSITIONS.items() if end in can} - can
        if not more:
            break
        can |= more
    assert can == set(State)


def test_only_the_holder_of_the_token_gives_an_event_back() -> None:
    assert all(from_states(signal) == {State.CLAIMED} for signal in TOKEN_SIGNALS)


def test_a_receipt_decides_whoever_holds_the_lease() -> None:
    for signal in RECEIPT_SIGNALS:
        assert {State.READY, State.CLAIMED, State.DELAYED} <= from_states(signal)


def test_a_signal_that_the_table_does_not_list_is_refused() -> None:
    assert after(State.DEAD, Signal.FINISH) is None
    assert after(State.DONE, Signal.BURY) is None
    assert after(State.CLAIMED, Signal.FINISH) is State.DONE


def test_what_is_held_moves_by_an_operator_or_by_a_receipt_that_was_there_first() -> None:
    by_hand = {Signal.ADMIT, Signal.DISCARD, Signal.ERASE}
    assert {signal for state, signal in TRANSITIONS if state is State.HELD} == by_hand | RECEIPT_SIGNALS
    assert {signal for (_, signal), state in TRANSITIONS.items() if state is State.HELD} == {Signal.HOLD}
    assert after(State.CLAIMED, Signal.HOLD) is None


def test_every_state_has_a_place_and_every_signal_a_guard() -> None:
    assert PLACES.keys() == set(State)
    assert GUARDS.keys() == MOVES.keys() == set(Signal)


def test_the_moves_of_a_signal_take_every_state_in_which_it_is_legal_once() -> None:
    for signal, moves in MOVES.items():
        taken = [state for move in moves for state in move.way.states]
        assert len(taken) == len(set(taken)) and set(taken) == from_states(signal)
        for move in moves:
            assert {PLACES[state] for state in move.way.states} == {move.way.start}
            assert {after(state, signal) for state in move.way.states} == {move.state}
            assert PLACES[move.state] is move.way.end


def test_only_what_waits_on_the_shelf_has_a_time_or_a_counter() -> None:
    assert {PLACES[state] for state in TIMED | COUNTED} == {Place.SHELF}


def test_every_signal_is_heard_somewhere() -> None:
    assert {signal for _, signal in TRANSITIONS} == set(Signal)
