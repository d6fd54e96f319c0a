"""Make `landfast` importable and runnable in the project's own virtualenv, without a build and without a network."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

site = Path(sysconfig.get_paths()["purelib"])
(site / "landfast-source.pth").write_text(f"{ROOT / 'src'}\n")

script = Path(sysconfig.get_paths()["scripts"]) / "landfast"
script.write_text(f"#!{sys.executable}\nimport sys\n\nfrom landfast.cli import main\n\nsys.exit(main())\n")
script.chmod(0o755)
