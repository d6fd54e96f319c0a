"""The checker and the plan, without disks: the run itself is `make powerloss`."""

import dataclasses
import hashlib

import pytest

from tests.powerloss import __main__ as command
from tests.powerloss import disks
from tests.powerloss.checker import Books, Cut, Finding, Kind, Stored, after_the_cut, after_the_drain, without_order
from tests.powerloss.rounds import Layout, Plan, Result
from tests.powerloss.sites import Control


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def books(*, ready: str = "", done: str = "", orders: str | None = None, receipts: int | None = None) -> Books:
    """Each letter is an event; what is done was ordered, unless it is said otherwise."""
    stored = [Stored(key, digest(key), "ready") for key in ready] + [Stored(key, digest(key), "done") for key in done]
    ordered = list(done if orders is None else orders)
    return Books(stored, ordered, len(ordered) if receipts is None else receipts)


def kinds(found: list[Finding]) -> list[Kind]:
    return [finding.kind for finding in found]


CUT = Cut({key: digest(key) for key in "abc"}, frozenset("ab"))
OLDER_LEDGER = dataclasses.replace(CUT, ledger_is_older=True)


def test_an_image_with_every_acknowledged_event_is_right_whether_the_unanswered_ones_are_there_or_not() -> None:
    assert not after_the_cut(CUT, books(ready="b", done="a"))
    assert not after_the_cut(CUT, books(ready="bc", done="a"))


def test_an_order_that_was_committed_and_not_settled_is_right() -> None:
    assert not after_the_cut(CUT, books(ready="ab", orders="a"))


def test_an_acknowledged_event_that_is_not_there_is_lost() -> None:
    assert after_the_cut(CUT, books(done="a")) == [Finding(Kind.LOST, "b")]


def test_an_unanswered_event_is_lost_only_when_it_is_not_there_after_it_was_sent_again() -> None:
    assert CUT.unanswered == ["c"]
    assert after_the_drain(CUT, books(done="ab")) == [Finding(Kind.LOST, "c")]
    assert not after_the_drain(CUT, books(done="abc"))


def test_a_body_with_other_bytes_is_altered() -> None:
    stored = [Stored("a", digest("b"), "ready"), Stored("b", digest("b"), "ready")]
    assert after_the_cut(CUT, Books(stored, [], 0)) == [Finding(Kind.ALTERED, "a")]


def test_what_nobody_sent_is_invented() -> None:
    assert kinds(after_the_cut(CUT, books(ready="abz"))) == [Kind.INVENTED]
    assert kinds(after_the_cut(CUT, books(ready="ab", orders="z"))) == [Kind.INVENTED]


def test_an_event_that_is_stored_or_ordered_twice_is_doubled() -> None:
    assert kinds(after_the_cut(CUT, books(ready="abb"))) == [Kind.DOUBLED]
    assert kinds(after_the_cut(CUT, books(ready="b", done="a", orders="aa"))) == [Kind.DOUBLED]


def test_done_without_its_order_is_unproven_unless_the_ledger_is_older() -> None:
    image = books(done="ab", orders="a")
    assert without_order(image) == ["b"]
    assert kinds(after_the_cut(CUT, image)) == [Kind.UNPROVEN]
    assert not after_the_cut(OLDER_LEDGER, image)


def test_even_with_an_older_ledger_every_event_has_its_order_in_the_end() -> None:
    assert kinds(after_the_drain(OLDER_LEDGER, books(done="abc", orders="ab"))) == [Kind.UNPROVEN]


def test_an_order_without_its_receipt_is_unproven() -> None:
    assert kinds(after_the_cut(CUT, books(ready="b", done="a", receipts=0))) == [Kind.UNPROVEN]


def test_an_event_that_never_ends_is_stuck() -> None:
    assert after_the_drain(CUT, books(ready="c", done="ab")) == [Finding(Kind.STUCK, "c is ready")]


def test_the_plan_has_a_hundred_images_every_layout_and_the_controls_before_them() -> None:
    rounds = command.plans(command.IMAGES, ["sqlite", "postgres"])
    real = [plan for plan in rounds if plan.control is None]
    assert sum(plan.images for plan in real) >= 100
    assert all(0 < plan.images <= command.ROUND for plan in real)
    assert {(plan.store, plan.layout) for plan in real} == {
        (s, layout) for s in ("sqlite", "postgres") for layout in Layout
    }
    assert {(plan.store, plan.control) for plan in rounds[:6]} == {
        (s, c) for s in ("sqlite", "postgres") for c in Control
    }


@pytest.mark.parametrize(
    ("control", "kind"), [(Control.INBOX, Kind.LOST), (Control.LEDGER, Kind.UNPROVEN), (Control.SPOOL, Kind.LOST)]
)
def test_a_control_counts_only_when_it_loses_what_it_is_meant_to_lose(control: Control, kind: Kind) -> None:
    result = Result(Plan("sqlite", Layout.ONE_DISK, 1, control=control), findings=[Finding(Kind.BROKEN, "a")])
    assert not result.saw_loss
    result.findings.append(Finding(kind, "b"))
    assert result.saw_loss


def test_a_machine_that_cannot_is_told_what_is_missing_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.argv", ["powerloss"])
    monkeypatch.setattr(disks, "TOOLS", {"no-such-tool": "the-package"})
    assert command.main() == 2
    assert capsys.readouterr().err == "power loss needs the-package; install it with the system's packages\n"
