"""Which sources mind another body under a known key, and which events can be late, by the settings and the provider."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from landfast import config
from landfast.app.sources import source_of
from landfast.config import SourceSettings
from landfast.config.settings import SecretSettings
from landfast.intake.source import Source

SECRET = "whsec_dGVzdCBzZWNyZXQgb2YgdGhpcnR5IHR3byBieXRlcyE="


def made(tmp_path: Path, provider: str, *, preset: str | None = None, same_key: str | None = None) -> Source:
    (tmp_path / "none.toml").touch()
    layers = {"redis": "redis://127.0.0.1:6379/0", "spool": "spool", "preset": preset} if preset else {}
    overall = config.load(tmp_path / "none.toml", overrides=layers)
    secrets = (SecretSettings(value=SECRET),)
    return source_of(SourceSettings(name="bank", provider=provider, secrets=secrets, same_key=same_key), overall)


@pytest.mark.req("R10")
@pytest.mark.parametrize(
    ("provider", "preset", "same_key", "is_strict"),
    [
        ("standard-webhooks", None, None, False),
        ("standard-webhooks", "critical", None, True),
        ("standard-webhooks", "high-volume", None, False),
        ("standard-webhooks", "critical", "duplicate", False),
        ("standard-webhooks", None, "hold", True),
        # Stripe counts `pending_webhooks` down from delivery to delivery: each would be a variant of the first.
        ("stripe", "critical", None, False),
        ("stripe", None, "hold", True),
    ],
)
def test_a_source_minds_other_bytes_where_it_says_so_or_the_preset_does_and_they_stay_the_same(
    tmp_path: Path, provider: str, preset: str | None, same_key: str | None, *, is_strict: bool
) -> None:
    assert made(tmp_path, provider, preset=preset, same_key=same_key).is_strict is is_strict


@pytest.mark.req("R15")
def test_an_event_is_late_by_its_own_time_and_not_by_that_of_its_object(tmp_path: Path) -> None:
    assert made(tmp_path, "stripe").memory == 35 * 86_400
    assert made(tmp_path, "gitea").memory == math.inf
