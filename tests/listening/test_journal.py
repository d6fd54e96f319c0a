"""What was forwarded: written down before it is sent, read again after any crash, and one process at a time."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from landfast.domain.errors import UserError
from landfast.listening import journal as journals
from landfast.listening.journal import Journal

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def opened(path: Path) -> Journal:
    journal = Journal(path)
    journal.open()
    return journal


def test_what_was_begun_and_not_ended_is_known_and_told(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.jsonl"
    with closing(opened(path)) as journal:
        assert journal.position("stripe") is None
        journal.begin("stripe", NOON)
        journal.about_to("stripe", "aa", NOON + timedelta(seconds=2))
        journal.ended("stripe", "aa", "200")
        journal.about_to("stripe", "bb", NOON + timedelta(seconds=1))
    with closing(opened(path)) as journal:
        assert (journal.known, journal.unsure) == ({"aa", "bb"}, {"bb": "stripe"})
        assert journal.position("stripe") == NOON + timedelta(seconds=2)
        assert journal.begun == {"stripe": NOON}


def test_one_that_was_named_does_not_move_the_place_to_go_on_from(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "state")) as journal:
        journal.begin("stripe", NOON)
        journal.about_to("stripe", "aa", None)
        journal.about_to("github", "bb", None)
        assert (journal.position("stripe"), journal.position("github")) == (NOON, None)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_half_of_a_line_was_never_sent(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "state"
    with closing(opened(path)) as journal:
        journal.begin("stripe", NOON)
        journal.about_to("stripe", "aa", NOON)
    path.write_bytes(path.read_bytes()[:-cut])
    with closing(opened(path)) as journal:
        assert (journal.known, journal.position("stripe")) == (set(), NOON)
        journal.about_to("stripe", "bb", NOON)
    with closing(opened(path)) as journal:
        assert journal.known == {"bb"}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As on a disk with no more room: of a write that goes beyond it, a part is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    told = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, told)


@pytest.mark.parametrize("room", [0, 1, 30])
def test_a_line_for_which_there_is_no_room_is_refused_and_leaves_nothing(tmp_path: Path, room: int) -> None:
    """What is sent all the same would be unknown after a restart, and sent twice."""
    path = tmp_path / "state"
    with closing(opened(path)) as journal:
        journal.begin("stripe", NOON)
        before = path.read_bytes()
        with files_of_at_most(len(before) + room), pytest.raises(UserError, match="make room"):
            journal.about_to("stripe", "aa", NOON)
        assert (journal.known, path.read_bytes()) == (set(), before)
        journal.about_to("stripe", "bb", NOON)  # there is room again
    with closing(opened(path)) as journal:
        assert journal.known == {"bb"}


def test_two_do_not_write_into_one_file(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "state")), pytest.raises(UserError, match="another landfast listen"):
        opened(tmp_path / "state")
    opened(tmp_path / "state").close()


def test_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("my notes\n")
    with pytest.raises(UserError, match="no file of landfast listen"):
        opened(path)
    assert path.read_text() == "my notes\n"
    with pytest.raises(UserError, match="give another file"):
        opened(tmp_path)


def test_a_long_one_is_shortened_to_the_newest_and_stays_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "EVENTS_KEPT", 3)
    path = tmp_path / "state"
    with closing(opened(path)) as journal:
        journal.begin("stripe", NOON)
        for number in range(8):
            journal.about_to("stripe", f"e{number}", NOON + timedelta(seconds=number))
            if number != 7:
                journal.ended("stripe", f"e{number}", "200")
    long = path.stat().st_size
    with closing(opened(path)) as journal:
        assert (journal.known, journal.unsure) == ({"e5", "e6", "e7"}, {"e7": "stripe"})
        assert path.stat().st_size < long
        with pytest.raises(UserError, match="another landfast listen"):
            opened(path)
        journal.about_to("stripe", "e8", NOON + timedelta(seconds=8))
    with closing(opened(path)) as journal:
        assert journal.known == {"e5", "e6", "e7", "e8"}
        assert journal.position("stripe") == NOON + timedelta(seconds=8)
