"""Every alert has its page, and every page its alert."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from landfast.domain.alerts.alert import AlertName, runbook

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["What it means", "When it fires", "See it", "Do", "When it is over"]


@pytest.mark.req("R46")
@pytest.mark.parametrize("name", AlertName)
def test_the_runbook_that_an_alert_links_is_there_and_whole(name: AlertName) -> None:
    page = (ROOT / runbook(name)).read_text("utf-8")
    assert page.startswith(f"# {name}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == PARTS
    assert "landfast " in page, "it says what to type"
    assert f"({runbook(name).replace('docs', '..', 1)})" in (ROOT / "docs/howto/be-told-in-time.md").read_text("utf-8")


@pytest.mark.req("R46")
def test_every_page_is_about_an_alert() -> None:
    assert {page.stem for page in (ROOT / "docs/runbooks").glob("*.md")} == {*map(str, AlertName)}


def test_a_runbook_of_ones_own_is_linked_where_the_settings_say() -> None:
    assert runbook(AlertName.DISK_LOW, "https://wiki.example.com/landfast/") == (
        "https://wiki.example.com/landfast/disk-low"
    )
