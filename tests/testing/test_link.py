"""requirements/link.py: what makes Landfast importable, runnable and found by pytest without an installation."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from importlib.metadata import Distribution
from pathlib import Path

import landfast

ROOT = Path(__file__).resolve().parents[2]


def test_a_virtualenv_gets_path_command_and_entry_points_as_a_wheel_would_bring_them(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("link", ROOT / "requirements/link.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    old = tmp_path / "landfast-0.0.1.dist-info"
    old.mkdir()
    shared = tmp_path / "of another virtualenv"
    shared.write_text("theirs")
    os.link(shared, tmp_path / "landfast-source.pth")
    for _ in range(2):  # again, as after a change of pyproject.toml
        module.link(tmp_path, tmp_path)
    assert shared.read_text() == "theirs", "a hard link is replaced, and not written through"
    assert (tmp_path / "landfast-source.pth").read_text() == f"{ROOT / 'src'}\n"
    assert os.access(tmp_path / "landfast", os.X_OK) and not old.exists()
    (linked,) = Distribution.discover(name="landfast", path=[str(tmp_path)])
    assert linked.version == landfast.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = {"console_scripts": project["scripts"], **project["entry-points"]}
    assert {
        group: {each.name: each.value for each in linked.entry_points.select(group=group)} for group in told
    } == told
    assert told["pytest11"] == {"landfast": "landfast.testing.plugin"}
