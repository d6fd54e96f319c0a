"""What `landfast doctor` says of signing in at an identity provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast import config
from landfast.app.oidc_checkup import examine_sign_in
from landfast.recovery.doctor import Level

TABLE = """
[admin.oidc]
issuer = "https://login.example.com"
client_id = "landfast"
client_secret = "env:LANDFAST_OIDC_SECRET"
public_url = "https://landfast.example.com"
roles = { "sre" = "admin" }
"""


def test_that_nobody_can_sign_in_without_the_secret_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "landfast.toml"
    file.write_text("")
    assert examine_sign_in(config.load(file, environ={})) == []
    file.write_text(TABLE)
    settings = config.load(file, environ={})
    monkeypatch.delenv("LANDFAST_OIDC_SECRET", raising=False)
    (check,) = examine_sign_in(settings)
    assert check.level is Level.FAIL and "LANDFAST_OIDC_SECRET" in check.found
    monkeypatch.setenv("LANDFAST_OIDC_SECRET", "given")
    (check,) = examine_sign_in(settings)
    assert check.level is Level.OK and "https://login.example.com" in check.found
