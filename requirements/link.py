"""Make `landfast` importable and runnable in the project's own virtualenv, without a build and without a network: a
path to its sources, its command, and the metadata by which pytest finds its plugin."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def link(site: Path, scripts: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    _write(site / "landfast-source.pth", f"{ROOT / 'src'}\n")
    script = scripts / "landfast"
    _write(script, f"#!{sys.executable}\nimport sys\n\nfrom landfast.cli import main\n\nsys.exit(main())\n")
    script.chmod(0o755)
    _write_metadata(site, project)


def _write_metadata(site: Path, project: dict[str, dict[str, dict[str, str]]]) -> None:
    (version,) = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "src/landfast/__init__.py").read_text("utf-8"), re.MULTILINE
    )
    for old in site.glob("landfast-*.dist-info"):
        shutil.rmtree(old)
    metadata = site / f"landfast-{version}.dist-info"
    metadata.mkdir()
    _write(metadata / "METADATA", f"Metadata-Version: 2.1\nName: landfast\nVersion: {version}\n")
    _write(metadata / "entry_points.txt", entry_points(project))


def entry_points(project: dict[str, dict[str, dict[str, str]]]) -> str:
    """As a wheel has them."""
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items()), ""]
    return "\n".join(lines)


def _write(file: Path, text: str) -> None:
    # Not into the old one: in a copied virtualenv that may be the same file as in the other.
    file.unlink(missing_ok=True)
    file.write_text(text, "utf-8")


if __name__ == "__main__":
    paths = sysconfig.get_paths()
    link(Path(paths["purelib"]), Path(paths["scripts"]))
