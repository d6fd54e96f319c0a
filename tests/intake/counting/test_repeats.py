"""Where every arrival is an event, the same bytes that come again are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast.app.sources import source_of
from landfast.config import Settings, load
from landfast.config.settings import SecretSettings, SourceSettings
from landfast.domain.delivery import Head, Headers
from landfast.intake.counting import repeats
from landfast.intake.counting.repeats import Repeats
from landfast.intake.source import Source
from landfast.providers import provider
from landfast.testing.signing import sample, signed_request
from tests.intake.desk import Desk
from tests.providers.keypairs import our_secrets, sender_secret


@pytest.fixture
def overall(tmp_path: Path) -> Settings:
    (tmp_path / "none.toml").touch()
    return load(tmp_path / "none.toml")


def test_the_same_bytes_of_one_source_are_a_repeat() -> None:
    noted = Repeats()
    for source, body in (("a", b"1"), ("a", b"2"), ("b", b"1"), ("a", b"1"), ("a", b"1")):
        noted.note(source, body)
    assert noted.meters() == {"repeats:a": 2}


def test_so_many_bodies_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "REMEMBERED_BODIES", 3)
    noted = Repeats()
    for number in (1, 2, 3, 1, 4, 1, 2):  # 1 was seen again, so 2 is the one that 4 drives out
        noted.note("a", b"%d" % number)
    assert noted.meters() == {"repeats:a": 2}


@pytest.mark.parametrize(("name", "counts"), [("dropbox", True), ("clickup", True), ("stripe", False)])
def test_only_where_every_arrival_is_an_event_they_are_counted(overall: Settings, name: str, counts: bool) -> None:
    secrets = (SecretSettings(value="a secret of the sender, long enough"),)
    assert source_of(SourceSettings(name="s", provider=name, secrets=secrets), overall).counts_repeats is counts


async def test_a_captured_request_that_runs_again_is_counted() -> None:
    profile = provider("dropbox")
    desk = Desk(sources=(Source("files", profile, our_secrets(profile), counts_repeats=True),))
    body = sample("dropbox")
    draft = signed_request("dropbox", body, sender_secret("dropbox"), now=desk.clock.now().timestamp())
    head = Head(
        "POST", "/in/files", "", Headers((name.encode(), value.encode()) for name, value in draft.headers.items())
    )
    for _ in range(3):
        desk.clock.advance(1)
        assert (await desk.intake.respond(desk.intake.admit(head), body)).status == 200
    assert len(desk.recorder.events) == 3 and desk.intake.repeats.meters() == {"repeats:files": 2}
