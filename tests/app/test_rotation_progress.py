"""How far the change of a secret is, from the settings and from what intakes say of themselves."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.app.rotation_progress import Progress, progress
from landfast.domain.errors import UserError
from landfast.domain.ids import BootId
from landfast.domain.rates import Heartbeat
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN

OLD, NEW = ("old", 7, DAWN.timestamp() - 900), ("new", 3, DAWN.timestamp() - 60)


def look(folder: Path, secrets: str, *intakes: list[tuple[str, int, float]], new: str | None = "file:new") -> Progress:
    """Each use is name, count and the first; the last is ten seconds later."""
    (folder / "landfast.toml").write_text(f'[sources.stripe]\nprovider = "stripe"\nsecrets = {secrets}\n')
    for name in ("old", "new"):
        (folder / name).write_text(f"whsec_{name * 12}")
    inbox = Inbox(folder / "landfast.toml", store=str(folder / "landfast.db"))
    inbox.clock = ManualClock(DAWN)
    told = [
        Heartbeat(
            BootId(bytes([number]) * 8),
            "intake",
            "host",
            number,
            DAWN - timedelta(hours=1),
            DAWN,
            {
                "secrets": {
                    "stripe": [
                        [name, count, first if count else None, first + 10 if count else None]
                        for name, count, first in uses
                    ]
                }
            },
        )
        for number, uses in enumerate(intakes, start=1)
    ]
    return progress(inbox, inbox.sources["stripe"], told, new=new, hours=None)


BOTH = '[{ value = "file:old", name = "old", until = 2030-01-01T00:00:00Z }, { value = "file:new", name = "new" }]'
ONLY_OLD, ONLY_NEW = '[{ value = "file:old", name = "old" }]', '[{ value = "file:new", name = "new" }]'
UNUSED = ("new", 0, 0.0)


@pytest.mark.parametrize(
    ("secrets", "intakes", "now"),
    [
        (ONLY_OLD, [[OLD]], 2),
        (BOTH, [[OLD]], 3),
        (BOTH, [[OLD, UNUSED], [OLD]], 3),
        (BOTH, [[OLD, UNUSED]], 4),
        (BOTH, [[("old", 7, DAWN.timestamp() - 30), NEW]], 5),
        (BOTH, [[OLD, UNUSED], [("old", 7, DAWN.timestamp() - 30), NEW]], 5),
        (BOTH, [[OLD, NEW]], 6),
        (ONLY_NEW, [[OLD, NEW]], 6),
        (ONLY_NEW, [], 3),
    ],
)
def test_the_first_step_that_is_not_done_is_the_one_to_do(
    tmp_path: Path, secrets: str, intakes: list[list[tuple[str, int, float]]], now: int
) -> None:
    found = look(tmp_path, secrets, *intakes)
    assert [step.state for step in found.steps].index("now") + 1 == now
    assert not found.is_over


def test_it_is_over_when_every_intake_has_the_new_one_alone(tmp_path: Path) -> None:
    found = look(tmp_path, ONLY_NEW, [UNUSED], [NEW])
    assert found.is_over
    assert [(one.name, one.intakes, one.deliveries) for one in found.secrets] == [("new", 2, 3)]


def test_a_change_that_is_under_way_needs_no_name(tmp_path: Path) -> None:
    assert look(tmp_path, BOTH, new=None).new == "file:new"
    assert look(tmp_path, ONLY_OLD, new=None).new == "file:old_2"


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    found = look(tmp_path, ONLY_OLD, new="file:missing")
    assert found.steps[0].found.startswith("the file missing cannot be read")


def test_a_secret_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="must be env:NAME or file:PATH"):
        look(tmp_path, ONLY_OLD, new="whsec_plain")
