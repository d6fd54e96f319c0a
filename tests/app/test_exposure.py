"""Secrets that everybody on the machine could read are a failure of `doctor` and `sources check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast import config
from landfast.app.sources_checkup import examine_sources
from landfast.providers import provider
from landfast.recovery.doctor import Check, Level
from landfast.testing.sender_secrets import pair_for

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

SETTINGS = f"""
store = "postgresql://landfast:hush@db.example.com/landfast"
redis = "redis://:hush@cache.example.com:6379/0"

[sources.shop]
provider = "stripe"
secrets = ["{SECRET}"]
"""


def examined(file: Path, **environ: str) -> list[Check]:
    settings = config.load(file, environ=environ)
    checks = examine_sources(settings.sources.values(), settings, now=0.0)
    return [check for check in checks if "read by everybody" in check.found]


def test_settings_with_secrets_that_all_may_read_are_a_failure_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "landfast.toml"
    file.write_text(SETTINGS)
    file.chmod(0o644)
    (check,) = examined(file)
    assert check.level is Level.FAIL
    for what in ("the password in store", "the password in redis", "secret '1' of source shop"):
        assert what in check.found
    assert "hush" not in check.found and SECRET not in check.found
    assert check.fix.startswith("chmod o-rwx")


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_settings_that_only_some_may_read_are_none(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "landfast.toml"
    file.write_text(SETTINGS)
    file.chmod(mode)
    assert examined(file) == []


def test_settings_without_a_secret_may_be_read_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    file = tmp_path / "landfast.toml"
    file.write_text('[sources.shop]\nprovider = "stripe"\nsecrets = ["env:SHOP_SECRET"]\n')
    file.chmod(0o644)
    # The password comes from the environment, and not from the file.
    assert examined(file, LANDFAST_STORE="postgresql://landfast:hush@db.example.com/landfast") == []


def test_the_file_of_a_secret_that_all_may_read_is_a_failure(tmp_path: Path) -> None:
    file, secret = tmp_path / "landfast.toml", tmp_path / "shop"
    file.write_text('[sources.shop]\nprovider = "stripe"\nsecrets = ["file:shop"]\n')
    secret.write_text(SECRET)
    secret.chmod(0o444)
    (check,) = examined(file)
    assert (check.name, check.level) == ("source shop", Level.FAIL)
    secret.chmod(0o400)
    assert examined(file) == []


def test_a_public_key_may_be_read_by_all(tmp_path: Path) -> None:
    file, key = tmp_path / "landfast.toml", tmp_path / "key.pem"
    file.write_text('[sources.mail]\nprovider = "sendgrid"\nsecrets = ["file:key.pem"]\n')
    key.write_text(pair_for(provider("sendgrid")).secrets[0])
    for each in (file, key):
        each.chmod(0o644)
    assert examined(file) == []
