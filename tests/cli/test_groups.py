"""Groups of commands: what they list, and what they say to a command that is not there."""

from __future__ import annotations

import pytest

from landfast.cli import COMMANDS
from tests.cli.conftest import Run


@pytest.mark.parametrize("group", ["events", "dead", "held", "replay", "sources", "effects", "lifecycle", "tokens"])
def test_a_group_lists_whole_sentences(landfast: Run, group: str) -> None:
    listed = landfast(group, "--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert listed and "..." not in listed


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("events", "lst"), "There is no command 'lst' in 'landfast events'; did you mean 'list'?"),
        (("dead", "6e26db"), "There is no command '6e26db' in 'landfast dead'; there are discard, list, show, summary"),
        (("seal", "rotat"), "There is no command 'rotat' in 'landfast seal'; did you mean 'rotate'?"),
    ],
)
def test_a_command_that_is_not_there(landfast: Run, typed: tuple[str, str], told: str) -> None:
    ended = landfast(*typed)
    assert ended.code == 2 and told in ended.err


def test_what_is_no_command_of_replay_is_what_to_replay(landfast: Run) -> None:
    assert "replay" in COMMANDS
    assert "There is no command" not in landfast("replay", "evt_1").err
