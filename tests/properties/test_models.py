"""The models say what the code says: the same lifecycle, the same names for the same steps."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.lifecycle import RECEIPT_SIGNALS, TRANSITIONS, Signal, State
from landfast.processing.prepare import CRASHES_AT_MOST
from landfast.testing import crash
from models import world
from models.__main__ import DESIGN, WEAKENED, Row
from models.explore import Model, explore
from models.intake import Intake
from models.loops import Loops
from models.receipt_first import Design
from models.suspects import Suspects
from tests.properties import expected

NOT_MODELLED = {Signal.RECOVER, Signal.PAUSE, Signal.DISMISS, Signal.ERASE, Signal.HASTEN, Signal.CLOSE, Signal.PARK}
NOT_MODELLED |= {Signal.HOLD, Signal.QUEUE, Signal.PROMOTE, Signal.SKIP}  # by this one: `models/lanes.py` has them
"""A ledger that lost its tail is beyond these models: they have one ledger, and it keeps what it commits. To dismiss is
to refuse with another end: no handler ran, and the token decides. What is erased is no worker's: it is buried. To
hold is to have it wait, and a zombie's receipt still ends it. To hasten is to wake, by an operator in place of time. What is closed is no worker's any more: like a dead letter, until a
replay. To park is to postpone: `models` know no entity that could allow it."""

LIKE_ANOTHER = {State.HELD, State.PAUSED, State.PARKED, State.QUEUED}
"""No worker meets what is held before it is ready; and to a worker paused, parked or queued is delayed, until something
else wakes it."""

SURROUNDINGS = {"deliver", "expire", "wake", "requeue", "crash"}
"""What happens to a process, and is no step of it."""

WITHOUT_A_MODEL = {"admit", "verify", "identify", "tally", "scope", "withdraw", "rollback", "claim_suspect_effect"}
WITHOUT_A_MODEL |= {"mark", "lock_states", "move_states", "stir"}  # in the transaction of a handler with rules
WITHOUT_A_MODEL |= {"arrive", "arrived"}  # by these: `models/arrivals.py` has them
"""Steps that decide nothing between two processes, or that a model takes together with the next one."""

EVERY_STEP: tuple[Model[Any], ...] = (
    Intake(),
    Design(workers=1),
    Design(workers=1, runs=2, effects=True, deploys=True),
)


def test_the_lifecycle_of_the_model_is_that_of_the_code() -> None:
    table = {(str(state), str(signal)): str(after) for (state, signal), after in TRANSITIONS.items()}
    left_out = {place for place in table if Signal(place[1]) in NOT_MODELLED or State(place[0]) in LIKE_ANOTHER}
    assert table == world.MOVES | {place: table[place] for place in left_out}
    assert {str(signal) for signal in RECEIPT_SIGNALS} == world.RECEIPT_SIGNALS


def test_every_move_of_the_lifecycle_is_made_in_the_model() -> None:
    design = Design(workers=2, runs=2, deploys=True)
    explore(design)
    assert design.moves == set(world.MOVES)


def test_the_actions_of_the_models_are_the_steps_at_which_a_process_can_be_crashed() -> None:
    actions = frozenset[str]().union(*(explore(model).actions for model in EVERY_STEP))
    assert actions - SURROUNDINGS <= set(crash.STEPS)
    assert set(crash.STEPS) - actions == WITHOUT_A_MODEL


def test_what_is_expected_of_the_code_counts_as_the_code_does() -> None:
    assert expected.CRASHES == CRASHES_AT_MOST


@pytest.mark.req("R20")
@pytest.mark.parametrize("row", WEAKENED, ids=lambda row: row.name)
def test_each_weakened_variant_is_caught(row: Row) -> None:
    assert not row.holds and explore(row.model).problem


def test_the_design_holds_in_the_smallest_worlds() -> None:
    """`make check` explores the large ones."""
    small: tuple[Model[Any], ...] = (
        Intake(),
        Loops(),
        Suspects(),
        Suspects(run="between"),
        Design(workers=2),
        Design(workers=1, runs=3, deploys=True),
    )
    assert [explore(model).problem for model in small] == [""] * len(small)
    assert all(row.holds for row in DESIGN)
