"""Which sources mind another body under a known key, and which events can be late, by the settings and the provider."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from landfast import config
from landfast.app.sources import source_of
from landfast.config import SourceSettings
from landfast.config.settings import SecretSettings
from landfast.domain.delivery import ALWAYS_SIBLINGS, NO_SIBLINGS, Siblings
from landfast.domain.errors import ConfigError
from landfast.intake.source import Source

SECRET = "whsec_dGVzdCBzZWNyZXQgb2YgdGhpcnR5IHR3byBieXRlcyE="


def made(tmp_path: Path, provider: str, *, preset: str | None = None, **given: Any) -> Source:
    (tmp_path / "none.toml").touch()
    layers = {"redis": "redis://127.0.0.1:6379/0", "spool": "spool", "preset": preset} if preset else {}
    overall = config.load(tmp_path / "none.toml", overrides=layers)
    secrets = (SecretSettings(value=SECRET),)
    return source_of(SourceSettings(name="bank", provider=provider, secrets=secrets, **given), overall)


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


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("provider", "given", "siblings"),
    [
        ("stripe", {}, None),
        ("gitlab", {}, None),  # nothing of its body is signed either
        ("github", {}, NO_SIBLINGS),
        ("github", {"unsigned_type": "trust"}, ALWAYS_SIBLINGS),
        ("shopify", {"dedup": "body:id"}, None),
        ("shopify", {"dedup": "body:id", "unsigned_type": "hold"}, NO_SIBLINGS),
        ("shopify", {}, (0.0, 4 * 3600.0)),
        ("shopify", {"unsigned_type": "hold"}, NO_SIBLINGS),
        ("sanity", {}, (600.0, math.inf)),
        ("sanity", {"tolerance": 900.0}, (1800.0, math.inf)),
    ],
)
def test_when_another_type_is_another_event_is_said_by_the_provider_or_the_source(
    tmp_path: Path, provider: str, given: dict[str, Any], siblings: Siblings | None
) -> None:
    assert made(tmp_path, provider, **given).siblings == siblings


def test_a_signed_type_is_neither_held_nor_trusted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unsigned_type is for a type that alone is not signed, and stripe signs it"):
        made(tmp_path, "stripe", unsigned_type="hold")
